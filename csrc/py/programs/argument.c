/* Conversion of a Python object to an argument of a kernel, with checks of its type and value. */
#include "argument.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/exchange/dlpack.h"
#include "py/objects/placement.h"

#include "core/layout/number.h"

#include <math.h>
#include <string.h>

static const char *type_of(const usm_parameter *parameter)
{
    return parameter->type != NULL ? parameter->type : "a type that the program does not tell";
}

/*
 * TypeError: the object, as "an int", was given for the parameter; `advice` follows. NULL: what the parameter
 * takes. -1
 */
static int refuse(const usm_parameter *parameter, PyObject *object, const char *advice)
{
    advice = advice != NULL                             ? advice
             : parameter->kind == USM_PARAMETER_POINTER ? "; a USMArray is allowed, such as "
                                                          "usmpy.asarray(value, device=kernel.device)"
             : parameter->kind == USM_PARAMETER_LOCAL   ? ", which is local memory; pass LocalMemory(nbytes)"
                                                        : "; bytes or a ctypes value are allowed";
    return usmpy_refuse(PyExc_TypeError, "%s %.80s was given for %s%s", USMPY_A(object), type_of(parameter),
                        advice);
}

/* OpenCL C has no type for pointers to bool, complex or narrow floating-point elements. */
static bool points_to(usm_dtype parameter, usm_dtype array)
{
    const usm_dtype_info *to = &usm_dtype_table[parameter], *from = &usm_dtype_table[array];
    if (parameter == array) {
        return true;
    }
    if (to->kind == USM_DTYPE_KIND_FLOAT && from->kind == USM_DTYPE_KIND_COMPLEX) {
        return 2 * to->bits == from->bits; /* (re, im) side by side */
    }
    return to->kind == USM_DTYPE_KIND_UINT || to->kind == USM_DTYPE_KIND_INT
               ? to->itemsize == from->itemsize &&
                     (from->kind == USM_DTYPE_KIND_BOOL || array >= USM_COMPUTED_DTYPES ||
                      array == USM_BFLOAT16 || (array == USM_FLOAT16 && parameter == USM_UINT16))
               : false;
}

static const char *name_of(const usm_parameter *parameter)
{
    return parameter->name != NULL ? parameter->name : "x";
}

int usmpy_refuse_array(PyObject *exception, const usm_parameter *parameter, bool writes, PyObject *problem,
                       const char *method, const char *back)
{
    const char *name = name_of(parameter);
    PyObject *last = problem == NULL || !writes ? NULL : PyUnicode_FromFormat(back, name);
    if (last != NULL) {
        PyErr_Format(
            exception,
            "%U. The kernel may write to it, so bring the results back: t = %s.%s; launch the kernel "
            "with t; %U",
            problem, name, method, last);
    } else if (problem != NULL && !writes) {
        PyErr_Format(exception, "%U; pass %s.%s", problem, name, method);
    }
    Py_XDECREF(last);
    Py_XDECREF(problem);
    return -1;
}

static int refuse_dtype(const usm_parameter *parameter, const usmpy_array *array, bool writes)
{
    usm_dtype from = (usm_dtype)array->dtype, to = (usm_dtype)parameter->dtype;
    const usm_dtype_info *own = &usm_dtype_table[from], *wanted = &usm_dtype_table[to];
    char method[48], back[48];
    if (!usm_dtype_can_cast(from, to, USM_CAST_UNSAFE) ||
        (own->kind == USM_DTYPE_KIND_COMPLEX && wanted->kind != USM_DTYPE_KIND_COMPLEX)) {
        return usmpy_refuse(PyExc_TypeError, "a USMArray of %s was given for %s; one of %s is allowed",
                            own->name, type_of(parameter), wanted->name);
    }
    /* astype() keeps the order of axes, in which a kernel may see gaps. */
    bool whole = (array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) != 0;
    PyOS_snprintf(method, sizeof method, "astype('%s')%s", wanted->name, whole ? "" : ".copy()");
    PyOS_snprintf(back, sizeof back, "%%s[...] = t.astype('%s')", own->name);
    return usmpy_refuse_array(
        PyExc_TypeError, parameter, writes,
        PyUnicode_FromFormat("a USMArray of %s was given for %s", own->name, type_of(parameter)), method,
        back);
}

