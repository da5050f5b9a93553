/* Manipulation functions of the array API standard: views where that is possible, else one copy on
 * the array's queue. */
#include "manipulation.h"
#include "args.h"
#include "array.h"
#include "deferred.h"
#include "errors.h"
#include "placement.h"

#include <string.h>

usmpy_array *usmpy_check_argument(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is a %s; a USMArray is allowed (asarray makes one)", function,
                     Py_TYPE(x)->tp_name);
        return NULL;
    }
    if (usmpy_check_unpacked((usmpy_array *)x, function) < 0) {
        return NULL;
    }
    return (usmpy_array *)x;
}

/* Resolves one -1 and checks the number of elements. 0 or -1. */
static int complete_shape(usmpy_array *array, int ndim, int64_t *shape)
{
    int open = -1;
    int64_t known = 1;
    char text[200];
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == -1 && open < 0) {
            open = i;
        } else if (shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "shape is %s; lengths of 0 or more and at most one -1 are allowed",
                         usm_layout_text(ndim, shape, text, sizeof text));
            return -1;
        } else if (__builtin_mul_overflow(known, shape[i], &known)) {
            known = -1;
            break;
        }
    }
    if (open >= 0 && known > 0 && array->size % known == 0) {
        shape[open] = array->size / known;
        known = array->size;
    } else if (open >= 0) {
        known = -1;
    }
    if (known != array->size) {
        PyErr_Format(PyExc_ValueError, "an array of %lld elements cannot be reshaped to %s",
                     (long long)array->size, usm_layout_text(ndim, shape, text, sizeof text));
        return -1;
    }
    return 0;
}

static PyObject *reshape(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"reshape", 3, 2, 1, 2, {USMPY_x, USMPY_shape, USMPY_copy}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "reshape");
    int copy = usmpy_given(out[2]) ? usmpy_bool(out[2], -1, "reshape", "copy") : -1;
    if (array == NULL || (copy < 0 && PyErr_Occurred())) {
        return NULL;
    }
    usmpy_deferred_poll();
    int ndim = usmpy_parse_shape(out[1], shape, "shape");
    if (ndim < 0 || complete_shape(array, ndim, shape) < 0) {
        return NULL;
    }
    bool possible =
        usm_layout_reshape(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides);
    if (possible && copy != 1) {
        return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
    }
    if (copy == 0) {
        PyErr_SetString(PyExc_ValueError, "copy=False, but these strides cannot be reshaped without a copy");
        return NULL;
    }
    usmpy_array *compact = usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                                 (usm_dtype)array->dtype, 'C');
    if (compact == NULL) {
        return NULL;
    }
    usm_layout_compact(ndim, shape, 'C', strides);
    PyObject *result = (PyObject *)usmpy_array_view(state, compact, compact->data, ndim, shape, strides);
    Py_DECREF(compact);
    return result;
}

static PyObject *permute_dims(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"permute_dims", 2, 2, 1, 2, {USMPY_x, USMPY_axes}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "permute_dims");
    if (array == NULL) {
        return NULL;
    }
    int n = usmpy_parse_axes(out[1], array->ndim, axes, "axes");
    if (n < 0) {
        return NULL;
    }
    if (n != array->ndim) {
        return PyErr_Format(PyExc_ValueError,
                            "axes has %d entries; the array has %d dimensions, each must occur once", n,
                            array->ndim);
    }
    for (int i = 0; i < n; i++) {
        shape[i] = usmpy_shape(array)[axes[i]];
        strides[i] = usmpy_strides(array)[axes[i]];
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, n, shape, strides);
}

static PyObject *squeeze(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"squeeze", 2, 2, 1, 2, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM], ndim = 0;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t gone = 0;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "squeeze");
    int n = array == NULL ? -1 : usmpy_parse_axes(out[1], array->ndim, axes, "axis");
    for (int i = 0; i < n; i++) {
        if (usmpy_shape(array)[axes[i]] != 1) {
            return PyErr_Format(PyExc_ValueError,
                                "axis %d has length %lld; only axes of length 1 can be squeezed", axes[i],
                                (long long)usmpy_shape(array)[axes[i]]);
        }
        gone |= UINT64_C(1) << axes[i];
    }
    if (n < 0) {
        return NULL;
    }
    for (int i = 0; i < array->ndim; i++) {
        if ((gone >> i & 1) == 0) {
            shape[ndim] = usmpy_shape(array)[i];
            strides[ndim++] = usmpy_strides(array)[i];
        }
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
}

