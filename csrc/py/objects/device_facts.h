/* The properties of Device that are plain facts, and the methods that read all of them. */
#ifndef USMPY_DEVICE_FACTS_H
#define USMPY_DEVICE_FACTS_H

#include "py/module.h"

typedef enum usmpy_fact {
#define USM_FACT(kind, name, declaration) USMPY_FACT_##name,
#define USM_LIMIT(kind, name) USMPY_FACT_##name,
#define USM_OTHER(kind, name) USMPY_FACT_##name,
#include "core/device/device_facts.inc"
    USMPY_FACTS
} usmpy_fact;

/* A getter: `which` is a usmpy_fact. */
PyObject *usmpy_device_get_fact(PyObject *self, void *which);
/* Device.info and Device.has_aspect */
PyObject *usmpy_device_info(PyObject *self, PyObject *unused);
PyObject *usmpy_device_has_aspect(PyObject *self, PyObject *name);

/* A text of the driver, in any encoding, as a new str. */
PyObject *usmpy_device_string(const char *text);

#endif
