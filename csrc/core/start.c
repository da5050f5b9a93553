#include "start.h"

#include "core/base/sync.h"
#include "core/builtin/builtin.h"
#include "core/memory/reclaim.h"
#include "core/program/program.h"
#include "core/streams/stream.h"
#include "core/tasks/completion.h"
#include "core/tasks/fork.h"
#include "core/tasks/pending.h"
#include "core/tasks/wait.h"

/* In the order in which they are made and destroyed: blocks that were lent are waited for through streams. */
static const usm_place_part *const parts[] = {
    &usm_memory_part, &usm_stream_part,  &usm_queue_part,   &usm_pending_part,
    &usm_wait_part,   &usm_builtin_part, &usm_program_part, NULL,
};

/* Runs once a process. */
static void start(void)
{
    usm_sync_start();
    usm_place_set_parts(parts);
    usm_completion_start();
    usm_fork_start();
}

void usm_core_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}
