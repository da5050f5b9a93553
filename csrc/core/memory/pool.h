/* Pools: spare blocks of one (context, device, kind), so that a small allocation costs no driver call. */
#ifndef USM_CORE_POOL_H
#define USM_CORE_POOL_H

#include "alloc_record.h"

/*
 * Spare blocks of a pool never exceed this, but for small ones, which have room of their own: they are asked
 * for most often, and large ones alone may fill a pool. Blocks above the largest class go straight to the
 * driver.
 */
#define USM_POOL_LIMIT ((size_t)64 << 20)
#define USM_POOL_SMALL ((size_t)64 << 10)
#define USM_POOL_SMALL_LIMIT (USM_POOL_LIMIT + ((size_t)8 << 20))
#define USM_POOL_LARGEST ((size_t)32 << 20)
#define USM_NOT_POOLED 255

typedef struct usm_pool usm_pool;

usm_pool *usm_pool_create(void);
/* An empty one; NULL is allowed. */
void usm_pool_destroy(USM_TAKES usm_pool *pool);

/* The class of a size, and the bytes that its blocks have. nbytes > 0. */
uint8_t usm_pool_class(size_t nbytes, size_t *block);

/* A spare block with its allocation struct, or NULL: from now on it counts as used. Any thread. */
usm_alloc *usm_pool_pop(usm_pool *pool, uint8_t size_class);
/*
 * The block is not used any more. In a full pool, blocks of sizes that nobody asks for any more make room:
 * `evicted` is their list (link.next_free), or NULL, for the caller to free. False where there is no room: so
 * is the block itself. Any thread.
 */
bool usm_pool_push(usm_pool *pool, usm_alloc *alloc, USM_GIVES usm_alloc **evicted);

/* Blocks that did not come from the spare ones, or do not become one. Any thread. */
void usm_pool_begin_use(usm_pool *pool, size_t nbytes);
void usm_pool_end_use(usm_pool *pool, size_t nbytes);

/* Bytes of blocks: those in use, the most that were, their number, and the spare ones. */
typedef struct usm_pool_state {
    size_t used, peak, n_used, spare;
} usm_pool_state;

usm_pool_state usm_pool_look(usm_pool *pool);

/* About: for a decision that may be wrong. */
bool usm_pool_has_room(const usm_pool *pool, size_t nbytes);
/* All spare blocks, as a list (link.next_free) for the caller to free; or NULL. Any thread. */
USM_GIVES usm_alloc *usm_pool_take_all(usm_pool *pool);

#endif
