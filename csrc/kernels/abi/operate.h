/* What usm_elements says to the kernels of operate.cl: `op` is one of USM_OP_*, `extra` has the types. */
#ifndef USM_ABI_OPERATE_H
#define USM_ABI_OPERATE_H

#include "size.h"

/* By their numbers in usm_dtype, 8 bits each: of the operands, and of the computation. */
#define USM_OPERATE_TYPE(extra, operand) ((int)((extra) >> 8 * (operand)&0xff))
#define USM_OPERATE_COMPUTED 3
#define USM_OPERATE_TYPES(dst, a, b, computed) \
    ((long)(dst) | (long)(a) << 8 | (long)(b) << 16 | (long)(computed) << 8 * USM_OPERATE_COMPUTED)

/*
 * The last argument of usm_packs_*: n elements of the computed type side by side, aligned to packs, which a
 * work-item reads at once. Bit i of `fixed`: argument i is one element for all.
 */
typedef struct usm_packs {
    long n, op, fixed;
} usm_packs;

USM_ABI_SIZE(usm_packs, 24);

/* Elements of a pack, by their size in bytes. */
#define USM_PACK(size) ((size) <= 4 ? 4 : 16 / (size))

#endif