static PyObject *expand_dims(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"expand_dims", 2, 2, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "expand_dims");
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim == USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "the array has %d dimensions already, the most that is allowed",
                            USM_MAX_NDIM);
    }
    int axis = out[1] == NULL ? 0 : usmpy_parse_axis(out[1], array->ndim + 1, "axis");
    if (axis < 0) {
        return NULL;
    }
    for (int i = 0, from = 0; i <= array->ndim; i++) {
        shape[i] = i == axis ? 1 : usmpy_shape(array)[from];
        strides[i] = i == axis ? 1 : usmpy_strides(array)[from];
        from += i != axis;
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, array->ndim + 1, shape, strides);
}

static PyObject *flip(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"flip", 2, 1, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM];
    int64_t strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "flip");
    if (array == NULL) {
        return NULL;
    }
    int n = array->ndim;
    for (int i = 0; i < n; i++) {
        axes[i] = i;
    }
    if (usmpy_given(out[1])) {
        n = usmpy_parse_axes(out[1], array->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
    }
    char *data = array->data;
    memcpy(strides, usmpy_strides(array), array->ndim * sizeof *strides);
    for (int i = 0; i < n; i++) {
        int64_t length = usmpy_shape(array)[axes[i]], stride = strides[axes[i]];
        if (array->size > 0) { /* else there is no last element to begin with */
            data += (length - 1) * stride * usm_dtype_table[array->dtype].itemsize;
        }
        strides[axes[i]] = -stride;
    }
    return (PyObject *)usmpy_array_view(state, array, data, array->ndim, usmpy_shape(array), strides);
}

static PyObject *broadcast_to(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"broadcast_to", 2, 2, 1, 2, {USMPY_x, USMPY_shape}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], size;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "broadcast_to");
    int ndim = array == NULL ? -1 : usmpy_parse_shape(out[1], shape, "shape");
    if (ndim < 0) {
        return NULL;
    }
    usm_error error;
    usm_status status = usm_layout_size(ndim, shape, usm_dtype_table[array->dtype].itemsize, &size, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    if (!usm_layout_broadcast(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides)) {
        char from[200], to[200];
        return PyErr_Format(PyExc_ValueError, "an array of shape %s does not broadcast to %s",
                            usm_layout_text(array->ndim, usmpy_shape(array), from, sizeof from),
                            usm_layout_text(ndim, shape, to, sizeof to));
    }
    usmpy_array *view = usmpy_array_view(state, array, array->data, ndim, shape, strides);
    if (view != NULL && usm_layout_repeats(ndim, usmpy_shape(view), usmpy_strides(view))) {
        view->flags &=
            (uint8_t)~USMPY_WRITABLE; /* one element in many places: writing would depend on the order */
    }
    return (PyObject *)view;
}

static PyObject *astype(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"astype", 4, 2,
                                              2,        2, {USMPY_x, USMPY_dtype, USMPY_copy, USMPY_device}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    usm_dtype dtype;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "astype");
    int copy = usmpy_bool(out[2], 1, "astype", "copy");
    if (array == NULL || copy < 0 || usmpy_dtype_convert(state, out[1], &dtype) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *queue =
        usmpy_given(out[3]) ? usmpy_queue_from(state, out[3], "device") : Py_NewRef(array->queue);
    PyObject *result = queue == NULL ? NULL : usmpy_cast(state, array, dtype, copy, queue);
    Py_XDECREF(queue);
    return result;
}

