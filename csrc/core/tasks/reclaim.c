#include "reclaim.h"

#include "alloc_stream.h"
#include "core/device/backend.h"
#include "core/memory/blocks.h"
#include "core/memory/usage.h"
#include "queue.h"

#include <stdlib.h>

void usm_reclaim_block(usm_alloc *alloc)
{
    usm_place *place = alloc->place;
    usm_alloc_finish_lent(alloc);
    usm_context_memory_departs(place->context);
    usm_blocks_remove(alloc);
    place->context->backend->memory_free(place->context, place->device, alloc->kind, alloc->pointer,
                                         alloc->size);
    usm_usage_give(place, alloc->size);
}

/* With their records: their bytes. */
static size_t free_blocks(USM_TAKES usm_alloc *list)
{
    size_t freed = 0;
    for (usm_alloc *next; list != NULL; list = next) {
        next = list->link.next_free;
        freed += list->size;
        usm_reclaim_block(list);
        free(list->hazards.readers);
        free(list);
    }
    return freed;
}

bool usm_reclaim_to_pool(usm_alloc *alloc)
{
    usm_alloc *evicted;
    bool kept = usm_pool_push(alloc->place->pools[alloc->kind], alloc, &evicted);
    if (USM_UNLIKELY(evicted != NULL)) {
        free_blocks(evicted); /* a block that was kept may be another thread's by now */
    }
    return kept;
}

size_t usm_reclaim_pool(usm_pool *pool)
{
    return free_blocks(usm_pool_take_all(pool));
}

size_t usm_reclaim_place(usm_place *place)
{
    size_t freed = 0;
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        freed += usm_reclaim_pool(place->pools[kind]);
    }
    if (place->context->backend->memory_trim != NULL) {
        place->context->backend->memory_trim(place->device);
    }
    return freed;
}

usm_status usm_reclaim(usm_context *context, usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_status status = usm_queues_finish_in_driver(context, poll, argument, error);
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
