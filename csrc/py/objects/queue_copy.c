/* Queue.memcpy and Queue.fill: bytes of arrays and of buffers. */
#include "placement.h"
#include "queue_submit.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/dlpack.h"
#include "py/keep.h"

#include "core/copy/copy.h"
#include "core/memory/connection.h"

#include <string.h>

/* One side of a memcpy, or the target of a fill. */
typedef struct end {
    char *data;
    Py_ssize_t nbytes;
    usm_alloc *alloc;   /* NULL for a buffer */
    usm_dtype dtype;    /* USM_NO_DTYPE for a buffer of a format that no DType describes */
    const char *format; /* of such a buffer, as long as its view is kept */
} end;

/* The view is requested with all features, so that the refusals are ours. 0 or -1. */
static int open_buffer(PyObject *object, bool writes, const char *parameter, end *end, usm_keep **keeps)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
        usmpy_chain_foreign("the buffer", object);
        return -1;
    }
    bool read_only = writes && view.readonly;
    if (read_only || !PyBuffer_IsContiguous(&view, 'A')) {
        PyErr_Format(read_only ? PyExc_ValueError : PyExc_BufferError,
                     read_only ? "%s is a read-only buffer" : "%s is not a contiguous buffer; use copyto",
                     parameter);
        PyBuffer_Release(&view);
        return -1;
    }
    bool chars = view.format != NULL && strcmp(view.format, "c") == 0;
    end->data = view.buf;
    end->nbytes = view.len;
    end->alloc = NULL;
    end->dtype = chars ? USM_UINT8 : usmpy_dtype_of_format(view.format, view.itemsize);
    end->format = view.format;
    return usmpy_keep_buffer(keeps, &view);
}

/* Fills *end from an array or a buffer; a buffer goes into *keeps. 0 or -1. */
static int open_end(usmpy_state *state, PyObject *object, bool writes, const char *parameter, end *end,
                    usm_keep **keeps)
{
    if (usmpy_is_array(state, object)) {
        usmpy_array *array = (usmpy_array *)object;
        if ((array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == 0) {
            return usmpy_refuse(PyExc_BufferError,
                                "%s is not contiguous; use copyto, which takes any strides", parameter);
        }
        if (writes && usmpy_check_writable(array) < 0) {
            return -1;
        }
        end->data = array->data;
        end->dtype = (usm_dtype)array->dtype;
        end->nbytes = (Py_ssize_t)usm_dtype_nbytes(end->dtype, array->size);
        end->alloc = array->alloc;
        end->format = NULL;
        return 0;
    }
    if (!PyObject_CheckBuffer(object)) {
        usmpy_wrong_type(parameter, object,
                         writes ? "a contiguous USMArray or an object with the buffer protocol is allowed "
                                  "(from_dlpack() makes a USMArray over the memory of other arrays)"
                                : "a contiguous USMArray or an object with the buffer protocol is allowed "
                                  "(asarray() makes a USMArray)");
        return -1;
    }
    usmpy_type_entry entry;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(object), &entry);
    if (known == NULL || (known->numpy == USMPY_NUMPY_DERIVED && usmpy_check_plain(object) < 0)) {
        usmpy_name_argument(parameter); /* its mask or unit is not in the buffer */
        return -1;
    }
    return open_buffer(object, writes, parameter, end, keeps);
}

/* "dtype float32", or "format 'T{i:a:}'". */
static PyObject *element_text(const end *end)
{
    return end->dtype != USM_NO_DTYPE ? PyUnicode_FromFormat("dtype %s", usm_dtype_table[end->dtype].name)
                                      : PyUnicode_FromFormat("format '%.60s'", end->format);
}

/* Pointers to Python's objects: a copy of their bytes would crash. */
static bool has_objects(const end *end)
{
    return end->format != NULL && strchr(end->format, 'O') != NULL;
}

