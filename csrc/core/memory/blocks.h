/*
 * An index by address of the blocks that drivers gave to this process through usmpy: whose memory is a
 * pointer, and how much of it was asked for? Some drivers cannot answer (the host's, OpenCL's for SVM),
 * and the others know a block by its rounded size. Blocks enter when a driver gives them and leave when
 * it gets them back, so that the pool, which takes nanoseconds, does not touch the index.
 */
#ifndef USM_CORE_BLOCKS_H
#define USM_CORE_BLOCKS_H

#include "alloc_record.h"

/* alloc->pointer and alloc->size do not change in between. No lock held. */
void usm_blocks_add(usm_alloc *alloc);
void usm_blocks_remove(usm_alloc *alloc);

typedef struct usm_block {
    usm_place *place; /* alive as long as the memory is */
    usm_kind kind;
    void *base;
    size_t nbytes; /* as asked for; 0: nothing in the block is allocated any more */
} usm_block;

/* The block that has this byte; false where none of ours has it. Any thread, no lock held. */
bool usm_blocks_find(const void *pointer, usm_block *block);

#endif
