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

static PyType_Spec immutable_spec = {
    .name = "usmpy._core._Immutable",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = immutable_slots,
};

int usmpy_immutable_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &immutable_spec, NULL, &state->immutable_type);
}
