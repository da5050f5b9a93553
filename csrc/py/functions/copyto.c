/* copyto, a copy between any two places and libraries, and explain_copy, which describes how it is made. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "py/objects/placement.h"

#include "core/copy/route.h"

#include <stdlib.h>

/* By usm_casting. */
static const char *const casting_names[] = {"no", "safe", "same_kind", "unsafe", NULL};

/* A number of Python's own takes the type of dst where its kind allows it, as in NumPy. */
static PyObject *source_of(usmpy_state *state, PyObject *src, usmpy_array *dst)
{
    bool is_number = PyLong_CheckExact(src) || PyFloat_CheckExact(src) || PyComplex_CheckExact(src);
    bool follows = is_number && dst->dtype < USM_COMPUTED_DTYPES &&
                   usmpy_kind_of_number(src) <= usm_dtype_table[dst->dtype].kind;
    if (follows) {
        return usmpy_array_from_python(state, src, dst->dtype, dst->queue, USM_DEVICE);
    }
    PyObject *source = usmpy_operand(state, src, dst->queue), *number;
    if (source != NULL || !PyErr_ExceptionMatches(PyExc_BufferError)) {
        return source;
    }
    PyObject *error = usmpy_take_exception();
    if (usmpy_host_scalar(state, src, &number) > 0) { /* of long double, which no array has */
        source = usmpy_array_from_python(state, number, USM_NO_DTYPE, dst->queue, USM_DEVICE);
        Py_DECREF(number);
        Py_DECREF(error);
    } else {
        usmpy_restore_exception(error);
    }
    return source;
}

/* The two arrays of a copy. */
typedef struct ends {
    usmpy_array *dst, *src; /* one reference each; NULL where parse_ends failed before */
} ends;

/* arguments: dst, src, casting. 0, or -1 where the copy is not allowed; drop_ends in either case. */
static int parse_ends(usmpy_state *state, const char *function, PyObject *const *arguments, ends *ends)
{
    *ends = (struct ends){NULL, NULL};
    int casting = usmpy_word(arguments[2], casting_names, USM_CAST_SAME_KIND, "casting",
                             "'no', 'safe', 'same_kind' or 'unsafe'");
    if (casting < 0) {
        return -1;
    }
    ends->dst = (usmpy_array *)usmpy_import_shared(state, arguments[0]);
    if (ends->dst == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError,
                         "%s(): dst is %s %.80s; a USMArray or another library's array is allowed", function,
                         USMPY_A(arguments[0]));
        }
        return -1;
    }
    ends->src = (usmpy_array *)source_of(state, arguments[1], ends->dst);
    if (ends->src == NULL) {
        usmpy_name_argument("src");
    }
    if (ends->src == NULL || usmpy_check_writable(ends->dst) < 0) {
        return -1;
    }
    if (!usm_dtype_can_cast(ends->src->dtype, ends->dst->dtype, (usm_casting)casting)) {
        return usmpy_refuse(PyExc_TypeError, "%s(): src has dtype %s, which casting='%s' does not cast to %s",
                            function, usm_dtype_table[ends->src->dtype].name, casting_names[casting],
                            usm_dtype_table[ends->dst->dtype].name);
    }
    return 0;
}

static void drop_ends(ends *ends)
{
    Py_XDECREF(ends->dst);
    Py_XDECREF(ends->src);
}

/* arguments: dst, src, casting. */
static PyObject *copyto(usmpy_state *state, PyObject *const *arguments)
{
    ends ends;
    int status = parse_ends(state, "copyto", arguments, &ends);
    bool foreign = status == 0 && (PyObject *)ends.dst != arguments[0];
    if (foreign) {
        usmpy_mark_loaned(ends.dst);
    }
    if (status == 0) {
        status = usmpy_copy_from(state, arguments[1], ends.dst, ends.src, "copyto(): src");
    }
    /* Owners of foreign memory cannot wait for our queues: the copy is complete when this returns. */
    if (status == 0 && foreign) {
        status = usmpy_give_back(state, arguments[0], ends.dst);
    }
    drop_ends(&ends);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}
USMPY_FUNCTION(copyto)

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

/* arguments: dst, src, casting. */
static PyObject *explain_copy(usmpy_state *state, PyObject *const *arguments)
{
    ends ends;
    PyObject *result = parse_ends(state, "explain_copy", arguments, &ends) < 0
                           ? NULL
                           : plan_as_text(state, ends.dst, ends.src);
    drop_ends(&ends);
    return result;
}
USMPY_FUNCTION(explain_copy)

PyMethodDef usmpy_copyto_functions[] = {
    USMPY_ROW(copyto),
    USMPY_ROW(explain_copy),
    {0},
};
