/* Attributes of USMArray. */
#include "array.h"
#include "docstrings.h"
#include "hints.h"
#include "py/objects/objects.h"
#include "py/objects/queue_submit.h"

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_array *array = (usmpy_array *)self;
    return usmpy_int_tuple(array->ndim, usmpy_shape(array));
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_array *array = (usmpy_array *)self;
    int64_t shown[USM_MAX_NDIM];
    usm_layout_shown_strides(array->ndim, usmpy_shape(array), usmpy_strides(array), shown);
    return usmpy_int_tuple(array->ndim, shown);
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((usmpy_array *)self)->ndim);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((usmpy_array *)self)->size);
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_array *array = (usmpy_array *)self;
    return PyLong_FromLongLong(usm_dtype_nbytes(array->dtype, array->size));
}

static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(usm_dtype_table[((usmpy_array *)self)->dtype].itemsize);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((usmpy_array *)self)->state->dtypes[((usmpy_array *)self)->dtype]);
}

/* NumPy 2.4 reads this attribute of foreign arrays where it needs a dtype, and JAX calls NumPy for that. */
static PyObject *get_numpy_dtype(PyObject *self, void *unused)
{
    PyObject *dtype = get_dtype(self, unused);
    PyObject *result = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "dtype");
    Py_XDECREF(dtype);
    return result;
}

static PyObject *get_queue(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((usmpy_array *)self)->queue);
}

/* A marker that reads the memory: it ends after the writes so far, and fails as they do. */
static PyObject *get_event(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_array *array = (usmpy_array *)self;
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_access access = {array->alloc, USM_READ};
    return usmpy_submit(array->state, usmpy_queue_of(array->queue), &command, &access, 1, NULL, NULL, false);
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    usm_queue *queue = usmpy_queue_of(((usmpy_array *)self)->queue);
    return usmpy_device_wrap(((usmpy_array *)self)->state, queue->device, queue);
}

static PyObject *get_context(PyObject *self, void *unused)
{
    (void)unused;
    return usmpy_context_wrap(((usmpy_array *)self)->state,
                              usmpy_queue_of(((usmpy_array *)self)->queue)->context);
}

static PyObject *get_usm_type(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(usm_kind_name(((usmpy_array *)self)->alloc->kind));
}

static PyObject *get_data_ptr(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((usmpy_array *)self)->data);
}

/* The last two axes exchanged. The array has two axes at least. */
static PyObject *transposed(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    return usmpy_check_unpacked(array, "transposition") < 0
               ? NULL
               : (PyObject *)usmpy_array_swapped(array, array->ndim - 1, array->ndim - 2);
}

static PyObject *get_T(PyObject *self, void *unused)
{
    (void)unused;
    int ndim = ((usmpy_array *)self)->ndim;
    if (ndim != 2) {
        return PyErr_Format(
            PyExc_ValueError,
            "T needs 2 dimensions, the array has %d; use mT or permute_dims (array API standard, T)", ndim);
    }
    return transposed(self);
}

static PyObject *get_mT(PyObject *self, void *unused)
{
    (void)unused;
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

static PyObject *get_real(PyObject *self, void *unused)
{
    (void)unused;
    return part_of((usmpy_array *)self, 0);
}

static PyObject *get_imag(PyObject *self, void *unused)
{
    (void)unused;
    return part_of((usmpy_array *)self, 1);
}

static PyObject *get_array_priority(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyFloat_FromDouble(100.0);
}

/* Methods that arrays of other libraries have, as functions here. */
#define MISSING(name, call)                                             \
    {                                                                   \
#name, usmpy_hint_method, NULL, NULL, #name "\0use usmpy." call \
    }

PyGetSetDef usmpy_array_getset[] = {
    {"shape", get_shape, NULL, USMPY_DOC_USMArray_shape, NULL},
    {"strides", get_strides, NULL, USMPY_DOC_USMArray_strides, NULL},
    {"ndim", get_ndim, NULL, USMPY_DOC_USMArray_ndim, NULL},
    {"size", get_size, NULL, USMPY_DOC_USMArray_size, NULL},
    {"nbytes", get_nbytes, NULL, USMPY_DOC_USMArray_nbytes, NULL},
    {"itemsize", get_itemsize, NULL, USMPY_DOC_USMArray_itemsize, NULL},
    {"dtype", get_dtype, NULL, USMPY_DOC_USMArray_dtype, NULL},
    {"__numpy_dtype__", get_numpy_dtype, NULL, USMPY_DOC_USMArray___numpy_dtype__, NULL},
    {"device", get_device, NULL, USMPY_DOC_USMArray_device, NULL},
    {"queue", get_queue, NULL, USMPY_DOC_USMArray_queue, NULL},
    {"event", get_event, NULL, USMPY_DOC_USMArray_event, NULL},
    {"context", get_context, NULL, USMPY_DOC_USMArray_context, NULL},
    {"usm_type", get_usm_type, NULL, USMPY_DOC_USMArray_usm_type, NULL},
    {"shareable", usmpy_array_get_shareable, NULL, USMPY_DOC_USMArray_shareable, NULL},
    {"flags", usmpy_array_get_flags, NULL, USMPY_DOC_USMArray_flags, NULL},
    {"T", get_T, NULL, USMPY_DOC_USMArray_T, NULL},
    {"mT", get_mT, NULL, USMPY_DOC_USMArray_mT, NULL},
    {"real", get_real, NULL, USMPY_DOC_USMArray_real, NULL},
    {"imag", get_imag, NULL, USMPY_DOC_USMArray_imag, NULL},
    {"data_ptr", get_data_ptr, NULL, USMPY_DOC_USMArray_data_ptr, NULL},
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
    {0},
};
