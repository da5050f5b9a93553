/* What the files of the Level Zero backend share. Headers of version 1.8 of the loader are enough. */
#ifndef USM_LEVEL_ZERO_LEVEL_ZERO_H
#define USM_LEVEL_ZERO_LEVEL_ZERO_H

#include "core/base/freelist.h"
#include "core/device/backend.h"
#include "core/tasks/event.h"

#include "core/program/launch.h"
#include "core/tasks/link.h"

#include <level_zero/ze_api.h>

/* What came after that header, by the specification of version 1.10. */
typedef struct usm_level_zero_init_drivers_desc {
    uint32_t stype;
    const void *pNext;
    uint32_t flags; /* all bits: drivers of every type */
} usm_level_zero_init_drivers_desc;

enum {
    USM_LEVEL_ZERO_INIT_DRIVERS_DESC = 0x00020021, /* stype of that */
    USM_LEVEL_ZERO_IN_ORDER = 1 << 1,              /* a flag of command queues, from version 1.7 on */
};

typedef ze_result_t (*usm_level_zero_init_drivers_fn)(uint32_t *count, ze_driver_handle_t *drivers,
                                                      usm_level_zero_init_drivers_desc *desc);
typedef ze_result_t (*usm_level_zero_list_wait_fn)(ze_command_list_handle_t list, uint64_t timeout);
typedef ze_result_t (*usm_level_zero_list_device_fn)(ze_command_list_handle_t list, ze_device_handle_t *out);
typedef ze_result_t (*usm_level_zero_list_context_fn)(ze_command_list_handle_t list,
                                                      ze_context_handle_t *out);
typedef ze_result_t (*usm_level_zero_put_ipc_fn)(ze_context_handle_t context, ze_ipc_mem_handle_t handle);
typedef ze_result_t (*usm_level_zero_list_bool_fn)(ze_command_list_handle_t list, ze_bool_t *out);

/* The loader's functions. */
typedef struct usm_level_zero_api {
#define USM_LEVEL_ZERO_FUNCTION(required, name) __typeof__(name) *name;
#define USM_LEVEL_ZERO_NEWER(name, type) type name;
#include "symbols.inc"
#undef USM_LEVEL_ZERO_FUNCTION
#undef USM_LEVEL_ZERO_NEWER
} usm_level_zero_api;

extern usm_level_zero_api usm_level_zero; /* filled at the start, constant from then on */

typedef struct usm_level_zero_driver {
    ze_driver_handle_t id;
    ze_api_version_t version;
    bool relaxed_limits; /* blocks above maxMemAllocSize can be asked for */
    bool shares_memory;  /* of devices, between processes */
    char text[64];       /* its own version */
} usm_level_zero_driver;

/* A group of a device's engines. */
typedef struct usm_level_zero_group {
    bool exists;
    uint32_t ordinal;
} usm_level_zero_group;

/* usm_device.native of root devices and parts. */
typedef struct usm_level_zero_device {
    const usm_level_zero_driver *driver;
    ze_device_handle_t id;
    usm_level_zero_group compute, copy; /* copy: engines that do nothing else */
    uint32_t groups_max[3];             /* of a launch */
    uint64_t max_block;                 /* above it, memory asks for relaxed limits */
    uint32_t spirv_version;             /* 0: it takes none */
    double ns_per_tick;                 /* of its clock */
    uint64_t kernel_mask;               /* valid bits of that clock in what kernels note of it */
    ze_device_handle_t *parts;          /* the driver's sub-devices */
    uint32_t n_parts;
} usm_level_zero_device;

/* An event of the driver's, for one task after another. */
typedef struct usm_level_zero_slot {
    void *link; /* of the free list */
    ze_event_handle_t id;
    bool timed;
} usm_level_zero_slot;

typedef struct usm_level_zero_pool usm_level_zero_pool; /* event_pool.c: slots of one pool of the driver's */

