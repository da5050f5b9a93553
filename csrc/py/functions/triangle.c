/* tril and triu: a copy, and zeros on one side of a diagonal of it. */
#include "creation.h"
#include "docstrings.h"
#include "py/args.h"

#include "core/ops/triangle.h"

/* arguments: x, k, device, queue, usm_type, order. */
static PyObject *triangle(usmpy_state *state, const char *function, PyObject *const *arguments, bool upper)
{
    int64_t k = 0; /* clipped to 64 bits: no array has a diagonal beyond */
    usmpy_target target;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    if (x == NULL || usmpy_check_unpacked(x, function) < 0 ||
        (arguments[1] != NULL && usmpy_parse_int(arguments[1], "k", &k) < 0)) {
        return NULL;
    }
    int order = usmpy_parse_order(arguments[5], "CFAK", 'K');
    if (order < 0) {
        return NULL;
    }
    if (x->ndim < 2) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has %d dimension%s; 2 or more are needed", function,
                            x->ndim, usmpy_plural(x->ndim));
    }
    PyObject *const options[] = {NULL, arguments[2], arguments[3], arguments[4]};
    if (usmpy_parse_target(state, options, x, &target) < 0) {
        return NULL;
    }
    /* The kernel works on one column-major matrix, or on any number of row-major ones. */
    bool by_column = x->ndim == 2 && (order == 'F' || (order != 'C' && usmpy_contiguity(x) == 'F'));
    usmpy_array *result =
        usmpy_array_duplicate(x, target.queue, target.kind, x->dtype, by_column ? 'F' : 'C');
    Py_DECREF(target.queue);
    if (result != NULL && result->size > 0) {
        const usm_view view = usmpy_view(result);
        usm_error error;
        usm_status status = usm_triangle_submit(usmpy_queue_of(result->queue), &view, k, upper, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(tril, triangle, false)
USMPY_FUNCTION_OF(triu, triangle, true)

PyMethodDef usmpy_triangle_functions[] = {
    USMPY_ROW(tril),
    USMPY_ROW(triu),
    {0},
};
