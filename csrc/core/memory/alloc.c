#include "alloc.h"

#include "blocks.h"
#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/sync.h"
#include "core/device/rule.h"
#include "pool.h"
#include "reclaim.h"
#include "spare.h"
#include "track.h"
#include "usage.h"

#include <stddef.h>

_Thread_local uint64_t usm_alloc_inside;

/* malloc, since calloc takes glibc's slow path: every field is set here or by begin() and its callers. */
static inline __attribute__((always_inline)) usm_alloc *alloc_new(void)
{
    usm_alloc *alloc = usm_spare_pop();
    if (alloc == NULL) {
        alloc = usm_malloc(sizeof(usm_alloc));
    }
    if (USM_LIKELY(alloc != NULL)) {
        alloc->pointer = NULL;
        alloc->deleter = NULL;
        alloc->owner = NULL;
        alloc->hazards.writer = NULL;
        alloc->hazards.readers = NULL;
        alloc->hazards.n_readers = alloc->hazards.readers_capacity = 0;
        atomic_init(&alloc->flags, 0);
        atomic_init(&alloc->nbytes, 0);
        atomic_init(&alloc->hazards.pending, 0);
        atomic_init(&alloc->hazards.failure, NULL);
        alloc->lends = 0;
    }
    return alloc;
}

/* Fields of a new life; a block that comes from the pool keeps pointer, size, class and
 * its readers' array. */
static inline __attribute__((always_inline)) void begin(usm_alloc *alloc, usm_place *place, usm_kind kind)
{
    usm_refcount_init(&alloc->refs, 1);
    alloc->kind = (uint8_t)kind;
    alloc->place = place;
    alloc->context = usm_context_retain(place->context);
    alloc->number = 0;
    alloc->inside = usm_alloc_inside;
    alloc->tracked = NULL;
    usm_live_add(USM_LIVE_ALLOC, 1);
    if (USM_UNLIKELY(usm_track_is_on())) {
        usm_track_begin(alloc);
    }
}

static usm_status check_size(const usm_place *place, usm_kind kind, size_t nbytes, usm_error *error)
{
    if (nbytes > place->device->info.max_alloc_size) {
        return usm_error_set(
            error, USM_MEMORY,
            "cannot allocate %zu bytes of %s memory on %s: one block may have at most %llu bytes", nbytes,
            usm_kind_name(kind), place->device->info.name,
            (unsigned long long)place->device->info.max_alloc_size);
    }
    return USM_OK;
}

static usm_status take_usage(usm_place *place, usm_kind kind, size_t nbytes, usm_error *error)
{
    if (!usm_usage_take(place, nbytes)) {
        return usm_error_set(
            error, USM_MEMORY,
            "cannot allocate %zu bytes of %s memory on %s: the limit is %zu bytes, of which %zu are held "
            "(usmpy.set_memory_limit)",
            nbytes, usm_kind_name(kind), place->device->info.name,
            atomic_load_explicit(&place->limit, memory_order_relaxed),
            atomic_load_explicit(&place->held, memory_order_relaxed));
    }
    return USM_OK;
}

usm_status usm_alloc_admit(usm_place *place, usm_kind kind, size_t nbytes, usm_error *error)
{
    usm_status status = check_size(place, kind, nbytes, error);
    return status != USM_OK ? status : take_usage(place, kind, nbytes, error);
}

/* One block from the driver, within the limit of the place. No lock; may block. */
static usm_status ask_driver(usm_place *place, usm_kind kind, size_t block, void **out, bool *zeroed,
                             usm_error *error)
{
    usm_status status = take_usage(place, kind, block, error);
    if (status != USM_OK) {
        return status;
    }
    const usm_backend *backend = place->context->backend;
    status = USM_UNLESS_FORKED(
        backend, error,
        USM_CALL_IF(backend->has_driver, backend, memory_allocate)(place, kind, block, out, zeroed, error));
    if (status != USM_OK) {
        usm_usage_give(place, block);
    }
    return status;
}

