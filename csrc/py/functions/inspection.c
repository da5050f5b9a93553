/* Data type functions of the array API standard: promotion, casts, kinds and limits. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/objects/placement.h"

#include <string.h>

/* A dtype, or that of an array; 0, or -1 with TypeError. */
static int parse_dtype(usmpy_state *state, PyObject *object, usm_dtype *dtype)
{
    if (usmpy_is_array(state, object)) {
        *dtype = ((usmpy_array *)object)->dtype;
        return 0;
    }
    return usmpy_dtype_convert(state, object, dtype);
}

/* usmpy_host_scalar() for an argument that may be a dtype, too: numpy.dtype has an ndim of 0. */
static int to_number(usmpy_state *state, PyObject *object, PyObject **number)
{
    return usmpy_is_array(state, object) || PyUnicode_Check(object)
               ? 0
               : usmpy_host_scalar(state, object, number);
}

/* Whether the default types are wide: false if an argument is on a device without double precision. */
static bool has_fp64(usmpy_state *state, PyObject *const *args, Py_ssize_t nargs)
{
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (usmpy_is_array(state, args[i]) &&
            !usmpy_queue_of(((usmpy_array *)args[i])->queue)->device->info.has_fp64) {
            return false;
        }
    }
    return true;
}

static PyObject *result_type(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_promotion promotion = {0};
    PyObject *number;
    usm_dtype next;
    usm_dtype_kind kind = USM_DTYPE_KIND_BOOL; /* the highest of the numbers */
    bool wide = has_fp64(state, args, nargs);
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int found = to_number(state, args[i], &number);
        if (found > 0) {
            usm_dtype_kind its = usmpy_kind_of_number(number);
            kind = its > kind ? its : kind;
            Py_DECREF(number);
            continue;
        }
        if (found < 0 || parse_dtype(state, args[i], &next) < 0) {
            return NULL;
        }
        usm_promotion_add(&promotion, next);
        wide = wide || next == USM_FLOAT64 || next == USM_COMPLEX128;
    }
    usm_dtype dtype = usm_promotion_result(&promotion);
    if (dtype == USM_NO_DTYPE) {
        return promotion.any_integer || promotion.any_inexact
                   ? PyErr_Format(
                         PyExc_TypeError,
                         "result_type(): there is no common type of %s and %s; cast one with astype()",
                         usm_dtype_table[promotion.first].name, usm_dtype_table[promotion.second].name)
                   : PyErr_Format(PyExc_TypeError, "result_type(): at least one array or dtype is needed");
    }
    dtype = usm_dtype_with_number(dtype, kind, wide);
    return Py_NewRef(usmpy_dtype_object(state, wide ? dtype : usm_dtype_without_fp64(dtype)));
}

/* arguments: from_, to. */
static PyObject *can_cast(usmpy_state *state, PyObject *const *arguments)
{
    usm_dtype from, to;
    return parse_dtype(state, arguments[0], &from) < 0 || usmpy_dtype_convert(state, arguments[1], &to) < 0
               ? NULL
               : PyBool_FromLong(usm_dtype_promote(from, to) == to);
}
USMPY_FUNCTION(can_cast)

