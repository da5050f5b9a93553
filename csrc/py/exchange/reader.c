/*
 * Reads objects of any library as arrays, by one order of protocols (docs/design.md, section 5): first the
 * protocols that share memory, then NumPy's, which may copy. After a refusal the next protocol is tried; if
 * all refuse the object, the first refusal is raised.
 */
#include "dlpack.h"
#include "native.h"
#include "py/args.h"
#include "py/module.h"
#include "stream.h"

/*
 * Keeps the pending exception as the first refusal, or drops it. False if it is not a refusal. Once a
 * protocol has refused, every error of the object counts as a refusal, since its attributes may raise any
 * class.
 */
static bool refused(PyObject **first)
{
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        (*first == NULL || !PyErr_ExceptionMatches(PyExc_Exception) ||
         PyErr_ExceptionMatches(PyExc_MemoryError))) {
        return false;
    }
    PyObject *refusal = usmpy_take_exception();
    if (*first == NULL) {
        *first = refusal;
    } else {
        Py_DECREF(refusal);
    }
    return true;
}

/* By the class: a property may compute what it returns. Classes themselves are no arrays. */
static bool class_has(usmpy_state *state, PyObject *object, usmpy_name name)
{
    return PyObject_HasAttr((PyObject *)Py_TYPE(object), state->names[name]);
}

/* Whether the class or the object has one of NumPy's protocols: 1, 0, or -1 with an exception. */
static int numpy_reads(usmpy_state *state, PyObject *object)
{
    if (PyType_Check(object)) {
        return 0;
    }
    if (class_has(state, object, USMPY___array_interface__) || class_has(state, object, USMPY___array__) ||
        class_has(state, object, USMPY___array_struct__)) {
        return 1;
    }
    static const usmpy_name own[] = {USMPY___array__, USMPY___array_interface__, USMPY___array_struct__};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        PyObject *attribute = usmpy_attribute(state, object, own[i]);
        Py_XDECREF(attribute);
        if (attribute != NULL || PyErr_Occurred()) {
            return attribute != NULL ? 1 : -1;
        }
    }
    return 0;
}

/* Through the protocols that share memory. NULL with an exception that is final, or without one. */
static PyObject *share(usmpy_state *state, PyObject *object, PyObject **first)
{
    usmpy_type_entry entry;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(object), &entry);
    if (known == NULL) {
        return NULL;
    }
    usmpy_numpy numpy = (usmpy_numpy)known->numpy;
    PyObject *array = known->route != USMPY_ROUTE_NONE
                          ? (PyObject *)usmpy_import_dlpack(state, object, NULL, false)
                          : usmpy_array_from_sycl_interface(state, object, false);
    if (USM_LIKELY(array != NULL) || (PyErr_Occurred() && !refused(first))) {
        return array;
    }
    if (numpy == USMPY_NUMPY_DERIVED) {
        return NULL; /* what refused it, such as its mask, is not in a buffer */
    }
    array = (PyObject *)usmpy_array_from_cuda_interface(state, object, NULL);
    if (array != NULL || (PyErr_Occurred() && !refused(first))) {
        return array;
    }
    array = PyObject_CheckBuffer(object) ? usmpy_array_from_buffer(state, object) : NULL;
    if (array != NULL || (PyErr_Occurred() && !refused(first))) {
        return array;
    }
    /* Where an object has both, Arrow's form may have fewer dimensions, as that of Pillow's images. */
    return class_has(state, object, USMPY___array_interface__)
               ? NULL
               : (PyObject *)usmpy_array_from_arrow(state, object);
}

/* Python's numbers, lists and tuples support no protocol; bytes and the like are buffers. */
static bool has_none(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object);
}

/* `by_numpy`: also what NumPy makes of it. NULL with an exception, or without one: it has no protocol. */
static PyObject *import_object(usmpy_state *state, PyObject *object, bool by_numpy)
{
    PyObject *first = NULL;
    if (has_none(object)) {
        return NULL;
    }
    if (usmpy_is_array(state, object)) {
        return Py_NewRef(object);
    }
    PyObject *array = share(state, object, &first);
    if (USM_LIKELY(array != NULL) || PyErr_Occurred()) {
        Py_XDECREF(first);
        return array;
    }
    int reads = by_numpy ? numpy_reads(state, object) : 0;
    if (reads < 0 && (first == NULL || !refused(&first))) {
        Py_XDECREF(first);
        return NULL;
    }
    if (reads <= 0) {
        return usmpy_raise_object(NULL, first);
    }
    PyObject *values =
        usmpy_call("usmpy._arrays.objects", "read", "OO", object, first != NULL ? first : Py_None);
    array = values == NULL ? NULL : usmpy_import_shared(state, values);
    Py_XDECREF(values);
    Py_XDECREF(first);
    return array;
}

PyObject *usmpy_import_shared(usmpy_state *state, PyObject *object)
{
    return import_object(state, object, false);
}

PyObject *usmpy_import_any(usmpy_state *state, PyObject *object)
{
    return import_object(state, object, true);
}
