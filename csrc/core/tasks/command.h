/* What a queue can be asked to do: the one description that core, py and the backends share. */
#ifndef USM_CORE_COMMAND_H
#define USM_CORE_COMMAND_H

#include "core/base/error.h"
#include "core/layout/strided.h"

#include <stddef.h>
#include <stdint.h>

typedef enum usm_command_kind {
    USM_COMMAND_BARRIER, /* nothing: a point in the order that later work waits for */
    USM_COMMAND_MARKER,  /* nothing: a point in the order that later work does not wait for */
    USM_COMMAND_COPY,    /* contiguous bytes, memmove semantics */
    /* A pattern repeated over contiguous bytes: one that the device takes (max_fill), or of memory that it
     * does not reach. */
    USM_COMMAND_FILL,
    USM_COMMAND_STRIDED,  /* strided copy, with a cast where the types differ: for the host's loops alone */
    USM_COMMAND_SEQUENCE, /* arange and linspace: no backend sees it (core/builtin/kernel_command.h) */
    USM_COMMAND_PREFETCH, /* bring memory near the device; a hint */
    USM_COMMAND_LAUNCH,   /* a kernel of the queue's place */
    USM_COMMAND_HOST,     /* a C function, on a thread of the host's */
} usm_command_kind;

/*
 * dst[i] = start + i * step, for the integer types in wrapping 64-bit arithmetic (istart, istep), for float32
 * and float64 in double. Other types are made from these by a cast. dst is aligned to the element.
 */
typedef struct usm_sequence {
    void *dst;
    int64_t count; /* above 0 */
    usm_dtype dtype;
    int64_t istart, istep;
    double start, step;
    double last; /* linspace: the exact last element, where has_last */
    bool has_last;
} usm_sequence;

#define USM_MAX_PATTERN 16

typedef struct usm_command {
    usm_command_kind kind;
    /*
     * Of a marker: an event of the driver that another library recorded, which is reached first. The queue's
     * backend has streams, and the event lives until the driver has the command. NULL: none.
     */
    void *event;
    union {
        struct {
            void *dst;
            const void *src;
            size_t nbytes;
        } copy;
        struct {
            void *dst;
            size_t nbytes;       /* a multiple of pattern_size */
            size_t pattern_size; /* 1, 2, 4, 8 or 16 */
            unsigned char pattern[USM_MAX_PATTERN];
        } fill;
        /* Borrowed until submission returns: a backend that runs it later clones it. */
        const usm_strided *strided;
        const struct usm_launch *launch; /* the same */
        usm_sequence sequence;
        struct {
            const void *pointer;
            size_t nbytes;
        } prefetch;
        struct {
            /*
             * Returns USM_OK, or another status with error filled. Runs on a thread of the queue's, with no
             * lock held; it may take the GIL.
             */
            usm_status (*run)(void *argument, usm_error *error);
            void *argument;
        } host;
    } as;
} usm_command;

/* Commands without more: they last as long as the block around. */
#define USM_MARKER (&(const usm_command){.kind = USM_COMMAND_MARKER})
#define USM_BARRIER (&(const usm_command){.kind = USM_COMMAND_BARRIER})

/* Nothing to do: the command only marks a point in the order. */
static inline bool usm_command_is_point(const usm_command *command)
{
    return (command->kind == USM_COMMAND_BARRIER || command->kind == USM_COMMAND_MARKER) &&
           command->event == NULL;
}

/* A copy between regions that overlap, which drivers refuse or do wrong. */
static inline bool usm_command_overlaps(const usm_command *command)
{
    uintptr_t dst = (uintptr_t)command->as.copy.dst, src = (uintptr_t)command->as.copy.src;
    return command->kind == USM_COMMAND_COPY && dst < src + command->as.copy.nbytes &&
           src < dst + command->as.copy.nbytes;
}

#endif
