#include "fork.h"

#include "completion.h"
#include "core/base/reclaimer.h"
#include "core/base/sync.h"
#include "core/device/registry.h"
#include "queue.h"

static void prepare(void)
{
    usm_backends_fork_starts(USM_FORK_PREPARE);
    usm_registry_lock();
    usm_backends_fork(USM_FORK_PREPARE);
    usm_queues_fork(USM_FORK_PREPARE);
    usm_completion_fork(USM_FORK_PREPARE);
    usm_reclaimer_fork(USM_FORK_PREPARE);
    usm_sync_lock_all();
}

static void in_parent(void)
{
    usm_sync_unlock_all();
    usm_reclaimer_fork(USM_FORK_PARENT);
    usm_completion_fork(USM_FORK_PARENT);
    usm_queues_fork(USM_FORK_PARENT);
    usm_backends_fork(USM_FORK_PARENT);
    usm_registry_unlock();
    usm_backends_fork_starts(USM_FORK_PARENT);
}

static void in_child(void)
{
    usm_sync_unlock_all();
    usm_sync_renew();
    usm_reclaimer_fork(USM_FORK_CHILD);
    usm_completion_fork(USM_FORK_CHILD);
    usm_queues_fork(USM_FORK_CHILD);
    usm_backends_fork(USM_FORK_CHILD);
    usm_registry_unlock();
    usm_backends_fork_starts(USM_FORK_CHILD);
    usm_queues_after_fork();
}

void usm_fork_start(void)
{
    pthread_atfork(prepare, in_parent, in_child);
}
