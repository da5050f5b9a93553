/* Range, NdRange and LocalMemory: SYCL's index spaces and the memory of a work-group. */
#include "docstrings.h"
#include "launch.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/objects/dtype.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* least <= *out; 0, or -1 with an exception that names the parameter. */
static int parse_extent(PyObject *item, const char *parameter, Py_ssize_t i, Py_ssize_t least, size_t *out)
{
    PyObject *number = PyBool_Check(item) ? NULL : usmpy_index_of(item, parameter, i, USMPY_AN_INT);
    if (number == NULL) {
        if (!PyErr_Occurred()) {
            usmpy_error_format(PyExc_TypeError, "%s[%zd] is %.100R; " USMPY_AN_INT, parameter, i, item);
        }
        return -1;
    }
    Py_ssize_t extent = PyLong_AsSsize_t(number);
    Py_DECREF(number);
    PyErr_Clear(); /* it is too large: -1 */
    if (extent < least) {
        return usmpy_refuse(PyExc_ValueError, "%s[%zd] is %.100R; %zd to %zd are allowed", parameter, i, item,
                            least, PY_SSIZE_T_MAX);
    }
    *out = (size_t)extent;
    return 0;
}

/* The product must fit, too, unless it is 0. The number of dimensions; -1 with an exception. */
static int parse_extents(PyObject *const *items, Py_ssize_t n, const char *parameter, Py_ssize_t least,
                         size_t *out)
{
    size_t total = 1;
    if (n < 1 || n > 3) {
        return usmpy_refuse(PyExc_ValueError, "%s has %zd dimensions; 1 to 3 are allowed", parameter, n);
    }
    out[0] = out[1] = out[2] = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (parse_extent(items[i], parameter, i, least, &out[i]) < 0) {
            return -1;
        }
    }
    bool is_empty = out[0] == 0 || out[1] == 0 || out[2] == 0;
    for (Py_ssize_t i = 0; i < n && !is_empty; i++) {
        if (__builtin_mul_overflow(total, out[i], &total) || total > (size_t)PY_SSIZE_T_MAX) {
            return usmpy_refuse(PyExc_ValueError, "%s has more than %zd work-items", parameter,
                                PY_SSIZE_T_MAX);
        }
    }
    return (int)n;
}

/* From an int, a sequence of ints, or a Range: least or more. The number of dimensions, or -1. */
static int extents_of(usmpy_state *state, PyObject *object, const char *parameter, Py_ssize_t least,
                      size_t *out)
{
    if (Py_IS_TYPE(object, state->range_type) &&
        (least == 0 || usm_range_items(&((usmpy_range *)object)->range) > 0)) {
        const usm_range *range = &((usmpy_range *)object)->range;
        memcpy(out, range->global, sizeof range->global);
        return (int)range->ndim;
    }
    if (PyIndex_Check(object)) {
        return parse_extents(&object, 1, parameter, least, out);
    }
    static const char allowed[] = "a Range, an int or a sequence of ints is allowed";
    /* Not a dict or a set: the order of their items means nothing. */
    PyObject *items = !PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object)
                          ? usmpy_wrong_type(parameter, object, allowed)
                          : usmpy_items_of(object, parameter, allowed, 3);
    if (items == NULL) {
        return -1;
    }
    int ndim =
        parse_extents(((PyTupleObject *)items)->ob_item, PyTuple_GET_SIZE(items), parameter, least, out);
    Py_DECREF(items);
    return ndim;
}

int usmpy_parse_range(usmpy_state *state, PyObject *object, usm_range *range, const char *parameter)
{
    if (Py_IS_TYPE(object, state->range_type) || Py_IS_TYPE(object, state->nd_range_type)) {
        *range = ((usmpy_range *)object)->range;
        return 0;
    }
    int ndim = extents_of(state, object, parameter, 0, range->global);
    if (ndim < 0) {
        return -1;
    }
    range->ndim = (unsigned)ndim;
    range->has_local = false;
    range->local[0] = range->local[1] = range->local[2] = 1;
    return 0;
}

