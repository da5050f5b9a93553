/* The core's own malloc: one place where tests can make the n-th allocation fail. */
#ifndef USM_CORE_HEAP_H
#define USM_CORE_HEAP_H

#include "sync.h"

#include <stdlib.h>

#ifdef USM_TESTING
/* True when this allocation is the one that the test wants to fail (csrc/backends/fault). */
int usm_fault_heap(void);
#define USM_HEAP_FAULT() (usm_expect_no_stripe(), usm_fault_heap())
#else
#define USM_HEAP_FAULT() 0
#endif

static inline void *usm_malloc(size_t size)
{
    return USM_HEAP_FAULT() ? NULL : malloc(size);
}

static inline void *usm_calloc(size_t count, size_t size)
{
    return USM_HEAP_FAULT() ? NULL : calloc(count, size);
}

static inline void *usm_realloc(void *old, size_t size)
{
    return USM_HEAP_FAULT() ? NULL : realloc(old, size);
}

#endif
