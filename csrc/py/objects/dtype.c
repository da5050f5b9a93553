/* DType, and data types from names, codes, classes and other libraries' objects. */
#include "dtype.h"
#include "docstrings.h"

#include "py/args.h"

#include <string.h>

static PyObject *dtype_repr(PyObject *self)
{
    return PyUnicode_FromFormat("usmpy.%s", usm_dtype_table[((usmpy_dtype *)self)->id].name);
}

static PyObject *dtype_str(PyObject *self)
{
    return PyUnicode_FromString(usm_dtype_table[((usmpy_dtype *)self)->id].name);
}

/* That of the name, since a DType is equal to its name. */
static Py_hash_t dtype_hash(PyObject *self)
{
    PyObject *name = dtype_str(self);
    Py_hash_t hash = name == NULL ? -1 : PyObject_Hash(name);
    Py_XDECREF(name);
    return hash;
}

/* By the `name` and `isnative` of a numpy.dtype: no import of NumPy. 1 found, 0 not one, -1 exception. */
static int from_numpy_dtype(PyObject *object, usm_dtype *dtype)
{
    int found = 0;
    PyObject *name = NULL, *native = PyObject_GetAttrString(object, "isnative");
    if (native != NULL) {
        name = PyObject_GetAttrString(object, "name");
    }
    if (name != NULL && native == Py_True && PyUnicode_Check(name)) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(name, &length);
        if (text != NULL) {
            *dtype = usm_dtype_from_name(text, (size_t)length);
            found = *dtype != USM_NO_DTYPE;
        }
    }
    if (PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        } else {
            found = -1;
        }
    }
    Py_XDECREF(name);
    Py_XDECREF(native);
    return found;
}

/* A name, or one of NumPy's words and codes. */
static usm_dtype from_text(const char *text, size_t length)
{
    usm_dtype dtype = usm_dtype_from_name(text, length);
    return dtype != USM_NO_DTYPE ? dtype : usm_dtype_from_code(text, length);
}

/* ctypes.c_int and the like have a letter of the struct module in _type_, and a size. */
static usm_dtype from_ctypes(PyTypeObject *class)
{
    usm_dtype dtype = USM_NO_DTYPE;
    PyObject *letter = PyObject_GetAttrString((PyObject *)class, "_type_");
    PyObject *swapped = PyObject_GetAttrString((PyObject *)class, "__ctype_be__"); /* itself: big-endian */
    if (letter != NULL && PyUnicode_Check(letter) && PyUnicode_GET_LENGTH(letter) == 1 &&
        swapped != (PyObject *)class) {
        const char code = (char)PyUnicode_READ_CHAR(letter, 0);
        dtype = usm_dtype_from_code(&code, 1);
    }
    Py_XDECREF(letter);
    Py_XDECREF(swapped);
    PyErr_Clear();
    return dtype;
}

/* numpy.float32 and the like are classes; their names are those of the types, or words for them. */
static usm_dtype from_class(PyTypeObject *class)
{
    usm_dtype own = class == &PyBool_Type      ? USM_BOOL
                    : class == &PyLong_Type    ? USM_INT64
                    : class == &PyFloat_Type   ? USM_FLOAT64
                    : class == &PyComplex_Type ? USM_COMPLEX128
                                               : USM_NO_DTYPE;
    if (own != USM_NO_DTYPE) {
        return own;
    }
    const char *name = class->tp_name;
    const char *dot = strrchr(name, '.');
    if (dot == NULL || (strncmp(name, "numpy.", 6) != 0 && strncmp(name, "ml_dtypes.", 10) != 0)) {
        /* Classes of ml_dtypes have no dotted name, but a module. */
        PyObject *module = PyObject_GetAttrString((PyObject *)class, "__module__");
        bool ours = module != NULL && PyUnicode_Check(module) &&
                    (PyUnicode_CompareWithASCIIString(module, "numpy") == 0 ||
                     PyUnicode_CompareWithASCIIString(module, "ml_dtypes") == 0);
        Py_XDECREF(module);
        PyErr_Clear();
        if (!ours) {
            return from_ctypes(class);
        }
    }
    name = dot == NULL ? name : dot + 1;
    return from_text(name, strlen(name));
}

