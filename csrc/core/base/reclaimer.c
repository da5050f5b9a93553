#include "reclaimer.h"

#include "thread.h"

#include <pthread.h>

/* Pauses before the driver is asked again: doubled while it still works. */
#define LEAST_PAUSE_NS INT64_C(1000000)
#define MOST_PAUSE_NS INT64_C(20000000)
/* Beyond this many bytes the driver waits: a program whose device is never idle must not pile up memory. */
#define MOST_BYTES ((size_t)1 << 30)
#define STOP_NS INT64_C(1000000000)

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool ready; /* `changed` was made in this process */
    bool runs, stop;
    unsigned giving; /* threads in give_back */
    usm_reclaimable *first, **end;
    size_t n, nbytes;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = &list.first};

/* The lock held. */
static void append(usm_reclaimable *item)
{
    item->next = NULL;
    *list.end = item;
    list.end = &item->next;
    list.n++;
    list.nbytes += item->nbytes;
}

/* The lock held. `at` is a link of the list that is not NULL. */
static usm_reclaimable *remove_at(usm_reclaimable **at)
{
    usm_reclaimable *item = *at;
    *at = item->next;
    if (list.end == &item->next) {
        list.end = at;
    }
    list.n--;
    list.nbytes -= item->nbytes;
    return item;
}

/*
 * The lock held, which is given back meanwhile. `at` is as for remove_at. Whether the item is gone; else it
 * is the last one again.
 */
static bool give_back_at(usm_reclaimable **at, bool waits)
{
    usm_reclaimable *item = remove_at(at);
    list.giving++;
    usm_mutex_unlock(&list.lock);
    bool gone = item->give_back(item, waits);
    usm_mutex_lock(&list.lock);
    list.giving--;
    if (!gone) {
        item->failed_ns = waits ? usm_clock_ns() : item->failed_ns;
        append(item);
    }
    pthread_cond_broadcast(&list.changed);
    return gone;
}

static void *run(void *unused)
{
    int64_t pause = LEAST_PAUSE_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-reclaim");
    usm_mutex_lock(&list.lock);
    while (list.n != 0 || !list.stop) {
        if (list.n == 0) {
            usm_cond_wait_until(&list.changed, &list.lock, INT64_MAX);
            continue;
        }
        bool any = false, last = list.stop;
        for (size_t n = list.n; n > 0 && list.n != 0; n--) {
            any |= give_back_at(&list.first, last || list.nbytes > MOST_BYTES);
        }
        if (last && !any) {
            break; /* the driver fails: the end of the process does not wait for that */
        }
        pause = any ? LEAST_PAUSE_NS : pause < MOST_PAUSE_NS ? 2 * pause : MOST_PAUSE_NS;
        if (list.n != 0 && !any && !list.stop) {
            usm_cond_wait_until(&list.changed, &list.lock, usm_clock_ns() + pause);
        }
    }
    list.runs = false;
    pthread_cond_broadcast(&list.changed);
    usm_mutex_unlock(&list.lock);
    return NULL;
}

/* The lock held. Where the system has no thread, the next call of a function here tries again. */
static void start(void)
{
    if (!list.ready) {
        usm_cond_init(&list.changed);
        list.ready = true;
    }
    if (!list.runs) {
        list.runs = usm_thread_start(run, NULL);
    }
}

void usm_reclaimer_put(usm_reclaimable *item)
{
    item->since_ns = usm_clock_ns();
    item->failed_ns = 0;
    usm_mutex_lock(&list.lock);
    append(item);
    start();
    pthread_cond_broadcast(&list.changed);
    usm_mutex_unlock(&list.lock);
}

usm_reclaimable *usm_reclaimer_take(bool (*fits)(const usm_reclaimable *item, const void *argument),
                                    const void *argument)
{
    usm_reclaimable *found = NULL;
    usm_mutex_lock(&list.lock);
    for (usm_reclaimable **at = &list.first; *at != NULL; at = &(*at)->next) {
        if (fits(*at, argument)) {
            found = remove_at(at);
            break;
        }
    }
    usm_mutex_unlock(&list.lock);
    return found;
}

size_t usm_reclaimer_drain(void)
{
    size_t nbytes = 0;
    int64_t begun_ns = usm_clock_ns();
    usm_mutex_lock(&list.lock);
    while (true) {
        usm_reclaimable **at = &list.first;
        while (*at != NULL && (*at)->failed_ns > begun_ns) {
            at = &(*at)->next;
        }
        if (*at == NULL && list.giving == 0) {
            break;
        }
        if (*at != NULL) {
            size_t of_this = (*at)->nbytes;
            nbytes += give_back_at(at, true) ? of_this : 0;
        } else {
            usm_cond_wait_until(&list.changed, &list.lock, INT64_MAX);
        }
    }
    usm_mutex_unlock(&list.lock);
    return nbytes;
}

#ifdef USM_TESTING
void usm_reclaimer_settle(void)
{
    int64_t until = usm_clock_ns() + STOP_NS;
    bool any = true;
    usm_mutex_lock(&list.lock);
    while (any || (list.giving != 0 && usm_clock_ns() < until)) {
        if (!any) {
            usm_cond_wait_until(&list.changed, &list.lock, until);
        }
        any = false;
        for (size_t n = list.n; n > 0 && list.n != 0; n--) {
            any |= give_back_at(&list.first, false);
        }
    }
    usm_mutex_unlock(&list.lock);
}
#endif

void usm_reclaimer_stop(void)
{
    int64_t until = usm_clock_ns() + STOP_NS;
    usm_mutex_lock(&list.lock);
    list.stop = true;
    if (list.ready) {
        pthread_cond_broadcast(&list.changed);
    }
    while (list.runs && usm_clock_ns() < until) {
        usm_cond_wait_until(&list.changed, &list.lock, until);
    }
    list.stop = false; /* another interpreter of the process may begin */
    usm_mutex_unlock(&list.lock);
}

/*
 * In the child there is no such thread, and what another thread was giving back stays with the parent. The
 * list goes on: a driver that the child cannot use takes back nothing, and says so at once.
 */
void usm_reclaimer_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        usm_mutex_lock(&list.lock);
        return;
    }
    if (phase == USM_FORK_CHILD) {
        list.ready = list.runs = list.stop = false;
        list.giving = 0;
    }
    usm_mutex_unlock(&list.lock);
}
