/*
 * Spare allocation records, a few a thread: an import makes and drops one record, and malloc and free
 * together would be a tenth of its time. Gone with the thread.
 */
#ifndef USM_CORE_SPARE_H
#define USM_CORE_SPARE_H

#include "alloc_record.h"

/* NULL when the thread has none. Its fields are stale. */
usm_alloc *usm_spare_pop(void);
/* False when the thread has enough: the caller frees it. */
bool usm_spare_push(usm_alloc *alloc);

#endif
