/* The table of the host backend: there is no library to open, the machine is always there. */
#include "host.h"

#include "cpu/parallel.h"

const usm_backend usm_host_backend = {
    .name = "host",
    .languages = USM_LANGUAGE_BIT(USM_LANGUAGE_PORTABLE) | USM_LANGUAGE_BIT(USM_LANGUAGE_LIBRARY),
    .program_language = USM_LANGUAGE_LIBRARY,
    .builtin_language = USM_LANGUAGE_BUILTIN,
    .event_size = sizeof(usm_event),
    .start = usm_host_start,
    .device_partition = usm_host_device_partition,
    .memory_allocate = usm_host_memory_allocate,
    .memory_free = usm_host_memory_free,
    .queue_create = usm_host_queue_create,
    .queue_run_now = usm_host_queue_run_now,
    .queue_run = usm_host_queue_run,
    .event_wait = usm_host_event_wait,
    .program_build = usm_host_program_build,
    .program_destroy = usm_host_program_destroy,
    .kernel_create = usm_host_kernel_create,
    .fork = usm_cpu_parallel_fork,
};
