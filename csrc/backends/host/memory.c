/* Memory of the host is of malloc or a mapping, whatever its kind. */
#include "host.h"

#include <stdlib.h>
#include <sys/mman.h>

/*
 * Blocks from this size on are mappings of their own: they come zeroed and page by page, huge pages make
 * their first use several times cheaper, and they go back to the system when freed.
 */
#define MAPPED ((size_t)2 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

/* Whole huge pages, so that the mapping can be trimmed to start on one. */
static size_t mapped_size(size_t nbytes)
{
    return (nbytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Maps one huge page more than needed, and gives back what lies before and behind the aligned part. */
static void *map_aligned(size_t size)
{
    char *raw = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    size_t before = (HUGE_PAGE - (size_t)((uintptr_t)raw % HUGE_PAGE)) % HUGE_PAGE;
    if (before > 0) {
        munmap(raw, before);
    }
    if (before < HUGE_PAGE) {
        munmap(raw + before + size, HUGE_PAGE - before);
    }
    madvise(raw + before, size,
            MADV_HUGEPAGE); /* a kernel without huge pages refuses, which changes nothing */
    return raw + before;
}

/* The kinds differ in nothing but their names: all memory is the host's. */
usm_status usm_host_memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                    bool *zeroed, usm_error *error)
{
    if (nbytes >= MAPPED) {
        *out = nbytes <= SIZE_MAX - 2 * HUGE_PAGE ? map_aligned(mapped_size(nbytes)) : NULL;
        *zeroed = true;
    } else {
        size_t alignment = nbytes >= 4096 ? 256 : 64;
        *out = aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
        *zeroed = false;
    }
    if (*out == NULL) {
        return usm_error_set(error, USM_MEMORY,
                             "cannot allocate %zu bytes of %s memory on %s: the system has no more", nbytes,
                             usm_kind_name(kind), place->device->info.name);
    }
    return USM_OK;
}

void usm_host_memory_free(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes)
{
    (void)place;
    (void)kind;
    if (nbytes >= MAPPED) {
        munmap(pointer, mapped_size(nbytes));
    } else {
        free(pointer);
    }
}
