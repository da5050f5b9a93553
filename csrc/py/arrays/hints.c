/* Operands and methods that USMArray does not take or have: errors that say what to use instead. */
#include "hints.h"

#include "array.h"
#include "py/args.h"
#include "py/objects/placement.h"

#include <string.h>

bool usmpy_has_elements(PyObject *object)
{
    return !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyType_Check(object) &&
           (PySequence_Check(object) || PyObject_CheckBuffer(object) ||
            PyObject_HasAttrString(object, "__dlpack__"));
}

/*
 * An object of another class on the right may implement the operator, so Python must try it. NumPy's arrays
 * would call __array_ufunc__ only to fail, and lists and tuples repeat or concatenate elements. An object on
 * the left was tried before, and bytes would append the memory of the array.
 */
PyObject *usmpy_hint_operand(const char *function, PyObject *other, bool on_the_right)
{
    if (on_the_right && !PyList_Check(other) && !PyTuple_Check(other) &&
        strncmp(Py_TYPE(other)->tp_name, "numpy.", 6) != 0) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return usmpy_has_elements(other)
               ? PyErr_Format(PyExc_TypeError,
                              "%s(): a USMArray cannot be combined with %s %s, which has no queue; "
                              "asarray(other, device=x.device) makes an array on the queue of x, and "
                              "numpy.from_dlpack(x) makes one of NumPy",
                              function, USMPY_A(other))
               : PyErr_Format(PyExc_TypeError,
                              "%s(): a USMArray cannot be combined with %s %s; a USMArray or a number is "
                              "allowed",
                              function, USMPY_A(other));
}

/*
 * NumPy's scalars have NumPy's operators, and call its functions: number * x is multiply(number, x). What x
 * does with them as right operand is done here. NULL without an exception for other calls.
 */
static PyObject *reflected_operator(usmpy_state *state, PyObject *args, PyObject *kwargs, const char *name)
{
    static const struct {
        const char *numpy, *usmpy;
    } renamed[] = {
        {"power", "pow"}, {"left_shift", "bitwise_left_shift"}, {"right_shift", "bitwise_right_shift"}};
    static const char *const same[] = {"add",          "subtract",  "multiply",     "divide",
                                       "floor_divide", "remainder", "bitwise_and",  "bitwise_or",
                                       "bitwise_xor",  "equal",     "not_equal",    "less",
                                       "less_equal",   "greater",   "greater_equal"};
    bool is_call = PyTuple_GET_SIZE(args) == 4 && (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0) &&
                   PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(args, 1), "__call__") == 0;
    PyObject *number = NULL;
    const char *function = NULL;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed && is_call; i++) {
        function = strcmp(name, renamed[i].numpy) == 0 ? renamed[i].usmpy : function;
    }
    for (size_t i = 0; i < sizeof same / sizeof *same && is_call; i++) {
        function = strcmp(name, same[i]) == 0 ? same[i] : function;
    }
    if (function == NULL || usmpy_is_array(state, PyTuple_GET_ITEM(args, 2)) ||
        usmpy_host_scalar(state, PyTuple_GET_ITEM(args, 2), &number) <= 0) {
        return NULL;
    }
    PyObject *result = PyObject_CallMethod(state->module, function, "OO", number, PyTuple_GET_ITEM(args, 3));
    Py_DECREF(number);
    return result;
}

PyObject *usmpy_hint_ufunc(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *name =
        PyTuple_GET_SIZE(args) == 0 ? NULL : PyObject_GetAttrString(PyTuple_GET_ITEM(args, 0), "__name__");
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (text == NULL) {
        PyErr_Clear();
    }
    PyObject *result =
        text == NULL ? NULL : reflected_operator(((usmpy_array *)self)->state, args, kwargs, text);
    if (result == NULL && !PyErr_Occurred()) {
        PyErr_Format(
            PyExc_TypeError,
            "numpy.%S does not take USMArrays, whose memory may be inaccessible to the host; call usmpy's "
            "function, or pass numpy.from_dlpack(x) (the same memory, if the host can access it) or "
            "x.asnumpy() (a copy)",
            name == NULL ? Py_None : name);
    }
    Py_XDECREF(name);
    return result;
}

PyObject *usmpy_hint_method(PyObject *self, void *texts)
{
    (void)self;
    const char *name = texts;
    return PyErr_Format(PyExc_AttributeError, "'usmpy.USMArray' object has no attribute '%s': %s", name,
                        name + strlen(name) + 1);
}
