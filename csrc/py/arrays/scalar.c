/* Python numbers: their kinds, and conversion between them and elements of arrays. */
#include "py/args.h"
#include "py/objects/dtype.h"

#include "core/layout/number.h"

#include <string.h>

usm_dtype_kind usmpy_kind_of_number(PyObject *number)
{
    return PyBool_Check(number)    ? USM_DTYPE_KIND_BOOL
           : PyLong_Check(number)  ? USM_DTYPE_KIND_INT
           : PyFloat_Check(number) ? USM_DTYPE_KIND_FLOAT
                                   : USM_DTYPE_KIND_COMPLEX;
}

usm_dtype usmpy_default_float(const usm_device *device)
{
    return device->info.has_fp64 ? USM_FLOAT64 : USM_FLOAT32;
}

static int refuse_scalar(PyObject *scalar, usm_dtype dtype)
{
    const char *converts = PyComplex_Check(scalar) ? "value.real"
                           : dtype == USM_BOOL     ? "bool(value)"
                                                   : "int(value)";
    return usmpy_refuse(PyExc_TypeError,
                        "a Python %.80s cannot be converted to dtype %s without losing its kind; use %s",
                        Py_TYPE(scalar)->tp_name, usm_dtype_table[dtype].name, converts);
}

/* The narrowest integer type that holds the value, of the same kind where there is one; NULL: none. */
static const char *name_wider(PyObject *scalar, bool is_signed)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(scalar, &overflow);
    unsigned long long size = value < 0 ? ~(unsigned long long)value : (unsigned long long)value;
    if (overflow != 0) {
        size = PyLong_AsUnsignedLongLong(scalar);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
    }
    is_signed = overflow == 0 && (is_signed || value < 0);
    for (const usm_dtype_info *info = &usm_dtype_table[USM_INT8]; info <= &usm_dtype_table[USM_UINT64];
         info++) {
        if ((info->kind == USM_DTYPE_KIND_INT) == is_signed &&
            size <= UINT64_MAX >> (64 - info->bits + is_signed)) {
            return info->name;
        }
    }
    return NULL;
}

/* An integer may have more digits than Python makes text of. */
static int refuse_size(PyObject *scalar, usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool is_signed = info->kind == USM_DTYPE_KIND_INT;
    PyObject *text = PyObject_Str(scalar);
    PyErr_Clear();
    const char *wider = name_wider(scalar, is_signed);
    if (info->kind >= USM_DTYPE_KIND_FLOAT) {
        PyErr_Format(PyExc_OverflowError, "an integer does not fit into dtype %s", info->name);
    } else {
        uint64_t most = UINT64_MAX >> (64 - info->bits + is_signed);
        PyErr_Format(PyExc_OverflowError,
                     "%.60S does not fit into dtype %s; %s%llu to %llu are allowed: %s%s%s",
                     text != NULL ? text : Py_None, info->name, is_signed ? "-" : "",
                     (unsigned long long)(is_signed ? most + 1 : 0), (unsigned long long)most,
                     wider != NULL ? "dtype=\"" : "no integer type holds it", wider != NULL ? wider : "",
                     wider != NULL ? "\" holds it" : "");
    }
    Py_XDECREF(text);
    return -1;
}

static int integer_to_element(PyObject *scalar, usm_dtype dtype, void *element)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    int overflow = 0;
    bool fits;
    if (info->kind == USM_DTYPE_KIND_UINT) {
        unsigned long long value = PyLong_AsUnsignedLongLong(scalar);
        fits = !(value == (unsigned long long)-1 && PyErr_Occurred()) &&
               (info->bits == 64 || value >> info->bits == 0);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
            return -1;
        }
        memcpy(element, &value, info->itemsize); /* little-endian machines only: setup.py checks */
    } else {
        long long value = PyLong_AsLongLongAndOverflow(scalar, &overflow);
        if (value == -1 && PyErr_Occurred()) {
            return -1;
        }
        long long limit = info->bits == 64 ? INT64_MAX : ((long long)1 << (info->bits - 1)) - 1;
        fits = overflow == 0 && value <= limit && value >= -limit - 1;
        memcpy(element, &value, info->itemsize);
    }
    PyErr_Clear();
    return fits ? 0 : refuse_size(scalar, dtype);
}

/* 0 and 1 are truth values in every library; other numbers would lose their value. */
static int bit_to_element(PyObject *scalar, unsigned char *element)
{
    int overflow;
    long value = PyLong_AsLongAndOverflow(scalar, &overflow);
    if (overflow != 0 || value < 0 || value > 1) {
        return usmpy_refuse(
            PyExc_OverflowError,
            "%.60S does not fit into dtype bool; False, True, 0 and 1 are allowed (bool(...) of a "
            "number, x != 0 of an array)",
            scalar);
    }
    *element = (unsigned char)value;
    return 0;
}

int usmpy_scalar_to_element(PyObject *scalar, usm_dtype dtype, void *element)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    if (dtype >= USM_COMPUTED_DTYPES) {
        return usmpy_refuse(
            PyExc_TypeError,
            "dtype %s only stores and exchanges bits; Python numbers cannot be converted to it", info->name);
    }
    double re, im = 0;
    if (PyBool_Check(scalar)) {
        re = scalar == Py_True;
    } else if (PyLong_Check(scalar)) {
        if (info->kind == USM_DTYPE_KIND_INT || info->kind == USM_DTYPE_KIND_UINT) {
            return integer_to_element(scalar, dtype, element);
        }
        if (info->kind == USM_DTYPE_KIND_BOOL) {
            return bit_to_element(scalar, element);
        }
        re = PyLong_AsDouble(scalar);
        if (re == -1.0 && PyErr_Occurred()) {
            return refuse_size(scalar, dtype);
        }
    } else if (PyFloat_Check(scalar)) {
        if (info->kind < USM_DTYPE_KIND_FLOAT) {
            return refuse_scalar(scalar, dtype);
        }
        re = PyFloat_AS_DOUBLE(scalar);
    } else if (PyComplex_Check(scalar)) {
        if (info->kind < USM_DTYPE_KIND_COMPLEX) {
            return refuse_scalar(scalar, dtype);
        }
        Py_complex value = PyComplex_AsCComplex(scalar);
        re = value.real;
        im = value.imag;
    } else {
        return usmpy_refuse(PyExc_TypeError,
                            "%.100R is not a number; bool, int, float and complex are allowed", scalar);
    }
    usm_number_store(dtype, re, im, element);
    return 0;
}

PyObject *usmpy_element_to_scalar(usm_dtype dtype, const void *element)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    if (dtype >= USM_COMPUTED_DTYPES) {
        return PyErr_Format(PyExc_TypeError, "an element of dtype %s has no Python number", info->name);
    }
    if (info->kind == USM_DTYPE_KIND_INT) {
        return PyLong_FromLongLong(usm_number_load_int(dtype, element));
    }
    if (info->kind == USM_DTYPE_KIND_UINT) {
        return PyLong_FromUnsignedLongLong((uint64_t)usm_number_load_int(dtype, element));
    }
    double re, im;
    usm_number_load(dtype, element, &re, &im);
    if (info->kind == USM_DTYPE_KIND_BOOL) {
        return PyBool_FromLong(re != 0);
    }
    return info->kind == USM_DTYPE_KIND_COMPLEX ? PyComplex_FromDoubles(re, im) : PyFloat_FromDouble(re);
}
