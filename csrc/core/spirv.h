/* SPIR-V modules, looked at before a driver is: some crash on what is no module, or is cut short. */
#ifndef USM_CORE_SPIRV_H
#define USM_CORE_SPIRV_H

#include "error.h"

/*
 * USM_BUILD where the bytes are not one whole module of SPIR-V 1.x (SPIR-V specification, 2.3): the error
 * says where it goes wrong. What the instructions mean is the driver's to judge.
 */
usm_status usm_spirv_check(const void *module, size_t size, usm_error *error);

#endif
