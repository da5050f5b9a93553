/*
 * The table of the minimal backend: the fewest entries that make a backend. It is a device in the memory of
 * this process, with malloc for a driver. Builds for tests have it, under the name "minimal".
 */
#include "minimal.h"

const usm_backend usm_minimal_backend = {
    .name = "minimal",
    .event_size = sizeof(usm_event),
    .start = usm_minimal_start,
    .memory_allocate = usm_minimal_memory_allocate,
    .memory_free = usm_minimal_memory_free,
    .queue_run = usm_minimal_queue_run,
};
