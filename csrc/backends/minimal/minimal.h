/* What the files of the minimal backend share. */
#ifndef USM_MINIMAL_MINIMAL_H
#define USM_MINIMAL_MINIMAL_H

#include "core/device/backend.h"
#include "core/tasks/completion.h"

/* What the core keeps of a command until a thread runs it. */
typedef struct usm_minimal_event {
    usm_event event;
    usm_later later;
} usm_minimal_event;

/* Entries of the table, each in the file that its first word names; queue_submit is in command.c. */
USM_ENTRY(usm_minimal, start);
USM_ENTRY(usm_minimal, memory_allocate);
USM_ENTRY(usm_minimal, memory_free);
USM_ENTRY(usm_minimal, queue_submit);

#endif
