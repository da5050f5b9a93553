/* Methods of Queue that submit work, and the function with which everything in csrc/py submits a command. */
#ifndef USMPY_QUEUE_SUBMIT_H
#define USMPY_QUEUE_SUBMIT_H

#include "py/args.h"

/*
 * Each returns a new Event (wait_for: None), or NULL with an exception and nothing enqueued; memcpy may have
 * enqueued a barrier.
 */
usmpy_member usmpy_queue_memcpy, usmpy_queue_fill, usmpy_queue_prefetch, usmpy_queue_barrier;
usmpy_member usmpy_queue_keep_alive, usmpy_queue_wait_for;
PyObject *usmpy_queue_host_task(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/*
 * Submits a command. depends: an Event or an iterable of Events; NULL or None: no explicit dependency. Takes
 * over keeps, also when it fails. blocking: waits for the command's end without the GIL, and raises its
 * failure; inside a host task that the command would be ordered after, UsmError with nothing submitted. The
 * new Event, or NULL with an exception.
 */
PyObject *usmpy_submit(usmpy_state *state, usm_queue *queue, const usm_command *command,
                       const usm_access *accesses, size_t n_accesses, PyObject *depends,
                       USM_TAKES usm_keep *keeps, bool blocking);
/* Waits for a new Event and returns it, or NULL with its failure or the exception of a signal handler. */
PyObject *usmpy_finish_event(usmpy_state *state, USM_TAKES PyObject *event);

#endif
