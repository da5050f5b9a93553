/* What a launch is given besides its kernel: an index space and arguments. Plain values, that own nothing. */
#ifndef USM_CORE_ARGUMENT_H
#define USM_CORE_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum usm_parameter_kind {
    USM_PARAMETER_UNKNOWN, /* the program does not tell the type */
    USM_PARAMETER_POINTER, /* to memory that the kernel reads, and writes unless read_only */
    USM_PARAMETER_VALUE,
    USM_PARAMETER_LOCAL, /* memory of a work-group */
} usm_parameter_kind;

/* An index space. `global` counts work-items, and `local` divides it; unused dimensions are 1. */
typedef struct usm_range {
    unsigned ndim; /* 1 to 3 */
    bool has_local;
    size_t global[3], local[3];
} usm_range;

static inline size_t usm_range_items(const usm_range *range)
{
    return range->global[0] * range->global[1] * range->global[2];
}

/* The largest number up to `most` that divides n: work-items of a group, of n along an axis. At least 1. */
static inline size_t usm_largest_divisor(size_t n, size_t most)
{
    size_t divisor = most < n ? most : n;
    while (divisor > 1 && n % divisor != 0) {
        divisor--;
    }
    return divisor > 0 ? divisor : 1;
}

/* Bytes of a value that an argument holds itself. */
#define USM_INLINE_VALUE 16

/* One argument of a launch. */
typedef struct usm_argument {
    uint8_t kind;  /* usm_parameter_kind, but UNKNOWN */
    uint32_t size; /* of a value or of local memory */
    union {
        void *pointer;
        unsigned char value[USM_INLINE_VALUE]; /* where size <= USM_INLINE_VALUE */
        const void *data;                      /* larger values; borrowed */
    } as;
} usm_argument;

/* The bytes of an argument of kind VALUE, in the argument or behind its pointer. */
static inline const void *usm_argument_value(const usm_argument *argument)
{
    return argument->size <= USM_INLINE_VALUE ? argument->as.value : argument->as.data;
}

/*
 * For drivers that keep arguments from one launch to the next: whether `set`, which the driver has, is what
 * is `wanted`. Larger values than an argument holds never are; kind UNKNOWN: the driver has none.
 */
static inline bool usm_argument_is_set(const usm_argument *set, const usm_argument *wanted)
{
    if (set->kind != wanted->kind || set->size != wanted->size) {
        return false;
    }
    return wanted->kind == USM_PARAMETER_LOCAL ||
           (wanted->kind == USM_PARAMETER_POINTER
                ? set->as.pointer == wanted->as.pointer
                : wanted->size <= USM_INLINE_VALUE &&
                      memcmp(set->as.value, wanted->as.value, wanted->size) == 0);
}

#endif
