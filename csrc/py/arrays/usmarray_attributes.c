/* Attributes of USMArray. */
#include "array.h"
#include "docstrings.h"
#include "hints.h"
#include "py/objects/queue_submit.h"

static PyObject *get_strides(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    int64_t shown[USM_MAX_NDIM];
    usm_layout_shown_strides(array->ndim, usmpy_shape(array), usmpy_strides(array), shown);
    return usmpy_int_tuple(array->ndim, shown);
}

/* A marker that reads the memory: it ends after the writes so far, and fails as they do. */
static PyObject *get_event(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    const usm_access access = {array->alloc, USM_READ};
    return usmpy_submit(array->state, usmpy_queue_of(array->queue), USM_MARKER, &access, 1, NULL, NULL,
                        false);
}

static PyObject *get_device(PyObject *self, void *Py_UNUSED(unused))
{
    usm_queue *queue = usmpy_queue_of(((usmpy_array *)self)->queue);
    return usmpy_device_wrap(((usmpy_array *)self)->state, queue->device, queue);
}

/* The last two axes exchanged. The array has two axes at least. */
static PyObject *transposed(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    return usmpy_check_unpacked(array, "transposition") < 0
               ? NULL
               : (PyObject *)usmpy_array_swapped(array, array->ndim - 1, array->ndim - 2);
}

static PyObject *get_T(PyObject *self, void *Py_UNUSED(unused))
{
    int ndim = ((usmpy_array *)self)->ndim;
    if (ndim != 2) {
        return PyErr_Format(
            PyExc_ValueError,
            "T needs 2 dimensions, the array has %d; use mT or permute_dims (array API standard, T)", ndim);
    }
    return transposed(self);
}

static PyObject *get_mT(PyObject *self, void *Py_UNUSED(unused))
{
    int ndim = ((usmpy_array *)self)->ndim;
    if (ndim < 2) {
        return PyErr_Format(PyExc_ValueError, "mT needs at least 2 dimensions, the array has %d", ndim);
    }
    return transposed(self);
}

/* One half of each complex number, as a view; of other types the array itself, or zeros. */
static PyObject *part_of(usmpy_array *array, int part)
{
    static const uint8_t halves[USM_COMPUTED_DTYPES] = {
        [USM_COMPLEX64] = USM_FLOAT32, [USM_COMPLEX128] = USM_FLOAT64};
    int64_t strides[USM_MAX_NDIM];
    if (array->dtype >= USM_COMPUTED_DTYPES) {
        return PyErr_Format(PyExc_TypeError,
                            "dtype %s is only stored and exchanged; it has no real and imaginary part",
                            usm_dtype_table[array->dtype].name);
    }
    if (halves[array->dtype] == 0) {
        if (part == 0) {
            return Py_NewRef(array);
        }
        const unsigned char zero[USM_MAX_PATTERN] = {0};
        usmpy_array *zeros =
            usmpy_array_empty_like(array, array->queue, array->alloc->kind, array->dtype, 'K');
        if (zeros != NULL && usmpy_array_fill(zeros, zero) < 0) {
            Py_CLEAR(zeros);
        }
        return (PyObject *)zeros;
    }
    for (int i = 0; i < array->ndim; i++) {
        strides[i] = 2 * usmpy_strides(array)[i];
    }
    usm_dtype half = halves[array->dtype];
    char *data = array->data == NULL ? NULL : array->data + part * usm_dtype_table[half].itemsize;
    usmpy_array *view = usmpy_array_view(array, data, array->ndim, usmpy_shape(array), strides);
    if (view != NULL) {
        view->dtype = (uint8_t)half;
    }
    return (PyObject *)view;
}

/*
 * Attributes that are one expression. NumPy 2.4 reads __numpy_dtype__ of foreign arrays where it needs a
 * dtype, and JAX calls NumPy for that.
 */
#define ATTRIBUTES(EACH)                                                                                   \
    EACH(shape, usmpy_int_tuple(array->ndim, usmpy_shape(array)))                                          \
    EACH(ndim, PyLong_FromLong(array->ndim))                                                               \
    EACH(size, PyLong_FromLongLong(array->size))                                                           \
    EACH(nbytes, PyLong_FromLongLong(usm_dtype_nbytes(array->dtype, array->size)))                         \
    EACH(itemsize, PyLong_FromLong(usm_dtype_table[array->dtype].itemsize))                                \
    EACH(dtype, Py_NewRef(usmpy_dtype_object(array->state, array->dtype)))                                 \
    EACH(__numpy_dtype__, PyObject_GetAttrString(usmpy_dtype_object(array->state, array->dtype), "dtype")) \
    EACH(queue, Py_NewRef(array->queue))                                                                   \
    EACH(context, usmpy_context_wrap(array->state, usmpy_queue_of(array->queue)->context))                 \
    EACH(usm_type, PyUnicode_FromString(usm_kind_name(array->alloc->kind)))                                \
    EACH(real, part_of(array, 0))                                                                          \
    EACH(imag, part_of(array, 1))                                                                          \
    EACH(data_ptr, PyLong_FromVoidPtr(array->data))
#define ATTRIBUTE(name, value)                                           \
    static PyObject *get_##name(PyObject *self, void *Py_UNUSED(unused)) \
    {                                                                    \
        usmpy_array *array = (usmpy_array *)self;                        \
        return value;                                                    \
    }
ATTRIBUTES(ATTRIBUTE)

USMPY_GETTER(array_priority, PyFloat_FromDouble(100.0))

/* Methods that arrays of other libraries have, as functions here. */
#define MISSING(name, call)                                             \
    {                                                                   \
#name, usmpy_hint_method, NULL, NULL, #name "\0use usmpy." call \
    }

#define ROW(name, value) {#name, get_##name, NULL, USMPY_DOC_USMArray_##name, NULL},
PyGetSetDef usmpy_array_getset[] = {
    {"strides", get_strides, NULL, USMPY_DOC_USMArray_strides, NULL},
    {"device", get_device, NULL, USMPY_DOC_USMArray_device, NULL},
    {"event", get_event, NULL, USMPY_DOC_USMArray_event, NULL},
    {"shareable", usmpy_array_get_shareable, NULL, USMPY_DOC_USMArray_shareable, NULL},
    {"flags", usmpy_array_get_flags, NULL, USMPY_DOC_USMArray_flags, NULL},
    {"T", get_T, NULL, USMPY_DOC_USMArray_T, NULL},
    {"mT", get_mT, NULL, USMPY_DOC_USMArray_mT, NULL},
    {"__array_priority__", get_array_priority, NULL, USMPY_DOC_USMArray___array_priority__, NULL},
    {"__array_interface__", usmpy_array_array_interface, NULL, USMPY_DOC_USMArray___array_interface__, NULL},
    {"__cuda_array_interface__", usmpy_array_cuda_interface, NULL,
     USMPY_DOC_USMArray___cuda_array_interface__, NULL},
    {"__sycl_usm_array_interface__", usmpy_array_sycl_interface, NULL,
     USMPY_DOC_USMArray___sycl_usm_array_interface__, NULL},
    MISSING(sort, "sort(x, axis=...)"),
    MISSING(dot, "matmul(x, y)"),
    MISSING(cumsum, "cumulative_sum(x, axis=...)"),
    MISSING(cumprod, "cumulative_prod(x, axis=...)"),
    MISSING(round, "round(x)"),
    MISSING(conj, "conj(x)"),
    ATTRIBUTES(ROW){0},
};
