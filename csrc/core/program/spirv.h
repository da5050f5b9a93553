/*
 * Checks of SPIR-V modules before a driver gets them, since some drivers crash on damaged ones; and what
 * their kernels take.
 */
#ifndef USM_CORE_SPIRV_H
#define USM_CORE_SPIRV_H

#include "core/base/error.h"
#include "program.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * USM_BUILD if the bytes are not one complete module of SPIR-V 1.x (SPIR-V specification, 2.3); the error
 * says where. The driver checks what the instructions mean.
 */
usm_status usm_spirv_check(const void *module, size_t size, usm_error *error);

/*
 * Sets the n parameters of the kernel from a module that was checked. Parameters of which it
 * tells nothing stay unknown: all of them if the module is NULL or has no such entry point with n parameters.
 */
usm_status usm_spirv_read_parameters(usm_kernel *kernel, const char *name, size_t n, const void *module,
                                     size_t size, usm_error *error);

/*
 * Bytes of the specialization constant with this SpecId; 0: the module has none. *is_float: it is a
 * floating-point number. The module was checked.
 */
size_t usm_spirv_constant_size(const void *module, size_t size, uint32_t number, bool *is_float);

#endif