static int take_array(const usm_parameter *parameter, usmpy_array *array, usm_argument *out,
                      usmpy_arguments *taken)
{
    bool writable = (array->flags & USMPY_WRITABLE) != 0;
    /* If the program does not describe its parameters, the kernel may write to every writable array. */
    bool writes = parameter->kind == USM_PARAMETER_POINTER ? !parameter->read_only : writable;
    if (parameter->kind == USM_PARAMETER_LOCAL) {
        return usmpy_refuse(PyExc_TypeError,
                            "the parameter is local memory: pass LocalMemory(nbytes), not an array");
    }
    if (parameter->kind != USM_PARAMETER_POINTER &&
        (parameter->kind != USM_PARAMETER_UNKNOWN ||
         (parameter->size != 0 && parameter->size != sizeof(void *)))) {
        return usmpy_refuse(PyExc_TypeError, "a USMArray was given for %s; pass %s", type_of(parameter),
                            parameter->kind == USM_PARAMETER_UNKNOWN
                                ? "a NumPy scalar, a ctypes value or bytes"
                            : parameter->dtype == (int16_t)USM_NO_DTYPE ? "bytes or a ctypes value"
                                                                        : "a number");
    }
    if (writes && !writable) {
        return usmpy_refuse(
            PyExc_ValueError,
            "a read-only USMArray was given for %s, to which the kernel may write; pass a copy, t = "
            "%s.copy(), and read the results from t",
            type_of(parameter), name_of(parameter));
    }
    if (!taken->any_layout && parameter->kind == USM_PARAMETER_POINTER && parameter->dtype != USM_NO_DTYPE &&
        !points_to((usm_dtype)parameter->dtype, (usm_dtype)array->dtype)) {
        return refuse_dtype(parameter, array, writes);
    }
    if (!taken->any_layout && (array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == 0) {
        return usmpy_refuse_array(
            PyExc_BufferError, parameter, writes,
            PyUnicode_FromString("a USMArray that is not contiguous was given, and a kernel sees no strides"),
            "copy()", "%s[...] = t");
    }
    out->kind = USM_PARAMETER_POINTER;
    out->size = sizeof(void *);
    out->as.pointer = array->data;
    taken->accesses[taken->n_arrays] = (usm_access){array->alloc, writes ? USM_READ_WRITE : USM_READ};
    taken->arrays[taken->n_arrays++] = array;
    return 0;
}

/* Integers must be stored exactly, and finite floats stay finite. 0, or -1 with OverflowError. */
static int check_exact(PyObject *number, usm_dtype dtype, const void *element)
{
    if (usm_dtype_table[dtype].kind < USM_DTYPE_KIND_FLOAT) {
        return 0;
    }
    double re, im;
    usm_number_load(dtype, element, &re, &im);
    bool same = true;
    if (PyLong_Check(number) && !PyBool_Check(number)) {
        if (fabs(re) <= 2048) { /* whole in every floating-point type */
            return 0;
        }
        PyObject *stored = usmpy_element_to_scalar(dtype, element);
        int equal = stored == NULL ? -1 : PyObject_RichCompareBool(number, stored, Py_EQ);
        Py_XDECREF(stored);
        if (equal < 0) {
            return -1;
        }
        same = equal;
    } else if (PyFloat_Check(number)) {
        same = isfinite(re) || !isfinite(PyFloat_AS_DOUBLE(number));
    } else if (PyComplex_Check(number)) {
        Py_complex value = PyComplex_AsCComplex(number);
        same = (isfinite(re) || !isfinite(value.real)) && (isfinite(im) || !isfinite(value.imag));
    }
    if (!same) {
        return usmpy_refuse(PyExc_OverflowError, "%.60R does not fit into %s without loss", number,
                            usm_dtype_table[dtype].name);
    }
    return 0;
}

/* For a parameter of which only the width is known: any integer that fits, signed or unsigned. 0 or -1. */
static int take_by_width(const usm_parameter *parameter, PyObject *number, usm_argument *out)
{
    unsigned bits = 8 * parameter->size;
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    unsigned long long natural = (unsigned long long)value;
    bool fits = overflow == 0 && (bits == 64 || (value >= -(1LL << (bits - 1)) && value < 1LL << bits));
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (overflow > 0 && bits == 64) {
        natural = PyLong_AsUnsignedLongLong(number);
        fits = !PyErr_Occurred();
        PyErr_Clear();
    }
    if (!fits) {
        return usmpy_refuse(PyExc_OverflowError, "%.60R does not fit into an integer of %u bits", number,
                            bits);
    }
    out->kind = USM_PARAMETER_VALUE;
    out->size = parameter->size;
    memcpy(out->as.value, &natural, sizeof natural);
    return 0;
}

static int take_number(const usm_parameter *parameter, PyObject *number, usm_argument *out)
{
    if (parameter->kind == USM_PARAMETER_UNKNOWN && PyLong_Check(number) &&
        (parameter->size == 1 || parameter->size == 2 || parameter->size == 4 || parameter->size == 8)) {
        return take_by_width(parameter, number, out);
    }
    if (parameter->kind == USM_PARAMETER_UNKNOWN) {
        return usmpy_refuse(
            PyExc_TypeError,
            "%s %.80s was given, and the program does not tell the parameter's type; a NumPy scalar, a "
            "ctypes value or bytes are allowed",
            USMPY_A(number));
    }
    if (parameter->kind != USM_PARAMETER_VALUE || parameter->dtype == USM_NO_DTYPE) {
        return refuse(parameter, number, NULL);
    }
    usm_dtype dtype = (usm_dtype)parameter->dtype;
    out->kind = USM_PARAMETER_VALUE;
    out->size = parameter->size;
    return usmpy_scalar_to_element(number, dtype, out->as.value) < 0 ||
                   check_exact(number, dtype, out->as.value) < 0
               ? -1
               : 0;
}

static int take_bytes(const usm_parameter *parameter, const Py_buffer *view, usm_argument *out)
{
    if (parameter->size != 0 && parameter->size != (size_t)view->len) {
        return usmpy_refuse(PyExc_ValueError, "%zd bytes were given for %s, which has %u bytes", view->len,
                            type_of(parameter), parameter->size);
    }
    if (view->len < 1 || view->len > INT32_MAX) {
        return usmpy_refuse(PyExc_ValueError, "%zd bytes were given; 1 to %d are allowed", view->len,
                            INT32_MAX);
    }
    out->kind = USM_PARAMETER_VALUE;
    out->size = (uint32_t)view->len;
    if (view->len <= USM_INLINE_VALUE) {
        memcpy(out->as.value, view->buf, (size_t)view->len);
    } else {
        out->as.data = view->buf; /* borrowed from the view */
    }
    return 0;
}

/* 0-dimensional arrays and scalars of libraries without the buffer protocol, and numbers of long double. */
static int take_foreign(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                        usm_argument *out)
{
    PyObject *number;
    usm_dtype dtype;
    int found = parameter->kind == USM_PARAMETER_POINTER || PyUnicode_Check(object)
                    ? 0
                    : usmpy_host_value(state, object, &number, &dtype);
    if (found <= 0) {
        const char *advice =
            parameter->kind == USM_PARAMETER_POINTER
                ? NULL
                : "; a USMArray, a number, a NumPy or ctypes scalar, bytes, LocalMemory, or None for a "
                  "null pointer is allowed";
        return found < 0 ? -1 : refuse(parameter, object, advice);
    }
    int status = take_number(parameter, number, out);
    Py_DECREF(number);
    return status;
}

/* A value with memory of its own: NumPy's scalars, ctypes' values, bytes. */
static int take_view(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                     const Py_buffer *view, usm_argument *out)
{
    bool is_bytes = PyBytes_Check(object) || PyByteArray_Check(object) ||
                    (PyMemoryView_Check(object) && view->itemsize == 1);
    usm_dtype dtype = is_bytes ? USM_NO_DTYPE : usmpy_dtype_of_format(view->format, view->itemsize);
    if (parameter->kind == USM_PARAMETER_POINTER || parameter->kind == USM_PARAMETER_LOCAL) {
        return refuse(parameter, object, NULL);
    }
    if (parameter->kind == USM_PARAMETER_VALUE && parameter->dtype == USM_NO_DTYPE) {
        return take_bytes(parameter, view, out); /* a struct, or a vector such as float4 */
    }
    if (PyUnicode_Check(object)) { /* np.str_ has a buffer */
        return refuse(parameter, object, "");
    }
    if (dtype != USM_NO_DTYPE && (view->ndim > 0 || view->len != usm_dtype_table[dtype].itemsize)) {
        return usmpy_refuse(PyExc_TypeError,
                            "an object of %zd elements was given for %s; a USMArray or a scalar is allowed",
                            view->len / usm_dtype_table[dtype].itemsize, type_of(parameter));
    }
    if (parameter->kind == USM_PARAMETER_VALUE && dtype == USM_NO_DTYPE && !is_bytes) {
        return take_foreign(state, parameter, object, out); /* long double, or no number of this machine */
    }
    if (dtype == USM_NO_DTYPE || parameter->kind == USM_PARAMETER_UNKNOWN || (int)dtype == parameter->dtype) {
        return take_bytes(parameter, view, out);
    }
    PyObject *number = usmpy_element_to_scalar(dtype, view->buf);
    int status = number == NULL ? -1 : take_number(parameter, number, out);
    Py_XDECREF(number);
    return status;
}

static int take_local(const usm_parameter *parameter, PyObject *object, usm_argument *out,
                      usmpy_arguments *taken)
{
    if (parameter->kind != USM_PARAMETER_LOCAL &&
        (parameter->kind != USM_PARAMETER_UNKNOWN || parameter->size != 0)) {
        return usmpy_refuse(
            PyExc_TypeError, "LocalMemory was given for %s, which is not local memory; %s",
            type_of(parameter),
            parameter->kind == USM_PARAMETER_POINTER ? "a USMArray is allowed" : "pass a value");
    }
    taken->has_local = true;
    out->kind = USM_PARAMETER_LOCAL;
    out->size = (uint32_t)((usmpy_local *)object)->nbytes;
    return 0;
}

int usmpy_take_argument(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                        usm_argument *out, usmpy_arguments *taken)
{
    if (usmpy_is_array(state, object)) {
        return take_array(parameter, (usmpy_array *)object, out, taken);
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
        PyComplex_CheckExact(object)) {
        return take_number(parameter, object, out);
    }
    if (Py_IS_TYPE(object, state->local_type)) {
        return take_local(parameter, object, out, taken);
    }
    if (object == Py_None &&
        (parameter->kind == USM_PARAMETER_POINTER ||
         (parameter->kind == USM_PARAMETER_UNKNOWN && parameter->size == sizeof(void *)))) {
        out->kind = USM_PARAMETER_POINTER;
        out->size = sizeof(void *);
        out->as.pointer = NULL;
        return 0;
    }
    Py_buffer *view = &taken->views[taken->n_views];
    usmpy_type_entry entry;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(object), &entry);
    if (known == NULL || (known->numpy == USMPY_NUMPY_DERIVED && usmpy_check_plain(object) < 0)) {
        return -1;
    }
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_ND) == 0) {
            taken->n_views++;
            return take_view(state, parameter, object, view, out);
        }
        /* Types without a format (NumPy's dates raise ValueError), and arrays with gaps. */
        if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
            !PyErr_ExceptionMatches(PyExc_TypeError)) {
            return -1;
        }
        PyErr_Clear();
    }
    return take_foreign(state, parameter, object, out);
}