/* usm_context.native */
typedef struct usm_level_zero_context {
    ze_context_handle_t id;
    const usm_level_zero_driver *driver;
    usm_spinlock spinlock; /* of free and slots_used */
    usm_freelist free[2];  /* slots without and with times */
    size_t slots_used;     /* those that are not free */
    pthread_mutex_t lock;  /* of the pools; a leaf but for the driver's own */
    usm_level_zero_pool *pools;
    _Atomic long users;      /* blocks of memory, queues and programs, counted before they are made */
    _Atomic uint8_t peers[]; /* a usm_memory_connection for each user and each memory among the devices */
} usm_level_zero_context;

typedef struct usm_level_zero_recording
    usm_level_zero_recording; /* command_list.c: a list that is run as a whole */

/* Where commands for one group of engines go: an immediate list, or a queue that runs recordings. */
typedef struct usm_level_zero_list {
    ze_command_list_handle_t id;            /* immediate; NULL: there is none, or not yet */
    bool in_order;                          /* the driver keeps the order */
    ze_command_queue_handle_t runner;       /* instead of `id` */
    uint32_t ordinal;                       /* of the runner's engines */
    usm_level_zero_recording *first, *last; /* its recordings: idle ones, then the oldest that runs */
    usm_level_zero_recording *open;         /* between begin and end */
} usm_level_zero_list;

enum { USM_LEVEL_ZERO_COMPUTE, USM_LEVEL_ZERO_COPY, USM_LEVEL_ZERO_LISTS };

/* usm_queue.native */
typedef struct usm_level_zero_queue {
    usm_level_zero_list lists[USM_LEVEL_ZERO_LISTS];
} usm_level_zero_queue;

typedef struct usm_level_zero_event {
    usm_event event;
    /* What the driver signals at the end; from the append to the end of this struct. NULL for host tasks. */
    _Atomic(usm_level_zero_slot *) slot;
    int list;           /* of the queue, where it was appended */
    void *temporary;    /* the driver's memory, until the end */
    usm_kernel *kernel; /* one count, until the end: the driver's must not go while it runs */
    ze_result_t result; /* as the driver had it at the end */
} usm_level_zero_event;

USM_NATIVE_OF(usm_level_zero, queue)
USM_NATIVE_OF(usm_level_zero, device)
USM_NATIVE_OF(usm_level_zero, context)

/* memory.c: is this the device, or one of its parts? */
bool usm_level_zero_is_or_has(const usm_level_zero_device *device, ze_device_handle_t id);

/* The specification's name of a result: "ZE_RESULT_ERROR_DEVICE_LOST". */
const char *usm_level_zero_name(ze_result_t result);
/* The status of a failed call, with function and result in the error. */
usm_status usm_level_zero_failed(usm_error *error, ze_result_t result, const char *function);
/*
 * The result of a call that gave something back. What the driver refuses stays with it, and is reported once
 * (unretrieved.h); not that of a lost device, whose tasks say so.
 */
