/* Waiting threads of the program: they poll briefly, then sleep until the command completes. */
#include "driver.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/* Between two yields: some microseconds. */
#define LOOKS 200
#define FEW_LOOKS 8 /* of a wait that is to be short */

/* A thread of the program that sleeps until a command completes or the device is lost. */
typedef struct host {
    bool (*done)(void *of);
    void *of;
    ze_device_handle_t device;   /* whose loss ends the wait, or NULL: */
    ze_context_handle_t context; /* the same, or NULL */
    struct host *next;
} host;

static pthread_cond_t changed; /* monotonic */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static host *hosts; /* that sleep; with sim_lock */

/* Between two looks. */
static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool sim_poll(bool (*done)(void *of), void *of, uint64_t *timeout_ns)
{
    uint64_t most = sim_settings()->look_ns;
    uint64_t look = *timeout_ns < most ? *timeout_ns : most;
    uint64_t end = sim_now_ns() + look;
    while (!done(of) && sim_now_ns() < end) {
        bool all = look == most;
        for (int i = 0; i < (all ? LOOKS : FEW_LOOKS) && !done(of); i++)
            relax();
        if (all)
            sched_yield();
    }
    if (*timeout_ns != UINT64_MAX)
        *timeout_ns -= look;
    return done(of);
}

static void make_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static ze_result_t lost_to(const host *waiting)
{
    return waiting->device != NULL    ? sim_lost(waiting->device)
           : waiting->context != NULL ? sim_context_lost(waiting->context)
                                      : ZE_RESULT_SUCCESS;
}

void sim_tell_hosts(void)
{
    bool any = false;
    for (const host *at = hosts; at != NULL && !any; at = at->next)
        any = at->done(at->of) || lost_to(at) != ZE_RESULT_SUCCESS;
    if (any)
        pthread_cond_broadcast(&changed);
}

/* Until someone tells, or until then. The lock is held at entry and exit. */
static void doze(host *waiting, uint64_t end_ns)
{
    waiting->next = hosts;
    hosts = waiting;
    if (end_ns == UINT64_MAX) {
        pthread_cond_wait(&changed, &sim_lock);
    } else {
        struct timespec until = {.tv_sec = (time_t)(end_ns / 1000000000u),
                                 .tv_nsec = (long)(end_ns % 1000000000u)};
        pthread_cond_timedwait(&changed, &sim_lock, &until);
    }
    for (host **at = &hosts; *at != NULL; at = &(*at)->next)
        if (*at == waiting) {
            *at = waiting->next;
            break;
        }
}

ze_result_t sim_wait(bool (*done)(void *of), void *of, uint64_t timeout_ns, ze_device_handle_t device,
                     ze_context_handle_t context)
{
    pthread_once(&once, make_condition);
    host waiting = {.done = done, .of = of, .device = device, .context = context};
    uint64_t now = sim_now_ns();
    uint64_t end = timeout_ns > UINT64_MAX / 2 - now ? UINT64_MAX : now + timeout_ns;
    ze_result_t result = ZE_RESULT_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    while (!done(of)) {
        result = lost_to(&waiting);
        if (result != ZE_RESULT_SUCCESS)
            break;
        if (timeout_ns == 0 || (end != UINT64_MAX && sim_now_ns() >= end)) {
            result = ZE_RESULT_NOT_READY;
            break;
        }
        doze(&waiting, end);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

static bool have_dropped(void *of)
{
    (void)of;
    return !sim_engines_drop();
}

static bool any_lost(void)
{
    ze_device_handle_t cards;
    uint32_t n = sim_cards(&cards);
    for (uint32_t i = 0; i < n; i++)
        if (sim_lost(&cards[i]) != ZE_RESULT_SUCCESS)
            return true;
    return false;
}

void sim_settle(void)
{
    if (!any_lost())
        return; /* no lock where events are reset */
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&sim_lock);
    host waiting = {.done = have_dropped};
    uint64_t end = sim_now_ns() + 5000000000u; /* a command that never ends is reported as misuse */
    while (sim_engines_drop() && sim_now_ns() < end)
        doze(&waiting, end);
    pthread_mutex_unlock(&sim_lock);
}
