/* copyto: dst[...] = src between any two places, and between libraries. */
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/dlpack.h"
#include "py/objects/placement.h"
#include "py/wait.h"

#include "core/copy/route.h"

#include <stdlib.h>

static int parse_casting(PyObject *argument)
{
    static const char *const names[] = {"no", "safe", "same_kind", "unsafe"};
    if (argument == NULL) {
        return USM_CAST_SAME_KIND;
    }
    for (int i = 0; PyUnicode_Check(argument) && i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(argument, names[i]) == 0) {
            return i;
        }
    }
    PyErr_Format(PyUnicode_Check(argument) ? PyExc_ValueError : PyExc_TypeError,
                 "casting is %R; 'no', 'safe', 'same_kind' or 'unsafe' is allowed", argument);
    return -1;
}

/* 0 where dst[...] = src is allowed; else -1. */
static int check_types(usmpy_array *dst, usmpy_array *src, int casting, const char *function)
{
    static const char *const names[] = {"no", "safe", "same_kind", "unsafe"};
    if (usmpy_check_writable(dst) < 0) {
        return -1;
    }
    if (!usm_dtype_can_cast((usm_dtype)src->dtype, (usm_dtype)dst->dtype, (usm_casting)casting)) {
        PyErr_Format(PyExc_TypeError, "%s(): src has dtype %s, which casting='%s' does not cast to %s",
                     function, usm_dtype_table[src->dtype].name, names[casting],
                     usm_dtype_table[dst->dtype].name);
        return -1;
    }
    return 0;
}

/* dst and src as arrays of ours (new references), or -1. */
static int open_arrays(usmpy_state *state, PyObject *const *arguments, const char *function, PyObject **dst,
                       PyObject **src)
{
    *src = NULL;
    *dst = usmpy_import_any(state, arguments[0]);
    if (*dst != NULL) {
        *src = usmpy_operand(state, arguments[1], ((usmpy_array *)*dst)->queue);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%s(): dst is %s %s; a USMArray or another library's array is allowed",
                     function, USMPY_A(arguments[0]));
    }
    return *src == NULL ? -1 : 0;
}

PyObject *usmpy_copyto(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"copyto", 3, 2, 2, 2, {USMPY_dst, USMPY_src, USMPY_casting}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    int casting = parse_casting(out[2]), status = -1;
    PyObject *dst = NULL, *src = NULL;
    if (casting >= 0 && open_arrays(state, out, "copyto", &dst, &src) == 0 &&
        check_types((usmpy_array *)dst, (usmpy_array *)src, casting, "copyto") == 0) {
        status = usmpy_array_copy_broadcast(state, (usmpy_array *)dst, (usmpy_array *)src, "copyto(): src");
    }
    /* Foreign memory is finished with when this returns: its owner knows nothing of our queues. */
    if (status == 0 && dst != out[0]) {
        status = usmpy_give_back(state, out[0], (usmpy_array *)dst);
    }
    if (status == 0 && src != out[1]) {
        status = usmpy_give_back(state, out[1], (usmpy_array *)src);
    }
    Py_XDECREF(dst);
    Py_XDECREF(src);
    if (status < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *plan_as_text(usmpy_state *state, usmpy_array *dst, usmpy_array *src)
{
    int64_t strides[USM_MAX_NDIM];
    usm_view from;
    usm_route route;
    usm_error error;
    if (usmpy_view_broadcast(dst, src, "explain_copy(): src", strides, &from) < 0) {
        return NULL;
    }
    const usm_view to = usmpy_view(dst);
    usm_status status = usm_route_plan(&route, usmpy_queue_of(dst->queue), &to, &from, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    char *text = usm_route_text(&route);
    usm_route_clear(&route);
    PyObject *result = text == NULL ? PyErr_NoMemory() : PyUnicode_FromString(text);
    free(text);
    return result;
}

PyObject *usmpy_explain_copy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "explain_copy", 3, 2, 2, 2, {USMPY_dst, USMPY_src, USMPY_casting}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3], *dst = NULL, *src = NULL, *result = NULL;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    int casting = parse_casting(out[2]);
    if (casting >= 0 && open_arrays(state, out, "explain_copy", &dst, &src) == 0 &&
        check_types((usmpy_array *)dst, (usmpy_array *)src, casting, "explain_copy") == 0) {
        result = plan_as_text(state, (usmpy_array *)dst, (usmpy_array *)src);
    }
    Py_XDECREF(dst);
    Py_XDECREF(src);
    return result;
}
