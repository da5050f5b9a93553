#include "host.h"

#include <sched.h>
#include <stdlib.h>

/* What a thread that sleeps takes to wake up, on a virtual machine that has nothing else to do. */
#define LOOK_NS 50000
/* In the work of others nothing can interrupt it. */
#define JOIN_NS 2000000
#define LOOKS 32 /* from one look at the clock to the next */

/*
 * Many tasks are over before a thread could have gone to sleep. Those that the queue's thread, which may have
 * to be woken, has not begun are done here, and in a large one this thread takes part.
 */
void usm_host_event_join(usm_event *event)
{
    int64_t last = usm_clock_ns() + JOIN_NS;
    bool looked = false; /* long enough for a thread that was awake */
    for (int64_t now = last - JOIN_NS, until = now + LOOK_NS; now < until; now = usm_clock_ns()) {
        if (now < last && (usm_host_queue_help(event->queue, looked) || usm_host_parallel_join())) {
            until = usm_clock_ns() + LOOK_NS;
        }
        for (int i = 0; i < LOOKS; i++) {
            if (usm_event_ended(event)) {
                return;
            }
            usm_pause();
        }
        looked = true;
        sched_yield();
    }
}

void usm_host_event_destroy(usm_event *event)
{
    usm_host_task *task = (usm_host_task *)event;
    free(task->strided);
    usm_launch_free_from(task->launch, task->room);
}
