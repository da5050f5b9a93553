/* What the files of the host backend share. */
#ifndef USM_HOST_HOST_H
#define USM_HOST_HOST_H

#include "core/device/backend.h"
#include "core/program/launch.h"
#include "core/tasks/stream.h"
#include "core/tasks/worker.h"

#include <stddef.h>

/* device.c */
usm_status usm_host_start(usm_device ***devices, size_t *n_devices, usm_error *error);
usm_status usm_host_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                     usm_error *error);
/* Keeps the calling thread on the device's processors; the root device leaves it where it may run. */
void usm_host_pin_thread(const usm_device *device);

/* memory.c */
usm_status usm_host_memory_allocate(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                    void **out, bool *zeroed, usm_error *error);
void usm_host_memory_free(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                          size_t nbytes);

/* queue.c */
usm_status usm_host_queue_create(usm_queue *queue, usm_error *error);
bool usm_host_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns);
usm_status usm_host_queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                                 usm_error *error);
/*
 * Called by a thread that waits for `event`: runs the next task of its queue if the task is short and the
 * queue's thread has not begun it. If that thread is awake, a task is taken only with awake_too. Returns
 * false if no task was run.
 */
bool usm_host_queue_help(const usm_event *event, bool awake_too);

/* An event of this backend is its task. */
typedef struct usm_host_task {
    usm_event event;
    usm_launch *copied; /* owned copy of a kernel launch */
    /* Not zeroed at first, from here on. */
    usm_command command;
    usm_work work;
    /* Of most launches: a block that one thread takes and another gives back is slow for malloc. */
    _Alignas(max_align_t) char room[sizeof(usm_launch) + 8 * sizeof(usm_argument)];
} usm_host_task;

/* event.c */
void usm_host_event_wait(usm_event *event, int64_t budget_ns);
void usm_host_event_destroy(usm_event *event);

/* execute.c: does a command on the calling thread, with up to `width` threads where it is large. */
usm_status usm_host_execute(const usm_command *command, unsigned width, usm_error *error);
/* Bytes that the command moves: what run_now and the number of threads are decided by. */
size_t usm_host_command_cost(const usm_command *command);

/* program.c */
usm_status usm_host_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error);
void usm_host_program_destroy(usm_program *base);
usm_status usm_host_kernel_create(usm_kernel *kernel, const char *name, usm_error *error);
void usm_host_kernel_destroy(usm_kernel *kernel);
/* Runs it with up to `width` threads, the caller among them. */
usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error);

/* pointer.c: functions that were given as addresses. */
typedef struct usm_host_pointer {
    void (*function)(void);
    size_t n_parameters;
    usm_parameter parameters[]; /* their texts lie behind */
} usm_host_pointer;

usm_status usm_host_pointer_create(const usm_pointer_source *source, usm_host_pointer **out,
                                   usm_error *error);
void usm_host_pointer_free(usm_host_pointer *pointer); /* NULL is allowed */
/* values[i] points to the i-th value, or to the pointer. */
void usm_host_pointer_call(const usm_host_pointer *pointer, size_t begin, size_t end,
                           const void *const *values);

#endif
