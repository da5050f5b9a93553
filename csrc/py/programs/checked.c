/* Launches of checked kernels: the kernel, then a host task that reads the record of its first failure. */
#include "launch.h"

#include "py/args.h"

/* See usmpy/_checked.py, which makes the record and reads it. */
PyObject *usmpy_launch_checked(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                               PyObject *const *objects, Py_ssize_t n, PyObject *depends)
{
    PyObject *args = PyTuple_New(n), *record = NULL, *event = NULL, *result = NULL;
    if (args == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTuple_SET_ITEM(args, i, Py_NewRef(objects[i]));
    }
    record = usmpy_call("usmpy._checked", "record", "(OO)", queue != NULL ? queue : Py_None, args);
    if (record != NULL && (record == Py_None || usm_range_items(range) == 0)) { /* nothing runs */
        result = usmpy_launch_with(state, kernel, range, queue, objects, n, depends, NULL);
    } else if (record != NULL) {
        event = usmpy_launch_with(state, kernel, range, queue, objects, n, depends, record);
    }
    if (event != NULL) {
        result = usmpy_call("usmpy._checked", "watch", "(OOOOI)", kernel, event, record, args, range->ndim);
    }
    Py_XDECREF(event);
    Py_XDECREF(record);
    Py_DECREF(args);
    return result;
}
