/* SPIR-V modules, looked at before a driver is: some crash on what is no module, or is cut short. */
#ifndef USM_CORE_SPIRV_H
#define USM_CORE_SPIRV_H

#include "error.h"
#include "program.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * USM_BUILD where the bytes are not one whole module of SPIR-V 1.x (SPIR-V specification, 2.3): the error
 * says where it goes wrong. What the instructions mean is the driver's to judge.
 */
usm_status usm_spirv_check(const void *module, size_t size, usm_error *error);

/*
 * spirv_kernel.c: sets the n parameters of the kernel by a module that was checked. Those of which it tells
 * nothing stay unknown: all of them where it has no entry point of the name with n parameters, or is NULL.
 */
usm_status usm_spirv_read_parameters(usm_kernel *kernel, const char *name, size_t n, const void *module,
                                     size_t size, usm_error *error);

/* Bytes of the specialization constant with this SpecId; 0: the module has none. */
size_t usm_spirv_constant_size(const void *module, size_t size, uint32_t number, bool *is_float);

#endif
