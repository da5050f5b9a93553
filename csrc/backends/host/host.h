/* What the files of the host backend share. */
#ifndef USM_HOST_HOST_H
#define USM_HOST_HOST_H

#include "core/device/backend.h"
#include "core/program/launch.h"
#include "core/tasks/worker.h"

#include <stddef.h>

/* device.c */
usm_status usm_host_start(usm_device ***devices, size_t *n_devices, usm_error *error);
usm_status usm_host_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                     usm_error *error);
/* Keeps the calling thread on the device's processors; the root device leaves it where it may run. */
void usm_host_pin_thread(const usm_device *device);

/* memory.c */
usm_status usm_host_context_create(usm_context *context, usm_error *error);
void usm_host_context_destroy(usm_context *context);
usm_status usm_host_memory_allocate(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                    void **out, bool *zeroed, usm_error *error);
void usm_host_memory_free(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                          size_t nbytes);
usm_memory_connection usm_host_memory_connection(const usm_place *memory, usm_kind kind,
                                                 const usm_place *user);

/* queue.c */
usm_status usm_host_queue_create(usm_queue *queue, usm_error *error);
void usm_host_queue_destroy(usm_queue *queue);
bool usm_host_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns);
usm_status usm_host_queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                                 usm_error *error);
/*
 * Called by a thread that waits for `event`: runs the next task of its queue if the task is short and the
 * queue's thread has not begun it. If that thread is awake, a task is taken only with awake_too. Returns
 * false if no task was run.
 */
bool usm_host_queue_help(const usm_event *event, bool awake_too);
void usm_host_queue_fork(usm_queue *queue, usm_fork_phase phase);

/* An event of this backend is its task. */
typedef struct usm_host_task {
    usm_event event;
    usm_strided *strided; /* owned copy of a strided command's plan */
    usm_launch *launch;   /* the same of a kernel launch */
    /* Not zeroed at first, from here on. */
    usm_command command;
    usm_work work;
    /* Of most launches: a block that one thread takes and another gives back is slow for malloc. */
    _Alignas(max_align_t) char room[sizeof(usm_launch) + 8 * sizeof(usm_argument)];
} usm_host_task;

/* event.c */
void usm_host_event_join(usm_event *event);
void usm_host_event_destroy(usm_event *event);

/* execute.c: does a command on the calling thread, with up to `width` threads where it is large. */
usm_status usm_host_execute(const usm_command *command, unsigned width, usm_error *error);
/* A copy or a fill of contiguous bytes. */
void usm_host_block(const usm_command *command, unsigned width);
/* Bytes that the command moves: what run_now and the number of threads are decided by. */
size_t usm_host_command_cost(const usm_command *command);

/*
 * parallel.c: runs part(context, i) for 0 <= i < parts, on up to `width` threads, the caller among them; all
 * of it moves `nbytes`, and calls nobody else's code.
 */
void usm_host_parallel(unsigned width, unsigned parts, size_t nbytes, void (*part)(void *context, unsigned i),
                       void *context);
/* Takes part in such work, where some is left, for a few milliseconds at most. False: there was none. */
bool usm_host_parallel_join(void);
/*
 * The same for work of which nobody knows whether it takes long: the caller does it alone, part by part,
 * until what is left is worth the help of others. 0 bytes: it calls foreign code, and may take for ever.
 */
void usm_host_parallel_if_long(unsigned width, unsigned parts, size_t nbytes,
                               void (*part)(void *context, unsigned i), void *context);
void usm_host_parallel_fork(usm_fork_phase phase);

/* program.c */
usm_status usm_host_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error);
void usm_host_program_destroy(usm_program *base);
usm_status usm_host_kernel_create(usm_kernel *kernel, const char *name, usm_error *error);
void usm_host_kernel_destroy(usm_kernel *kernel);
extern const struct usmpy_kernels usm_host_builtins;      /* builtin.c */
extern const struct usmpy_kernels usm_host_builtins_wide; /* builtin_wide.c: some of them; may be none */
/* Runs it with up to `width` threads, the caller among them. */
usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error);
void usm_host_launch_builtin(const usm_launch *launch, unsigned width);

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

/* strided.c */
void usm_host_strided(const usm_strided *plan, unsigned width);

/*
 * cast.c: n elements from src to dst, byte strides ds and ss, any alignment. Types that are the same are
 * moved bit for bit. Floating point to integer rounds towards zero, saturates, and makes 0 of NaN; complex to
 * real keeps the real part.
 */
typedef void (*usm_host_row)(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss);
usm_host_row usm_host_cast_row(usm_dtype dst, usm_dtype src);
usm_host_row usm_host_move_row(int itemsize);

/*
 * cast_lines.c: whole lines of converted elements, past the caches; dst begins a line, n elements that lie
 * side by side fill whole ones. usm_host_stream_end() comes before anybody else looks. NULL: there is none
 * for this pair of types or this processor.
 */
typedef void (*usm_host_lines)(char *dst, const char *src, int64_t n);
usm_host_lines usm_host_cast_lines(usm_dtype dst, usm_dtype src);

/* sequence.c */
void usm_host_sequence(const usm_sequence *sequence);

#endif
