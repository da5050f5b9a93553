/* Arrays as blocks of bytes and back, for pickles (usmpy/_processes/pickles.py). */
#include "dlpack.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/keep.h"

/* Bytes in memory that `base` keeps alive, from `data` on. */
static usmpy_array *block_of(usmpy_array *base, char *data, int64_t nbytes)
{
    const int64_t stride = 1;
    usmpy_array *bytes = usmpy_array_view(base, data, 1, &nbytes, &stride);
    if (bytes != NULL) {
        bytes->dtype = USM_UINT8;
    }
    return bytes;
}

/* The elements of an array in one block that the host reads, after all work on them. */
static PyObject *to_bytes(usmpy_state *state, PyObject *const *arguments)
{
    usmpy_array *array = usmpy_check_array(state, arguments[0], "_to_bytes");
    usmpy_array *block = array == NULL ? NULL : usmpy_array_readable_block(array), *bytes = NULL;
    if (block != NULL) {
        bytes = block_of(block, block->data, usm_dtype_nbytes(block->dtype, block->size));
        Py_DECREF(block);
    }
    return (PyObject *)bytes;
}

/*
 * The USMArray whose memory a buffer is, borrowed. NULL for other exporters, and for memory of another kind:
 * the copy that was made of an array of kind "device" does not become one.
 */
static usmpy_array *exporter(usmpy_state *state, PyObject *object, const Py_buffer *view, int kind)
{
    PyObject *owner = PyMemoryView_Check(object) ? PyMemoryView_GET_BUFFER(object)->obj : view->obj;
    usmpy_array *array = owner != NULL && usmpy_is_array(state, owner) ? (usmpy_array *)owner : NULL;
    return array != NULL && array->alloc->kind == kind ? array : NULL;
}

/* The memory of a contiguous buffer, on the host; memory of an array of this kind stays that array's. */
static PyObject *adopt_bytes(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *object = arguments[0];
    Py_buffer view;
    usm_keep *keep = NULL;
    int kind = usmpy_kind(arguments[1], USM_DEVICE);
    if (kind < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(object, &view, PyBUF_ANY_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        PyErr_Clear(); /* a read-only buffer makes a read-only array */
        if (PyObject_GetBuffer(object, &view, PyBUF_ANY_CONTIGUOUS) < 0) {
            return NULL;
        }
    }
    usmpy_array *base = exporter(state, object, &view, kind), *bytes;
    if (base != NULL) {
        bytes = block_of(base, view.buf, view.len);
        if (bytes != NULL && view.readonly) {
            bytes->flags &= (uint8_t)~USMPY_WRITABLE;
        }
        PyBuffer_Release(&view);
        return (PyObject *)bytes;
    }
    if (usmpy_keep_buffer(&keep, &view) < 0) {
        return NULL;
    }
    view.format = NULL;
    view.itemsize = view.ndim = 1;
    view.shape = &view.len;
    view.strides = view.suboffsets = NULL;
    bytes = usmpy_array_over_buffer(state, &view, (usm_kind)kind, keep);
    if (bytes == NULL) {
        usmpy_keep_drop(keep);
    }
    return (PyObject *)bytes;
}

/* A block of bytes as elements of a type, shape and order that fill it. */
static PyObject *of_bytes(usmpy_state *state, PyObject *const *arguments)
{
    usm_dtype dtype;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], size;
    usm_error error;
    if (usmpy_dtype_convert(state, arguments[1], &dtype) < 0) {
        return NULL;
    }
    usmpy_array *bytes = usmpy_check_array(state, arguments[0], "_of_bytes");
    int ndim = bytes == NULL ? -1 : usmpy_parse_shape(arguments[2], shape, "shape");
    int order = ndim < 0 ? -1 : usmpy_parse_order(arguments[3], "CF", 'C');
    if (order < 0 ||
        usmpy_check(state, usm_layout_size(ndim, shape, usm_dtype_table[dtype].itemsize, &size, &error),
                    &error) < 0) {
        return NULL;
    }
    if (usm_dtype_nbytes(dtype, size) != bytes->size) {
        char text[200];
        return PyErr_Format(PyExc_ValueError, "the buffer has %lld bytes; shape %s of %s has %lld",
                            (long long)bytes->size, usm_layout_text(ndim, shape, text, sizeof text),
                            usm_dtype_table[dtype].name, (long long)usm_dtype_nbytes(dtype, size));
    }
    usm_layout_compact(ndim, shape, (char)order, strides);
    usmpy_array *array = usmpy_array_view(bytes, bytes->data, ndim, shape, strides);
    if (array != NULL) {
        array->dtype = (uint8_t)dtype;
    }
    return (PyObject *)array;
}

USMPY_ENTRY(_to_bytes, to_bytes(state, arguments))
USMPY_ENTRY(_adopt_bytes, adopt_bytes(state, arguments))
USMPY_ENTRY(_of_bytes, of_bytes(state, arguments))

PyMethodDef usmpy_bytes_functions[] = {
    USMPY_ROW(_to_bytes),
    USMPY_ROW(_adopt_bytes),
    USMPY_ROW(_of_bytes),
    {0},
};
