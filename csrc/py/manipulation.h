/* Module functions of manipulation.c's table that live in files of their own. */
#ifndef USMPY_MANIPULATION_H
#define USMPY_MANIPULATION_H

#include "module.h"

PyObject *usmpy_concat(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_stack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_copyto(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_explain_copy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
