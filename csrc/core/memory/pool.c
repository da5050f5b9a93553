#include "pool.h"

#include "core/base/heap.h"
#include "core/base/sync.h"

/*
 * Four classes to each doubling from 64 bytes to 32 MiB: a block is at most a quarter larger than what was
 * asked for. Blocks of 4 KiB and more keep the alignment that the backend gave them.
 */
#define SMALLEST_SHIFT 6
#define CLASSES (4 * 19 + 1)
/*
 * A class that was not used while this many blocks were refused for lack of room is left over from earlier
 * work. A smaller number would let two sizes in turn, which have no room together, evict each other.
 */
#define PATIENCE 8

/* Written under the spinlock stripe of the pool. */
typedef struct class
{
    _Atomic(usm_alloc *) free; /* last in, first out: warm in the cache */
    uint64_t used_at;          /* how many had been turned away when a block last came or went */
} class;

struct usm_pool {
    class classes[CLASSES];
    uint64_t turned_away;
    size_t spare; /* written under the lock; read without it for decisions that may be wrong */
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

/* Lock held. */
static usm_alloc *take(usm_pool *pool, class *class)
{
    usm_alloc *alloc = atomic_load_explicit(&class->free, memory_order_relaxed);
    if (alloc != NULL) {
        atomic_store_explicit(&class->free, alloc->link.next_free, memory_order_relaxed);
        pool->spare -= alloc->size;
    }
    return alloc;
}

usm_alloc *usm_pool_pop(usm_pool *pool, uint8_t size_class)
{
    class *class = &pool->classes[size_class];
    if (atomic_load_explicit(&class->free, memory_order_relaxed) == NULL) {
        return NULL; /* read without the lock: at worst a spare block is missed */
    }
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    usm_alloc *alloc = take(pool, class);
    if (alloc != NULL) {
        class->used_at = pool->turned_away;
        count_used(pool, alloc->size);
    }
    usm_spinlock_give(lock);
    return alloc;
}

/* Whether one block more has room beside this many spare bytes. */
static bool has_room(size_t spare, size_t nbytes)
{
    return spare + nbytes <= (nbytes <= USM_POOL_SMALL ? USM_POOL_SMALL_LIMIT : USM_POOL_LIMIT);
}

/*
 * Lock held. Whether the class has a block that can be freed at once, without a wait for a stream that it
 * was lent to.
 */
static bool has_idle(const class *class)
{
    usm_alloc *alloc = atomic_load_explicit(&class->free, memory_order_relaxed);
    return alloc != NULL && !usm_alloc_has(alloc, USM_ALLOC_UNORDERED);
}

/* Lock held. The class that was unused for longest, and long enough; NULL: all of them are in use. */
static class *left_over(usm_pool *pool)
{
    class *oldest = NULL;
    for (int i = 0; i < CLASSES; i++) {
        class *class = &pool->classes[i];
        if (pool->turned_away - class->used_at >= PATIENCE &&
            (oldest == NULL || class->used_at < oldest->used_at) && has_idle(class)) {
            oldest = class;
        }
    }
    return oldest;
}

/* Lock held. Takes out blocks until `nbytes` have room: their list, for the caller to free. */
static usm_alloc *make_room(usm_pool *pool, size_t nbytes)
{
    usm_alloc *all = NULL;
    pool->turned_away++;
    while (!has_room(pool->spare, nbytes)) {
        class *class = left_over(pool);
        if (class == NULL) {
            break;
        }
        usm_alloc *alloc = take(pool, class);
        alloc->link.next_free = all;
        all = alloc;
    }
    return all;
}

bool usm_pool_push(usm_pool *pool, usm_alloc *alloc, usm_alloc **evicted)
{
    class *class = &pool->classes[alloc->size_class];
    *evicted = NULL;
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    count_unused(pool, alloc->size);
    if (USM_UNLIKELY(!has_room(pool->spare, alloc->size))) {
        *evicted = make_room(pool, alloc->size);
    }
    bool room = has_room(pool->spare, alloc->size);
    if (room) {
        pool->spare += alloc->size;
        class->used_at = pool->turned_away;
        alloc->link.next_free = atomic_load_explicit(&class->free, memory_order_relaxed);
        atomic_store_explicit(&class->free, alloc, memory_order_relaxed);
    }
    usm_spinlock_give(lock);
    return room;
}

void usm_pool_begin_use(usm_pool *pool, size_t nbytes)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    count_used(pool, nbytes);
    usm_spinlock_give(lock);
}

void usm_pool_end_use(usm_pool *pool, size_t nbytes)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    count_unused(pool, nbytes);
    usm_spinlock_give(lock);
}

usm_pool_state usm_pool_look(usm_pool *pool)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    usm_pool_state state = {pool->used, pool->peak, pool->n_used, pool->spare};
    usm_spinlock_give(lock);
    return state;
}

bool usm_pool_has_room(const usm_pool *pool, size_t nbytes)
{
    return has_room(__atomic_load_n(&pool->spare, __ATOMIC_RELAXED), nbytes);
}

usm_alloc *usm_pool_take_all(usm_pool *pool)
{
    usm_alloc *all = NULL;
    usm_spinlock *lock = usm_spinlock_take_stripe(pool);
    for (int i = 0; i < CLASSES; i++) {
        for (usm_alloc *alloc; (alloc = take(pool, &pool->classes[i])) != NULL; all = alloc) {
            alloc->link.next_free = all;
        }
    }
    usm_spinlock_give(lock);
    return all;
}

void usm_pool_destroy(usm_pool *pool)
{
    free(pool);
}
