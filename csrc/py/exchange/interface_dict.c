#include "interface_dict.h"

#include "py/args.h"
#include "py/lock.h"

#include "core/exchange/dltensor.h"

#include <stdlib.h>

PyObject *usmpy_interface_dict(PyObject *object, PyObject *attribute, const char *interface)
{
    PyObject *dict = PyObject_GetAttr(object, attribute);
    if (dict == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        }
        return NULL;
    }
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_BufferError, "%s is %s %s; a dict is needed", interface, USMPY_A(dict));
        Py_CLEAR(dict);
    }
    return dict;
}

int usmpy_interface_members(usmpy_state *state, PyObject *dict, const char *interface,
                            const usmpy_member *members, size_t n, PyObject **out)
{
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out[i] = usmpy_dict_get(dict, state->names[members[i].name]);
        if (out[i] == NULL && members[i].required && !PyErr_Occurred()) {
            PyErr_Format(PyExc_BufferError, "%s has no %R", interface, state->names[members[i].name]);
        }
        if (out[i] == NULL && PyErr_Occurred()) {
            usmpy_interface_clear(out, n);
            return -1;
        }
    }
    return 0;
}

void usmpy_interface_clear(PyObject **members, size_t n)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); /* the last reference to a member may run Python code */
    for (size_t i = 0; i < n; i++) {
        Py_CLEAR(members[i]);
    }
    PyErr_Restore(type, value, traceback);
}

int usmpy_parse_data(PyObject *data, const char *interface, void **address, bool *readonly)
{
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        PyErr_Format(PyExc_BufferError, "%s has %R as 'data'; a pair (pointer, read-only) is needed",
                     interface, data);
        return -1;
    }
    int truth = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    *readonly = truth > 0;
    return truth < 0 ? -1 : usmpy_parse_address(PyTuple_GET_ITEM(data, 0), address);
}

int usmpy_parse_typestr(PyObject *typestr, const char *interface, usm_dtype *dtype)
{
    const char *text = PyUnicode_Check(typestr) ? PyUnicode_AsUTF8(typestr) : "";
    if (text == NULL) {
        return -1;
    }
    static const struct {
        char letter;
        uint8_t code;
    } kinds[] = {{'i', kDLInt}, {'u', kDLUInt}, {'f', kDLFloat}, {'c', kDLComplex}, {'b', kDLBool}};
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
        PyErr_Format(
            PyExc_BufferError,
            "%s has the typestr %R; bool, integers, float16 to float64 and complex numbers in native "
            "byte order are allowed",
            interface, typestr);
        return -1;
    }
    return 0;
}

PyObject *usmpy_typestr(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    char letter = info->code == kDLBool      ? 'b'
                  : info->code == kDLInt     ? 'i'
                  : info->code == kDLUInt    ? 'u'
                  : info->code == kDLFloat   ? 'f'
                  : info->code == kDLComplex ? 'c'
                                             : '\0';
    if (letter == '\0' || (letter == 'c' && info->itemsize < 8)) {
        return NULL;
    }
    return PyUnicode_FromFormat("%c%c%d", info->itemsize == 1 ? '|' : '<', letter, info->itemsize);
}
