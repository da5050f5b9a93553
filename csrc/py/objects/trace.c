/* _Trace: a trace of the core as a Python object, its records as tuples (usmpy/_inspection/trace.py). */
#include "trace.h"
#include "docstrings.h"

#include "py/args.h"
#include "py/errors.h"

typedef struct usmpy_trace {
    PyObject_HEAD
    usm_trace *trace;
} usmpy_trace;

static usm_trace *core(PyObject *self)
{
    return ((usmpy_trace *)self)->trace;
}

static PyObject *trace_new(usmpy_state *state, PyTypeObject *type, PyObject *const *arguments)
{
    usm_error error;
    Py_ssize_t limit = usmpy_ssize_of(arguments[0], "limit", -1, USMPY_AN_INT);
    if (limit < 1 || limit > INT32_MAX) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_ValueError, "limit is %zd; 1 to %d are allowed", limit, INT32_MAX);
    }
    usmpy_trace *self = (usmpy_trace *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    usm_status status = usm_trace_start((size_t)limit, &self->trace, &error);
    if (status != USM_OK) {
        Py_DECREF(self);
        return usmpy_raise(state, status, &error);
    }
    return (PyObject *)self;
}

USMPY_NEW(_Trace, trace_new)

static void trace_dealloc(PyObject *self)
{
    if (core(self) != NULL) {
        usm_trace_free(core(self));
    }
    usmpy_free_object(self);
}

static PyObject *trace_stop(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usm_trace_stop(core(self));
    Py_RETURN_NONE;
}

static PyObject *trace_counts(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usm_trace_counts counts = usm_trace_count(core(self));
    return Py_BuildValue("(nKnLL)", (Py_ssize_t)counts.n, (unsigned long long)counts.dropped,
                         (Py_ssize_t)counts.pending, (long long)counts.start_ns, (long long)counts.stop_ns);
}

static const char *word_of(unsigned what)
{
    static const char *const words[] = {
        [USM_COMMAND_BARRIER] = "barrier",   [USM_COMMAND_MARKER] = "marker",
        [USM_COMMAND_COPY] = "copy",         [USM_COMMAND_FILL] = "fill",
        [USM_COMMAND_STRIDED] = "strided",   [USM_COMMAND_SEQUENCE] = "sequence",
        [USM_COMMAND_PREFETCH] = "prefetch", [USM_COMMAND_LAUNCH] = "kernel",
        [USM_COMMAND_HOST] = "host",         [USM_TRACE_EXPORT] = "export",
        [USM_TRACE_IMPORT] = "import",
    };
    return words[what];
}

static const char *state_of(usm_event_state state)
{
    return state == USM_EVENT_ERROR ? "error" : state == USM_EVENT_COMPLETE ? "complete" : "pending";
}

/* (record, whether it was named) for each wait for a task of the trace. */
static PyObject *waits_of(const usm_trace_list *records, const uint32_t *words, size_t n)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < n; i++) {
        size_t at = usm_trace_find(records, words[i]);
        if (at != records->n) {
            usmpy_append(&list, Py_BuildValue("(nO)", (Py_ssize_t)at,
                                              (words[i] & USM_WAIT_EXPLICIT) != 0 ? Py_True : Py_False));
        }
    }
    return list;
}

/* (allocation, access) for each access. */
static PyObject *accesses_of(const uint32_t *words, size_t n)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < n; i++) {
        usmpy_append(&list, Py_BuildValue("(II)", words[i] >> 2, words[i] & 3u));
    }
    return list;
}

static PyObject *row_of(usmpy_state *state, const usm_trace_list *records, size_t index)
{
    const usm_record *record = &records->records[index];
    const uint32_t *words = records->words + record->first_word;
    return Py_BuildValue("(sszNIILLLKOONN)", word_of(record->what), state_of(record->state), record->name,
                         usmpy_device_wrap(state, record->device, NULL), record->queue, record->thread,
                         (long long)record->submit_ns, (long long)record->start_ns, (long long)record->end_ns,
                         (unsigned long long)record->amount, record->profiled ? Py_True : Py_False,
                         record->in_order ? Py_True : Py_False, waits_of(records, words, record->n_waits),
                         accesses_of(words + record->n_waits, record->n_accesses));
}

static PyObject *trace_read(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_state *state = usmpy_state_of(self);
    usm_trace_list records;
    usm_error error;
    if (usmpy_check(state, usm_trace_read(core(self), &records, &error), &error) < 0) {
        return NULL;
    }
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows != NULL && i < records.n; i++) {
        usmpy_append(&rows, row_of(state, &records, i));
    }
    usm_trace_list_free(&records);
    return rows;
}

static PyMethodDef trace_methods[] = {
    {"stop", trace_stop, METH_NOARGS, USMPY_DOC__Trace_stop},
    {"counts", trace_counts, METH_NOARGS, USMPY_DOC__Trace_counts},
    {"read", trace_read, METH_NOARGS, USMPY_DOC__Trace_read},
    {0},
};

static PyType_Slot trace_slots[] = {
    {Py_tp_doc, USMPY_DOC__Trace},
    {Py_tp_new, enter__Trace},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, trace_methods},
    {0, NULL},
};

USMPY_SPEC(trace, "usmpy._core._Trace", usmpy_trace, 0)
