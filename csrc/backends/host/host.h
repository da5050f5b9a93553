/* What the files of the host backend share. */
#ifndef USM_HOST_HOST_H
#define USM_HOST_HOST_H

#include "core/device/backend.h"
#include "core/program/launch.h"
#include "core/tasks/event.h"
#include "core/tasks/worker.h"

#include <stddef.h>

/* Entries of the table, each in the file that its first word names. */
USM_ENTRY(usm_host, start);
USM_ENTRY(usm_host, device_partition);
USM_ENTRY(usm_host, memory_allocate);
USM_ENTRY(usm_host, memory_free);
USM_ENTRY(usm_host, queue_create);
USM_ENTRY(usm_host, queue_run_now);
USM_ENTRY(usm_host, queue_run);
USM_ENTRY(usm_host, event_wait);
USM_ENTRY(usm_host, program_build);
USM_ENTRY(usm_host, program_destroy);
USM_ENTRY(usm_host, kernel_create);

/*
 * device.c: pins the calling thread to the device's processors; for the root device it leaves the
 * thread as it is.
 */
void usm_host_pin_thread(const usm_device *device);

/*
 * queue.c: called by a thread that waits for `event`: runs the next task of its queue if the task is short
 * and the queue's thread has not begun it. If that thread is awake, a task is taken only with awake_too.
 * Returns false if no task was run.
 */
bool usm_host_queue_help(const usm_event *event, bool awake_too);

/* command.c: does a command on the calling thread, with up to `width` threads where it is large. */
usm_status usm_host_execute(const usm_command *command, unsigned width, usm_error *error);
/* command.c: bytes that the command moves, by which run_now and the number of threads are chosen. */
size_t usm_host_command_cost(const usm_command *command);

/* launch.c: runs a kernel with up to `width` threads, the caller among them. */
usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error);

/* usm_program.native */
typedef struct usm_host_program {
    void *library;                       /* of dlopen; NULL for a function and for the built-in kernels */
    const struct usmpy_kernels *kernels; /* in the library */
    void (*function)(void);              /* of USM_LANGUAGE_POINTER; else NULL */
    usm_kernel described;                /* what `function` takes: the parameters alone, owned */
} usm_host_program;

/* pointer.c: keeps a function that was given as its address, and what it takes. */
usm_status usm_host_pointer_keep(usm_host_program *program, const usm_pointer_source *source,
                                 usm_error *error);
/*
 * pointer.c: for usm_cpu_launch.call, of a usm_host_program. values[i] points to the i-th value, or to the
 * pointer.
 */
void usm_host_pointer_call(const void *program, size_t begin, size_t end, const void *const *values);

#endif
