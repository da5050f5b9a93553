/* The buffer protocol and __array_interface__, for memory that the host can read. */
#include "array.h"
#include "py/args.h"
#include "py/objects/trace.h"
#include "py/wait.h"

static bool requests(int flags, int property)
{
    return (flags & property) == property;
}

/* Which property the array lacks that the consumer requested; NULL: none. */
static const char *find_lacking(usmpy_array *array, int flags)
{
    bool c = (array->flags & USM_C_CONTIGUOUS) != 0, f = (array->flags & USM_F_CONTIGUOUS) != 0;
    return requests(flags, PyBUF_WRITABLE) && (array->flags & USMPY_WRITABLE) == 0
               ? "it is read-only, and a writable buffer was requested"
           : requests(flags, PyBUF_C_CONTIGUOUS) && !c         ? "it is not row-major contiguous"
           : requests(flags, PyBUF_F_CONTIGUOUS) && !f         ? "it is not column-major contiguous"
           : requests(flags, PyBUF_ANY_CONTIGUOUS) && !c && !f ? "it is not contiguous"
           : !requests(flags, PyBUF_STRIDES) && !c
               ? "it is not row-major contiguous, and a buffer without strides was requested"
               : NULL;
}

/*
 * The array whose buffer this thread asked for last, if that raised; compared alone. NumPy asks for
 * __array_interface__ next and raises what it gets, so the failure is retrieved then. A debugger that shows
 * all attributes of an array retrieves nothing.
 */
static _Thread_local const PyObject *refused;

int usmpy_array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    usmpy_array *array = (usmpy_array *)self;
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    view->obj = NULL;
    if (USM_UNLIKELY(!usm_alloc_host_reads(array->alloc))) {
        return usmpy_refuse(PyExc_BufferError, "this array has no buffer: the host cannot read usm_type %s",
                            usm_kind_name(array->alloc->kind));
    }
    if (USM_UNLIKELY(info->format == NULL)) {
        return usmpy_refuse(PyExc_BufferError,
                            "this array has no buffer: the struct module has no format for dtype %s",
                            info->name);
    }
    const char *lacking = find_lacking(array, flags);
    if (USM_UNLIKELY(lacking != NULL)) {
        return usmpy_refuse(PyExc_BufferError, "this array has no buffer: %s", lacking);
    }
    /*
     * A failure still counts as not retrieved: consumers such as mpi4py and NumPy drop the exception and try
     * the next protocol, which has to raise it again.
     */
    if (usmpy_wait_buffer(array->state, array->alloc, usmpy_foreign_access(array)) < 0) {
        refused = self;
        return -1;
    }
    usmpy_trace_export(array, "buffer");
    view->internal = NULL;
    view->strides = NULL;
    view->itemsize = info->itemsize;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES && array->ndim == 1) {
        /* The stride is stored in `internal` itself, as PyBuffer_FillInfo stores the shape in `len`: the
         * common case needs no memory. */
        view->internal = (void *)(intptr_t)(usmpy_strides(array)[0] * info->itemsize);
        view->strides = (Py_ssize_t *)&view->internal;
    } else if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES && array->ndim > 1) {
        view->strides = PyMem_New(Py_ssize_t, array->ndim);
        if (view->strides == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        for (int i = 0; i < array->ndim; i++) {
            view->strides[i] = (Py_ssize_t)usmpy_strides(array)[i] * info->itemsize;
        }
        view->internal = view->strides;
    }
    /* An empty array has no address, but some consumers reject NULL. */
    view->buf = array->data != NULL ? (void *)array->data : (void *)self;
    view->len = (Py_ssize_t)(array->size * info->itemsize);
    view->readonly = (array->flags & USMPY_WRITABLE) == 0;
    view->ndim = (flags & PyBUF_ND) != 0 ? array->ndim : 1;
    view->format = (flags & PyBUF_FORMAT) != 0 ? (char *)info->format : NULL;
    view->shape = (flags & PyBUF_ND) != 0 && array->ndim > 0 ? (Py_ssize_t *)usmpy_shape(array) : NULL;
    view->suboffsets = NULL;
    view->obj = Py_NewRef(self);
    return 0;
}

void usmpy_array_releasebuffer(PyObject *self, Py_buffer *view)
{
    if (((usmpy_array *)self)->ndim > 1) {
        PyMem_Free(view->internal);
    }
}

PyObject *usmpy_array_array_interface(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    if (!usm_alloc_host_reads(array->alloc) || info->format == NULL) {
        return PyErr_Format(
            PyExc_AttributeError,
            "this array has no __array_interface__: %s%s; asnumpy() copies it to the host",
            info->format == NULL ? "NumPy has no code for dtype " : "the host cannot read usm_type ",
            info->format == NULL ? info->name : usm_kind_name(array->alloc->kind));
    }
    bool writable = (array->flags & USMPY_WRITABLE) != 0;
    usm_access_mode mode = usmpy_foreign_access(array);
    bool delivers = refused == self;
    refused = NULL;
    if ((delivers ? usmpy_wait_alloc(array->state, array->alloc, mode, INT64_MAX)
                  : usmpy_peek_alloc(array->state, array->alloc, mode)) < 0) {
        return NULL;
    }
    usmpy_trace_export(array, "__array_interface__");
    int64_t bytes[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        bytes[i] = usmpy_strides(array)[i] * info->itemsize;
    }
    bool compact = (array->flags & USM_C_CONTIGUOUS) != 0; /* then strides are None */
    return Py_BuildValue("{s:i,s:N,s:N,s:N,s:(NO)}", "version", 3, "shape",
                         usmpy_int_tuple(array->ndim, usmpy_shape(array)), "strides",
                         compact ? Py_NewRef(Py_None) : usmpy_int_tuple(array->ndim, bytes), "typestr",
                         PyObject_GetAttrString(usmpy_dtype_object(array->state, array->dtype), "str"),
                         "data", PyLong_FromVoidPtr(array->data), writable ? Py_False : Py_True);
}
