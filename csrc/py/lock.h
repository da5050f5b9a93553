/* Differences between Python versions: critical sections, dict look-ups and the end of the interpreter. */
#ifndef USMPY_LOCK_H
#define USMPY_LOCK_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030D0000
#define USMPY_BEGIN_CRITICAL_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object); /* it ends without one */
#define USMPY_END_CRITICAL_SECTION() Py_END_CRITICAL_SECTION()
#define usmpy_is_finalizing() Py_IsFinalizing()
#else
/* With the GIL, code that neither runs Python code nor releases the GIL is atomic. */
#define USMPY_BEGIN_CRITICAL_SECTION(object) {
#define USMPY_END_CRITICAL_SECTION() }
#define usmpy_is_finalizing() _Py_IsFinalizing()
#endif

/* dict[key]: new reference; NULL if the key is missing, and with an exception if the look-up failed. */
static inline PyObject *usmpy_dict_get(PyObject *dict, PyObject *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value;
    (void)PyDict_GetItemRef(dict, key, &value);
    return value;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

#endif
