/* How much memory the driver gave for a (context, device) pair, and how much it may be asked for. */
#ifndef USM_CORE_USAGE_H
#define USM_CORE_USAGE_H

#include "core/device/context.h"

/* Before the driver is asked for a block: false where the limit does not allow it. Any thread, no lock. */
bool usm_usage_take(usm_place *place, size_t nbytes);
/* The driver has the block back, or did not give it. Any thread, any lock. */
void usm_usage_give(usm_place *place, size_t nbytes);

/* SIZE_MAX: none. Spare blocks go back to the driver where more is held already. No lock, no GIL. */
void usm_usage_limit(usm_place *place, size_t nbytes);
/*
 * Spare blocks of all kinds go back to the driver: their bytes. What it keeps itself of blocks that it was
 * given back goes, too. No lock, no GIL.
 */
size_t usm_usage_trim(usm_place *place);

#endif
