#include "pool.h"

#include "backend.h"
#include "heap.h"
#include "live.h"
#include "sync.h"
#include "usage.h"

/*
 * Four classes to each doubling from 64 bytes to 32 MiB: a block is at most a quarter larger than what was
 * asked for. Blocks of 4 KiB and more keep the alignment that the backend gave them.
 */
#define SMALLEST_SHIFT 6
#define CLASSES (4 * 19 + 1)

struct usm_pool {
    /* Written under the brief stripe of the pool; last in, first out: warm in the cache. */
    _Atomic(usm_alloc *) free[CLASSES];
    size_t spare; /* written under the lock; a glance at it needs none */
    size_t used, peak, n_used;
};

usm_pool *usm_pool_create(void)
{
    return usm_calloc(1, sizeof(usm_pool));
}

uint8_t usm_pool_class(size_t nbytes, size_t *block)
{
    if (nbytes <= (size_t)1 << SMALLEST_SHIFT) {
        *block = (size_t)1 << SMALLEST_SHIFT;
        return 0;
    }
    if (nbytes > USM_POOL_LARGEST) {
        *block = nbytes;
        return USM_NOT_POOLED;
    }
    /* 2**shift < nbytes <= 2**(shift + 1), cut into four steps. */
    unsigned shift = 63 - (unsigned)__builtin_clzll((unsigned long long)nbytes - 1);
    size_t step = (size_t)1 << (shift - 2);
    size_t steps = (nbytes - ((size_t)1 << shift) + step - 1) / step;
    *block = ((size_t)1 << shift) + steps * step;
    return (uint8_t)(4 * (shift - SMALLEST_SHIFT) + steps);
}

static void count_used(usm_pool *pool, size_t nbytes)
{
    pool->n_used++;
    pool->used += nbytes;
    if (pool->used > pool->peak) {
        pool->peak = pool->used;
    }
}

static void count_unused(usm_pool *pool, size_t nbytes)
{
    pool->n_used--;
    pool->used -= nbytes;
}

usm_alloc *usm_pool_pop(usm_pool *pool, uint8_t size_class)
{
    if (atomic_load_explicit(&pool->free[size_class], memory_order_relaxed) == NULL) {
        return NULL; /* a glance without the lock: at worst a spare block is missed */
    }
    usm_brief *lock = usm_brief_lock(pool);
    usm_alloc *alloc = pool->free[size_class];
    if (alloc != NULL) {
        atomic_store_explicit(&pool->free[size_class], alloc->link.next_free, memory_order_relaxed);
        pool->spare -= alloc->size;
        count_used(pool, alloc->size);
    }
    usm_brief_unlock(lock);
    return alloc;
}

/* Of this many spare bytes, one block more. */
static bool has_room(size_t spare, size_t nbytes)
{
    return spare + nbytes <= (nbytes <= USM_POOL_SMALL ? USM_POOL_SMALL_LIMIT : USM_POOL_LIMIT);
}

bool usm_pool_push(usm_pool *pool, usm_alloc *alloc)
{
    usm_brief *lock = usm_brief_lock(pool);
    count_unused(pool, alloc->size);
    bool room = has_room(pool->spare, alloc->size);
    if (room) {
        pool->spare += alloc->size;
        alloc->link.next_free = atomic_load_explicit(&pool->free[alloc->size_class], memory_order_relaxed);
        atomic_store_explicit(&pool->free[alloc->size_class], alloc, memory_order_relaxed);
    }
    usm_brief_unlock(lock);
    return room;
}

void usm_pool_begin_use(usm_pool *pool, size_t nbytes)
{
    usm_brief *lock = usm_brief_lock(pool);
    count_used(pool, nbytes);
    usm_brief_unlock(lock);
}

void usm_pool_end_use(usm_pool *pool, size_t nbytes)
{
    usm_brief *lock = usm_brief_lock(pool);
    count_unused(pool, nbytes);
    usm_brief_unlock(lock);
}

usm_pool_state usm_pool_look(usm_pool *pool)
{
    usm_brief *lock = usm_brief_lock(pool);
    usm_pool_state state = {pool->used, pool->peak, pool->n_used, pool->spare};
    usm_brief_unlock(lock);
    return state;
}

bool usm_pool_has_room(const usm_pool *pool, size_t nbytes)
{
    return has_room(__atomic_load_n(&pool->spare, __ATOMIC_RELAXED), nbytes);
}

size_t usm_pool_spare(usm_pool *pool)
{
    usm_brief *lock = usm_brief_lock(pool);
    size_t spare = pool->spare;
    usm_brief_unlock(lock);
    return spare;
}

size_t usm_pool_trim(usm_pool *pool, usm_place *place, usm_kind kind)
{
    usm_alloc *all = NULL;
    usm_brief *lock = usm_brief_lock(pool);
    for (int i = 0; i < CLASSES; i++) {
        while (pool->free[i] != NULL) {
            usm_alloc *alloc = pool->free[i];
            pool->free[i] = alloc->link.next_free;
            alloc->link.next_free = all;
            all = alloc;
        }
    }
    size_t freed = pool->spare;
    pool->spare = 0;
    usm_brief_unlock(lock);
    if (all != NULL) {
        usm_context_memory_departs(place->context);
    }
    while (all != NULL) {
        usm_alloc *next = all->link.next_free;
        usm_alloc_finish_lent(all);
        place->context->backend->memory_free(place->context, place->device, kind, all->pointer, all->size);
        usm_usage_give(place, all->size);
        free(all->hazards.readers);
        free(all);
        all = next;
    }
    return freed;
}

void usm_pool_destroy(usm_pool *pool, usm_place *place, usm_kind kind)
{
    if (pool != NULL) {
        usm_pool_trim(pool, place, kind);
        free(pool);
    }
}
