/*
 * USMArray: a strided view of one allocation. Only the elements change, and one bit that is only ever cleared
 * (USMPY_WRITABLE), so the object needs no lock.
 */
#ifndef USMPY_ARRAY_H
#define USMPY_ARRAY_H

#include "py/errors.h"
#include "py/objects/dtype.h"
#include "py/objects/objects.h"

#include "core/copy/copy.h"
#include "core/layout/layout.h"

#include <string.h>

#define USMPY_WRITABLE 4u /* beside USM_C_CONTIGUOUS and USM_F_CONTIGUOUS */

typedef struct usmpy_array {
    PyObject_VAR_HEAD   /* ob_size: room in dims */
    usmpy_state *state; /* of the type's module, which the type keeps alive */
    usm_alloc *alloc;   /* one count */
    char *data;         /* the first element; NULL where size is 0 */
    PyObject *queue;    /* the Queue object */
    PyObject *weakrefs;
    int64_t size; /* elements */
    uint8_t dtype, ndim, flags;
    /*
     * The shape, then the strides in elements, in the form that DLPack lends out (usm_layout_normalize): a
     * loan of the DLTensor needs no memory.
     */
    int64_t dims[];
} usmpy_array;

static inline int64_t *usmpy_shape(usmpy_array *array)
{
    return array->dims;
}

static inline int64_t *usmpy_strides(usmpy_array *array)
{
    return array->dims + array->ndim;
}

static inline int64_t usmpy_byte_stride(usmpy_array *array, int axis)
{
    return usmpy_strides(array)[axis] * usm_dtype_table[array->dtype].itemsize;
}

/* Signed or not; bool is none. */
static inline bool usmpy_has_integers(const usmpy_array *array)
{
    usm_dtype_kind kind = usm_dtype_table[array->dtype].kind;
    return kind == USM_DTYPE_KIND_INT || kind == USM_DTYPE_KIND_UINT;
}

static inline bool usmpy_is_array(usmpy_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->array_type);
}

/* The access of a consumer that cannot say what it does: it may write unless the array is read-only. */
static inline usm_access_mode usmpy_foreign_access(const usmpy_array *array)
{
    return (array->flags & USMPY_WRITABLE) != 0 ? USM_READ_WRITE : USM_READ;
}

/* Whether this call made the array and its memory, and nobody else has either; never true of arguments. */
static inline bool usmpy_is_only_ours(usmpy_array *array)
{
    return Py_REFCNT(array) == 1 &&
           atomic_load_explicit(&array->alloc->refs.value, memory_order_acquire) == 1;
}

static inline usm_view usmpy_view(usmpy_array *array)
{
    return (usm_view){array->alloc, array->data,        array->dtype,
                      array->ndim,  usmpy_shape(array), usmpy_strides(array)};
}

static inline bool usmpy_has_shape(usmpy_array *array, int ndim, const int64_t *shape)
{
    return array->ndim == ndim && memcmp(usmpy_shape(array), shape, (size_t)ndim * sizeof *shape) == 0;
}

