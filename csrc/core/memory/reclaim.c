#include "reclaim.h"

#include "alloc.h"
#include "blocks.h"
#include "core/base/live.h"
#include "core/device/rule.h"
#include "usage.h"

#include <stddef.h>
#include <stdlib.h>

/* How long a block waits for a stream that it was lent to, before it waits for the device. */
#define STREAM_NS INT64_C(10000000000)

static usm_alloc *alloc_of(const usm_reclaimable *item)
{
    return (usm_alloc *)((char *)item - offsetof(usm_alloc, link.reclaimable));
}

static bool free_waits(usm_alloc *alloc)
{
    return usm_alloc_has(alloc, USM_ALLOC_SHARED)
               ? alloc->context->backend->has_driver
               : (alloc->place->device->info.frees_wait >> alloc->kind & 1) != 0;
}

void usm_reclaim_block(usm_alloc *alloc)
{
    usm_place *place = alloc->place;
    const usm_backend *backend = place->context->backend;
    usm_context_advance_free_generation(place->context);
    usm_blocks_remove(alloc);
    if (!usm_is_forked(backend)) { /* else the parent's driver still has it */
        USM_CALL_IF(free_waits(alloc), backend, memory_free)
        (place, alloc->kind, alloc->pointer, alloc->size);
    }
    usm_usage_give(place, alloc->size);
}

static void free_record(USM_TAKES usm_alloc *alloc)
{
    free(alloc->hazards.readers);
    free(alloc);
}

static void free_block(USM_TAKES usm_alloc *alloc)
{
    usm_reclaim_block(alloc);
    free_record(alloc);
}

/* Memory that waits here, and was lent to a stream that may be gone. */
static _Atomic size_t n_lent;

/*
 * Whether no work of others is left on the memory. Asks the stream that it was lent to. Waits for the device
 * only with `waits`, or late: that keeps the submissions of other threads out, and the device may have work
 * that cannot be seen from here.
 */
static bool has_ended(usm_alloc *alloc, bool waits)
{
    int64_t since_ns = alloc->link.reclaimable.since_ns;
    if (!usm_alloc_has(alloc, USM_ALLOC_UNORDERED)) {
        return true;
    }
    bool counted = alloc->stream_id != 0;
    bool late = usm_clock_ns() - since_ns >= STREAM_NS && !usm_place_is_at_work(alloc->place);
    bool ended = usm_alloc_lender(alloc)->end(alloc, since_ns, waits || late);
    if (late && !ended) {
        alloc->link.reclaimable.since_ns = usm_clock_ns(); /* the next try is as late */
    }
    atomic_fetch_sub(&n_lent, ended && counted);
    return ended;
}

static bool give_back(usm_reclaimable *item, bool waits)
{
    usm_alloc *alloc = alloc_of(item);
    usm_context *context = alloc->context;
    bool was_lent = usm_alloc_has(alloc, USM_ALLOC_UNORDERED);
    if (!has_ended(alloc, waits) || (!waits && free_waits(alloc) && usm_place_is_at_work(alloc->place))) {
        return false;
    }
    if (usm_alloc_has(alloc, USM_ALLOC_SHARED)) {
        usm_context_advance_free_generation(context);
        alloc->deleter(alloc->owner);
        free_record(alloc);
        usm_context_release(context);
        return true;
    }
    if (!waits && was_lent && alloc->size_class != USM_NOT_POOLED) {
        /* It was not offered to the pool before. */
        usm_pool_begin_use(alloc->place->pools[alloc->kind], alloc->size);
        if (usm_reclaim_to_pool(alloc)) {
            usm_context_release(context);
            return true;
        }
    }
    free_block(alloc);
    usm_context_release(context);
    return true;
}

static bool give_back_owner(usm_reclaimable *item, bool waits)
{
    usm_alloc *alloc = alloc_of(item);
    if (!has_ended(alloc, waits)) {
        return false;
    }
    usm_refcount_init(&alloc->refs, 1);
    usm_alloc_release_deferred(alloc);
    return true;
}

static void put(usm_alloc *alloc, bool (*give)(usm_reclaimable *, bool))
{
    alloc->link.reclaimable.nbytes = alloc->size;
    alloc->link.reclaimable.give_back = give;
    atomic_fetch_add(&n_lent, usm_alloc_has(alloc, USM_ALLOC_UNORDERED) && alloc->stream_id != 0);
    usm_reclaimer_put(&alloc->link.reclaimable);
}

bool usm_reclaim_owner_later(usm_alloc *alloc)
{
    if (!usm_alloc_has(alloc, USM_ALLOC_UNORDERED) || alloc->stream_id == 0) {
        return false;
    }
    put(alloc, give_back_owner);
    return true;
}

bool usm_reclaim_later(usm_alloc *alloc)
{
    if (USM_LIKELY(!free_waits(alloc)) && !usm_alloc_has(alloc, USM_ALLOC_UNORDERED)) {
        return false;
    }
    put(alloc, give_back);
    return true;
}

typedef struct living {
    const usm_device *device;
    const void *stream;
    uint64_t id;
} living;

static bool is_lent_to(const usm_reclaimable *item, const void *argument)
{
    const living *living = argument;
    usm_alloc *alloc = alloc_of(item);
    return (item->give_back == give_back || item->give_back == give_back_owner) &&
           usm_alloc_has(alloc, USM_ALLOC_UNORDERED) && !usm_alloc_has(alloc, USM_ALLOC_SHARED) &&
           alloc->stream_device == living->device && alloc->stream == living->stream &&
           alloc->stream_id == living->id;
}