static PyObject *new_range(PyTypeObject *type, const usm_range *range)
{
    usmpy_range *self = (usmpy_range *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->range = *range;
    }
    return (PyObject *)self;
}

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    usm_range range = {.local = {1, 1, 1}};
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
        return PyErr_Format(PyExc_TypeError, "Range() takes no keyword arguments");
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    int ndim =
        n == 1 ? extents_of(usmpy_state_of_type(type), PyTuple_GET_ITEM(args, 0), "Range", 0, range.global)
               : parse_extents(((PyTupleObject *)args)->ob_item, n, "Range", 0, range.global);
    range.ndim = (unsigned)ndim;
    return ndim < 0 ? NULL : new_range(type, &range);
}

static PyObject *nd_range_new(usmpy_state *state, PyTypeObject *type, PyObject *const *arguments)
{
    usm_range range = {.has_local = true};
    int ndim = extents_of(state, arguments[0], "global_range", 0, range.global);
    int local = ndim < 0 ? -1 : extents_of(state, arguments[1], "local_range", 1, range.local);
    if (local < 0) {
        return NULL;
    }
    if (local != ndim) {
        return PyErr_Format(PyExc_ValueError,
                            "global_range has %d dimension%s but local_range has %d; they must match", ndim,
                            ndim == 1 ? "" : "s", local);
    }
    for (int i = 0; i < ndim; i++) {
        if (range.global[i] % range.local[i] != 0) {
            return PyErr_Format(PyExc_ValueError,
                                "local_range[%d] is %zu, which does not divide global_range[%d], %zu", i,
                                range.local[i], i, range.global[i]);
        }
    }
    range.ndim = (unsigned)ndim;
    return new_range(type, &range);
}

USMPY_NEW(NdRange, nd_range_new)

/* None is above PY_SSIZE_T_MAX. */
static PyObject *extents_tuple(const usm_range *range, const size_t *extents)
{
    const int64_t values[] = {(int64_t)extents[0], (int64_t)extents[1], (int64_t)extents[2]};
    return usmpy_int_tuple((int)range->ndim, values);
}

PyObject *usmpy_range_text(const usm_range *range)
{
    PyObject *global = extents_tuple(range, range->global), *local = extents_tuple(range, range->local);
    PyObject *text = NULL;
    if (global != NULL && local != NULL) {
        text = range->has_local   ? PyUnicode_FromFormat("NdRange(%R, %R)", global, local)
               : range->ndim == 1 ? PyUnicode_FromFormat("Range(%zu)", range->global[0])
                                  : PyUnicode_FromFormat("Range%R", global);
    }
    Py_XDECREF(global);
    Py_XDECREF(local);
    return text;
}

static PyObject *range_repr(PyObject *self)
{
    return usmpy_range_text(&((usmpy_range *)self)->range);
}

USMPY_EQUALITY(range_richcompare, usmpy_range,
               a->range.ndim == b->range.ndim &&
                   memcmp(a->range.global, b->range.global, sizeof a->range.global) == 0 &&
                   memcmp(a->range.local, b->range.local, sizeof a->range.local) == 0)

static Py_hash_t range_hash(PyObject *self)
{
    const usm_range *range = &((usmpy_range *)self)->range;
    size_t hash = range->ndim;
    for (int i = 0; i < 3; i++) {
        hash = (hash * 1000003 ^ range->global[i]) * 1000003 ^ range->local[i];
    }
    return (Py_hash_t)(hash >> 1);
}

static Py_ssize_t range_length(PyObject *self)
{
    return (Py_ssize_t)((usmpy_range *)self)->range.ndim;
}

static PyObject *range_item(PyObject *self, Py_ssize_t i)
{
    const usm_range *range = &((usmpy_range *)self)->range;
    if (i < 0 || i >= (Py_ssize_t)range->ndim) {
        return PyErr_Format(PyExc_IndexError, "index %zd is out of range for a Range with %u dimension%s", i,
                            range->ndim, usmpy_plural(range->ndim));
    }
    return PyLong_FromSize_t(range->global[i]);
}

/* Python counts negative indices from the end itself only where it calls range_item. */
static PyObject *range_subscript(PyObject *self, PyObject *key)
{
    Py_ssize_t n = (Py_ssize_t)((usmpy_range *)self)->range.ndim;
    Py_ssize_t i = usmpy_ssize_of(key, "index", -1, USMPY_AN_INT);
    return PyErr_Occurred() ? NULL : range_item(self, i < 0 ? i + n : i);
}

