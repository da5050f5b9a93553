/*
 * The loops of the host's processors: copies, fills, casts, sequences and the built-in kernels, as plain C
 * without a queue, a device or a driver. The host backend does all of its work here. So do drivers whose
 * device is the host's processors, and callers that fill the host's memory.
 *
 * What holds for every function of csrc/cpu:
 * - Any thread may call it, with or without the GIL and locks of the core. It returns when the work is done,
 * and waits for nothing but its helpers.
 * - `width` is the most threads that take part, the caller included (parallel.h). With 1 the caller does all
 * of the work, takes no lock and starts no thread.
 * - Memory is the host's, at any address unless the text says otherwise. No other task writes what is read,
 * or accesses what is written. Regions do not overlap unless the text allows it.
 * - A function without a result cannot fail. None fills an error object.
 */
#ifndef USM_CPU_CPU_H
#define USM_CPU_CPU_H

#include "core/program/argument.h"
#include "core/tasks/command.h"
#include "kernel.h"

#include <stdbool.h>
#include <stddef.h>

/* block.c: copies contiguous bytes, which may overlap; 0 bytes at NULL are allowed. */
void usm_cpu_copy(char *dst, const char *src, size_t nbytes, unsigned width);
/* Repeats a pattern of 1, 2, 4, 8 or 16 bytes over nbytes, a multiple of its size. */
void usm_cpu_fill(char *dst, const void *pattern, size_t size, size_t nbytes, unsigned width);
/* A copy or a fill, as the command says it. */
static inline void usm_cpu_block(const usm_command *command, unsigned width)
{
    if (command->kind == USM_COMMAND_COPY) {
        usm_cpu_copy(command->as.copy.dst, command->as.copy.src, command->as.copy.nbytes, width);
    } else {
        usm_cpu_fill(command->as.fill.dst, command->as.fill.pattern, command->as.fill.pattern_size,
                     command->as.fill.nbytes, width);
    }
}

/* strided.c: a copy between two layouts, with a cast where the types differ (row.h says how it rounds). */
void usm_cpu_strided(const usm_strided *plan, unsigned width);

/*
 * launch.c: a launch of a kernel from a table of entries, built-in or of a shared object, or of a function
 * in memory. Borrows everything until the call returns.
 */
typedef struct usm_cpu_launch {
    const struct usmpy_kernel_entry *kernel; /* NULL: `call` with `function` */
    void (*call)(const void *function, size_t begin, size_t end, const void *const *values);
    const void *function;
    const usm_range *range; /* local sizes are set, and divide the global ones */
    const usm_argument *arguments;
    size_t n_arguments;
    size_t cost; /* of a built-in kernel, bytes that it moves; 0: foreign code, which may run without end */
} usm_cpu_launch;

/* Runs the whole range. False: memory ran out, for the launch or for a work-group with local memory. */
bool usm_cpu_run(const usm_cpu_launch *launch, unsigned width);

/* A kernel of csrc/kernels by name, compiled for the vectors of this processor; NULL: there is none. */
const struct usmpy_kernel_entry *usm_cpu_kernel_named(const char *name);

/*
 * operate.c: the set of instructions that a built-in kernel is compiled for. *library: the file of the
 * library whose functions it calls, or NULL. Opens libmvec for those that may, which takes a millisecond the
 * first time.
 */
const char *usm_cpu_loops_about(const char *kernel, const char **library);

#endif
