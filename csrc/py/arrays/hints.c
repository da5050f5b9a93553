/* Operators and methods that USMArray does not have: errors that say what to use instead. */
#include "hints.h"

#include "array.h"

#include <string.h>

#define WHERE                                                                                               \
    "usmpy has no arithmetic yet. Use NumPy on the host (numpy.from_dlpack(x) is the same memory, "         \
    "x.asnumpy() copies from any device), CuPy or PyTorch on CUDA (from_dlpack), dpnp on SYCL devices, or " \
    "write a kernel (usmpy.Program)"

static PyObject *refuse(const char *sign)
{
    return PyErr_Format(PyExc_TypeError, "USMArray does not support %s: " WHERE, sign);
}

static bool is_number(PyObject *object)
{
    return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
}

/*
 * An object of another class on the right may implement the operator, so Python must try it. An object on the
 * left was tried before. NumPy's operators call __array_ufunc__, except for the matrix product of its
 * scalars, which does not exist.
 */
static PyObject *binary(PyObject *a, PyObject *b, const char *sign)
{
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    bool try_other = usmpy_is_array(state, a) && !usmpy_is_array(state, b) && !is_number(b) &&
                     !PyList_Check(b) && !PyTuple_Check(b) && strncmp(Py_TYPE(b)->tp_name, "numpy.", 6) != 0;
    if (try_other) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return refuse(sign);
}

#define BINARY(name, sign)                                \
    PyObject *usmpy_hint_##name(PyObject *a, PyObject *b) \
    {                                                     \
        return binary(a, b, sign);                        \
    }

BINARY(add, "+")
BINARY(subtract, "-")
BINARY(multiply, "*")
BINARY(true_divide, "/")
BINARY(floor_divide, "//")
BINARY(remainder, "%")
BINARY(lshift, "<<")
BINARY(rshift, ">>")

PyObject *usmpy_hint_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    (void)modulus;
    return binary(a, b, "**");
}

PyObject *usmpy_hint_bits(PyObject *a, PyObject *b, const char *sign)
{
    return binary(a, b, sign);
}

PyObject *usmpy_hint_negative(PyObject *self)
{
    (void)self;
    return refuse("unary -");
}

PyObject *usmpy_hint_positive(PyObject *self)
{
    (void)self;
    return refuse("unary +");
}

PyObject *usmpy_hint_absolute(PyObject *self)
{
    (void)self;
    return refuse("abs()");
}

PyObject *usmpy_hint_ufunc(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    (void)kwargs;
    PyObject *name =
        PyTuple_GET_SIZE(args) == 0 ? NULL : PyObject_GetAttrString(PyTuple_GET_ITEM(args, 0), "__name__");
    if (name == NULL) {
        PyErr_Clear();
    }
    PyErr_Format(PyExc_TypeError,
                 "numpy.%S does not take USMArrays, whose memory may be inaccessible to the host; pass "
                 "numpy.from_dlpack(x) (the same memory, if the host can access it) or x.asnumpy() (a copy)",
                 name == NULL ? Py_None : name);
    Py_XDECREF(name);
    return NULL;
}

PyObject *usmpy_hint_method(PyObject *self, void *name)
{
    (void)self;
    return PyErr_Format(PyExc_AttributeError, "'usmpy.USMArray' object has no attribute '%s': " WHERE,
                        (const char *)name);
}
