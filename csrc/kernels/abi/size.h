/*
 * The structs of this folder are arguments of kernels, by value: C and every compiler of kernels read the
 * same text. Their members are `long`, which has 64 bits in OpenCL C and on the machines that the extension
 * is built for. USM_ABI_SIZE stops a build where a struct has another size.
 */
#ifndef USM_ABI_SIZE_H
#define USM_ABI_SIZE_H

#define USM_ABI_SIZE(type, bytes) typedef char type##_has_##bytes##_bytes[sizeof(type) == (bytes) ? 1 : -1]

#endif
