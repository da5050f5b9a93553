/* Reads and makes the dicts of __cuda_array_interface__ and __sycl_usm_array_interface__. */
#include "interface_dict.h"

#include "py/args.h"
#include "py/lock.h"
#include "stream.h"

#include "core/exchange/dltensor.h"

#include <stdlib.h>

/* The letters of type strings. */
static const struct {
    char letter;
    uint8_t code;
} kinds[] = {{'i', kDLInt}, {'u', kDLUInt}, {'f', kDLFloat}, {'c', kDLComplex}, {'b', kDLBool}};

int usmpy_interface_read(usmpy_state *state, PyObject *object, const usmpy_interface *interface, size_t n,
                         PyObject **out)
{
    PyObject *dict = usmpy_attribute(state, object, interface->attribute);
    if (dict == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    memset(out, 0, n * sizeof *out);
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_BufferError, "%s is %s %.80s; a dict is needed", interface->text, USMPY_A(dict));
    }
    for (size_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *name = state->names[interface->members[i].name];
        out[i] = usmpy_dict_get(dict, name);
        if (out[i] == NULL && interface->members[i].required && !PyErr_Occurred()) {
            usmpy_error_format(PyExc_BufferError, "%s has no %.100R", interface->text, name);
        }
    }
    bool failed = PyErr_Occurred() != NULL;
    Py_DECREF(dict);
    if (failed) {
        usmpy_interface_clear(out, n);
    }
    return failed ? -1 : 1;
}

void usmpy_interface_clear(PyObject **members, size_t n)
{
    PyObject *pending = usmpy_take_exception(); /* the last reference to a member may run Python code */
    for (size_t i = 0; i < n; i++) {
        Py_XDECREF(members[i]);
    }
    usmpy_restore_exception(pending);
}

static int parse_typestr(PyObject *typestr, const char *interface, usm_dtype *dtype)
{
    const char *text = PyUnicode_Check(typestr) ? PyUnicode_AsUTF8(typestr) : "";
    if (text == NULL) {
        return -1;
    }
    *dtype = USM_NO_DTYPE;
    if (text[0] == '<' || text[0] == '|' || text[0] == '=') {
        long size = text[1] == '\0' ? 0 : strtol(text + 2, NULL, 10);
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            if (text[1] == kinds[i].letter && size >= 1 && size <= 16) {
                *dtype = usm_dtype_from_dlpack(kinds[i].code, (uint8_t)(8 * size));
            }
        }
    }
    if (*dtype == USM_NO_DTYPE) {
        return usmpy_refuse(
            PyExc_BufferError,
            "%s has the typestr %.100R; bool, integers, float16 to float64 and complex numbers in native "
            "byte order are allowed",
            interface, typestr);
    }
    return 0;
}

int usmpy_interface_parse(const usmpy_interface *interface, PyObject *data, PyObject *shape,
                          PyObject *typestr, usmpy_claim *claim)
{
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        return usmpy_refuse(PyExc_BufferError,
                            "%s has %.100R as 'data'; a pair (pointer, read-only) is needed", interface->text,
                            data);
    }
    int readonly = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    if (readonly < 0 || usmpy_parse_address(PyTuple_GET_ITEM(data, 0), &claim->address) < 0 ||
        parse_typestr(typestr, interface->text, &claim->dtype) < 0 ||
        (claim->ndim = usmpy_parse_shape(shape, claim->shape, "shape")) < 0) {
        return -1;
    }
    claim->kind = -1;
    claim->writable = readonly == 0;
    claim->refusal = USM_BUFFER;
    claim->how = interface->text;
    return 0;
}

PyObject *usmpy_interface_export(usmpy_array *array, const usmpy_interface *interface, int step)
{
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    char letter = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        letter = kinds[i].code == info->code ? kinds[i].letter : letter;
    }
    if (letter == '\0' || (letter == 'c' && info->itemsize < 8)) {
        return PyErr_Format(PyExc_AttributeError,
                            "this array has no %s: NumPy has no type string for dtype %s", interface->text,
                            info->name);
    }
    int64_t strides[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        strides[i] = usmpy_strides(array)[i] * step;
    }
    bool compact = (array->flags & USM_C_CONTIGUOUS) != 0;
    return Py_BuildValue(
        "{s:(NO),s:N,s:N,s:N,s:i}", "data", PyLong_FromVoidPtr(array->data),
        (array->flags & USMPY_WRITABLE) != 0 ? Py_False : Py_True, "shape",
        usmpy_int_tuple(array->ndim, usmpy_shape(array)), "strides",
        compact ? Py_NewRef(Py_None) : usmpy_int_tuple(array->ndim, strides), "typestr",
        PyUnicode_FromFormat("%c%c%d", info->itemsize == 1 ? '|' : '<', letter, info->itemsize), "version",
        interface->version);
}
