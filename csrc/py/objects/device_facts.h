/* The properties of Device that are plain facts, and what is asked of all of them at once. */
#ifndef USMPY_DEVICE_FACTS_H
#define USMPY_DEVICE_FACTS_H

#include "py/module.h"

typedef enum usmpy_fact {
#define USMPY_FACT(name, kind, member) USMPY_FACT_##name,
#include "device_facts.inc"
#undef USMPY_FACT
    USMPY_FACTS
} usmpy_fact;

/* A getter: `which` is a usmpy_fact. */
PyObject *usmpy_device_get_fact(PyObject *self, void *which);
PyObject *usmpy_device_info(PyObject *self, PyObject *unused);
PyObject *usmpy_device_has_aspect(PyObject *self, PyObject *name);

/* What a driver calls something, as a str. */
PyObject *usmpy_device_string(const char *text);

#endif