/* The order of the only contiguity that an array has: 'F', or 'C' where it has both or none. */
static inline char usmpy_contiguity(const usmpy_array *array)
{
    return (array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == USM_F_CONTIGUOUS ? 'F' : 'C';
}

/*
 * A new array that owns nothing yet: the caller fills dims, alloc (giving a count), data, queue (giving a
 * reference), dtype and the USMPY_WRITABLE flag, then calls usmpy_array_finish; until then it may only be
 * dropped.
 */
usmpy_array *usmpy_array_new(usmpy_state *state, int ndim);
/* Normalises the strides and derives size and contiguity. */
void usmpy_array_finish(usmpy_array *array);

/* New memory. `order` is 'C' or 'F'; want_zeros as in usm_alloc_create. */
usmpy_array *usmpy_array_empty(usmpy_state *state, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                               int ndim, const int64_t *shape, char order, bool want_zeros);
/*
 * A new row-major array that the host can write, after earlier work on its block: on the queue, or on the
 * host's queue if its device has no such memory.
 */
usmpy_array *usmpy_array_writable(usmpy_state *state, usm_dtype dtype, PyObject *queue, usm_kind kind,
                                  int ndim, const int64_t *shape);
/* The same memory with another layout; strides in elements; as writable as base. NULL with an exception. */
usmpy_array *usmpy_array_view(usmpy_array *base, char *data, int ndim, const int64_t *shape,
                              const int64_t *strides);
/* The same elements with their axes in another order: axis i is the array's axis axes[i]. */
usmpy_array *usmpy_array_permuted(usmpy_array *base, const int *axes);
/* The same elements with two axes, which may be one, exchanged. */
usmpy_array *usmpy_array_swapped(usmpy_array *base, int a, int b);
/* The same elements on another queue of the same memory. */
usmpy_array *usmpy_array_on_queue(usmpy_array *base, PyObject *queue_object);

/* 0, or -1 with the ValueError that every way of writing to a read-only array gives. */
int usmpy_check_writable(usmpy_array *array);
/* The argument x of a function as an array, borrowed; NULL with TypeError. */
usmpy_array *usmpy_check_array(usmpy_state *state, PyObject *x, const char *function);
/* 0, or -1 with TypeError, for operations that need elements of whole bytes. */
int usmpy_check_unpacked(usmpy_array *array, const char *what);

/*
 * dst[...] = src[...] in dst's queue. Shapes agree; src may come from another queue: callers check placement
 * where it matters. 0 or -1.
 */
int usmpy_array_copy(usmpy_array *dst, usmpy_array *src);
/* The same where src broadcasts; the ValueError calls it `what`. */
int usmpy_array_copy_broadcast(usmpy_array *dst, usmpy_array *src, const char *what);
/*
 * src as a view in dst's shape, as usmpy_array_copy_broadcast reads it. strides has room for USM_MAX_NDIM,
 * and the view points to it. 0 or -1.
 */
int usmpy_view_broadcast(usmpy_array *dst, usmpy_array *src, const char *what, int64_t *strides,
                         usm_view *view);
/* A copy between any two views of one shape, in this queue. 0 or -1. */
int usmpy_submit_copy(usmpy_state *state, PyObject *queue_object, const usm_view *dst, const usm_view *src);
/* The array, after work on it was submitted: NULL with the exception of this status. Takes the reference. */
usmpy_array *usmpy_array_submitted(usmpy_array *array, usm_status status, usm_error *error);
/* dst[...] = one element of dst's type. */
int usmpy_array_fill(usmpy_array *dst, const void *element);
/*
 * Whether the array can be used on a queue that the caller named without a copy. With copy == 0 this holds
 * wherever the queue reaches the memory, else only where the memory is as close to the queue as a copy would
 * be.
 */
bool usmpy_moves_in_place(const usmpy_array *array, PyObject *queue, int copy);
/*
 * New compact memory in the shape of an array, in order 'C', 'F', 'A' ('F' where that is the array's, else
 * 'C') or 'K' (its axes in the order of the array's).
 */
usmpy_array *usmpy_array_empty_like(usmpy_array *like, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                                    char order);
/* Memory that was made for an array of like's shape, type and order of axes, on like's queue. */
usmpy_array *usmpy_array_like_over(usmpy_array *like, USM_TAKES usm_alloc *alloc);
/* New row-major memory of the kind and on the queue of an array. */
usmpy_array *usmpy_array_beside(usmpy_array *array, usm_dtype dtype, int ndim, const int64_t *shape);
/* usmpy_array_empty_like with src's elements, copied and cast in that queue. */
usmpy_array *usmpy_array_duplicate(usmpy_array *src, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                                   char order);

/*
 * An array with the same elements that the host can read, after all work on it: itself where that is so
 * already. New reference.
 */
usmpy_array *usmpy_array_readable(usmpy_array *array);
/* The same in one block: a compact copy if the array has gaps, in its order if that is column-major. */
usmpy_array *usmpy_array_readable_block(usmpy_array *array);

/* The one element of a view of integers on the queue, as an int, after a wait. NULL with an exception. */
PyObject *usmpy_read_integer(usmpy_state *state, PyObject *queue, const usm_view *element);
/* The same of a count, which is never negative; -1 with an exception. */
int64_t usmpy_read_count(usmpy_state *state, PyObject *queue, const usm_view *element);

/* A shape argument: an int or a sequence of ints. ndim, or -1 with TypeError or ValueError. */
int usmpy_parse_shape(PyObject *argument, int64_t *shape, const char *parameter);
/* An int argument: 0 with *value, which is clipped to 64 bits; -1 with TypeError. */
int usmpy_parse_int(PyObject *argument, const char *parameter, int64_t *value);
/* An axis argument: 0 <= result < ndim; -1 with TypeError or AxisError. */
int usmpy_parse_axis(PyObject *argument, int ndim, const char *parameter);
/* One axis or several distinct ones: their number; -1 with an exception. */
int usmpy_parse_axes(PyObject *argument, int ndim, int *axes, const char *parameter);
/* order= : one of the letters allowed ("CF" or "CFAK"); `otherwise` for None. -1 with an exception. */
int usmpy_parse_order(PyObject *order, const char *allowed, char otherwise);
/* Tuple of Python ints. */
PyObject *usmpy_int_tuple(int n, const int64_t *values);

/* Slots and tables of USMArray that live in files of their own. */
PyObject *usmpy_array_subscript(PyObject *self, PyObject *key);
int usmpy_array_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
PyObject *usmpy_array_iter(PyObject *self);
PyObject *usmpy_array_item(PyObject *self, Py_ssize_t index);
Py_ssize_t usmpy_array_length(PyObject *self);
int usmpy_array_getbuffer(PyObject *self, Py_buffer *view, int flags);
void usmpy_array_releasebuffer(PyObject *self, Py_buffer *view);
int usmpy_array_bool(PyObject *self);
PyObject *usmpy_array_int(PyObject *self);
PyObject *usmpy_array_float(PyObject *self);
PyObject *usmpy_array_index(PyObject *self);
extern PyGetSetDef usmpy_array_getset[];
PyObject *usmpy_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_array_dlpack_device(PyObject *self, PyObject *unused);
PyObject *usmpy_array_arrow(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_array_arrow_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames);
PyObject *usmpy_array_cuda_interface(PyObject *self, void *unused);
PyObject *usmpy_array_sycl_interface(PyObject *self, void *unused);
PyObject *usmpy_array_lend(usmpy_state *state, PyObject *self, PyObject *const *arguments);

extern PyMethodDef usmpy_array_methods[];
/* Getter and method of shared memory. */
PyObject *usmpy_array_get_shareable(PyObject *self, void *unused);
PyObject *usmpy_array_get_ipc_handle(PyObject *self, PyObject *unused);
PyObject *usmpy_array_get_flags(PyObject *self, void *unused);
PyObject *usmpy_array_array_interface(PyObject *self, void *unused);

/* Methods in usmarray_copy.c and usmarray_value.c; arguments[i] is NULL where it was left out. */
PyObject *usmpy_array_copy_method(usmpy_array *array, PyObject *const *arguments);
PyObject *usmpy_array_to_device(usmpy_array *array, PyObject *const *arguments);
PyObject *usmpy_array_astype(usmpy_array *array, PyObject *const *arguments);
PyObject *usmpy_array_tobytes(usmpy_array *array, PyObject *const *arguments);
PyObject *usmpy_array_wait(usmpy_array *array, PyObject *const *arguments);
PyObject *usmpy_array_item_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *usmpy_array_tolist(PyObject *self, PyObject *unused);
/* tolist() for display: a failure of a task that it raises does not count as retrieved. */
PyObject *usmpy_array_peek(PyObject *self);
PyObject *usmpy_array_format(PyObject *self, PyObject *specification);
PyObject *usmpy_array_asnumpy(PyObject *self, PyObject *unused);
PyObject *usmpy_array_complex(PyObject *self, PyObject *unused);

/* Elements of another type, in a queue and an order; without `copy`, the array itself if it fits. */
PyObject *usmpy_cast(usmpy_array *array, usm_dtype dtype, bool copy, PyObject *queue_object, char order);
/* 0, or -1 with TypeError for a cast that no casting rule allows. */
int usmpy_check_cast(usm_dtype from, usm_dtype to);

#endif