/* Whether a dtype is of a kind, which is a name or a dtype: 1, 0, or -1 with an exception. */
static int is_of_kind(usmpy_state *state, usm_dtype dtype, PyObject *kind)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } names[] = {
        {"bool", 1u << USM_DTYPE_KIND_BOOL},
        {"signed integer", 1u << USM_DTYPE_KIND_INT},
        {"unsigned integer", 1u << USM_DTYPE_KIND_UINT},
        {"integral", 1u << USM_DTYPE_KIND_INT | 1u << USM_DTYPE_KIND_UINT},
        {"real floating", 1u << USM_DTYPE_KIND_FLOAT},
        {"complex floating", 1u << USM_DTYPE_KIND_COMPLEX},
        {"numeric", 1u << USM_DTYPE_KIND_INT | 1u << USM_DTYPE_KIND_UINT | 1u << USM_DTYPE_KIND_FLOAT |
                        1u << USM_DTYPE_KIND_COMPLEX},
    };
    usm_dtype other;
    if (!PyUnicode_Check(kind)) {
        return usmpy_dtype_convert(state, kind, &other) < 0 ? -1 : other == dtype;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (PyUnicode_CompareWithASCIIString(kind, names[i].name) == 0) {
            return (names[i].kinds >> usm_dtype_table[dtype].kind & 1) != 0;
        }
    }
    return usmpy_refuse(
        PyExc_ValueError,
        "kind is %.100R; a dtype, 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', "
        "'complex floating', 'numeric' or a tuple of them is allowed",
        kind);
}

/* arguments: dtype, kind. */
static PyObject *isdtype(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *kinds = arguments[1];
    usm_dtype dtype;
    int found = 0;
    if (usmpy_dtype_convert(state, arguments[0], &dtype) < 0) {
        return NULL;
    }
    if (!PyTuple_Check(kinds)) {
        found = is_of_kind(state, dtype, kinds);
    } else {
        for (Py_ssize_t i = 0; found == 0 && i < PyTuple_GET_SIZE(kinds); i++) {
            found = is_of_kind(state, dtype, PyTuple_GET_ITEM(kinds, i));
        }
    }
    return found < 0 ? NULL : PyBool_FromLong(found);
}
USMPY_FUNCTION(isdtype)

/* The type of the numbers in the one argument of finfo and iinfo, by its kind; -1 with TypeError. */
static int parse_limited(usmpy_state *state, PyObject *type, usm_dtype *dtype, bool real,
                         const char *function)
{
    if (parse_dtype(state, type, dtype) < 0) {
        return -1;
    }
    if (usm_dtype_table[*dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        *dtype = *dtype == USM_COMPLEX128 ? USM_FLOAT64 : *dtype == USM_COMPLEX64 ? USM_FLOAT32 : USM_FLOAT16;
        if (!real) {
            *dtype = USM_BOOL; /* refused below */
        }
    }
    usm_dtype_kind kind = usm_dtype_table[*dtype].kind;
    if (real ? kind != USM_DTYPE_KIND_FLOAT : kind != USM_DTYPE_KIND_INT && kind != USM_DTYPE_KIND_UINT) {
        return usmpy_refuse(
            PyExc_TypeError, "%s(): type is %.100R; %s is allowed", function, type,
            real ? "a floating-point type, or an array of one" : "an integer type, or an array of one");
    }
    return 0;
}

/* A new structure of these items, whose references it takes. NULL where one of them is NULL. */
static PyObject *structure_of(PyTypeObject *type, PyObject **items, Py_ssize_t n)
{
    PyObject *structure = PyStructSequence_New(type);
    bool whole = structure != NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        whole = whole && items[i] != NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (whole) {
            PyStructSequence_SetItem(structure, i, items[i]);
        } else {
            Py_XDECREF(items[i]);
        }
    }
    if (!whole) {
        Py_CLEAR(structure);
    }
    return structure;
}

/* The limits of a type never change: one object each, made on first use. Takes the reference of `made`. */
static PyObject *keep_limits(usmpy_state *state, usm_dtype dtype, PyObject *made)
{
    PyObject *none = NULL;
    if (made != NULL && atomic_compare_exchange_strong(&state->limits[dtype], &none, made)) {
        return Py_NewRef(made);
    }
    return made; /* another thread was first: two equal objects */
}

/* New reference, or NULL without an exception. */
static PyObject *kept_limits(usmpy_state *state, PyObject *type, PyTypeObject *kind)
{
    if (!Py_IS_TYPE(type, state->dtype_type)) {
        return NULL;
    }
    usm_dtype dtype = ((usmpy_dtype *)type)->id;
    PyObject *kept = atomic_load_explicit(&state->limits[dtype], memory_order_acquire);
    return kept != NULL && Py_IS_TYPE(kept, kind) ? Py_NewRef(kept) : NULL;
}

