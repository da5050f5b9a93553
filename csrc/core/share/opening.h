/* Blocks of other processes, opened by their handles. A process opens a block once. */
#ifndef USM_CORE_OPENING_H
#define USM_CORE_OPENING_H

#include "core/memory/alloc_record.h"
#include "handle.h"

/* The block of a handle if this process has it, a new count; else NULL. Any thread, no lock. */
USM_GIVES usm_alloc *usm_share_find(const usm_share_handle *handle);
/*
 * The block of a handle, which is opened in the place that is the memory's unless this process has it. The
 * descriptors stay the caller's. Later work here is ordered after what the handle orders. USM_VALUE where
 * handle and descriptors do not fit or the exporter has ended; nothing is mapped then. No lock, no GIL.
 */
usm_status usm_share_open(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                          bool readonly, USM_GIVES usm_alloc **out, usm_error *error);

#endif
