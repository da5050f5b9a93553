/* _Immutable: the base of classes whose objects do not change, so that a copy of one is the object itself. */
#include "docstrings.h"
#include "py/module.h"

static PyObject *itself(PyObject *self, PyObject *Py_UNUSED(memo))
{
    return Py_NewRef(self);
}

static PyMethodDef immutable_methods[] = {
    {"__copy__", itself, METH_NOARGS, USMPY_DOC__Immutable___copy__},
    {"__deepcopy__", itself, METH_O, USMPY_DOC__Immutable___deepcopy__},
    {0},
};

static PyType_Slot immutable_slots[] = {
    {Py_tp_doc, USMPY_DOC__Immutable},
    {Py_tp_methods, immutable_methods},
    {0, NULL},
};

USMPY_SPEC(immutable, "usmpy._core._Immutable", PyObject, Py_TPFLAGS_BASETYPE)
