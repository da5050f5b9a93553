#include "host.h"

#include <sched.h>
#include <stdlib.h>

/* What a thread that sleeps takes to wake up, on a virtual machine that has nothing else to do. */
#define LOOK_NS 50000
#define LOOKS 32 /* from one look at the clock to the next */

/* Many tasks are over before a thread could have gone to sleep. */
void usm_host_event_join(usm_event *event)
{
    for (int64_t until = usm_clock_ns() + LOOK_NS; usm_clock_ns() < until; sched_yield()) {
        for (int i = 0; i < LOOKS; i++) {
            if (usm_event_ended(event)) {
                return;
            }
            usm_pause();
        }
    }
}

void usm_host_event_destroy(usm_event *event)
{
    usm_host_task *task = (usm_host_task *)event;
    free(task->strided);
    usm_launch_free_from(task->launch, task->room);
}
