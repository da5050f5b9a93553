/* Publishes the C API of usmpy/include/usmpy.h. */
#ifndef USMPY_C_API_H
#define USMPY_C_API_H

#include "py/module.h"

/* Adds the capsule _C_API to the module; 0 or -1. */
int usmpy_add_c_api(PyObject *module);

#endif