PyMethodDef usmpy_manipulation_functions[] = {
    USMPY_METHOD(
        "reshape", reshape,
        "reshape(x, /, shape, *, copy=None)\n--\n\n"
        "The elements of x, in row-major order, in another shape (array API standard 2024.12,\n"
        "reshape).\n\n"
        "shape: an int or a sequence of ints, lengths in elements; one may be -1 and is computed. The\n"
        "result is a view where the strides allow it: copy=False insists on that, copy=True always\n"
        "copies, copy=None copies only if it must.\n\n"
        "Raises ValueError for a shape of another size and where copy=False and a copy is needed,\n"
        "TypeError for arguments of a wrong type and packed types, MemoryError when memory runs out."),
    USMPY_METHOD(
        "permute_dims", permute_dims,
        "permute_dims(x, /, axes)\n--\n\n"
        "View with axis axes[i] of x as axis i (array API standard 2024.12, permute_dims).\n\n"
        "axes: a tuple or list of ints, in which each axis occurs once; negative ones count from the\n"
        "last.\n\n"
        "Raises ValueError where an axis is missing or repeated, IndexError for an axis that x lacks,\n"
        "TypeError for arguments of a wrong type."),
    USMPY_METHOD(
        "squeeze", squeeze,
        "squeeze(x, /, axis)\n--\n\n"
        "View without the named axes, which must have length 1 (array API standard 2024.12, squeeze).\n\n"
        "x: a USMArray. axis: an int, or a tuple or list of ints; negative ones count from the last.\n\n"
        "Raises ValueError for an axis of another length and for repeated ones, IndexError for an\n"
        "axis that x lacks, TypeError for arguments of a wrong type."),
    USMPY_METHOD("expand_dims", expand_dims,
                 "expand_dims(x, /, axis=0)\n--\n\n"
                 "View with a new axis of length 1 (array API standard 2024.12, expand_dims).\n\n"
                 "x: a USMArray. axis: the place of the new axis in the result, an int; negative ones count\n"
                 "from the last.\n\n"
                 "Raises IndexError for a place that the result lacks, ValueError above 64 dimensions,\n"
                 "TypeError for arguments of a wrong type."),
    USMPY_METHOD("flip", flip,
                 "flip(x, /, *, axis=None)\n--\n\n"
                 "View with the order of elements reversed (array API standard 2024.12, flip).\n\n"
                 "x: a USMArray. axis: an int, a tuple or list of ints, or None for all axes.\n\n"
                 "Raises IndexError for an axis that x lacks, ValueError for repeated ones, TypeError for\n"
                 "arguments of a wrong type."),
    USMPY_METHOD("broadcast_to", broadcast_to,
                 "broadcast_to(x, /, shape)\n--\n\n"
                 "View of x in a larger shape (array API standard 2024.12, broadcast_to).\n\n"
                 "shape: an int or a sequence of ints, lengths in elements. The view is read-only where an\n"
                 "element appears more than once.\n\n"
                 "Raises ValueError for a shape that x does not broadcast to, TypeError for arguments of a\n"
                 "wrong type."),
    USMPY_METHOD(
        "astype", astype,
        "astype(x, dtype, /, *, copy=True, device=None)\n--\n\n"
        "The elements of x cast to another type (array API standard 2024.12, astype).\n\n"
        "dtype: a DType, its name, a Python or NumPy type. copy=False gives x itself where nothing\n"
        "changes. device: where the result is to be; None is x's queue. Floating point to integer\n"
        "rounds towards zero, saturates, and makes 0 of NaN.\n\n"
        "Raises TypeError for complex to real, for types that are only stored and exchanged and for\n"
        "arguments of a wrong type, MemoryError when memory runs out, and what Device() raises."),
    USMPY_METHOD(
        "concat", usmpy_concat,
        "concat(arrays, /, *, axis=0)\n--\n\n"
        "Join arrays along an axis, on the queue that they share (array API standard 2024.12,\n"
        "concat).\n\n"
        "arrays: USMArrays, at least one. axis: an int; None joins them as vectors. The result has\n"
        "the promoted dtype and the widest usm_type (device < shared < host).\n\n"
        "Raises ValueError for shapes that differ elsewhere and for no arrays, IndexError for an axis\n"
        "that they lack, TypeError where there is no common dtype, ExecutionPlacementError where\n"
        "there is no common queue, MemoryError when memory runs out."),
    USMPY_METHOD(
        "stack", usmpy_stack,
        "stack(arrays, /, *, axis=0)\n--\n\n"
        "Join arrays of one shape along a new axis, on the queue that they share (array API standard\n"
        "2024.12, stack).\n\n"
        "arrays: USMArrays, at least one. axis: the place of the new axis in the result, an int.\n"
        "dtype and usm_type are as in concat.\n\n"
        "Raises ValueError for shapes that differ and for no arrays, IndexError for a place that the\n"
        "result lacks, TypeError where there is no common dtype, ExecutionPlacementError where there\n"
        "is no common queue, MemoryError when memory runs out."),
    USMPY_METHOD(
        "copyto", usmpy_copyto,
        "copyto(dst, src, /, *, casting='same_kind')\n--\n\n"
        "dst[...] = src, with broadcasting, between any two places.\n\n"
        "dst: a USMArray, or another library's writable array. src: a USMArray, any library's array,\n"
        "a number or nested sequences. casting: 'no', 'safe', 'same_kind' or 'unsafe'. Runs in dst's\n"
        "queue; memory of other libraries is finished with on return.\n\n"
        "Raises ValueError for a read-only dst, for shapes that do not broadcast and for another\n"
        "casting, TypeError where casting forbids it and for what is no array, BufferError for memory\n"
        "that cannot be exchanged, MemoryError when memory runs out."),
    USMPY_METHOD(
        "explain_copy", usmpy_explain_copy,
        "explain_copy(dst, src, /, *, casting='same_kind')\n--\n\n"
        "How copyto(dst, src) would go, as text, a line for each fact; nothing is copied.\n\n"
        "Axes after merging, memory and strides (in bytes) of both sides, memory_connection, the path,\n"
        "pieces, runs of neighbouring elements, buffers with their bytes, and each step: driver copy or\n"
        "kernel, bytes, cast, queue; last, the events that it would wait for now. The copy follows the\n"
        "same plan. dst, src and casting are as in copyto.\n\n"
        "Raises what copyto raises for its arguments."),
    {0},
};