static PyObject *finfo(PyObject *module, PyObject *type)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_dtype dtype;
    PyObject *kept = kept_limits(state, type, state->finfo_type);
    if (kept != NULL) {
        return kept;
    }
    if (parse_limited(state, type, &dtype, true, "finfo") < 0) {
        return NULL;
    }
    const usm_float_limits *limits = usm_dtype_float_limits(dtype);
    PyObject *items[] = {
        PyLong_FromLong(usm_dtype_table[dtype].bits),
        PyFloat_FromDouble(limits->eps),
        PyFloat_FromDouble(limits->max),
        PyFloat_FromDouble(limits->min),
        PyFloat_FromDouble(limits->smallest_normal),
        Py_NewRef(usmpy_dtype_object(state, dtype)),
    };
    return keep_limits(state, dtype, structure_of(state->finfo_type, items, 6));
}

static PyObject *iinfo(PyObject *module, PyObject *type)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_dtype dtype;
    PyObject *kept = kept_limits(state, type, state->iinfo_type);
    if (kept != NULL) {
        return kept;
    }
    if (parse_limited(state, type, &dtype, false, "iinfo") < 0) {
        return NULL;
    }
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool negative = info->kind == USM_DTYPE_KIND_INT;
    uint64_t most = UINT64_MAX >> (64 - info->bits + negative);
    PyObject *items[] = {
        PyLong_FromLong(info->bits),
        PyLong_FromUnsignedLongLong(most),
        PyLong_FromLongLong(negative ? -(int64_t)most - 1 : 0),
        Py_NewRef(usmpy_dtype_object(state, dtype)),
    };
    return keep_limits(state, dtype, structure_of(state->iinfo_type, items, 4));
}

int usmpy_inspection_add_types(PyObject *module, usmpy_state *state)
{
    PyStructSequence_Field floats[] = {
        {"bits", USMPY_DOC_FloatLimits_bits},
        {"eps", USMPY_DOC_FloatLimits_eps},
        {"max", USMPY_DOC_FloatLimits_max},
        {"min", USMPY_DOC_FloatLimits_min},
        {"smallest_normal", USMPY_DOC_FloatLimits_smallest_normal},
        {"dtype", USMPY_DOC_FloatLimits_dtype},
        {NULL, NULL},
    };
    PyStructSequence_Field integers[] = {
        {"bits", USMPY_DOC_IntegerLimits_bits},
        {"max", USMPY_DOC_IntegerLimits_max},
        {"min", USMPY_DOC_IntegerLimits_min},
        {"dtype", USMPY_DOC_IntegerLimits_dtype},
        {NULL, NULL},
    };
    PyStructSequence_Desc descriptions[] = {
        {"usmpy.FloatLimits", USMPY_DOC_FloatLimits, floats, 6},
        {"usmpy.IntegerLimits", USMPY_DOC_IntegerLimits, integers, 4},
    };
    state->finfo_type = PyStructSequence_NewType(&descriptions[0]);
    state->iinfo_type = PyStructSequence_NewType(&descriptions[1]);
    if (state->finfo_type == NULL || state->iinfo_type == NULL ||
        PyModule_AddObjectRef(module, "FloatLimits", (PyObject *)state->finfo_type) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "IntegerLimits", (PyObject *)state->iinfo_type);
}

PyMethodDef usmpy_inspection_functions[] = {
    {"result_type", (PyCFunction)(void (*)(void))result_type, METH_FASTCALL, USMPY_DOC_result_type},
    USMPY_ROW(can_cast),
    USMPY_ROW(isdtype),
    {"finfo", finfo, METH_O, USMPY_DOC_finfo},
    {"iinfo", iinfo, METH_O, USMPY_DOC_iinfo},
    {0},
};