/* memcpy moves bytes: between elements of two types it would reinterpret them silently. 0 or -1. */
static int check_same_elements(const end *dst, const end *src)
{
    bool same =
        dst->dtype == src->dtype && (dst->dtype != USM_NO_DTYPE || strcmp(dst->format, src->format) == 0);
    if (same || dst->dtype == USM_UINT8 || src->dtype == USM_UINT8) {
        return 0;
    }
    PyObject *to = element_text(dst), *from = element_text(src);
    if (to != NULL && from != NULL) {
        PyErr_Format(PyExc_TypeError, "memcpy copies bytes, and dst has elements of %U but src of %U%s%s", to,
                     from,
                     dst->dtype == USM_NO_DTYPE || src->dtype == USM_NO_DTYPE
                         ? ""
                         : "; to convert the elements, use usmpy.copyto(dst, src, casting='unsafe')",
                     has_objects(dst) || has_objects(src) ? ""
                     : src->alloc == NULL
                         ? "; to keep the bytes, pass numpy.asarray(src).ravel('K').view('uint8') as src"
                     : dst->alloc == NULL
                         ? "; to keep the bytes, pass numpy.asarray(dst).ravel('K').view('uint8') as dst"
                         : "; to keep the bytes, copy by way of an array of dtype uint8");
    }
    Py_XDECREF(to);
    Py_XDECREF(from);
    return -1;
}

