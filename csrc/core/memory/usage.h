/* How much memory the driver gave for a (context, device) pair, and how much it may be asked for. */
#ifndef USM_CORE_USAGE_H
#define USM_CORE_USAGE_H

#include "core/device/context.h"

/* Before the driver is asked for a block: false where the limit does not allow it. Any thread, no lock. */
bool usm_usage_take(usm_place *place, size_t nbytes);
/* The driver has the block back, or did not give it. Any thread, any lock. */
void usm_usage_give(usm_place *place, size_t nbytes);

#endif
