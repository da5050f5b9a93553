#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static _Thread_local struct {
    bool pinned;
    cpu_set_t processors; /* where it was before it was pinned */
} here;

bool usm_thread_start(void *(*run)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (here.pinned) {
        pthread_attr_setaffinity_np(&attributes, sizeof here.processors, &here.processors);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

void usm_thread_pin(const cpu_set_t *processors)
{
    here.pinned = pthread_getaffinity_np(pthread_self(), sizeof here.processors, &here.processors) == 0 &&
                  pthread_setaffinity_np(pthread_self(), sizeof *processors, processors) == 0;
}

void usm_thread_is_foreign(void)
{
    if (!here.pinned) {
        here.pinned = sched_getaffinity(getpid(), sizeof here.processors, &here.processors) == 0;
    }
}
