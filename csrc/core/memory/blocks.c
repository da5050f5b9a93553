/*
 * A treap: a search tree by address in which a parent has a greater rank than its children. Ranks are as good
 * as random, so that its depth is logarithmic, and nodes lie in the allocations, so that nothing can fail.
 */
#include "blocks.h"

#include "core/base/sync.h"

static usm_alloc *root; /* leaf stripe of its address */

static uint64_t rank(const usm_alloc *alloc)
{
    return (uint64_t)(uintptr_t)alloc->pointer * UINT64_C(0x9E3779B97F4A7C15); /* Fibonacci hashing */
}

/* Two drivers may give the same address: to memory of two devices that the host does not read. */
static bool is_before(const usm_alloc *a, const usm_alloc *b)
{
    uintptr_t at = (uintptr_t)a->pointer, other = (uintptr_t)b->pointer;
    return at != other ? at < other : (uintptr_t)a < (uintptr_t)b;
}

void usm_blocks_add(usm_alloc *alloc)
{
    usm_leaf *leaf = usm_leaf_of(&root);
    usm_alloc **at = &root, **lower = &alloc->tree.lower, **higher = &alloc->tree.higher;
    usm_mutex_lock(&leaf->mutex);
    while (*at != NULL && rank(*at) >= rank(alloc)) {
        at = is_before(alloc, *at) ? &(*at)->tree.lower : &(*at)->tree.higher;
    }
    usm_alloc *below = *at; /* is split in two */
    *at = alloc;
    while (below != NULL) {
        if (is_before(below, alloc)) {
            *lower = below;
            lower = &below->tree.higher;
            below = *lower;
        } else {
            *higher = below;
            higher = &below->tree.lower;
            below = *higher;
        }
    }
    *lower = *higher = NULL;
    usm_mutex_unlock(&leaf->mutex);
}

void usm_blocks_remove(usm_alloc *alloc)
{
    usm_leaf *leaf = usm_leaf_of(&root);
    usm_alloc **at = &root;
    usm_mutex_lock(&leaf->mutex);
    while (*at != alloc) {
        at = is_before(alloc, *at) ? &(*at)->tree.lower : &(*at)->tree.higher;
    }
    usm_alloc *lower = alloc->tree.lower, *higher = alloc->tree.higher; /* become one */
    while (lower != NULL && higher != NULL) {
        if (rank(lower) > rank(higher)) {
            *at = lower;
            at = &lower->tree.higher;
            lower = *at;
        } else {
            *at = higher;
            at = &higher->tree.lower;
            higher = *at;
        }
    }
    *at = lower != NULL ? lower : higher;
    usm_mutex_unlock(&leaf->mutex);
}

bool usm_blocks_find(const void *pointer, usm_block *block)
{
    usm_leaf *leaf = usm_leaf_of(&root);
    const usm_alloc *best = NULL;
    usm_mutex_lock(&leaf->mutex);
    for (const usm_alloc *at = root; at != NULL;) {
        if ((uintptr_t)at->pointer <= (uintptr_t)pointer) {
            best = at;
            at = at->tree.higher;
        } else {
            at = at->tree.lower;
        }
    }
    bool found = best != NULL && (uintptr_t)pointer - (uintptr_t)best->pointer < best->size;
    if (found) {
        *block = (usm_block){
            .base = best->pointer,
            .nbytes = atomic_load_explicit(&((usm_alloc *)best)->nbytes, memory_order_acquire),
        };
        if (block->nbytes > 0) {
            block->place = best->place;
            block->kind = (usm_kind)best->kind;
        }
    }
    usm_mutex_unlock(&leaf->mutex);
    return found;
}
