/* empty, zeros, ones, their *_like functions and eye. */
#include "creation.h"

#include "docstrings.h"
#include "py/args.h"

/* Below this, setting bytes costs less than a submission. */
#define SMALL_BYTES 4096

int usmpy_parse_target(usmpy_state *state, PyObject *const *options, usmpy_array *like, usmpy_target *target)
{
    target->dtype = USM_NO_DTYPE;
    if (usmpy_given(options[0]) && usmpy_dtype_convert(state, options[0], &target->dtype) < 0) {
        return -1;
    }
    int kind = usmpy_kind(options[3], like == NULL ? USM_DEVICE : like->alloc->kind);
    if (kind < 0) {
        return -1;
    }
    target->kind = (usm_kind)kind;
    if (like != NULL && !usmpy_given(options[1]) && !usmpy_given(options[2])) {
        target->queue = Py_NewRef(like->queue);
    } else {
        target->queue = usmpy_placement(state, options[1], options[2]);
    }
    if (target->queue != NULL &&
        !usmpy_given(options[3])) { /* inherited: the nearest kind that this device has */
        target->kind = usmpy_kind_on(usmpy_queue_of(target->queue)->device, target->kind);
    }
    return target->queue == NULL ? -1 : 0;
}

usm_dtype usmpy_target_float(const usmpy_target *target)
{
    return target->dtype != USM_NO_DTYPE ? target->dtype
                                         : usmpy_default_float(usmpy_queue_of(target->queue)->device);
}

/* Sets all bytes to 0, of packed types too. 0 or -1. */
static int fill_zeros(usmpy_array *array)
{
    if (usm_alloc_has(array->alloc, USM_ALLOC_ZEROED) || array->size == 0) {
        return 0;
    }
    const int64_t nbytes = usm_dtype_nbytes(array->dtype, array->size), one = 1;
    if (nbytes <= SMALL_BYTES && array->alloc->place->device->type == USM_CPU &&
        usm_alloc_host_reads(array->alloc) && usm_alloc_is_clean(array->alloc)) {
        memset(array->data, 0, (size_t)nbytes); /* nobody else has seen the block */
        return 0;
    }
    const usm_view bytes = {array->alloc, array->data, USM_UINT8, 1, &nbytes, &one};
    const unsigned char zero = 0;
    usm_error error;
    return usmpy_check(array->state,
                       usm_fill_submit(usmpy_queue_of(array->queue), &bytes, &zero, NULL, &error), &error);
}

static int fill_ones(usmpy_array *array)
{
    unsigned char one[USM_MAX_PATTERN];
    return usmpy_scalar_to_element(Py_True, array->dtype, one) < 0 ? -1 : usmpy_array_fill(array, one);
}

typedef enum content { UNSET, ZEROS, ONES } content;

/* The new array with its content, or NULL with an exception. Takes the reference. */
static PyObject *filled(usmpy_array *array, content content)
{
    if (array != NULL && content != UNSET && (content == ZEROS ? fill_zeros(array) : fill_ones(array)) < 0) {
        Py_CLEAR(array);
    }
    return (PyObject *)array;
}

