/*
 * Parameters in words: "const float32* x", "float32* y", "int32 n", "local float32* t", "bytes[24] s",
 * "void* p", "unknown", "unknown[8]" (bytes). The name is optional. A kernel is "add(const float32* x, int32
 * n)", optionally followed by "groups" or "range" (usm_fit) and a required size "4 1 1". Users and the disk
 * cache describe kernels in this form if a driver does not tell their parameters.
 */
#ifndef USM_CORE_SIGNATURE_H
#define USM_CORE_SIGNATURE_H

#include "program.h"

/*
 * Parses one parameter up to a comma or the end. Its type and name point into `text`, in which zeros are
 * written after them. USM_VALUE for anything else; the error says what is allowed.
 */
usm_status usm_parameter_parse(char *text, usm_parameter *out, usm_error *error);

/* Writes the words of one parameter, without its name. Returns as snprintf does. */
int usm_parameter_write(const usm_parameter *parameter, char *out, size_t size);

/* "name(parameters)", with fit and required size, in memory from malloc; NULL: memory ran out. */
USM_GIVES char *usm_signature_write(const usm_kernel *kernel);

/*
 * Replaces the kernel's parameters by those of its line in `signatures`. Does nothing if there is no such
 * line, or if it has another number of parameters and the kernel's types are known.
 */
usm_status usm_signature_apply(usm_kernel *kernel, const char *signatures, usm_error *error);

/*
 * Reads the name of a type in OpenCL C, which has no 0 after it: sets dtype and size for "float", only the
 * size for "float4", neither for a struct.
 */
void usm_parameter_read_type(const char *name, size_t length, usm_parameter *out);

/* The program's own name of a type, "complex64*", whose compiler saw usm_complex64. A part of `type`. */
const char *usm_parameter_shown_type(const char *type);

#endif
