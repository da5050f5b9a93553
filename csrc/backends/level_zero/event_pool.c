/*
 * Events of the driver, each used for one task after another: a loop of launches makes none. A slot is
 * used again when the task that signals it is gone, and with it all tasks that wait for it, since links
 * hold references.
 */
#include "level_zero.h"

#include "core/base/heap.h"

struct usm_level_zero_pool {
    usm_level_zero_pool *next;
    ze_event_pool_handle_t id;
    bool timed;
    uint32_t size, used; /* the first `used` slots have events */
    usm_level_zero_slot slots[];
};

enum { FIRST_POOL = 32, LARGEST_POOL = 1024 };

/*
 * Pools double in size, since a driver has a limited number of them, and each event may take a page. Context
 * lock held.
 */
static usm_level_zero_pool *new_pool(usm_context *context, bool timed, usm_error *error)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    uint32_t size = FIRST_POOL;
    for (usm_level_zero_pool *other = native->pools; other != NULL; other = other->next) {
        size = other->timed == timed && size < LARGEST_POOL ? 2 * size : size;
    }
    usm_level_zero_pool *pool = usm_calloc(1, sizeof *pool + size * sizeof *pool->slots);
    ze_device_handle_t *devices = usm_malloc(context->n_devices * sizeof *devices);
    if (pool == NULL || devices == NULL) {
        free(pool);
        free(devices);
        usm_error_memory(error, size * sizeof *pool->slots, "a pool of events");
        return NULL;
    }
    for (size_t i = 0; i < context->n_devices; i++) {
        devices[i] = usm_level_zero_device_of(context->devices[i])->id;
    }
    const ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | (timed ? ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP : 0),
        .count = size,
    };
    ze_result_t result =
        usm_level_zero.zeEventPoolCreate(native->id, &desc, (uint32_t)context->n_devices, devices, &pool->id);
    free(devices);
    if (result != ZE_RESULT_SUCCESS) {
        free(pool);
        usm_level_zero_failed(error, result, "zeEventPoolCreate");
        return NULL;
    }
    pool->timed = timed;
    pool->size = size;
    pool->next = native->pools;
    native->pools = pool;
    return pool;
}

/* Context lock held. */
static usm_level_zero_slot *new_slot(usm_context *context, bool timed, usm_error *error)
{
    usm_level_zero_pool *pool = usm_level_zero_context_of(context)->pools;
    while (pool != NULL && (pool->timed != timed || pool->used == pool->size)) {
        pool = pool->next;
    }
    pool = pool != NULL ? pool : new_pool(context, timed, error);
    if (pool == NULL) {
        return NULL;
    }
    usm_level_zero_slot *slot = &pool->slots[pool->used];
    /* What a task has written is for the host to read once it has seen the end. */
    const ze_event_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = pool->used,
        .signal = ZE_EVENT_SCOPE_FLAG_HOST,
        .wait = ZE_EVENT_SCOPE_FLAG_HOST,
    };
    ze_result_t result = usm_level_zero.zeEventCreate(pool->id, &desc, &slot->id);
    if (result != ZE_RESULT_SUCCESS) {
        usm_level_zero_failed(error, result, "zeEventCreate");
        return NULL;
    }
    slot->timed = timed;
    pool->used++;
    return slot;
}

/*
 * The list has a lock of its own, which is held for a few instructions; the context's lock is held across
 * calls of the driver, and is needed only for new events.
 */
usm_level_zero_slot *usm_level_zero_slot_take(usm_context *context, bool timed, usm_error *error)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    usm_spinlock_take(&native->spinlock);
    usm_level_zero_slot *slot = usm_freelist_pop(&native->free[timed]);
    native->slots_used++;
    usm_spinlock_give(&native->spinlock);
    if (slot != NULL) {
        return slot;
    }
    pthread_mutex_lock(&native->lock);
    slot = new_slot(context, timed, error);
    pthread_mutex_unlock(&native->lock);
    if (slot == NULL) {
        usm_spinlock_take(&native->spinlock);
        native->slots_used--;
        usm_spinlock_give(&native->spinlock);
    }
    return slot;
}

/* An event is signalled once and must be reset before its next use (zeEventHostReset). */
void usm_level_zero_slot_put(usm_context *context, usm_level_zero_slot *slot, bool lost)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    bool again = !lost && usm_level_zero.zeEventHostReset(slot->id) == ZE_RESULT_SUCCESS;
    usm_spinlock_take(&native->spinlock);
    native->slots_used--;
    if (again) { /* else it goes with its pool */
        usm_freelist_push(&native->free[slot->timed], slot);
    }
    usm_spinlock_give(&native->spinlock);
}

void usm_level_zero_slots_free(usm_level_zero_context *context)
{
    for (usm_level_zero_pool *pool = context->pools, *next; pool != NULL; pool = next) {
        next = pool->next;
        for (uint32_t i = 0; i < pool->used; i++) {
            USM_LEVEL_ZERO_GIVE_BACK(zeEventDestroy, pool->slots[i].id);
        }
        USM_LEVEL_ZERO_GIVE_BACK(zeEventPoolDestroy, pool->id);
        free(pool);
    }
}
