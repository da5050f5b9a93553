/* Operands and methods that USMArray does not take or have: errors that say what to use instead. */
#include "hints.h"

#include "py/args.h"

#include <string.h>

bool usmpy_has_protocol(PyObject *object)
{
    static const char *const protocols[] = {"__dlpack__", "__array__", "__array_interface__",
                                            "__array_struct__", "__cuda_array_interface__"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof protocols / sizeof protocols[0]; i++) {
        found = PyObject_HasAttrString(object, protocols[i]);
    }
    return found;
}

bool usmpy_has_elements(PyObject *object)
{
    return !PyUnicode_Check(object) && !PyType_Check(object) &&
           (PySequence_Check(object) || PyObject_CheckBuffer(object) || usmpy_has_protocol(object));
}

void *usmpy_refuse_operand(const char *function, const char *name, PyObject *object, const char *allowed)
{
    bool makes = usmpy_has_elements(object);
    return PyErr_Format(PyExc_TypeError, "%s(): %s is %s %.80s; %s allowed%s%s%s", function, name,
                        USMPY_A(object), allowed, makes ? " (asarray(" : "", makes ? name : "",
                        makes ? ", device=...) makes a USMArray, and asnumpy() an array of NumPy)" : "");
}

/* Whether the class has arithmetic, and may take a USMArray on its left. */
static bool computes(PyObject *object)
{
    const PyNumberMethods *methods = Py_TYPE(object)->tp_as_number;
    return methods != NULL && (methods->nb_add != NULL || methods->nb_multiply != NULL ||
                               methods->nb_and != NULL || methods->nb_matrix_multiply != NULL);
}

/*
 * An object of another class on the right may implement the operator, so Python must try it. NumPy's arrays
 * would call __array_ufunc__ only to fail, and sequences repeat or concatenate elements. An object on the
 * left was tried before, and bytes would append the memory of the array.
 */
PyObject *usmpy_hint_operand(const char *function, PyObject *other, bool on_the_right)
{
    if (on_the_right && strncmp(Py_TYPE(other)->tp_name, "numpy.", 6) != 0 &&
        (computes(other) || !usmpy_has_elements(other))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyErr_Format(PyExc_TypeError, "%s(): a USMArray cannot be combined with %s %.80s%s", function,
                        USMPY_A(other),
                        usmpy_has_elements(other)
                            ? ", which has no queue; asarray(other, device=x.device) makes an array on the "
                              "queue of x, and numpy.from_dlpack(x) makes one of NumPy"
                            : "; a USMArray or a number is allowed");
}

PyObject *usmpy_hint_method(PyObject *Py_UNUSED(self), void *texts)
{
    const char *name = texts;
    return PyErr_Format(PyExc_AttributeError, "'usmpy.USMArray' object has no attribute '%s': %s", name,
                        name + strlen(name) + 1);
}