USMPY_GETTER(size, PyLong_FromSize_t(usm_range_items(&((usmpy_range *)self)->range)))

/* `offset`: of global or local in usm_range. */
static PyObject *get_extents(PyObject *self, void *offset)
{
    const usm_range *range = &((usmpy_range *)self)->range;
    return extents_tuple(range, (const size_t *)((const char *)range + (size_t)offset));
}

static PyGetSetDef range_getset[] = {
    {"size", get_size, NULL, USMPY_DOC_Range_size, NULL},
    {0},
};

static PyGetSetDef nd_range_getset[] = {
    {"size", get_size, NULL, USMPY_DOC_NdRange_size, NULL},
    {"global_range", get_extents, NULL, USMPY_DOC_NdRange_global_range, (void *)offsetof(usm_range, global)},
    {"local_range", get_extents, NULL, USMPY_DOC_NdRange_local_range, (void *)offsetof(usm_range, local)},
    {0},
};

static PyType_Slot range_slots[] = {
    {Py_tp_doc, USMPY_DOC_Range},
    {Py_tp_new, range_new},
    {Py_tp_dealloc, usmpy_free_object},
    {Py_tp_repr, range_repr},
    {Py_tp_hash, range_hash},
    {Py_tp_richcompare, range_richcompare},
    {Py_sq_length, range_length},
    {Py_sq_item, range_item},
    {Py_mp_subscript, range_subscript},
    {Py_tp_getset, range_getset},
    {0, NULL},
};

static PyType_Slot nd_range_slots[] = {
    {Py_tp_doc, USMPY_DOC_NdRange},     {Py_tp_new, enter_NdRange},
    {Py_tp_dealloc, usmpy_free_object}, {Py_tp_repr, range_repr},
    {Py_tp_hash, range_hash},           {Py_tp_richcompare, range_richcompare},
    {Py_tp_getset, nd_range_getset},    {0, NULL},
};

static PyObject *local_new(usmpy_state *state, PyTypeObject *type, PyObject *const *arguments)
{
    usm_dtype dtype = USM_UINT8;
    Py_ssize_t n = usmpy_ssize_of(arguments[0], "n", -1, USMPY_AN_INT);
    if (PyErr_Occurred() ||
        (usmpy_given(arguments[1]) && usmpy_dtype_convert(state, arguments[1], &dtype) < 0)) {
        return NULL;
    }
    if (n < 1 || n > UINT32_MAX / usm_dtype_table[dtype].itemsize) {
        return usmpy_error_format(PyExc_ValueError, "n is %.100R; 1 to %u are allowed", arguments[0],
                                  UINT32_MAX / (unsigned)usm_dtype_table[dtype].itemsize);
    }
    usmpy_local *self = (usmpy_local *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->nbytes = (Py_ssize_t)usm_dtype_nbytes(dtype, n);
        self->dtype = dtype;
    }
    return (PyObject *)self;
}

USMPY_NEW(LocalMemory, local_new)

static PyObject *local_repr(PyObject *self)
{
    return PyUnicode_FromFormat("LocalMemory(%zd)", ((usmpy_local *)self)->nbytes);
}

USMPY_GETTER(dtype, Py_NewRef(usmpy_dtype_object(usmpy_state_of(self), ((usmpy_local *)self)->dtype)))

static PyGetSetDef local_getset[] = {
    USMPY_GETTER_ROW(LocalMemory, dtype),
    {0},
};

static PyMemberDef local_members[] = {
    {"nbytes", T_PYSSIZET, offsetof(usmpy_local, nbytes), READONLY, USMPY_DOC_LocalMemory_nbytes},
    {0},
};

static PyType_Slot local_slots[] = {
    {Py_tp_doc, USMPY_DOC_LocalMemory},
    {Py_tp_new, enter_LocalMemory},
    {Py_tp_dealloc, usmpy_free_object},
    {Py_tp_repr, local_repr},
    {Py_tp_members, local_members},
    {Py_tp_getset, local_getset},
    {0, NULL},
};

USMPY_SPEC(range, "usmpy.Range", usmpy_range, 0)

USMPY_SPEC(nd_range, "usmpy.NdRange", usmpy_range, 0)

USMPY_SPEC(local, "usmpy.LocalMemory", usmpy_local, 0)
