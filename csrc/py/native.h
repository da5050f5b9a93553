/* Objects and memory that other libraries made with the same driver: methods of the types' own files. */
#ifndef USMPY_NATIVE_H
#define USMPY_NATIVE_H

#include "objects.h"

PyObject *usmpy_device_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames);
PyObject *usmpy_context_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames);
PyObject *usmpy_queue_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_array_from_pointer(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames);

/* Getters of native_handle. */
PyObject *usmpy_device_native_handle(PyObject *self, void *unused);
PyObject *usmpy_context_native_handle(PyObject *self, void *unused);
PyObject *usmpy_queue_native_handle(PyObject *self, void *unused);

/*
 * The array of an object with __sycl_usm_array_interface__: new reference; NULL with an exception, or without
 * one where the object has no such attribute.
 */
PyObject *usmpy_array_from_sycl_interface(usmpy_state *state, PyObject *object);

#endif
