/* Memory of the minimal backend comes from malloc, whatever its kind. */
#include "minimal.h"

#include <stdlib.h>

/* Any thread, no lock. aligned_alloc takes sizes that are multiples of the alignment. */
usm_status usm_minimal_memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                       bool *zeroed, usm_error *error)
{
    enum { ALIGNMENT = 256 };
    *zeroed = false;
    *out = nbytes <= SIZE_MAX - ALIGNMENT
               ? aligned_alloc(ALIGNMENT, (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)
               : NULL;
    return *out != NULL
               ? USM_OK
               : usm_error_set(error, USM_MEMORY,
                               "cannot allocate %zu bytes of %s memory on %s: the system has no more", nbytes,
                               usm_kind_name(kind), place->device->info.name);
}

void usm_minimal_memory_free(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes)
{
    (void)place;
    (void)kind;
    (void)nbytes;
    free(pointer);
}