/* The same; where memory runs out, once more after what the process can give back. */
static usm_status allocate(usm_place *place, usm_kind kind, size_t block, void **out, bool *zeroed,
                           usm_error *error)
{
    void *thread = place->context->backend->has_driver ? usm_detach() : NULL;
    usm_status status = ask_driver(place, kind, block, out, zeroed, error);
    if (status == USM_MEMORY) {
        usm_error_clear(error);
        thread = thread != NULL ? thread : usm_detach();
        status =
            usm_reclaim(place->context, &(const usm_patience){INT64_MAX, usm_detach_poll, &thread}, error);
        if (status == USM_OK) {
            status = ask_driver(place, kind, block, out, zeroed, error);
        }
    }
    usm_attach(thread);
    return status;
}

usm_status usm_alloc_create(usm_place *place, usm_kind kind, size_t nbytes, bool want_zeros, usm_alloc **out,
                            usm_error *error)
{
    size_t block = 0;
    uint8_t size_class = nbytes == 0 ? USM_NOT_POOLED : usm_pool_class(nbytes, &block);
    usm_alloc *alloc;
    if (block != 0) {
        alloc = size_class != USM_NOT_POOLED ? usm_pool_pop(place->pools[kind], size_class) : NULL;
        alloc = alloc != NULL ? alloc : usm_reclaim_reuse(place, kind, block);
        if (alloc != NULL) {
            /* A block that was lent to a stream and not used since is still lent. */
            if ((atomic_load_explicit(&alloc->flags, memory_order_relaxed) & ~USM_ALLOC_UNORDERED) != 0) {
                atomic_fetch_and_explicit(&alloc->flags, USM_ALLOC_UNORDERED, memory_order_relaxed);
            }
            begin(alloc, place, kind);
            atomic_store_explicit(&alloc->nbytes, nbytes, memory_order_release);
            *out = alloc;
            return USM_OK;
        }
    }
    usm_status status = check_size(place, kind, nbytes, error);
    if (status != USM_OK) {
        return status;
    }
    alloc = alloc_new();
    if (alloc == NULL) {
        return usm_error_memory(error, sizeof *alloc, "an allocation's record");
    }
    bool zeroed = false;
    if (block != 0) {
        status = allocate(place, kind, block, &alloc->pointer, &zeroed, error);
        if (status != USM_OK) {
            free(alloc);
            return status;
        }
        usm_pool_begin_use(place->pools[kind], block);
    }
    alloc->size = block;
    alloc->size_class = size_class;
    begin(alloc, place, kind);
    if (block != 0) {
        atomic_store_explicit(&alloc->nbytes, nbytes, memory_order_relaxed);
        usm_blocks_add(alloc);
    }
    if (want_zeros && zeroed) {
        atomic_store_explicit(&alloc->flags, USM_ALLOC_ZEROED, memory_order_relaxed);
    }
    *out = alloc;
    return USM_OK;
}

usm_status usm_alloc_import(usm_place *place, usm_kind kind, void *pointer, size_t nbytes, void *owner,
                            void (*deleter)(void *), usm_alloc **out, usm_error *error)
{
    usm_alloc *alloc = alloc_new();
    if (USM_UNLIKELY(alloc == NULL)) {
        return usm_error_memory(error, sizeof *alloc, "an allocation's record");
    }
    alloc->pointer = pointer;
    alloc->size = nbytes;
    alloc->size_class = USM_NOT_POOLED;
    alloc->owner = owner;
    alloc->deleter = deleter;
    alloc->deferred.home = deleter != NULL ? usm_deferred_here() : NULL;
    atomic_store_explicit(&alloc->flags, USM_ALLOC_FOREIGN, memory_order_relaxed);
    begin(alloc, place, kind);
    *out = alloc;
    return USM_OK;
}

/*
 * Whether a block may enter the pool while it is lent to the default stream, which always exists and orders
 * the next use. Only memory that the host does not touch before a task does.
 */
static bool may_pool_while_lent(const usm_alloc *alloc)
{
    return alloc->kind == USM_DEVICE && alloc->size_class != USM_NOT_POOLED &&
           !alloc->place->device->info.host_reads_device && alloc->stream == USM_STREAM_LEGACY &&
           alloc->stream_id == 0 && usm_pool_has_room(alloc->place->pools[USM_DEVICE], alloc->size);
}

/*
 * A stream that our memory was lent to may still use it: the allocation then lives until that work has
 * ended. False: it can end now, or is still lent, and waits for the device.
 */
