/* Flags, the object that USMArray.flags returns, with NumPy's and dpctl's names. */
#include "array.h"
#include "docstrings.h"
#include "py/args.h"

typedef struct usmpy_flags {
    PyObject_HEAD
    usmpy_array *array; /* one reference */
} usmpy_flags;

/* A flag by its names: an attribute, and the keys of flags[...]. */
typedef struct flag {
    const char *attribute, *keys; /* keys between spaces */
    uint8_t all, none;            /* bits that must be set, and that must not be set */
    bool any;                     /* one of the bits in `all` is enough */
} flag;

#define C USM_C_CONTIGUOUS
#define F USM_F_CONTIGUOUS
#define W USMPY_WRITABLE

static const flag flags[] = {
    {"c_contiguous", " C C_CONTIGUOUS ", C, 0, false},
    {"f_contiguous", " F F_CONTIGUOUS ", F, 0, false},
    {"writable", " W WRITABLE WRITEABLE ", W, 0, false},
    {"contiguous", " CONTIGUOUS ", C, 0, false},
    {"fc", " FC ", C | F, 0, false},
    {"fnc", " FNC ", F, C, false},
    {"forc", " FORC ", C | F, 0, true},
    {"writeable", "", W, 0, false},
};
#define SHOWN 3 /* the repr shows the first three */
#define N_FLAGS (sizeof flags / sizeof *flags)

static unsigned bits_of(PyObject *self)
{
    return __atomic_load_n(&((usmpy_flags *)self)->array->flags, __ATOMIC_RELAXED) & (C | F | W);
}

static bool is_set(unsigned bits, const flag *flag)
{
    return (flag->any ? (bits & flag->all) != 0 : (bits & flag->all) == flag->all) &&
           (bits & flag->none) == 0;
}

static PyObject *get_flag(PyObject *self, void *flag)
{
    return PyBool_FromLong(is_set(bits_of(self), flag));
}

static int set_flag(PyObject *self, PyObject *value, void *closure)
{
    const flag *flag = closure;
    if (value == NULL || !PyBool_Check(value)) {
        return usmpy_refuse(PyExc_TypeError, "flags.%s takes True or False", flag->attribute);
    }
    if (flag->all != W) {
        return usmpy_refuse(PyExc_ValueError,
                            "flags.%s follows from shape and strides; copy(order=...) makes another layout",
                            flag->attribute);
    }
    if (value == Py_True && (bits_of(self) & W) == 0) {
        return usmpy_refuse(
            PyExc_ValueError,
            "the array stays read-only, because of its owner or of broadcasting; write to a copy(), or "
            "to the array that it was made from");
    }
    if (value == Py_False) {
        __atomic_fetch_and(&((usmpy_flags *)self)->array->flags, (uint8_t)~W, __ATOMIC_RELAXED);
    }
    return 0;
}

static const flag *find_key(PyObject *key)
{
    char word[32];
    if (PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) < (Py_ssize_t)sizeof word - 2 &&
        PyUnicode_FindChar(key, ' ', 0, PyUnicode_GET_LENGTH(key), 1) == -1) {
        const char *text = PyUnicode_AsUTF8(key);
        if (text == NULL) {
            return NULL;
        }
        PyOS_snprintf(word, sizeof word, " %s ", text);
        for (size_t i = 0; i < N_FLAGS; i++) {
            if (strstr(flags[i].keys, word) != NULL) {
                return &flags[i];
            }
        }
    }
    usmpy_error_format(
        PyExc_KeyError,
        "flags have no key %.100R; 'C', 'F', 'W', 'C_CONTIGUOUS', 'F_CONTIGUOUS', 'WRITABLE', 'CONTIGUOUS', 'FC', "
        "'FNC' and 'FORC' are allowed",
        key);
    return NULL;
}

static PyObject *flags_subscript(PyObject *self, PyObject *key)
{
    const flag *flag = find_key(key);
    return flag == NULL ? NULL : get_flag(self, (void *)flag);
}

static int flags_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    const flag *flag = find_key(key);
    return flag == NULL ? -1 : set_flag(self, value, (void *)flag);
}

static PyObject *flags_repr(PyObject *self)
{
    unsigned bits = bits_of(self);
    PyObject *text = PyUnicode_FromString("usmpy.Flags(");
    for (int i = 0; i < SHOWN && text != NULL; i++) {
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s=%s%s", flags[i].attribute,
                                                           is_set(bits, &flags[i]) ? "True" : "False",
                                                           i < SHOWN - 1 ? ", " : ")"));
    }
    return text;
}

static PyObject *flags_richcompare(PyObject *self, PyObject *other, int op)
{
    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(other) != Py_TYPE(self)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong((bits_of(self) == bits_of(other)) == (op == Py_EQ));
}

static void flags_dealloc(PyObject *self)
{
    Py_DECREF(((usmpy_flags *)self)->array);
    usmpy_free_object(self);
}

PyObject *usmpy_array_get_flags(PyObject *self, void *Py_UNUSED(unused))
{
    PyTypeObject *type = ((usmpy_array *)self)->state->flags_type;
    usmpy_flags *object = PyObject_New(usmpy_flags, type);
    if (object != NULL) {
        object->array = (usmpy_array *)Py_NewRef(self);
    }
    return (PyObject *)object;
}

#define FLAG(index, name)                                                        \
    {                                                                            \
#name, get_flag, set_flag, USMPY_DOC_Flags_##name, (void *)&flags[index] \
    }

static PyGetSetDef flags_getset[] = {
    FLAG(0, c_contiguous), FLAG(1, f_contiguous), FLAG(2, writable),
    FLAG(3, contiguous),   FLAG(4, fc),           FLAG(5, fnc),
    FLAG(6, forc),         FLAG(7, writeable),    {0},
};

static PyType_Slot flags_slots[] = {
    {Py_tp_doc, USMPY_DOC_Flags},
    {Py_tp_dealloc, flags_dealloc},
    {Py_tp_repr, flags_repr},
    {Py_tp_richcompare, flags_richcompare},
    {Py_tp_hash, PyObject_HashNotImplemented}, /* flags can change */
    {Py_mp_subscript, flags_subscript},
    {Py_mp_ass_subscript, flags_ass_subscript},
    {Py_tp_getset, flags_getset},
    {0, NULL},
};

USMPY_SPEC(flags, "usmpy.Flags", usmpy_flags, Py_TPFLAGS_DISALLOW_INSTANTIATION)
