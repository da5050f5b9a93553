#include "segment.h"

#include "core/base/heap.h"

#include <sys/mman.h>

/*
 * Segments lie in slabs of the size of a large page, and some slabs are kept: touching fresh pages of the
 * usual size one by one would cost more than all the rest of a record. In the place of the first segment lies
 * the slab's own struct.
 */
#define SLAB_BYTES ((size_t)2 << 20)
#define SLAB_SEGMENTS (SLAB_BYTES / USM_SEGMENT_BYTES)
#define MOST_EMPTY 2

typedef struct slab {
    struct slab *next;
    usm_segment *free; /* were used before: the last first, while it is in the cache */
    unsigned n_used, n_touched;
} slab;

/* All under the caller's lock. */
static slab *slabs; /* those with room */
static unsigned n_empty;
static usm_segment *unsettled; /* dropped before all of their tasks had ended */

static slab *slab_of(usm_segment *segment)
{
    return (slab *)((uintptr_t)segment & ~(uintptr_t)(SLAB_BYTES - 1));
}

static slab *slab_new(void)
{
    slab *new = USM_HEAP_FAULT() ? NULL : aligned_alloc(SLAB_BYTES, SLAB_BYTES);
    if (new != NULL) {
        madvise(new, SLAB_BYTES, MADV_HUGEPAGE); /* a hint */
        *new = (slab){.next = slabs, .n_touched = 1};
        slabs = new;
        n_empty++;
    }
    return new;
}

static bool has_room(const slab *slab)
{
    return slab->free != NULL || slab->n_touched < SLAB_SEGMENTS;
}

static void give_back(usm_segment *segment)
{
    slab *slab = slab_of(segment);
    if (!has_room(slab)) {
        slab->next = slabs;
        slabs = slab;
    }
    segment->next = slab->free;
    slab->free = segment;
    if (--slab->n_used > 0 || n_empty < MOST_EMPTY) {
        n_empty += slab->n_used == 0;
        return;
    }
    struct slab **at = &slabs;
    while (*at != slab) {
        at = &(*at)->next;
    }
    *at = slab->next;
    free(slab);
}

static bool is_settled(usm_segment *segment)
{
    return atomic_load_explicit(&segment->n_ended, memory_order_acquire) == segment->n_tasks;
}

static void sweep(void)
{
    for (usm_segment **at = &unsettled; *at != NULL;) {
        usm_segment *segment = *at;
        if (is_settled(segment)) {
            *at = segment->next;
            give_back(segment);
        } else {
            at = &segment->next;
        }
    }
}

usm_segment *usm_segment_new(void)
{
    sweep();
    slab *slab = slabs != NULL ? slabs : slab_new();
    if (slab == NULL) {
        return NULL;
    }
    usm_segment *segment = slab->free;
    if (segment != NULL) {
        slab->free = segment->next;
    } else {
        segment = (usm_segment *)((char *)slab + USM_SEGMENT_BYTES * slab->n_touched++);
    }
    n_empty -= slab->n_used++ == 0;
    if (!has_room(slab)) {
        slabs = slab->next;
    }
    segment->of_log = segment->of_queue = false;
    segment->n_tasks = 0;
    atomic_store_explicit(&segment->n, 0, memory_order_relaxed);
    atomic_store_explicit(&segment->n_ended, 0, memory_order_relaxed);
    return segment;
}

void usm_segment_drop(usm_segment *segment)
{
    segment->next = unsettled;
    unsettled = segment;
    sweep();
}
