/* Data type functions of the array API standard: promotion, casts, kinds and limits. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/objects/placement.h"

/* A dtype, or that of an array; 0, or -1 with TypeError. */
static int parse_dtype(usmpy_state *state, PyObject *object, usm_dtype *dtype)
{
    if (usmpy_is_array(state, object)) {
        *dtype = ((usmpy_array *)object)->dtype;
        return 0;
    }
    return usmpy_dtype_convert(state, object, dtype);
}

static PyObject *result_type(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_promotion promotion = {0};
    PyObject *number;
    usm_dtype next;
    usm_dtype_kind kind = USM_DTYPE_KIND_BOOL; /* the highest of the numbers */
    bool has_fp64 = true, wide = false;        /* all devices have double precision; an argument has it */
    for (Py_ssize_t i = 0; i < nargs; i++) {
        bool is_array = usmpy_is_array(state, args[i]);
        /* An argument may be a dtype, too: numpy.dtype has an ndim of 0. */
        int found = is_array || PyUnicode_Check(args[i]) ? 0 : usmpy_host_scalar(state, args[i], &number);
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
        has_fp64 =
            has_fp64 && (!is_array || usmpy_queue_of(((usmpy_array *)args[i])->queue)->device->info.has_fp64);
    }
    wide = wide || has_fp64;
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
    Py_ssize_t n = PyTuple_Check(kinds) ? PyTuple_GET_SIZE(kinds) : 1;
    for (Py_ssize_t i = 0; found == 0 && i < n; i++) {
        found = is_of_kind(state, dtype, PyTuple_Check(kinds) ? PyTuple_GET_ITEM(kinds, i) : kinds);
    }
    return found < 0 ? NULL : PyBool_FromLong(found);
}
USMPY_FUNCTION(isdtype)

/* The type of the numbers in the one argument of finfo and iinfo, by its kind; -1 with TypeError. */
static int parse_limited(usmpy_state *state, PyObject *type, usm_dtype *dtype, bool real)
{
    if (parse_dtype(state, type, dtype) < 0) {
        return -1;
    }
    if (usm_dtype_table[*dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        *dtype = !real                      ? USM_BOOL /* refused below */
                 : *dtype == USM_COMPLEX128 ? USM_FLOAT64
                 : *dtype == USM_COMPLEX64  ? USM_FLOAT32
                                            : USM_FLOAT16;
    }
    usm_dtype_kind kind = usm_dtype_table[*dtype].kind;
    if (real ? kind != USM_DTYPE_KIND_FLOAT : kind != USM_DTYPE_KIND_INT && kind != USM_DTYPE_KIND_UINT) {
        return usmpy_refuse(PyExc_TypeError, "%s(): type is %.100R; %s type, or an array of one is allowed",
                            real ? "finfo" : "iinfo", type, real ? "a floating-point" : "an integer");
    }
    return 0;
}

static PyObject *make_limits(usmpy_state *state, usm_dtype dtype, bool real)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    PyObject *object = usmpy_dtype_object(state, dtype);
    if (real) {
        const usm_float_limits *limits = usm_dtype_float_limits(dtype);
        return PyObject_CallFunction((PyObject *)state->finfo_type, "((iddddO))", info->bits, limits->eps,
                                     limits->max, limits->min, limits->smallest_normal, object);
    }
    bool negative = info->kind == USM_DTYPE_KIND_INT;
    uint64_t most = UINT64_MAX >> (64 - info->bits + negative);
    return PyObject_CallFunction((PyObject *)state->iinfo_type, "((iKLO))", info->bits,
                                 (unsigned long long)most, (long long)(negative ? -(int64_t)most - 1 : 0),
                                 object);
}

/* The limits of a type never change: the state keeps one object for each, made on first use. */
static PyObject *limits_of(PyObject *module, PyObject *type, bool real)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usm_dtype dtype;
    if (Py_IS_TYPE(type, state->dtype_type)) {
        PyObject *kept =
            atomic_load_explicit(&state->limits[((usmpy_dtype *)type)->id], memory_order_acquire);
        if (kept != NULL && Py_IS_TYPE(kept, real ? state->finfo_type : state->iinfo_type)) {
            return Py_NewRef(kept);
        }
    }
    if (parse_limited(state, type, &dtype, real) < 0) {
        return NULL;
    }
    PyObject *made = make_limits(state, dtype, real), *none = NULL;
    if (made != NULL && atomic_compare_exchange_strong(&state->limits[dtype], &none, made)) {
        Py_INCREF(made); /* the state's; where another thread was first, there are two equal objects */
    }
    return made;
}

static PyObject *finfo(PyObject *module, PyObject *type)
{
    return limits_of(module, type, true);
}

static PyObject *iinfo(PyObject *module, PyObject *type)
{
    return limits_of(module, type, false);
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
