/* Handles of blocks, with which other processes open them. */
#ifndef USM_CORE_EXPORT_H
#define USM_CORE_EXPORT_H

#include "core/memory/alloc_record.h"
#include "core/tasks/event.h"
#include "handle.h"

/*
 * Fills what a handle says of the block, and `descriptors`, which are the caller's to close. Orders openers
 * after all work that is pending on the memory: waits for it here, or records an event in the driver. The
 * caller has set the members of the array and zeroed the others, and calls usm_handle_seal. USM_BUFFER for
 * memory that is not shared. No lock, no GIL.
 */
usm_status usm_share_export(usm_alloc *alloc, usm_share_handle *handle,
                            int descriptors[USM_HANDLE_DESCRIPTORS], const usm_patience *patience,
                            usm_error *error);

#endif
