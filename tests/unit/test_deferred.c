/* Deferred work: everything pushed runs once, oldest first, and the notifier is called when there is some. */
#include "check.h"
#include "support.h"

#include "core/base/deferred.h"
#include "core/base/live.h"
#include "core/memory/alloc.h"

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
    usm_deferred_drain(&usm_deferred_main);
    usm_deferred_set_notifier(notify);
    for (int i = 0; i < 4; i++) {
        push(i, note);
    }
    CHECK(usm_deferred_waiting());
    CHECK_EQ(notified, 1);
    usm_deferred_drain(&usm_deferred_main);
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
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(n_order, 2);
    CHECK_EQ(notified, 2);
    CHECK(usm_deferred_waiting());
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(n_order, 3);
    CHECK_EQ(order[2], 11);
    usm_deferred_set_notifier(NULL);
    push(3, note);
    CHECK_EQ(notified, 2);
    usm_deferred_drain(&usm_deferred_main);
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
        usm_deferred_drain(&usm_deferred_main);
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
    usm_deferred_drain(&usm_deferred_main);
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

static void push_to(usm_deferred_list *list, int number)
{
    node *node = malloc(sizeof *node);
    *node = (struct node){.deferred = {.run = note, .home = list}, .number = number};
    usm_deferred_push(&node->deferred);
}

static void lists_of_interpreters(void)
{
    static usm_deferred_list other;
    n_order = 0;
    push_to(&other, 1);
    push_to(&usm_deferred_main, 2);
    CHECK(usm_deferred_waiting());
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(n_order, 1);
    CHECK_EQ(order[0], 2);
    CHECK(usm_deferred_waiting());
    push_to(&other, 3);
    CHECK(!usm_deferred_is_closed(&other));
    usm_deferred_close(&other); /* what waits there runs for the last time */
    CHECK_EQ(n_order, 3);
    CHECK_EQ(order[1], 1);
    CHECK_EQ(order[2], 3);
    CHECK(usm_deferred_is_closed(&other));
    CHECK(!usm_deferred_waiting());
    push_to(&other, 4); /* goes to the main interpreter */
    usm_deferred_drain(&other);
    usm_deferred_close(&other);
    CHECK_EQ(n_order, 3);
    CHECK(usm_deferred_is_closed(&other));
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(n_order, 4);
    CHECK(!usm_deferred_waiting());
}

/* The calling thread's, and what the hooks below answer. */
static usm_deferred_list one, two;
static usm_deferred_fate answer;

static usm_deferred_list *hook_here(bool attached)
{
    return attached ? &one : &usm_deferred_main;
}

static usm_deferred_fate hook_fate(usm_deferred_list *list)
{
    return list == &one ? USM_RELEASE_NOW : answer;
}

static void count_deletion(void *deleted)
{
    ++*(int *)deleted;
}

static usm_alloc *import_for(usm_deferred_list *home, int *deleted)
{
    static char memory[8];
    usm_alloc *alloc;
    usm_error error;
    CHECK_OK(usm_alloc_import(host_place(), USM_HOST, memory, sizeof memory, deleted, count_deletion, &alloc,
                              &error));
    CHECK(alloc->deferred.home == &one);
    alloc->deferred.home = home;
    return alloc;
}

/* Imported memory ends in its interpreter; after that, its owner stays. From here on there are several. */
static void owners_of_interpreters(void)
{
    int deleted = 0;
    usm_deferred_set_interpreters(hook_here, hook_fate);
    CHECK(usm_deferred_here() == &one);
    usm_alloc_release(import_for(&one, &deleted));
    CHECK_EQ(deleted, 1);
    answer = USM_RELEASE_LATER;
    usm_alloc_release(import_for(&two, &deleted));
    CHECK_EQ(deleted, 1);
    answer = USM_RELEASE_NOW; /* as the interpreter itself is told */
    usm_deferred_drain(&two);
    CHECK_EQ(deleted, 2);
    answer = USM_RELEASE_NEVER;
    usm_alloc_release(import_for(&two, &deleted));
    CHECK_EQ(deleted, 2);
    usm_alloc *anywhere = import_for(&two, &deleted);
    usm_alloc_end_anywhere(anywhere);
    usm_alloc_release(anywhere);
    CHECK_EQ(deleted, 3);
    CHECK_EQ(usm_live_count(USM_LIVE_ALLOC), 0);
}

int main(void)
{
    watchdog(600);
    RUN(oldest_first);
    RUN(pushing_while_draining);
    RUN(each_runs_once);
    RUN(each_thread_keeps_its_order);
    RUN(lists_of_interpreters);
    RUN(owners_of_interpreters);
    return 0;
}
