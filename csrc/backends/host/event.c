/* Waits for tasks of the host: a waiting thread runs short tasks itself. */
#include "host.h"

#include "cpu/parallel.h"

#include <sched.h>
#include <time.h>

/*
 * How long waking a sleeping thread takes, in nanoseconds, on a virtual machine that has nothing else to do.
 */
#define LOOK_NS 50000
/*
 * How much CPU time a waiting thread gives to tasks of others, in nanoseconds, since nothing can interrupt it
 * in them. CPU time, not wall time: the thread may lose its processor for long.
 */
#define JOIN_NS 2000000
#define LOOKS 32 /* from one look at the clock to the next */

static int64_t own_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Many tasks take less time than going to sleep. The waiting thread runs those that the queue's thread, which
 * may have to be woken, has not begun, and takes part in a large one. It looks twice at least: in between,
 * others may have had its processor for all of the time.
 */
void usm_host_event_wait(usm_event *event)
{
    int64_t begun = 0;   /* own time; 0: it has done nothing for others yet */
    bool looked = false; /* long enough for a thread that was awake */
    bool helps = true;
    int idle = 0; /* looks since it last did something */
    for (int64_t now = usm_clock_ns(), until = now + LOOK_NS; now < until || idle < 2; now = usm_clock_ns()) {
        idle++;
        if (helps && (usm_host_queue_help(event, looked) || usm_cpu_parallel_join())) {
            int64_t own = own_time_ns();
            begun = begun != 0 ? begun : own;
            helps = own - begun < JOIN_NS;
            until = usm_clock_ns() + LOOK_NS;
            idle = 0;
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
