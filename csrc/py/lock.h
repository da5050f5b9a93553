/* Differences between Python versions in locks, threads and the end of the interpreter. */
#ifndef USMPY_LOCK_H
#define USMPY_LOCK_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030D0000
#define USMPY_BEGIN_CRITICAL_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object)
#define USMPY_END_CRITICAL_SECTION() Py_END_CRITICAL_SECTION()
#define usmpy_is_finalizing() Py_IsFinalizing()
#else
/* With the GIL, what runs no Python code and releases nothing is atomic. */
#define USMPY_BEGIN_CRITICAL_SECTION(object) {
#define USMPY_END_CRITICAL_SECTION() }
#define usmpy_is_finalizing() _Py_IsFinalizing()
#endif

#endif
