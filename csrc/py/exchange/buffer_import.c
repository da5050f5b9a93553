/* Imports objects with the buffer protocol as arrays, without a copy. */
#include "dlpack.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/keep.h"
#include "py/objects/placement.h"
#include "py/objects/trace.h"

#include <string.h>

/* The bytes of an element of one format code whose size is the same everywhere; 0 for any other code. */
static Py_ssize_t letter_size(char letter)
{
    static const char *const letters[] = {"?bB", "hHe", "iIf", "qQd"}; /* of 1, 2, 4 and 8 bytes */
    for (int i = 0; i < 4; i++) {
        if (strchr(letters[i], letter) != NULL) {
            return 1 << i;
        }
    }
    return 0;
}

/*
 * The dtype of one format code of the struct module, in native or little-endian order; USM_NO_DTYPE for any
 * other format.
 */
usm_dtype usmpy_dtype_of_format(const char *format, Py_ssize_t itemsize)
{
    if (format == NULL) {
        return itemsize == 1 ? USM_UINT8 : USM_NO_DTYPE;
    }
    if (*format == '@' || *format == '=' || *format == '<' || *format == '|') {
        format++;
    }
    if (format[0] == 'Z' && format[1] != '\0' && format[2] == '\0') {
        return format[1] == 'f' ? USM_COMPLEX64 : format[1] == 'd' ? USM_COMPLEX128 : USM_NO_DTYPE;
    }
    if (format[0] == '\0' || format[1] != '\0') {
        return USM_NO_DTYPE;
    }
    uint8_t bits = itemsize >= 1 && itemsize <= 8 ? (uint8_t)(8 * itemsize) : 0;
    if (strchr("lLnN", format[0]) == NULL && itemsize != letter_size(format[0])) {
        return USM_NO_DTYPE; /* ctypes describes unions and packed structures as 'B' of any size */
    }
    if (strchr("bhilqn", format[0]) != NULL) {
        return usm_dtype_from_dlpack(kDLInt, bits); /* the item size decides what 'l' means */
    }
    if (strchr("BHILQN", format[0]) != NULL) {
        return usm_dtype_from_dlpack(kDLUInt, bits);
    }
    if (strchr("efd", format[0]) != NULL) {
        return usm_dtype_from_dlpack(kDLFloat, bits);
    }
    return format[0] == '?' ? USM_BOOL : USM_NO_DTYPE;
}

usmpy_array *usmpy_array_over_buffer(usmpy_state *state, const Py_buffer *view, usm_kind kind, usm_keep *keep)
{
    usm_dtype dtype = usmpy_dtype_of_format(view->format, view->itemsize);
    if (dtype == USM_NO_DTYPE || usm_dtype_table[dtype].itemsize != view->itemsize) {
        usmpy_call("usmpy._arrays.objects", "refuse_buffer", "(sni)",
                   view->format == NULL ? "B" : view->format, view->itemsize, view->ndim);
        return NULL;
    }
    if (view->ndim < 0 || view->ndim > USM_MAX_NDIM || (view->suboffsets != NULL && view->ndim > 0)) {
        return usmpy_error_format(
            PyExc_BufferError,
            "the buffer has %d dimensions%s; 0 to %d dimensions, without suboffsets, are allowed", view->ndim,
            view->suboffsets == NULL ? "" : " with suboffsets", USM_MAX_NDIM);
    }
    if (view->ndim > 0 && view->shape == NULL) {
        return usmpy_error_format(PyExc_BufferError, "the buffer has no shape but ndim is %d", view->ndim);
    }
    PyObject *queue = usmpy_host_queue(state);
    usmpy_array *array = queue == NULL ? NULL : usmpy_array_new(state, view->ndim);
    if (array == NULL) {
        return NULL;
    }
    int64_t *shape = usmpy_shape(array), *strides = usmpy_strides(array);
    int64_t low, high;
    usm_error error;
    for (int i = 0; i < view->ndim; i++) {
        shape[i] = view->shape[i];
    }
    usm_layout_compact(view->ndim, shape, 'C', strides);
    for (int i = 0; i < view->ndim && view->strides != NULL; i++) {
        if (view->strides[i] % view->itemsize == 0) {
            strides[i] = view->strides[i] / view->itemsize;
        } else if (shape[i] > 1) {
            PyErr_Format(
                PyExc_BufferError,
                "the buffer's stride of %zd bytes in axis %d is not a multiple of the item size %zd; "
                "numpy.array(obj) copies it",
                view->strides[i], i, view->itemsize);
            Py_DECREF(array);
            return NULL;
        }
    }
    int64_t size;
    usm_status status = usm_layout_size(view->ndim, shape, (int)view->itemsize, &size, &error);
    if (status == USM_OK &&
        !usm_dtype_span(dtype, view->ndim, shape, strides, size, view->buf, &low, &high)) {
        status = usm_error_set(&error, USM_BUFFER, "the buffer's strides reach beyond any address");
    }
    if (status == USM_OK && size > 0 && view->buf == NULL) {
        status = usm_error_set(&error, USM_BUFFER, "the buffer has elements and no memory");
    }
    if (status == USM_OK) {
        status = usm_alloc_import(usmpy_queue_of(queue)->place, kind, (char *)view->buf + low,
                                  (size_t)(high - low), keep, usmpy_keep_release, &array->alloc, &error);
    }
    if (status != USM_OK) {
        Py_DECREF(array);
        return usmpy_raise(state, status, &error);
    }
    return usmpy_array_imported(array, view->buf, Py_NewRef(queue), dtype, !view->readonly, "buffer");
}

PyObject *usmpy_array_from_buffer(usmpy_state *state, PyObject *object)
{
    Py_buffer view;
    usm_keep *keep = NULL;
    usmpy_type_entry entry;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(object), &entry);
    if (known == NULL) {
        return NULL;
    }
    if (known->numpy == USMPY_NUMPY_SCALAR && !usmpy_is_number_in_memory(object)) {
        return PyErr_Format(PyExc_TypeError, "x is %s %.80s, whose buffer has its bytes, and not its value",
                            USMPY_A(object));
    }
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL) < 0) {
        PyErr_Clear(); /* writable first: a read-only buffer is imported as a read-only array */
        if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
            usmpy_chain_foreign("the buffer", object);
            return NULL;
        }
    }
    if (usmpy_keep_buffer(&keep, &view) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_over_buffer(state, &view, USM_HOST, keep);
    if (array == NULL) {
        usmpy_keep_drop(keep);
    }
    return (PyObject *)array;
}
