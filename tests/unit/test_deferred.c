/* Deferred work: everything pushed runs once, oldest first, and the notifier is called when there is some. */
#include "check.h"
#include "support.h"

#include "core/base/deferred.h"

#include <stdlib.h>

typedef struct node {
    usm_deferred deferred;
    int thread, number;
} node;

static int seen[8], notified, order[16], n_order;

static void notify(void)
{
    notified++;
}

static void note(usm_deferred *self)
{
    node *node = (struct node *)self;
    order[n_order++] = node->number;
    free(node);
}

static void push(int number, void (*run)(usm_deferred *))
{
    node *node = malloc(sizeof *node);
    *node = (struct node){.deferred.run = run, .number = number};
    usm_deferred_push(&node->deferred);
}

static void push_another(usm_deferred *self)
{
    push(((node *)self)->number + 10, note);
    note(self);
}

static void oldest_first(void)
{
    CHECK(!usm_deferred_waiting());
    usm_deferred_drain();
    usm_deferred_set_notifier(notify);
    for (int i = 0; i < 4; i++) {
        push(i, note);
    }
    CHECK(usm_deferred_waiting());
    CHECK_EQ(notified, 1);
    usm_deferred_drain();
    CHECK(!usm_deferred_waiting());
    CHECK_EQ(n_order, 4);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(order[i], i);
    }
}

/* What runs may push: that waits for the next drain, and is announced. */
static void pushing_while_draining(void)
{
    n_order = notified = 0;
    push(1, push_another);
    push(2, note);
    usm_deferred_drain();
    CHECK_EQ(n_order, 2);
    CHECK_EQ(notified, 2);
    CHECK(usm_deferred_waiting());
    usm_deferred_drain();
    CHECK_EQ(n_order, 3);
    CHECK_EQ(order[2], 11);
    usm_deferred_set_notifier(NULL);
    push(3, note);
    CHECK_EQ(notified, 2);
    usm_deferred_drain();
}

#define PUSHERS 3
#define EACH 20000

static _Atomic int ran, pushers_left;
static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

static void count(usm_deferred *self)
{
    node *node = (struct node *)self;
    atomic_fetch_add(&ran, 1);
    free(node);
}

/* With one drainer at a time, each thread's nodes come in the order in which it pushed them. */
static void count_in_order(usm_deferred *self)
{
    node *node = (struct node *)self;
    CHECK_EQ(node->number, seen[node->thread]);
    seen[node->thread]++;
    count(self);
}

typedef struct pusher {
    int thread;
    void (*run)(usm_deferred *);
} pusher;

static void *push_many(void *argument)
{
    const pusher *pusher = argument;
    for (int i = 0; i < EACH; i++) {
        node *node = malloc(sizeof *node);
        *node = (struct node){.deferred.run = pusher->run, .thread = pusher->thread, .number = i};
        usm_deferred_push(&node->deferred);
    }
    atomic_fetch_sub(&pushers_left, 1);
    return NULL;
}

static void *drain_many(void *locked)
{
    while (atomic_load(&pushers_left) > 0 || usm_deferred_waiting()) {
        if (locked != NULL) {
            pthread_mutex_lock(&checking);
        }
        usm_deferred_drain();
        if (locked != NULL) {
            pthread_mutex_unlock(&checking);
        }
    }
    return NULL;
}

static void from_many_threads(bool in_order)
{
    pthread_t threads[PUSHERS + 2];
    pusher pushers[PUSHERS];
    memset(seen, 0, sizeof seen);
    atomic_store(&ran, 0);
    atomic_store(&pushers_left, PUSHERS);
    for (int i = 0; i < PUSHERS + 2; i++) {
        if (i < PUSHERS) {
            pushers[i] = (pusher){i, in_order ? count_in_order : count};
            CHECK_EQ(pthread_create(&threads[i], NULL, push_many, &pushers[i]), 0);
        } else {
            CHECK_EQ(pthread_create(&threads[i], NULL, drain_many, in_order ? seen : NULL), 0);
        }
    }
    for (int i = 0; i < PUSHERS + 2; i++) {
        pthread_join(threads[i], NULL);
    }
    usm_deferred_drain();
    CHECK_EQ(ran, PUSHERS * EACH);
}

static void each_runs_once(void)
{
    from_many_threads(false);
}

static void each_thread_keeps_its_order(void)
{
    from_many_threads(true);
}

int main(void)
{
    watchdog(60);
    RUN(oldest_first);
    RUN(pushing_while_draining);
    RUN(each_runs_once);
    RUN(each_thread_keeps_its_order);
    return 0;
}
