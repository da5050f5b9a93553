/* What the files of the minimal backend share. */
#ifndef USM_MINIMAL_MINIMAL_H
#define USM_MINIMAL_MINIMAL_H

#include "core/device/backend.h"
#include "core/tasks/event.h"

/* Entries of the table, each in the file that its first word names. */
USM_ENTRY(usm_minimal, start);
USM_ENTRY(usm_minimal, memory_allocate);
USM_ENTRY(usm_minimal, memory_free);
USM_ENTRY(usm_minimal, queue_run);

#endif