/* 1 found, 0 not a dtype, -1 exception. */
static int convert(usmpy_state *state, PyObject *object, usm_dtype *dtype)
{
    if (Py_IS_TYPE(object, state->dtype_type)) {
        *dtype = ((usmpy_dtype *)object)->id;
        return 1;
    }
    if (PyUnicode_Check(object)) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(object, &length);
        if (text == NULL) {
            return -1;
        }
        *dtype = from_text(text, (size_t)length);
        return *dtype != USM_NO_DTYPE;
    }
    *dtype = PyType_Check(object) ? from_class((PyTypeObject *)object) : USM_NO_DTYPE;
    if (*dtype != USM_NO_DTYPE) {
        return 1;
    }
    int found = PyType_Check(object) ? 0 : from_numpy_dtype(object, dtype);
    if (found != 0) {
        return found;
    }
    PyObject *own =
        PyObject_GetAttrString(object, "dtype"); /* as numpy.dtype() reads it: jax.numpy.float32 */
    PyErr_Clear();
    found = own == NULL || PyType_Check(own) ? 0 : from_numpy_dtype(own, dtype);
    Py_XDECREF(own);
    return found;
}

/* The name of a type of another library, by the last word of its text, such as torch.float32; NULL: none. */
static const char *name_in_text(PyObject *object)
{
    PyObject *text = PyObject_Str(object);
    const char *name = text == NULL ? NULL : PyUnicode_AsUTF8(text),
               *dot = name == NULL ? NULL : strrchr(name, '.');
    name = dot != NULL ? dot + 1 : name;
    usm_dtype dtype = name == NULL ? USM_NO_DTYPE : usm_dtype_from_name(name, strlen(name));
    Py_XDECREF(text);
    PyErr_Clear();
    return dtype == USM_NO_DTYPE ? NULL : usm_dtype_table[dtype].name;
}

int usmpy_dtype_convert(usmpy_state *state, PyObject *object, usm_dtype *dtype)
{
    int found = convert(state, object, dtype);
    if (found == 0) {
        const char *name = PyUnicode_Check(object) ? NULL : name_in_text(object);
        usmpy_error_format(
            PyExc_TypeError,
            "dtype is %.100R; a DType such as usmpy.float32, its name or NumPy's code ('f4', '<f4'), a Python, "
            "NumPy or ctypes scalar type, or a numpy.dtype is allowed, in little-endian byte order%s%s%s",
            object, name != NULL ? ": dtype=\"" : "", name != NULL ? name : "",
            name != NULL ? "\" is this one" : "");
    }
    return found > 0 ? 0 : -1;
}

static PyObject *dtype_richcompare(PyObject *self, PyObject *other, int operation)
{
    usm_dtype dtype;
    if (operation != Py_EQ && operation != Py_NE) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    int found = convert(usmpy_state_of(self), other, &dtype);
    if (found < 0) {
        return NULL;
    }
    if (found == 0) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong((dtype == ((usmpy_dtype *)self)->id) == (operation == Py_EQ));
}

static const usm_dtype_info *info_of(PyObject *self)
{
    return &usm_dtype_table[((usmpy_dtype *)self)->id];
}

/* Objects and records have no DType. */
#define ATTRIBUTES(EACH)                                                 \
    EACH(name, PyUnicode_FromString(info_of(self)->name))                \
    EACH(itemsize, PyLong_FromLong(info_of(self)->itemsize))             \
    EACH(bits, PyLong_FromLong(info_of(self)->bits))                     \
    EACH(hasobject, Py_NewRef(Py_False))                                 \
    EACH(fields, Py_NewRef(Py_None))                                     \
    EACH(names, Py_NewRef(Py_None))                                      \
    EACH(kind, PyUnicode_FromFormat("%c", "biufc"[info_of(self)->kind])) \
    EACH(dlpack, Py_BuildValue("(iii)", info_of(self)->code, info_of(self)->bits, 1))
ATTRIBUTES(USMPY_GETTER)

/* numpy.dtype(usmpy.float32) reads this attribute: NumPy is imported already. */
USMPY_GETTER(numpy, usmpy_call("usmpy._numpy.conversions", "dtype_of", "(O)", self))

