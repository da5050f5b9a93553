/* memory_stats, trim, set_memory_limit, and the list of live allocations. */
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/interpreter.h"
#include "py/lock.h"

#include "core/memory/pool.h"
#include "core/memory/reclaim.h"
#include "core/memory/track.h"
#include "core/share/share.h"

#include <frameobject.h> /* of Python: before 3.11, Python.h does not declare PyFrame_GetBack */
#include <stdio.h>
#include <string.h>

/* A queue of the place that `device` stands for; NULL: of the default one. New reference. */
static PyObject *queue_of(usmpy_state *state, PyObject *device)
{
    return usmpy_queue_from(state, device == NULL ? Py_None : device, "device");
}

static PyObject *memory_stats(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *queue = queue_of(state, arguments[0]);
    if (queue == NULL) {
        return NULL;
    }
    usm_place *place = usmpy_queue_of(queue)->place;
    size_t limit = atomic_load_explicit(&place->limit, memory_order_relaxed);
    PyObject *out = Py_BuildValue(
        "{s:n,s:n,s:N}", "held", (Py_ssize_t)atomic_load_explicit(&place->held, memory_order_relaxed), "peak",
        (Py_ssize_t)atomic_load_explicit(&place->peak, memory_order_relaxed), "limit",
        limit == SIZE_MAX ? Py_NewRef(Py_None) : PyLong_FromSize_t(limit));
    for (usm_kind kind = 0; out != NULL && kind < USM_KINDS; kind++) {
        usm_pool_state pooled = usm_pool_look(place->pools[kind]);
        usmpy_put(&out, usm_kind_name(kind),
                  Py_BuildValue("{s:n,s:n,s:n,s:n}", "in_use", (Py_ssize_t)pooled.used, "pooled",
                                (Py_ssize_t)pooled.spare, "peak", (Py_ssize_t)pooled.peak, "blocks",
                                (Py_ssize_t)pooled.n_used));
    }
    Py_DECREF(queue);
    return out;
}

static size_t trim_all(void)
{
    size_t freed = 0;
    for (usm_context *context = usm_context_after(NULL), *next; context != NULL; context = next) {
        usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
        for (; place != NULL; place = place->next) {
            freed += usm_reclaim_place(place);
        }
        next = usm_context_after(context);
        usm_context_release(context);
    }
    return freed;
}

static PyObject *trim(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *queue = usmpy_given(arguments[0]) ? queue_of(state, arguments[0]) : NULL;
    size_t freed;
    if (queue == NULL && usmpy_given(arguments[0])) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        usm_share_sweep();
        freed = queue != NULL ? usm_reclaim_place(usmpy_queue_of(queue)->place) : trim_all();
    Py_END_ALLOW_THREADS
    Py_XDECREF(queue);
    return PyLong_FromSize_t(freed);
}

static PyObject *set_memory_limit(usmpy_state *state, PyObject *const *arguments)
{
    size_t limit = SIZE_MAX;
    if (arguments[1] != Py_None) {
        PyObject *number = usmpy_index_of(arguments[1], "nbytes", -1, "an int or None is allowed");
        Py_ssize_t nbytes = number == NULL ? -1 : PyLong_AsSsize_t(number);
        Py_XDECREF(number);
        if (nbytes < 0 && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
            return NULL;
        }
        if (nbytes < 0) {
            PyErr_Clear();
            return usmpy_error_format(PyExc_ValueError, "nbytes is %.100R; 0 to %zd, or None, are allowed",
                                      arguments[1], PY_SSIZE_T_MAX);
        }
        limit = (size_t)nbytes;
    }
    PyObject *queue = queue_of(state, arguments[0]);
    if (queue == NULL) {
        return NULL;
    }
    USMPY_WITHOUT_GIL(usm_reclaim_beyond(usmpy_queue_of(queue)->place, limit));
    Py_DECREF(queue);
    Py_RETURN_NONE;
}

static PyObject *track_allocations(PyObject *Py_UNUSED(module), PyObject *on)
{
    if (!PyBool_Check(on)) {
        return usmpy_wrong_type("on", on, "a bool is allowed");
    }
    bool before = usm_track_is_on();
    usm_track_set(on == Py_True);
    return PyBool_FromLong(before);
}

/* The frame is one of usmpy's own Python files. */
static bool is_ours(PyFrameObject *frame)
{
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *name =
        globals == NULL || !PyDict_Check(globals) ? NULL : PyMapping_GetItemString(globals, "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool ours = text != NULL && strncmp(text, "usmpy", 5) == 0 && (text[5] == 0 || text[5] == '.');
    Py_XDECREF(name);
    Py_XDECREF(globals);
    PyErr_Clear();
    return ours;
}

static char *describe(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *file = PyUnicode_AsUTF8(code->co_filename), *function = PyUnicode_AsUTF8(code->co_name);
    char *text = NULL;
    if (file == NULL || function == NULL ||
        asprintf(&text, "%s:%d in %s", file, PyFrame_GetLineNumber(frame), function) < 0) {
        text = NULL;
    }
    Py_DECREF(code);
    PyErr_Clear();
    return text;
}

/* Runs no Python code: allocations are made in the middle of everything. */
static char *place_in_program(void)
{
    if (usmpy_is_finalizing() || !usmpy_is_attached()) {
        return NULL;
    }
    PyObject *pending = usmpy_take_exception();
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    Py_XINCREF(frame);
    while (frame != NULL && is_ours(frame)) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    char *text = frame == NULL ? NULL : describe(frame);
    Py_XDECREF(frame);
    usmpy_restore_exception(pending);
    return text;
}

static PyObject *live_allocations(PyObject *module, PyObject *Py_UNUSED(unused))
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_tracked_info *list;
    size_t n;
    usm_error error;
    usmpy_deferred_poll();
    if (usmpy_check(state, usm_track_list(&list, &n, &error), &error) < 0) {
        return NULL;
    }
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out != NULL && i < n; i++) {
        const usm_tracked_info *at = &list[i];
        usmpy_append(
            &out,
            Py_BuildValue("(nsNNOLz)", (Py_ssize_t)at->size, usm_kind_name(at->kind),
                          usmpy_device_wrap(state, at->device, NULL), PyLong_FromVoidPtr((void *)at->pointer),
                          at->foreign ? Py_True : Py_False, (long long)at->born_ns, at->where));
    }
    usm_track_list_free(list, n);
    return out;
}

void usmpy_memory_start(void)
{
    const char *on = getenv("USMPY_TRACK_ALLOCATIONS");
    usm_track_set_place(place_in_program);
    if (on != NULL && on[0] != 0 && strcmp(on, "0") != 0) {
        usm_track_set(true);
    }
}

USMPY_FUNCTION(memory_stats)
USMPY_FUNCTION(trim)
USMPY_FUNCTION(set_memory_limit)

PyMethodDef usmpy_memory_functions[] = {
    USMPY_ROW(memory_stats),
    USMPY_ROW(trim),
    USMPY_ROW(set_memory_limit),
    {"track_allocations", track_allocations, METH_O, USMPY_DOC_track_allocations},
    {"_live_allocations", live_allocations, METH_NOARGS, USMPY_DOC__live_allocations},
    {0},
};
