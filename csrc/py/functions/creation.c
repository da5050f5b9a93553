/* Creation functions of the array API standard. */
#include "creation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/dlpack.h"
#include "py/objects/placement.h"
#include "py/wait.h"

#include <string.h>

/* Below this, setting bytes costs less than a submission. */
#define SMALL_BYTES 4096

int usmpy_parse_target(usmpy_state *state, PyObject *const *options, usmpy_array *like, usmpy_target *target)
{
    usmpy_deferred_poll();
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
    if (target->queue != NULL && !usmpy_given(options[3])) { /* inherited: as near as this device comes */
        target->kind = usmpy_kind_on(usmpy_queue_of(target->queue)->device, target->kind);
    }
    return target->queue == NULL ? -1 : 0;
}

static usm_dtype float_or(const usmpy_target *target)
{
    return target->dtype != USM_NO_DTYPE ? target->dtype
                                         : usmpy_default_float(usmpy_queue_of(target->queue)->device);
}

/* All bytes zero, packed types too. */
static int fill_zeros(usmpy_state *state, usmpy_array *array)
{
    if ((atomic_load_explicit(&array->alloc->flags, memory_order_relaxed) & USM_ALLOC_ZEROED) != 0 ||
        array->size == 0) {
        return 0;
    }
    const int64_t nbytes = usm_dtype_nbytes((usm_dtype)array->dtype, array->size), one = 1;
    if (nbytes <= SMALL_BYTES && array->alloc->place->device->type == USM_CPU &&
        usm_alloc_host_reads(array->alloc) && usm_alloc_is_clean(array->alloc)) {
        memset(array->data, 0, (size_t)nbytes); /* nobody else has seen the block */
        return 0;
    }
    const usm_view bytes = {array->alloc, array->data, USM_UINT8, 1, &nbytes, &one};
    const unsigned char zero = 0;
    usm_error error;
    usm_status status = usm_fill_submit(usmpy_queue_of(array->queue), &bytes, &zero, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

typedef enum content { UNSET, ZEROS, ONES } content;

/* The new array with its content, or NULL with an exception. Takes the reference. */
static PyObject *filled(usmpy_state *state, usmpy_array *array, content content)
{
    unsigned char one[USM_MAX_PATTERN];
    int status = 0;
    if (array == NULL) {
        return NULL;
    }
    if (content == ZEROS) {
        status = fill_zeros(state, array);
    } else if (content == ONES) {
        status = usmpy_scalar_to_element(state, Py_True, (usm_dtype)array->dtype, one);
        if (status == 0) {
            status = usmpy_array_fill(state, array, one);
        }
    }
    if (status < 0) {
        Py_CLEAR(array);
    }
    return (PyObject *)array;
}

static PyObject *make(usmpy_state *state, const usmpy_target *target, usm_dtype dtype, int ndim,
                      const int64_t *shape, char order, content content)
{
    return filled(
        state,
        usmpy_array_empty(state, target->queue, target->kind, dtype, ndim, shape, order, content == ZEROS),
        content);
}

static PyObject *make_shaped(PyObject *module, const usmpy_signature *signature, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames, content content)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[6];
    int64_t shape[USM_MAX_NDIM];
    usmpy_target target;
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    int ndim = usmpy_parse_shape(out[0], shape, "shape");
    int order = ndim < 0 ? -1 : usmpy_parse_order(out[5], "CF", 'C');
    if (order < 0 || usmpy_parse_target(state, out + 1, NULL, &target) < 0) {
        return NULL;
    }
    PyObject *array = make(state, &target, float_or(&target), ndim, shape, (char)order, content);
    Py_DECREF(target.queue);
    return array;
}

#define SHAPED_SIGNATURE(name)                                                               \
    {                                                                                        \
        name, 6, 1, 0, 1,                                                                    \
        {                                                                                    \
            USMPY_shape, USMPY_dtype, USMPY_device, USMPY_queue, USMPY_usm_type, USMPY_order \
        }                                                                                    \
    }

/* empty(n) and zeros(n) alone are worth a path of their own: default queue and dtype, one dimension. */
static PyObject *make_vector(PyObject *module, const usmpy_signature *signature, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames, content content)
{
    if (kwnames != NULL || nargs != 1 || !PyLong_CheckExact(args[0])) {
        return make_shaped(module, signature, args, nargs, kwnames, content);
    }
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_deferred_poll();
    int64_t length = PyLong_AsSsize_t(args[0]);
    PyObject *queue = length == -1 && PyErr_Occurred() ? NULL : usmpy_default_queue(state);
    if (queue != NULL) {
        const usm_device *device = usmpy_queue_of(queue)->device;
        const usmpy_target target = {.queue = queue, .kind = usmpy_kind_on(device, USM_DEVICE)};
        return make(state, &target, usmpy_default_float(device), 1, &length, 'C', content);
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Format(PyExc_ValueError, "shape is %R; at most 2**63 - 1 elements are allowed", args[0]);
    }
    return NULL;
}

static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = SHAPED_SIGNATURE("empty");
    return make_vector(module, &signature, args, nargs, kwnames, UNSET);
}

static PyObject *zeros(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = SHAPED_SIGNATURE("zeros");
    return make_vector(module, &signature, args, nargs, kwnames, ZEROS);
}

static PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = SHAPED_SIGNATURE("ones");
    return make_shaped(module, &signature, args, nargs, kwnames, ONES);
}

usmpy_array *usmpy_check_like(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed", function, USMPY_A(x));
        return NULL;
    }
    return (usmpy_array *)x;
}

usmpy_array *usmpy_make_like_unset(usmpy_state *state, usmpy_array *like, const usmpy_target *target,
                                   char order)
{
    usm_dtype dtype = target->dtype != USM_NO_DTYPE ? target->dtype : (usm_dtype)like->dtype;
    return usmpy_array_empty_like(state, like, target->queue, target->kind, dtype, order);
}

static PyObject *make_like(PyObject *module, const usmpy_signature *signature, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames, content content)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[6];
    usmpy_target target;
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *like = usmpy_check_like(state, out[0], signature->function);
    int order = like == NULL ? -1 : usmpy_parse_order(out[5], "CFAK", 'K');
    if (order < 0 || usmpy_parse_target(state, out + 1, like, &target) < 0) {
        return NULL;
    }
    PyObject *array = filled(state, usmpy_make_like_unset(state, like, &target, (char)order), content);
    Py_DECREF(target.queue);
    return array;
}

#define LIKE_SIGNATURE(name)                                                             \
    {                                                                                    \
        name, 6, 1, 1, 1,                                                                \
        {                                                                                \
            USMPY_x, USMPY_dtype, USMPY_device, USMPY_queue, USMPY_usm_type, USMPY_order \
        }                                                                                \
    }

static PyObject *empty_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = LIKE_SIGNATURE("empty_like");
    return make_like(module, &signature, args, nargs, kwnames, UNSET);
}

static PyObject *zeros_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = LIKE_SIGNATURE("zeros_like");
    return make_like(module, &signature, args, nargs, kwnames, ZEROS);
}

static PyObject *ones_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = LIKE_SIGNATURE("ones_like");
    return make_like(module, &signature, args, nargs, kwnames, ONES);
}

static int parse_count(PyObject *argument, const char *parameter, int64_t *count)
{
    if (!PyIndex_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "%s is %R; an int is allowed", parameter, argument);
        return -1;
    }
    *count = PyNumber_AsSsize_t(argument, NULL);
    if (*count == -1 && PyErr_Occurred()) {
        return -1;
    }
    *count = Py_MAX(*count, -PY_SSIZE_T_MAX); /* so that it has a negative */
    return 0;
}

static PyObject *eye(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"eye",
                                              8,
                                              2,
                                              2,
                                              1,
                                              {USMPY_n_rows, USMPY_n_cols, USMPY_k, USMPY_dtype, USMPY_device,
                                               USMPY_queue, USMPY_usm_type, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[8];
    int64_t shape[2], k = 0;
    usmpy_target target;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
        parse_count(out[0], "n_rows", &shape[0]) < 0) {
        return NULL;
    }
    shape[1] = shape[0];
    int order = usmpy_parse_order(out[7], "CF", 'C');
    if (order < 0 || (usmpy_given(out[1]) && parse_count(out[1], "n_cols", &shape[1]) < 0) ||
        (out[2] != NULL && parse_count(out[2], "k", &k) < 0) ||
        usmpy_parse_target(state, out + 3, NULL, &target) < 0) {
        return NULL;
    }
    usm_dtype dtype = float_or(&target);
    PyObject *array = make(state, &target, dtype, 2, shape, (char)order, ZEROS);
    unsigned char one[USM_MAX_PATTERN];
    /* The diagonal is a vector of its own, one row and one column from element to element. */
    int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
    if (array != NULL && row < shape[0] && column < shape[1]) {
        usmpy_array *all = (usmpy_array *)array;
        int64_t down = order == 'C' ? shape[1] : 1, right = order == 'C' ? 1 : shape[0];
        int64_t length = Py_MIN(shape[0] - row, shape[1] - column), stride = down + right;
        char *data = all->data + (row * down + column * right) * usm_dtype_table[dtype].itemsize;
        usmpy_array *diagonal = usmpy_check_unpacked(all, "eye()") < 0
                                    ? NULL
                                    : usmpy_array_view(state, all, data, 1, &length, &stride);
        if (diagonal == NULL || usmpy_scalar_to_element(state, Py_True, dtype, one) < 0 ||
            usmpy_array_fill(state, diagonal, one) < 0) {
            Py_CLEAR(array);
        }
        Py_XDECREF(diagonal);
    }
    Py_DECREF(target.queue);
    return array;
}

PyMethodDef usmpy_creation_functions[] = {
    USMPY_METHOD("empty", empty, USMPY_DOC_empty),
    USMPY_METHOD("zeros", zeros, USMPY_DOC_zeros),
    USMPY_METHOD("ones", ones, USMPY_DOC_ones),
    USMPY_METHOD("empty_like", empty_like, USMPY_DOC_empty_like),
    USMPY_METHOD("zeros_like", zeros_like, USMPY_DOC_zeros_like),
    USMPY_METHOD("ones_like", ones_like, USMPY_DOC_ones_like),
    USMPY_METHOD("eye", eye, USMPY_DOC_eye),
    {0},
};
