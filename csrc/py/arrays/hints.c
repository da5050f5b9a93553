/* Operands and methods that USMArray does not take or have: errors that say what to use instead. */
#include "hints.h"

#include "array.h"
#include "py/args.h"

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

PyObject *usmpy_hint_method(PyObject *self, void *texts)
{
    (void)self;
    const char *name = texts;
    return PyErr_Format(PyExc_AttributeError, "'usmpy.USMArray' object has no attribute '%s': %s", name,
                        name + strlen(name) + 1);
}
