/* USMArray: how arrays are made and freed, the constructor, and the type object. */
#include "array.h"
#include "docstrings.h"
#include "hints.h"
#include "py/args.h"
#include "py/functions/creation.h"
#include "py/functions/logic.h"
#include "py/functions/operation.h"

#include <stddef.h>
#include <structmember.h>

/* Room of the smallest object: four dimensions, the size that the free list keeps. */
#define SMALL_DIMS 8

usmpy_array *usmpy_array_new(usmpy_state *state, int ndim)
{
    usmpy_array *array;
    PyTypeObject *type = state->array_type;
    Py_ssize_t room = 2 * ndim <= SMALL_DIMS ? SMALL_DIMS : 2 * ndim;
    if (room == SMALL_DIMS && state->n_spare_arrays > 0) {
        array = state->spare_arrays[--state->n_spare_arrays];
        usmpy_revive_object((PyObject *)array, type);
    } else {
        array = PyObject_Malloc(offsetof(usmpy_array, dims) + (size_t)room * sizeof(int64_t));
        if (array == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        PyObject_InitVar((PyVarObject *)array, type, room);
    }
    array->state = state;
    array->alloc = NULL;
    array->queue = NULL;
    array->weakrefs = NULL;
    array->ndim = (uint8_t)ndim;
    array->flags = 0;
    return array;
}

/* May run a foreign deleter, which may run Python code: an exception that is set is saved around it. */
static void release_alloc(usm_alloc *alloc)
{
    if (USM_LIKELY(alloc->deleter == NULL || PyErr_Occurred() == NULL)) {
        usm_alloc_release(alloc);
        return;
    }
    PyObject *pending = usmpy_take_exception();
    usm_alloc_release(alloc);
    usmpy_restore_exception(pending);
}

static void array_dealloc(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (array->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    usmpy_state *state = array->state;
    if (array->alloc != NULL) {
        release_alloc(array->alloc);
    }
    Py_XDECREF(array->queue);
    if (Py_SIZE(self) == SMALL_DIMS && state->n_spare_arrays < USMPY_SPARE_ARRAYS) {
        state->spare_arrays[state->n_spare_arrays++] = array;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
}

void usmpy_array_finish(usmpy_array *array)
{
    int64_t *shape = usmpy_shape(array), *strides = usmpy_strides(array);
    unsigned contiguous;
    if (array->ndim == 1) { /* the commonest case, with the results of the general one */
        array->size = shape[0];
        if (shape[0] <= 1) {
            strides[0] = 1;
        }
        contiguous = strides[0] == 1 ? USM_C_CONTIGUOUS | USM_F_CONTIGUOUS : 0;
    } else {
        uint64_t size = 1; /* beside a length of 0, others may have any product */
        for (int i = 0; i < array->ndim; i++) {
            size *= (uint64_t)shape[i];
        }
        array->size = (int64_t)size;
        contiguous = usm_layout_normalize(array->ndim, shape, strides);
    }
    array->flags = (uint8_t)((array->flags & USMPY_WRITABLE) | contiguous);
    if (array->size == 0) {
        array->data = NULL;
    }
}

/* `from` may be NULL if ndim is 0, and memcpy must not be called with it. */
static void copy_dims(int64_t *to, const int64_t *from, int ndim)
{
    if (ndim > 0) {
        memcpy(to, from, (size_t)ndim * sizeof *from);
    }
}

/* The results of usm_layout_compact and usmpy_array_finish in row-major order, in one pass. size > 0. */
static void finish_rows(usmpy_array *array, const int64_t *shape, int64_t size)
{
    int64_t *lengths = usmpy_shape(array), *strides = usmpy_strides(array), step = 1;
    int long_axes = 0;
    for (int i = array->ndim - 1; i >= 0; i--) {
        int64_t length = shape[i];
        lengths[i] = length;
        strides[i] = length == 1 ? 1 : step;
        step *= length;
        long_axes += length != 1;
    }
    array->size = size;
    array->flags = USMPY_WRITABLE | USM_C_CONTIGUOUS | (long_axes <= 1 ? USM_F_CONTIGUOUS : 0);
}

usmpy_array *usmpy_array_empty(usmpy_state *state, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                               int ndim, const int64_t *shape, char order, bool want_zeros)
{
    usm_error error;
    int64_t size;
    usm_status status = usm_layout_size(ndim, shape, usm_dtype_table[dtype].itemsize, &size, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usm_queue *queue = usmpy_queue_of(queue_object);
    usm_alloc *alloc;
    size_t nbytes = (size_t)usm_dtype_nbytes(dtype, size);
    status = usm_alloc_create(queue->place, kind, nbytes, want_zeros, &alloc, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usmpy_array *array = usmpy_array_new(state, ndim);
    if (array == NULL) {
        usm_alloc_release(alloc);
        return NULL;
    }
    array->alloc = alloc;
    array->data = alloc->pointer;
    array->queue = Py_NewRef(queue_object);
    array->dtype = (uint8_t)dtype;
    if (order == 'C' && size > 0) {
        finish_rows(array, shape, size);
        return array;
    }
    array->flags = USMPY_WRITABLE;
    copy_dims(usmpy_shape(array), shape, ndim);
    usm_layout_compact(ndim, shape, order, usmpy_strides(array));
    usmpy_array_finish(array);
    return array;
}

usmpy_array *usmpy_array_view(usmpy_array *base, char *data, int ndim, const int64_t *shape,
                              const int64_t *strides)
{
    usmpy_array *array = usmpy_array_new(base->state, ndim);
    if (array == NULL) {
        return NULL;
    }
    array->alloc = usm_alloc_retain(base->alloc);
    array->data = data;
    array->queue = Py_NewRef(base->queue);
    array->dtype = base->dtype;
    array->flags = base->flags;
    copy_dims(usmpy_shape(array), shape, ndim);
    copy_dims(usmpy_strides(array), strides, ndim);
    usmpy_array_finish(array);
    return array;
}

usmpy_array *usmpy_array_permuted(usmpy_array *base, const int *axes)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    for (int i = 0; i < base->ndim; i++) {
        shape[i] = usmpy_shape(base)[axes[i]];
        strides[i] = usmpy_strides(base)[axes[i]];
    }
    return usmpy_array_view(base, base->data, base->ndim, shape, strides);
}

usmpy_array *usmpy_array_swapped(usmpy_array *base, int a, int b)
{
    int axes[USM_MAX_NDIM];
    for (int i = 0; i < base->ndim; i++) {
        axes[i] = i == a ? b : i == b ? a : i;
    }
    return usmpy_array_permuted(base, axes);
}

usmpy_array *usmpy_array_on_queue(usmpy_array *base, PyObject *queue_object)
{
    usmpy_array *array =
        usmpy_array_view(base, base->data, base->ndim, usmpy_shape(base), usmpy_strides(base));
    if (array != NULL) {
        Py_SETREF(array->queue, Py_NewRef(queue_object));
    }
    return array;
}

int usmpy_check_writable(usmpy_array *array)
{
    if ((array->flags & USMPY_WRITABLE) == 0) {
        return usmpy_refuse(
            PyExc_ValueError,
            "the array is read-only; write to a copy, t = x.copy(), and use t from then on, or write to what x "
            "was made from");
    }
    return 0;
}

usmpy_array *usmpy_check_array(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        return usmpy_refuse_operand(function, "x", x, "a USMArray is");
    }
    return (usmpy_array *)x;
}

int usmpy_check_unpacked(usmpy_array *array, const char *what)
{
    if (usm_dtype_is_packed(array->dtype)) {
        return usmpy_refuse(
            PyExc_TypeError,
            "%s needs elements of whole bytes; dtype %s packs several elements into a byte: such arrays are only "
            "stored, copied and exchanged as a whole",
            what, usm_dtype_table[array->dtype].name);
    }
    return 0;
}

/* arguments: shape, dtype, usm_type, device, queue, order. */
static PyObject *array_new(usmpy_state *state, PyTypeObject *Py_UNUSED(type), PyObject *const *arguments)
{
    PyObject *const options[] = {arguments[1], arguments[3], arguments[4], arguments[2]};
    return (PyObject *)usmpy_make_shaped(state, arguments[0], options, arguments[5], false);
}
USMPY_NEW(USMArray, array_new)

static PyObject *array_repr(PyObject *self)
{
    return usmpy_call("usmpy._inspection.repr", "array_repr", "(O)", self);
}

static PyObject *array_str(PyObject *self)
{
    return usmpy_call("usmpy._inspection.repr", "array_str", "(O)", self);
}

static PyMemberDef array_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_array, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot array_slots[] = {
    {Py_tp_doc, USMPY_DOC_USMArray},
    {Py_tp_new, enter_USMArray},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_str, array_str},
    {Py_tp_richcompare, usmpy_array_richcompare},
    {Py_tp_hash, PyObject_HashNotImplemented}, /* equality is by element */
    {Py_tp_methods, usmpy_array_methods},
    {Py_tp_members, array_members},
    {Py_tp_getset, usmpy_array_getset},
    {Py_mp_subscript, usmpy_array_subscript},
    {Py_mp_ass_subscript, usmpy_array_ass_subscript},
    {Py_mp_length, usmpy_array_length},
    {Py_tp_iter, usmpy_array_iter},
    {Py_sq_length, usmpy_array_length},
    {Py_sq_item, usmpy_array_item},
    {Py_nb_add, usmpy_array_add},
    {Py_nb_inplace_add, usmpy_array_inplace_add},
    {Py_nb_subtract, usmpy_array_subtract},
    {Py_nb_inplace_subtract, usmpy_array_inplace_subtract},
    {Py_nb_multiply, usmpy_array_multiply},
    {Py_nb_inplace_multiply, usmpy_array_inplace_multiply},
    {Py_nb_true_divide, usmpy_array_divide},
    {Py_nb_inplace_true_divide, usmpy_array_inplace_divide},
    {Py_nb_floor_divide, usmpy_array_floor_divide},
    {Py_nb_inplace_floor_divide, usmpy_array_inplace_floor_divide},
    {Py_nb_remainder, usmpy_array_remainder},
    {Py_nb_inplace_remainder, usmpy_array_inplace_remainder},
    {Py_nb_lshift, usmpy_array_bitwise_left_shift},
    {Py_nb_inplace_lshift, usmpy_array_inplace_bitwise_left_shift},
    {Py_nb_rshift, usmpy_array_bitwise_right_shift},
    {Py_nb_inplace_rshift, usmpy_array_inplace_bitwise_right_shift},
    {Py_nb_and, usmpy_array_bitwise_and},
    {Py_nb_inplace_and, usmpy_array_inplace_bitwise_and},
    {Py_nb_or, usmpy_array_bitwise_or},
    {Py_nb_inplace_or, usmpy_array_inplace_bitwise_or},
    {Py_nb_xor, usmpy_array_bitwise_xor},
    {Py_nb_inplace_xor, usmpy_array_inplace_bitwise_xor},
    {Py_nb_power, usmpy_array_power},
    {Py_nb_inplace_power, usmpy_array_inplace_power},
    {Py_nb_divmod, usmpy_array_divmod},
    {Py_nb_matrix_multiply, usmpy_array_matmul},
    {Py_nb_inplace_matrix_multiply, usmpy_array_inplace_matmul},
    {Py_nb_negative, usmpy_array_negative},
    {Py_nb_positive, usmpy_array_positive},
    {Py_nb_absolute, usmpy_array_abs},
    {Py_nb_invert, usmpy_array_bitwise_invert},
    {Py_nb_bool, usmpy_array_bool},
    {Py_nb_int, usmpy_array_int},
    {Py_nb_float, usmpy_array_float},
    {Py_nb_index, usmpy_array_index},
    {Py_bf_getbuffer, usmpy_array_getbuffer},
    {Py_bf_releasebuffer, usmpy_array_releasebuffer},
    {0, NULL},
};

PyType_Spec usmpy_array_spec = {
    .name = "usmpy.USMArray",
    .basicsize = offsetof(usmpy_array, dims),
    .itemsize = sizeof(int64_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_slots,
};
