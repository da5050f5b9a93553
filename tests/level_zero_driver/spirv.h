/* What a module of SPIR-V says of its kernels: OpenCL does not tell all of it of such programs. */
#ifndef SIM_SPIRV_H
#define SIM_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sim_argument_kind { SIM_VALUE, SIM_POINTER, SIM_LOCAL, SIM_OTHER } sim_argument_kind;

/* NULL where the bytes are one whole module; else what is wrong, in static storage. */
const char *sim_spirv_problem(const void *module, size_t size);

/* The following need a whole module. Arguments of a kernel, of which `most` are written; -1: no such one. */
int sim_spirv_arguments(const void *module, size_t size, const char *kernel, sim_argument_kind *kinds,
                        int most);
/* Bytes of a specialization constant; 0: there is none of this number. */
size_t sim_spirv_constant_size(const void *module, size_t size, uint32_t number);
/* Does the module ask for a capability (10: Float64)? */
bool sim_spirv_asks(const void *module, size_t size, uint32_t capability);
bool sim_spirv_imports(const void *module, size_t size);

#endif