void usm_level_zero_given_back(ze_result_t result, const char *function);
/* Calls the driver's function, and passes its result there. */
#define USM_LEVEL_ZERO_GIVE_BACK(function, ...) \
    usm_level_zero_given_back(usm_level_zero.function(__VA_ARGS__), #function)

/* library.c: opens the loader. *drivers: immortal records, in a malloc'd array that is the caller's. */
usm_status usm_level_zero_drivers(usm_level_zero_driver ***drivers, size_t *n, usm_error *error);
/* library.c: why there is no device, as far as the system shows it: "; this is so", or nothing. */
void usm_level_zero_explain(char *text, size_t size);

/* event_pool.c: NULL, with the error filled, where the driver has no more. Any lock but a leaf. */
usm_level_zero_slot *usm_level_zero_slot_take(usm_context *context, bool timed, usm_error *error);
/* Nothing waits for it any more. `lost`: the driver may still write to it, so it is not given out again. */
void usm_level_zero_slot_put(usm_context *context, usm_level_zero_slot *slot, bool lost);
void usm_level_zero_slots_free(usm_level_zero_context *context);

/* command_list.c: reads the environment. */
usm_status usm_level_zero_lists_start(usm_error *error);
/* command_list.c: makes what is not there yet. The queue's lock held, or the queue is just made. */
usm_status usm_level_zero_list_make(usm_queue *queue, int list, usm_error *error);
/*
 * command_list.c: what to append one task's commands to; NULL: the error is filled. Then either of those
 * below, under the same hold of the queue's lock.
 */
ze_command_list_handle_t usm_level_zero_list_begin(usm_queue *queue, int list, usm_error *error);
/* command_list.c: the commands run. On failure none does, and drop is done. */
usm_status usm_level_zero_list_end(usm_queue *queue, int list, usm_error *error);
/*
 * command_list.c: a call was refused, or begin was. Returns true where no command runs; after false, those
 * that were appended may.
 */
bool usm_level_zero_list_drop(usm_queue *queue, int list);
/* command_list.c: gives the queue's own lists back to the driver. All its tasks have ended. */
void usm_level_zero_lists_free(usm_queue *queue);

/* Where an append goes: the list, the events that it waits for, and the one that it signals. */
typedef struct usm_level_zero_turn {
    const usm_queue *queue;
    ze_command_list_handle_t list;
    ze_event_handle_t signal;
    uint32_t n_waits;
    ze_event_handle_t *waits; /* NULL where there are none */
} usm_level_zero_turn;

/* command.c: which list the command is for. */
int usm_level_zero_list_for(const usm_queue *queue, const usm_command *command);
/* command.c: gives the command to the driver behind `waits`; sets the event's slot. Queue lock held. */
usm_status usm_level_zero_append(usm_level_zero_event *event, const usm_command *command, uint32_t n_waits,
                                 ze_event_handle_t *waits, usm_error *error);

/* event.c: releases what the driver needs until the end of the task. */
void usm_level_zero_release_parts(usm_level_zero_event *event);

extern usm_fork_guard usm_level_zero_guard; /* library.c */

/* usm_kernel.native */
typedef struct usm_level_zero_kernel {
    ze_kernel_handle_t id;
    /*
     * A Level Zero kernel holds its arguments and its group size, and calls on one kernel must not run at the
     * same time (Core API, zeKernelSetArgumentValue): locked until the launch is appended. Nothing of ours is
     * locked under it.
     */
    pthread_mutex_t lock;
    bool sized; /* the driver has the group size for `range`, which makes `groups` */
    usm_range range;
    ze_group_count_t groups;
    usm_argument set[]; /* what the driver has, one a parameter; kind UNKNOWN: not known */
} usm_level_zero_kernel;

/* launch.c: appends the launch. Queue lock held; takes the kernel's. */
usm_status usm_level_zero_launch_kernel(const usm_level_zero_turn *turn, const usm_launch *launch,
                                        usm_error *error);
/* profiling.c: fills start_ns and end_ns of a task that the driver has ended. No lock. */
void usm_level_zero_read_times(usm_level_zero_event *event);

/* Entries of the table, each in the file that its first word names. */
USM_DRIVER_ENTRIES(USM_ENTRY_DECLARE, usm_level_zero)
USM_ENTRY(usm_level_zero, context_destroy);
USM_ENTRY(usm_level_zero, context_close);
USM_ENTRY(usm_level_zero, memory_connect);
USM_NATIVE_ENTRY(usm_level_zero, handle);
USM_NATIVE_ENTRY(usm_level_zero, inspect);
USM_SHARE_ENTRY(usm_level_zero, create);
USM_SHARE_ENTRY(usm_level_zero, open);
USM_SHARE_ENTRY(usm_level_zero, close);

extern const usm_backend usm_level_zero_backend;

#endif