/* The number of bytes to copy; -1 with an exception. */
static Py_ssize_t copied_bytes(PyObject *nbytes, const end *dst, const end *src)
{
    if (!usmpy_given(nbytes)) {
        if (dst->nbytes != src->nbytes) {
            return usmpy_refuse(PyExc_ValueError,
                                "dst has %zd bytes and src has %zd; pass nbytes, or sides of equal size",
                                dst->nbytes, src->nbytes);
        }
        return dst->nbytes;
    }
    Py_ssize_t n = usmpy_ssize_of(nbytes, "nbytes", -1, "an int or None is allowed");
    if (n == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (n < 0 || n > dst->nbytes || n > src->nbytes) {
        return usmpy_refuse(PyExc_ValueError,
                            "nbytes is %.100R; dst has %zd bytes and src has %zd, so 0 to %zd are allowed",
                            nbytes, dst->nbytes, src->nbytes, Py_MIN(dst->nbytes, src->nbytes));
    }
    return n;
}

/* The queue's own copies and fills take this memory: the device or the host can access it. */
static bool takes(const usm_queue *queue, const usm_alloc *alloc)
{
    return alloc == NULL || usm_place_reaches(queue->place, alloc) || usm_alloc_host_reads(alloc);
}

static PyObject *refuse_place(usmpy_state *state, const usm_queue *queue, const char *parameter,
                              const usm_alloc *alloc)
{
    return PyErr_Format(
        state->placement_error,
        "%s is %s memory of %s, which is not accessible to a queue on %s; submit to the array's own "
        "queue, or use copyto",
        parameter, usm_kind_name((usm_kind)alloc->kind), alloc->place->device->info.name,
        queue->device->info.name);
}

/* Between arrays that are not accessible to the queue's device: the planner of copies finds a way. */
static PyObject *copy_afar(usmpy_state *state, PyObject *self, const end *dst, const end *src, int64_t nbytes,
                           PyObject *depends, bool blocking)
{
    usm_queue *queue = usmpy_queue_of(self);
    const usm_view to = {dst->alloc, dst->data, USM_UINT8, 1, &nbytes, &(int64_t){1}};
    const usm_view from = {src->alloc, src->data, USM_UINT8, 1, &nbytes, &(int64_t){1}};
    usm_event *event;
    usm_error error;
    usm_status status = blocking ? usm_copy_check_wait(queue, &to, &from, &error) : USM_OK;
    if (status == USM_OK && usmpy_given(depends)) { /* the steps of the copy are ordered after the barrier */
        const usm_command barrier = {.kind = USM_COMMAND_BARRIER};
        PyObject *before = usmpy_submit(state, queue, &barrier, NULL, 0, depends, NULL, blocking);
        if (before == NULL) {
            return NULL;
        }
        Py_DECREF(before);
    }
    status = status == USM_OK ? usm_copy_submit(queue, &to, &from, &event, &error) : status;
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    PyObject *copied = usmpy_event_wrap(state, event);
    return blocking ? usmpy_finish_event(state, copied) : copied;
}

/*
 * Whether the call waits: as `blocking` says, or by default where a side is memory that its owner uses
 * without asking usmpy. -1 with TypeError.
 */
static int is_blocking(const char *function, PyObject *blocking, bool buffer)
{
    return usmpy_given(blocking) ? usmpy_bool(blocking, 0, function, "blocking") : buffer;
}

PyObject *usmpy_queue_memcpy(usmpy_state *state, PyObject *self, PyObject *const *out)
{
    usm_keep *keeps = NULL;
    end dst, src;
    usmpy_deferred_poll();
    Py_ssize_t nbytes = -1;
    if (open_end(state, out[0], true, "dst", &dst, &keeps) == 0 &&
        open_end(state, out[1], false, "src", &src, &keeps) == 0 && check_same_elements(&dst, &src) == 0) {
        nbytes = copied_bytes(out[2], &dst, &src);
    }
    int blocking = nbytes < 0 ? -1 : is_blocking("memcpy", out[4], dst.alloc == NULL || src.alloc == NULL);
    if (blocking < 0) {
        usmpy_keep_drop(keeps);
        return NULL;
    }
    const usm_queue *queue = usmpy_queue_of(self);
    if (USM_UNLIKELY(!takes(queue, dst.alloc) || !takes(queue, src.alloc))) {
        bool arrays = dst.alloc != NULL && src.alloc != NULL;
        PyObject *event = arrays              ? copy_afar(state, self, &dst, &src, nbytes, out[3], blocking)
                          : dst.alloc != NULL ? refuse_place(state, queue, "dst", dst.alloc)
                                              : refuse_place(state, queue, "src", src.alloc);
        usmpy_keep_drop(keeps);
        return event;
    }
    usm_access accesses[2];
    size_t n = 0;
    if (dst.alloc != NULL) {
        accesses[n++] = usm_write(dst.alloc, (size_t)nbytes);
    }
    if (src.alloc != NULL) {
        accesses[n++] = (usm_access){src.alloc, USM_READ};
    }
    usm_command command;
    command.kind = nbytes > 0 ? USM_COMMAND_COPY : USM_COMMAND_MARKER;
    command.event = NULL;
    command.as.copy.dst = dst.data;
    command.as.copy.src = src.data;
    command.as.copy.nbytes = (size_t)nbytes;
    return usmpy_submit(state, usmpy_queue_of(self), &command, accesses, n, out[3], keeps, blocking);
}

/* The element to repeat: from a number, or from bytes of one element. 0 or -1. */
static int fill_pattern(usmpy_state *state, PyObject *value, usm_dtype dtype, unsigned char *pattern)
{
    if (!PyBytes_Check(value)) {
        PyObject *number;
        int found = usmpy_is_array(state, value) ? 0 : usmpy_host_scalar(state, value, &number);
        /* Where it is no number, the TypeError says what is allowed. */
        int status = found < 0 ? -1 : usmpy_scalar_to_element(found > 0 ? number : value, dtype, pattern);
        if (found > 0) {
            Py_DECREF(number);
        }
        if (status < 0) {
            usmpy_name_argument("value");
        }
        return status;
    }
    if (PyBytes_GET_SIZE(value) != usm_dtype_table[dtype].itemsize) {
        return usmpy_refuse(PyExc_ValueError, "value has %zd bytes; one element of dtype %s has %d",
                            PyBytes_GET_SIZE(value), usm_dtype_table[dtype].name,
                            usm_dtype_table[dtype].itemsize);
    }
    memcpy(pattern, PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
    return 0;
}

PyObject *usmpy_queue_fill(usmpy_state *state, PyObject *self, PyObject *const *out)
{
    usm_keep *keeps = NULL;
    end dst;
    usmpy_deferred_poll();
    if (open_end(state, out[0], true, "dst", &dst, &keeps) < 0) {
        return NULL;
    }
    if (USM_UNLIKELY(!takes(usmpy_queue_of(self), dst.alloc))) {
        return refuse_place(state, usmpy_queue_of(self), "dst", dst.alloc);
    }
    if (dst.dtype == USM_NO_DTYPE) {
        PyErr_Format(PyExc_TypeError,
                     "dst has elements of format '%.200s'; bool, integers, float16 to float64 and complex "
                     "numbers in native byte order are allowed",
                     dst.format);
        usmpy_keep_drop(keeps);
        return NULL;
    }
    usm_command command;
    command.kind = dst.nbytes > 0 ? USM_COMMAND_FILL : USM_COMMAND_MARKER;
    command.event = NULL;
    command.as.fill.dst = dst.data;
    command.as.fill.nbytes = (size_t)dst.nbytes;
    command.as.fill.pattern_size = usm_dtype_table[dst.dtype].itemsize;
    int blocking = is_blocking("fill", out[3], dst.alloc == NULL);
    if (blocking < 0 || fill_pattern(state, out[1], dst.dtype, command.as.fill.pattern) < 0) {
        usmpy_keep_drop(keeps);
        return NULL;
    }
    usm_access access;
    if (dst.alloc != NULL) {
        access = usm_write(dst.alloc, (size_t)dst.nbytes);
    }
    return usmpy_submit(state, usmpy_queue_of(self), &command, &access, dst.alloc != NULL, out[2], keeps,
                        blocking);
}
