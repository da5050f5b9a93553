/*
 * Places: what belongs to one pair of a context and a device. Folders above this one keep their own things in
 * a place (memory pools, queues, kernels) and say by a usm_place_part how these come and go, so that the
 * context, which owns its places, does not know them.
 */
#ifndef USM_CORE_PLACE_H
#define USM_CORE_PLACE_H

#include "core/base/detach.h"
#include "core/base/error.h"
#include "device.h"

struct usm_pool;
struct usm_queue;
struct usm_context;

typedef struct usm_builtin_kernel usm_builtin_kernel;
typedef struct usm_builtin_program usm_builtin_program;
#define USM_BUILTIN_BUCKETS 64

/* What belongs to one (context, device) pair. Entries are only added while the context lives. */
typedef struct usm_place {
    struct usm_place *next;
    struct usm_context *context; /* the one that owns this entry */
    usm_device *device;
    struct usm_queue *queue; /* the cached queue, without a count; NULL until made (registry lock) */
    struct usm_pool *pools[USM_KINDS];
    /* Bytes that the driver gave for it, in use and spare; what they may be; the most so far (usage.h). */
    _Atomic size_t held, limit;
    _Atomic uint64_t peak;
    struct usm_stream *streams; /* of other libraries, newest first (leaf stripe of the place) */
    _Atomic(usm_builtin_program *) builtin_programs;             /* the same */
    _Atomic(usm_builtin_kernel *) builtins[USM_BUILTIN_BUCKETS]; /* builtin.c; entries are only added */
    struct usm_program *programs;                                /* with keys; program.c (registry lock) */
} usm_place;

/* The host reads and writes memory of this kind, allocated in the place, through its pointer. */
static inline bool usm_place_host_reads(const usm_place *place, usm_kind kind)
{
    return kind != USM_DEVICE || place->device->info.host_reads_device;
}

/* What one folder keeps in every place. Each function may be NULL. No lock held, unless it says otherwise. */
typedef struct usm_place_part {
    /* A new place, which no other thread knows. False: memory ran out, and `destroy` follows. */
    bool (*create)(usm_place *place);
    /* The interpreter has ended: gives back what nobody uses. The place may live on. */
    void (*trim)(usm_place *place);
    /*
     * The driver's part of the context is gone, and the place will not be used again: takes what it keeps off
     * the lists of the process. Registry lock held.
     */
    void (*unlist)(usm_place *place);
    /* The context goes, or `create` of a part failed. */
    void (*destroy)(usm_place *place);
    /* usm_places_wait */
    usm_status (*finish_work)(struct usm_context *context, const usm_patience *patience, usm_error *error);
    /* Whether the driver has work on the device, which it may wait for where it is given something back. */
    bool (*is_at_work)(usm_place *place);
} usm_place_part;

/* The parts of every place, NULL-ended, called in this order. Once, before the first context. */
void usm_place_set_parts(const usm_place_part *const *parts);

/* Asks all parts. No lock. */
bool usm_place_is_at_work(usm_place *place);

/*
 * Waits for what the driver has of the context's work, ten seconds at most, so that the memory it holds comes
 * back. Work of the host is left alone. Fails with USM_INTERRUPTED alone. No lock, no GIL.
 */
usm_status usm_places_wait(struct usm_context *context, const usm_patience *patience, usm_error *error);

/* For core/device/context.c: a place, and over all from this one on. NULL: memory ran out. */
usm_place *usm_place_new(struct usm_context *context, usm_device *device);
void usm_place_destroy(usm_place *place);
bool usm_places_are_at_work(usm_place *place);
void usm_places_trim(usm_place *place);
void usm_places_unlist(usm_place *place);
void usm_places_destroy(usm_place *place);

#endif