static PyObject *refuse_code(PyObject *self)
{
    return usmpy_error_format(PyExc_AttributeError, "NumPy has no code for %.100R; use its name", self);
}

static PyObject *dtype_get_char(PyObject *self, void *Py_UNUSED(unused))
{
    usm_dtype dtype = ((usmpy_dtype *)self)->id;
    const char *format = usm_dtype_table[dtype].format;
    if (format == NULL) {
        return refuse_code(self);
    }
    const char letter = dtype == USM_INT64        ? 'l'
                        : dtype == USM_UINT64     ? 'L'
                        : dtype == USM_COMPLEX64  ? 'F'
                        : dtype == USM_COMPLEX128 ? 'D'
                                                  : *format;
    return PyUnicode_FromFormat("%c", letter);
}

static PyObject *dtype_get_str(PyObject *self, void *Py_UNUSED(unused))
{
    const usm_dtype_info *info = &usm_dtype_table[((usmpy_dtype *)self)->id];
    return info->format == NULL ? refuse_code(self)
                                : PyUnicode_FromFormat("%c%c%d", info->itemsize == 1 ? '|' : '<',
                                                       "biufc"[info->kind], (int)info -> itemsize);
}

/* The class of NumPy's scalars of this type. */
static PyObject *dtype_get_type(PyObject *self, void *unused)
{
    PyObject *numpy = get_numpy(self, unused);
    PyObject *type = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "type");
    Py_XDECREF(numpy);
    return type;
}

static PyObject *dtype_new(usmpy_state *state, PyTypeObject *Py_UNUSED(type), PyObject *const *arguments)
{
    usm_dtype dtype;
    return usmpy_dtype_convert(state, arguments[0], &dtype) < 0 ? NULL : Py_NewRef(state->dtypes[dtype]);
}

USMPY_NEW(DType, dtype_new)

#define ROW(name, value) USMPY_GETTER_ROW(DType, name),
static PyGetSetDef dtype_getset[] = {
    {"char", dtype_get_char, NULL, USMPY_DOC_DType_char, NULL},
    {"str", dtype_get_str, NULL, USMPY_DOC_DType_str, NULL},
    {"type", dtype_get_type, NULL, USMPY_DOC_DType_type, NULL},
    {"dtype", get_numpy, NULL, USMPY_DOC_DType_dtype, NULL},
    {"__numpy_dtype__", get_numpy, NULL, USMPY_DOC_DType___numpy_dtype__, NULL},
    ATTRIBUTES(ROW){0},
};

static PyObject *dtype_reduce_name(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_BuildValue("(O(N))", Py_TYPE(self), dtype_str(self));
}

static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce_name, METH_NOARGS, USMPY_DOC_DType___reduce__},
    {0},
};

static void dtype_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    usmpy_free_object(self);
}

/* The module keeps the dtypes, and their class the module: a cycle, which ends with an interpreter. */
static int dtype_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static PyType_Slot dtype_slots[] = {
    {Py_tp_doc, USMPY_DOC_DType},
    {Py_tp_new, enter_DType},
    {Py_tp_dealloc, dtype_dealloc},
    {Py_tp_traverse, dtype_traverse},
    {Py_tp_repr, dtype_repr},
    {Py_tp_str, dtype_str},
    {Py_tp_hash, dtype_hash},
    {Py_tp_richcompare, dtype_richcompare},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {0, NULL},
};

USMPY_SPEC(dtype, "usmpy.DType", usmpy_dtype, Py_TPFLAGS_HAVE_GC)

int usmpy_dtype_add_objects(PyObject *module, usmpy_state *state)
{
    for (int i = 0; i < USM_DTYPES; i++) {
        usmpy_dtype *dtype = (usmpy_dtype *)state->dtype_type->tp_alloc(state->dtype_type, 0);
        if (dtype == NULL) {
            return -1;
        }
        dtype->id = (usm_dtype)i;
        state->dtypes[i] = (PyObject *)dtype;
        if (PyModule_AddObjectRef(module, usm_dtype_table[i].name, (PyObject *)dtype) < 0) {
            return -1;
        }
    }
    return 0;
}
