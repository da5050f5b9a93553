/*
 * Which memory a place can use in place. memory_connection, every call that promises not to copy, and the
 * copy planner ask these functions, so that their answers agree.
 */
#ifndef USM_CORE_CONNECTION_H
#define USM_CORE_CONNECTION_H

#include "alloc_record.h"
#include "core/device/backend.h"

/*
 * What memory of this kind, allocated in the place `memory`, is to commands of the place `user`. The backend
 * of `user` decides, whatever backend the memory is of. The first question about two devices may block for
 * long (usm_detach). Any thread, no lock.
 */
usm_memory_connection usm_connection(const usm_place *memory, usm_kind kind, const usm_place *user);

const char *usm_connection_name(usm_memory_connection connection);

/* Commands of the place use the memory as it is; an array over it may be on a queue of the place. */
static inline bool usm_place_reaches(const usm_place *place, const usm_alloc *alloc)
{
    return place == alloc->place ||
           usm_connection(alloc->place, (usm_kind)alloc->kind, place) == USM_CONNECTION_UNIFIED;
}

/*
 * A move of the memory to the place would change nothing: the place reaches it, and memory that the place
 * allocates would be no closer (docs/design.md, "Memory").
 */
bool usm_place_is_home(const usm_place *place, const usm_alloc *alloc);

#endif