void usm_reclaim_stream_lives(usm_device *device, void *stream, uint64_t id)
{
    const living living = {device, stream, id};
    usm_reclaimable *all = NULL, *item;
    if (USM_LIKELY(atomic_load_explicit(&n_lent, memory_order_relaxed) == 0)) {
        return;
    }
    while ((item = usm_reclaimer_take(is_lent_to, &living)) != NULL) {
        item->next = all;
        all = item;
    }
    while (all != NULL) {
        usm_alloc *alloc = alloc_of(all);
        all = all->next;
        atomic_fetch_sub(&n_lent, 1);
        if (alloc->link.reclaimable.give_back == give_back) { /* else its end has not begun */
            usm_live_add(USM_LIVE_ALLOC, 1);
            usm_pool_begin_use(alloc->place->pools[alloc->kind], alloc->size);
        }
        usm_refcount_init(&alloc->refs, 1);
        (void)usm_alloc_lender(alloc)->hold(alloc, true);
        usm_alloc_release(alloc);
    }
}

typedef struct wanted {
    const usm_place *place;
    usm_kind kind;
    size_t nbytes;
} wanted;

static bool fits(const usm_reclaimable *item, const void *argument)
{
    const wanted *wanted = argument;
    usm_alloc *alloc = alloc_of(item);
    return item->give_back == give_back && alloc->place == wanted->place && alloc->kind == wanted->kind &&
           alloc->size == wanted->nbytes && !usm_alloc_has(alloc, USM_ALLOC_UNORDERED) &&
           !usm_alloc_has(alloc, USM_ALLOC_SHARED);
}

usm_alloc *usm_reclaim_reuse(usm_place *place, usm_kind kind, size_t nbytes)
{
    const wanted wanted = {place, kind, nbytes};
    if (USM_LIKELY((place->device->info.frees_wait >> kind & 1) == 0)) {
        return NULL;
    }
    usm_reclaimable *item = usm_reclaimer_take(fits, &wanted);
    if (item == NULL) {
        return NULL;
    }
    usm_alloc *alloc = alloc_of(item);
    usm_pool_begin_use(place->pools[kind], alloc->size);
    usm_context_release(alloc->context); /* the caller has another count */
    return alloc;
}

/* Of blocks that a pool drops: with their records. */
static void drop_blocks(USM_TAKES usm_alloc *list)
{
    for (usm_alloc *next; list != NULL; list = next) {
        next = list->link.next_free;
        usm_context_retain(list->context);
        if (!usm_reclaim_later(list)) {
            usm_context *context = list->context;
            free_block(list);
            usm_context_release(context);
        }
    }
}

bool usm_reclaim_to_pool(usm_alloc *alloc)
{
    usm_alloc *evicted;
    bool kept = usm_pool_push(alloc->place->pools[alloc->kind], alloc, &evicted);
    if (USM_UNLIKELY(evicted != NULL)) {
        drop_blocks(evicted); /* a block that was kept may be another thread's by now */
    }
    return kept;
}

size_t usm_reclaim_pool(usm_pool *pool)
{
    size_t freed = 0;
    int64_t now_ns = usm_clock_ns();
    for (usm_alloc *list = usm_pool_take_all(pool), *next; list != NULL; list = next) {
        next = list->link.next_free;
        if (!usm_alloc_has(list, USM_ALLOC_UNORDERED) || usm_alloc_lender(list)->end(list, now_ns, true)) {
            freed += list->size;
            free_block(list);
        } else if (usm_refcount_up_unless_zero(&list->context->refs)) {
            put(list, give_back);
        } else { /* the context ends: the driver keeps the block, which is better than in use */
            usm_blocks_remove(list);
            free_record(list);
        }
    }
    return freed;
}

size_t usm_reclaim_place(usm_place *place)
{
    size_t freed = usm_reclaimer_drain();
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        freed += usm_reclaim_pool(place->pools[kind]);
    }
    if (place->context->backend->memory_trim != NULL && !usm_is_forked(place->context->backend)) {
        USM_CALL(place->context->backend, memory_trim)(place);
    }
    return freed;
}

usm_status usm_reclaim(usm_context *context, const usm_patience *patience, usm_error *error)
{
    usm_status status = usm_places_wait(context, patience, error);
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    for (; place != NULL; place = place->next) {
        usm_reclaim_place(place);
    }
    return status;
}

void usm_reclaim_beyond(usm_place *place, size_t nbytes)
{
    atomic_store_explicit(&place->limit, nbytes, memory_order_relaxed);
    if (atomic_load_explicit(&place->held, memory_order_relaxed) > nbytes) {
        usm_reclaim_place(place);
    }
}

static bool create_pools(usm_place *place)
{
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        place->pools[kind] = usm_pool_create();
        if (place->pools[kind] == NULL) {
            return false;
        }
    }
    return true;
}

static void trim_pools(usm_place *place)
{
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        usm_reclaim_pool(place->pools[kind]);
    }
}

static void destroy_pools(usm_place *place)
{
    for (usm_kind kind = 0; kind < USM_KINDS && place->pools[kind] != NULL; kind++) {
        usm_reclaim_pool(place->pools[kind]);
        usm_pool_destroy(place->pools[kind]);
    }
}

const usm_place_part usm_memory_part = {.create = create_pools, .trim = trim_pools, .destroy = destroy_pools};
