/* Methods of Queue that submit work. */
#ifndef USMPY_QUEUE_SUBMIT_H
#define USMPY_QUEUE_SUBMIT_H

#include "py/module.h"

PyObject *usmpy_queue_memcpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_fill(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_prefetch(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_barrier(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_host_task(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_keep_alive(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_queue_wait_for(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/*
 * Submits a command with explicit dependencies (NULL: none). Takes over keeps, also when it fails. The Event,
 * or NULL with an exception.
 */
PyObject *usmpy_submit(usmpy_state *state, usm_queue *queue, const usm_command *command,
                       const usm_access *accesses, size_t n_accesses, PyObject *depends,
                       USM_TAKES usm_keep *keeps);

#endif