usmpy_array *usmpy_make_shaped(usmpy_state *state, PyObject *shape_argument, PyObject *const *options,
                               PyObject *order_argument, bool want_zeros)
{
    int64_t shape[USM_MAX_NDIM];
    usmpy_target target;
    int ndim = usmpy_parse_shape(shape_argument, shape, "shape");
    int order = ndim < 0 ? -1 : usmpy_parse_order(order_argument, "CF", 'C');
    if (order < 0 || usmpy_parse_target(state, options, NULL, &target) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_empty(state, target.queue, target.kind, usmpy_target_float(&target),
                                           ndim, shape, (char)order, want_zeros);
    Py_DECREF(target.queue);
    return array;
}

/* arguments: shape, dtype, device, queue, usm_type, order. */
static PyObject *make_shaped(usmpy_state *state, const char *Py_UNUSED(function), PyObject *const *arguments,
                             content content)
{
    return filled(usmpy_make_shaped(state, arguments[0], arguments + 1, arguments[5], content == ZEROS),
                  content);
}

USMPY_FUNCTION_OF(empty, make_shaped, UNSET)
USMPY_FUNCTION_OF(zeros, make_shaped, ZEROS)
USMPY_FUNCTION_OF(ones, make_shaped, ONES)

usmpy_array *usmpy_make_like(usmpy_state *state, const char *function, PyObject *const *arguments, int first)
{
    usmpy_target target;
    usmpy_array *like = usmpy_check_array(state, arguments[0], function);
    int order = like == NULL ? -1 : usmpy_parse_order(arguments[first + 4], "CFAK", 'K');
    if (order < 0 || usmpy_parse_target(state, arguments + first, like, &target) < 0) {
        return NULL;
    }
    usm_dtype dtype = target.dtype != USM_NO_DTYPE ? target.dtype : like->dtype;
    usmpy_array *array = usmpy_array_empty_like(like, target.queue, target.kind, dtype, (char)order);
    Py_DECREF(target.queue);
    return array;
}

/* arguments: x, dtype, device, queue, usm_type, order. */
static PyObject *make_like(usmpy_state *state, const char *function, PyObject *const *arguments,
                           content content)
{
    return filled(usmpy_make_like(state, function, arguments, 1), content);
}

USMPY_FUNCTION_OF(empty_like, make_like, UNSET)
USMPY_FUNCTION_OF(zeros_like, make_like, ZEROS)
USMPY_FUNCTION_OF(ones_like, make_like, ONES)

/* Ones from row `row` and column `column` on, down to the right. The array is compact and has two axes. */
static int fill_diagonal(usmpy_array *array, int64_t row, int64_t column)
{
    const int64_t *shape = usmpy_shape(array), *strides = usmpy_strides(array);
    int64_t length = Py_MIN(shape[0] - row, shape[1] - column), stride = strides[0] + strides[1];
    if (length <= 0) {
        return 0;
    }
    if (usmpy_check_unpacked(array, "eye()") < 0) {
        return -1;
    }
    char *data =
        array->data + (row * strides[0] + column * strides[1]) * usm_dtype_table[array->dtype].itemsize;
    usmpy_array *diagonal = usmpy_array_view(array, data, 1, &length, &stride);
    int status = diagonal == NULL ? -1 : fill_ones(diagonal);
    Py_XDECREF(diagonal);
    return status;
}

/* arguments: n_rows, n_cols, k, dtype, device, queue, usm_type, order. */
static PyObject *eye(usmpy_state *state, PyObject *const *arguments)
{
    int64_t shape[2], k = 0;
    usmpy_target target;
    if (usmpy_parse_int(arguments[0], "n_rows", &shape[0]) < 0) {
        return NULL;
    }
    shape[1] = shape[0];
    int order = usmpy_parse_order(arguments[7], "CF", 'C');
    if (order < 0 || (usmpy_given(arguments[1]) && usmpy_parse_int(arguments[1], "n_cols", &shape[1]) < 0) ||
        (arguments[2] != NULL && usmpy_parse_int(arguments[2], "k", &k) < 0) ||
        usmpy_parse_target(state, arguments + 3, NULL, &target) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_empty(state, target.queue, target.kind, usmpy_target_float(&target), 2,
                                           shape, (char)order, true);
    Py_DECREF(target.queue);
    if (array != NULL && (fill_zeros(array) < 0 ||
                          fill_diagonal(array, k < 0 ? -Py_MAX(k, -INT64_MAX) : 0, k > 0 ? k : 0) < 0)) {
        Py_CLEAR(array);
    }
    return (PyObject *)array;
}
USMPY_FUNCTION(eye)

PyMethodDef usmpy_creation_functions[] = {
    USMPY_ROW(empty),      USMPY_ROW(zeros),     USMPY_ROW(ones), USMPY_ROW(empty_like),
    USMPY_ROW(zeros_like), USMPY_ROW(ones_like), USMPY_ROW(eye),  {0},
};