static bool defer_until_stream_ends(usm_alloc *alloc)
{
    if (may_pool_while_lent(alloc)) {
        return false;
    }
    usm_refcount_init(&alloc->refs, 1);
    return usm_alloc_lender(alloc)->hold(alloc, false) &&
           !usm_refcount_down(&alloc->refs); /* it may have ended meanwhile */
}

/* Lent to a stream of which nothing here can tell when it has ended. */
static bool must_wait(const usm_alloc *alloc)
{
    return usm_alloc_has(alloc, USM_ALLOC_UNORDERED) && !may_pool_while_lent(alloc);
}

static void end_deferred(usm_deferred *node)
{
    usm_alloc_destroy((usm_alloc *)((char *)node - offsetof(usm_alloc, deferred)));
}

static void defer_end(usm_alloc *alloc)
{
    alloc->deferred.run = end_deferred;
    usm_deferred_push(&alloc->deferred);
}

/*
 * A deleter may need the interpreter that imported the memory. False: a thread of that interpreter ends the
 * allocation later. After that interpreter the owner stays: nothing could release it.
 */
static bool may_end_here(usm_alloc *alloc)
{
    usm_deferred_list *home = alloc->deferred.home;
    usm_deferred_fate fate = home == NULL ? USM_RELEASE_NOW : usm_deferred_fate_of(home);
    if (fate == USM_RELEASE_NEVER) {
        alloc->deleter = NULL;
    } else if (fate == USM_RELEASE_LATER) {
        defer_end(alloc);
    }
    return fate != USM_RELEASE_LATER;
}

/* Hazards are empty: every task on the block held a count of it. */
void usm_alloc_destroy(usm_alloc *alloc)
{
    usm_context *context = alloc->context;
    if (USM_UNLIKELY(usm_alloc_is_busy(alloc))) {
        bool foreign = usm_alloc_has(alloc, USM_ALLOC_FOREIGN);
        if (foreign ? usm_reclaim_owner_later(alloc) : defer_until_stream_ends(alloc)) {
            return;
        }
    }
    if (alloc->deleter != NULL && !may_end_here(alloc)) {
        return;
    }
    usm_live_add(USM_LIVE_ALLOC, -1);
    if (USM_UNLIKELY(alloc->tracked != NULL)) {
        usm_track_end(alloc);
    }
    usm_failure *failure = atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed);
    if (USM_UNLIKELY(failure != NULL)) {
        atomic_store_explicit(&alloc->hazards.failure, NULL, memory_order_relaxed);
        usm_failure_release(failure);
    }
    uint8_t flags = atomic_load_explicit(&alloc->flags, memory_order_relaxed);
    if ((flags & (USM_ALLOC_FOREIGN | USM_ALLOC_SHARED)) != 0) {
        if ((flags & USM_ALLOC_SHARED) != 0 && alloc->deleter != NULL && usm_reclaim_later(alloc)) {
            return;
        }
        usm_context_advance_free_generation(context);
        if (alloc->deleter != NULL) {
            alloc->deleter(alloc->owner);
        }
    } else if (alloc->pointer != NULL) {
        atomic_store_explicit(&alloc->nbytes, 0, memory_order_relaxed);
        if (alloc->size_class == USM_NOT_POOLED || USM_UNLIKELY(must_wait(alloc))) {
            usm_pool_end_use(alloc->place->pools[alloc->kind], alloc->size);
        } else if (usm_reclaim_to_pool(alloc)) {
            usm_context_release(context); /* may free the pool, and the block with it */
            return;
        }
        if (USM_UNLIKELY(usm_reclaim_later(alloc))) {
            return;
        }
        usm_reclaim_block(alloc);
    }
    if (USM_UNLIKELY(alloc->hazards.readers != NULL)) {
        free(alloc->hazards.readers);
    }
    if (!usm_spare_push(alloc)) {
        free(alloc);
    }
    usm_context_release(context);
}

void usm_alloc_release_deferred(usm_alloc *alloc)
{
    if (!usm_refcount_down(&alloc->refs)) {
        return;
    }
    if (alloc->deleter == NULL) {
        usm_alloc_destroy(alloc);
        return;
    }
    defer_end(alloc);
}
