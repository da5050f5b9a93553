/* copyto: dst[...] = src between any two places, and between libraries. */
#include "args.h"
#include "array.h"
#include "deferred.h"
#include "dlpack.h"
#include "errors.h"
#include "manipulation.h"
#include "placement.h"
#include "wait.h"

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

/* Checks, then dst[...] = src. 0 or -1. */
static int copy_between(usmpy_state *state, usmpy_array *dst, usmpy_array *src, int casting)
{
    if (usmpy_check_writable(dst) < 0) {
        return -1;
    }
    if (!usm_dtype_can_cast((usm_dtype)src->dtype, (usm_dtype)dst->dtype, (usm_casting)casting)) {
        static const char *const names[] = {"no", "safe", "same_kind", "unsafe"};
        PyErr_Format(PyExc_TypeError, "copyto(): src has dtype %s, which casting='%s' does not put into %s",
                     usm_dtype_table[src->dtype].name, names[casting], usm_dtype_table[dst->dtype].name);
        return -1;
    }
    return usmpy_array_copy_broadcast(state, dst, src, "copyto(): src");
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
    int casting = parse_casting(out[2]);
    PyObject *dst = casting < 0 ? NULL : usmpy_import_any(state, out[0]), *src = NULL;
    int status = -1;
    if (dst != NULL) {
        src = usmpy_operand(state, out[1], ((usmpy_array *)dst)->queue);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     "copyto(): dst is a %s; a USMArray or another library's array is allowed",
                     Py_TYPE(out[0])->tp_name);
    }
    if (src != NULL) {
        status = copy_between(state, (usmpy_array *)dst, (usmpy_array *)src, casting);
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
