/*
 * Parameters in words: "const float32* x", "float32* y", "int32 n", "local float32* t", "bytes[24] s",
 * "void* p", "unknown", "unknown[8]" (bytes); a name may follow, and a kernel is "add(const float32* x, int32
 * n)". Behind that "groups" or "range" (usm_fit) and a required size "4 1 1" may stand. Where a driver does
 * not tell what its programs take, users and the disk cache do.
 */
#ifndef USM_CORE_SIGNATURE_H
#define USM_CORE_SIGNATURE_H

#include "program.h"

/*
 * One parameter; its type and name point into `text`, which must end with a 0 or a comma behind them: both
 * are cut by writing zeros. USM_VALUE for anything else; the error says what is allowed.
 */
usm_status usm_parameter_parse(char *text, usm_parameter *out, usm_error *error);

/* The words of one parameter, without its name, as snprintf writes them. */
int usm_parameter_write(const usm_parameter *parameter, char *out, size_t size);

/* "name(parameters)", with fit and required size, in a malloc'd text; NULL when memory ran out. */
USM_GIVES char *usm_signature_write(const usm_kernel *kernel);

/*
 * Replaces the kernel's parameters by those of the line of `signatures` (one kernel each) that has its name.
 * Nothing happens where there is none, or one of another count for a kernel that is not `untold`.
 */
usm_status usm_signature_apply(usm_kernel *kernel, const char *signatures, usm_error *error);

/*
 * A type's name in OpenCL C (not ended by a 0): the dtype and size of "float", of "float4" the size alone,
 * and of a struct neither.
 */
void usm_parameter_read_type(const char *name, size_t length, usm_parameter *out);

#endif
