/* Launches of checked kernels: the kernel, then a host task that reads the record of its first failure. */
#include "launch.h"

#include "py/args.h"
#include "py/arrays/array.h"

/* The bytes of the array's allocation before and behind its first element; (0, 0) for what is no array. */
static PyObject *room_of(usmpy_state *state, PyObject *object)
{
    Py_ssize_t before = 0, behind = 0;
    if (usmpy_is_array(state, object)) {
        const usmpy_array *array = (usmpy_array *)object;
        size_t asked = atomic_load_explicit(&array->alloc->nbytes, memory_order_relaxed); /* 0: of others */
        before = (char *)array->data - (char *)array->alloc->pointer;
        behind = (Py_ssize_t)(asked != 0 ? asked : array->alloc->size) - before;
    }
    return Py_BuildValue("(nn)", before, behind);
}

/* See usmpy/_kernels/checked.py, which makes the record and reads it. */
PyObject *usmpy_launch_checked(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                               PyObject *const *objects, Py_ssize_t n, PyObject *depends,
                               const usmpy_expansion *expansion)
{
    PyObject *args = PyTuple_New(n), *rooms = PyTuple_New(n);
    PyObject *record = NULL, *event = NULL;
    for (Py_ssize_t i = 0; args != NULL && i < n; i++) {
        PyTuple_SET_ITEM(args, i, Py_NewRef(objects[i]));
        usmpy_set_item(&rooms, i, rooms == NULL ? NULL : room_of(state, objects[i]));
    }
    if (args != NULL && rooms != NULL) {
        record = usmpy_call("usmpy._kernels.checked", "record", "(OOOO)", kernel,
                            queue != NULL ? queue : Py_None, args, rooms);
    }
    bool runs = record != NULL && record != Py_None && usm_range_items(range) > 0;
    if (record != NULL) {
        event = usmpy_launch_with(state, kernel, range, queue, objects, n, depends, runs ? record : NULL,
                                  expansion);
    }
    if (event != NULL && runs) {
        Py_SETREF(event, usmpy_call("usmpy._kernels.checked", "watch", "(OOOOI)", kernel, event, record, args,
                                    range->ndim));
    }
    Py_XDECREF(record);
    Py_XDECREF(rooms);
    Py_XDECREF(args);
    return event;
}
