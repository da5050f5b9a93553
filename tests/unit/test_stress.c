/*
 * Several threads at once on the same queues and the same memory. Memory that all of them use has invariants
 * that hold in any order of the tasks (and break when two of them meet); memory of one thread has a model.
 */
#include "check.h"
#include "support.h"

#include "core/exchange/dltensor.h"

#include <stdlib.h>

enum {
    THREADS = 4,
    QUEUES = 3,
    COUNTED = 6,        /* allocations that tasks add 1 to, all words of them */
    MIXED = 4,          /* allocations that are filled and copied into each other */
    OWN = 4,            /* allocations of one thread */
    WORDS = 64,         /* of each, but for the mixed ones: */
    MANY_WORDS = 20000, /* which is more than the submitting thread would do itself */
    SLOTS = 16,
};

static usm_queue *queues[QUEUES];
static usm_alloc *counted[COUNTED], *mixed[MIXED];
static _Atomic int added[COUNTED], imported, deleted, nested, passed_on;

/* Events and tensors that one thread leaves for others. */
static struct {
    pthread_mutex_t lock;
    usm_event *event;
    bool fails;
    DLManagedTensorVersioned *tensor;
} slots[SLOTS];

static int32_t *words_of(usm_alloc *alloc)
{
    return alloc->pointer;
}

static void check_uniform(const int32_t *words, int n)
{
    for (int i = 1; i < n; i++) {
        if (words[i] != words[0]) {
            CHECK_FAIL("word %d is %d beside %d: a task met another", i, words[i], words[0]);
        }
    }
}

/* What one task needs, and releases. */
typedef struct work {
    long step; /* that submitted it, for a check that fails */
    uint64_t seed;
    int n;
    int32_t *words[COUNTED];
    usm_event *before; /* of an earlier submission */
    usm_queue *queue;
} work;

static work *new_work(void)
{
    work *work = calloc(1, sizeof *work);
    CHECK(work != NULL);
    work->step = check_step;
    work->seed = check_seed;
    return work;
}

static usm_event *submit(usm_queue *queue, task run, void *argument, const usm_access *accesses,
                         size_t n_accesses, const usm_wait *waits, size_t n_waits)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run, argument}};
    const usm_submission submission = {.command = &command,
                                       .accesses = accesses,
                                       .n_accesses = n_accesses,
                                       .waits = waits,
                                       .n_waits = n_waits};
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    return event;
}

static usm_view view_of(usm_alloc *alloc, int offset, const int64_t *length)
{
    static const int64_t step = 1;
    return (usm_view){alloc, (char *)(words_of(alloc) + offset), USM_INT32, 1, length, &step};
}

static usm_queue *any_queue(uint64_t *seed)
{
    return queues[random_below(seed, QUEUES)];
}

/* Leaves an event for another thread, or drops it; what lay there before is waited for, or dropped. */
static void leave(uint64_t *seed, usm_event *event, bool fails)
{
    int i = (int)random_below(seed, SLOTS);
    pthread_mutex_lock(&slots[i].lock);
    usm_event *old = slots[i].event;
    bool old_fails = slots[i].fails;
    slots[i].event = event;
    slots[i].fails = fails;
    pthread_mutex_unlock(&slots[i].lock);
    if (old == NULL) {
        return;
    }
    if (random_below(seed, 4) == 0) {
        CHECK_EQ(wait_event(old), old_fails ? USM_FAILED : USM_OK);
    } else if (random_below(seed, 4) == 0) {
        usm_error error;
        usm_status status = usm_event_wait(old, usm_clock_ns() + 100000, NULL, NULL, &error);
        CHECK(status == USM_TIMEOUT || status == (old_fails ? USM_FAILED : USM_OK));
        if (status == USM_FAILED) {
            usm_error_clear(&error);
        }
    }
    usm_event_release(old);
}

/* One count of an event that some thread left; NULL where none lies. */
static usm_event *borrow(uint64_t *seed, bool *fails)
{
    int i = (int)random_below(seed, SLOTS);
    pthread_mutex_lock(&slots[i].lock);
    usm_event *event = slots[i].event == NULL ? NULL : usm_event_retain(slots[i].event);
    *fails = slots[i].fails;
    pthread_mutex_unlock(&slots[i].lock);
    return event;
}

static usm_status add_one(void *argument, usm_error *error)
{
    work *work = argument;
    (void)error;
    CHECK_STEP(work->step, work->seed);
    for (int k = 0; k < work->n; k++) {
        check_uniform(work->words[k], WORDS);
        for (int i = 0; i < WORDS; i++) {
            work->words[k][i]++;
        }
    }
    free(work);
    return USM_OK;
}

static usm_status look(void *argument, usm_error *error)
{
    work *work = argument;
    (void)error;
    CHECK_STEP(work->step, work->seed);
    check_uniform(work->words[0], work->n);
    free(work);
    return USM_OK;
}

static void count_up(uint64_t *seed)
{
    usm_access accesses[COUNTED];
    work *work = new_work();
    for (int i = 0; i < COUNTED; i++) {
        if (random_below(seed, 3) == 0) {
            accesses[work->n] = (usm_access){counted[i], USM_READ_WRITE};
            work->words[work->n++] = words_of(counted[i]);
            added[i]++;
        }
    }
    leave(seed, submit(any_queue(seed), add_one, work, accesses, (size_t)work->n, NULL, 0), false);
}

static void mix(uint64_t *seed)
{
    static const int64_t length = MANY_WORDS;
    usm_alloc *a = mixed[random_below(seed, MIXED)], *b = mixed[random_below(seed, MIXED)];
    const usm_view dst = view_of(a, 0, &length), src = view_of(b, 0, &length);
    int32_t value = (int32_t)random_next(seed);
    usm_error error;
    usm_event *event = NULL;
    switch (random_below(seed, 3)) {
        case 0:
            CHECK_OK(usm_fill_submit(any_queue(seed), &dst, &value, &event, &error));
            break;
        case 1:
            CHECK_OK(usm_copy_submit(any_queue(seed), &dst, &src, &event, &error));
            break;
        default: {
            const usm_access access = {a, USM_READ};
            work *work = new_work();
            work->n = MANY_WORDS;
            work->words[0] = words_of(a);
            event = submit(any_queue(seed), look, work, &access, 1, NULL, 0);
        }
    }
    leave(seed, event, false);
}

/* Tasks that fail, and others that depend on what may fail. */
static usm_status wait_inside(void *argument, usm_error *error)
{
    work *work = argument;
    usm_status status = usm_event_wait_end(work->before, INT64_MAX, NULL, NULL, error);
    usm_event_release(work->before);
    usm_event_release(submit_task(work->queue, task_count, &nested));
    usm_queue_release(work->queue);
    free(work);
    return status;
}

static void depend(uint64_t *seed)
{
    bool fails;
    usm_event *before = borrow(seed, &fails);
    if (before == NULL) {
        leave(seed, submit(any_queue(seed), task_fail, NULL, NULL, 0, NULL, 0), true);
        return;
    }
    if (random_below(seed, 3) == 0) {
        work *work = new_work();
        work->before = before;
        work->queue = usm_queue_retain(any_queue(seed));
        leave(seed, submit(any_queue(seed), wait_inside, work, NULL, 0, NULL, 0), false);
        passed_on++;
        return;
    }
    bool data = random_below(seed, 2) == 0;
    _Atomic int ran = 0;
    usm_event *event = submit(any_queue(seed), task_count, &ran, NULL, 0, &(usm_wait){before, data}, 1);
    CHECK_EQ(wait_event(event), fails && data ? USM_FAILED : USM_OK);
    CHECK_EQ(ran, !(fails && data));
    usm_event_release(event);
    usm_event_release(before);
}

static void delete_import(void *owner)
{
    free(owner);
    deleted++;
}

/* A short-lived queue that works on foreign memory; all of it is dropped at once. */
static void come_and_go(uint64_t *seed)
{
    usm_error error;
    usm_alloc *alloc;
    int32_t *memory = calloc(WORDS, sizeof *memory);
    CHECK(memory != NULL);
    imported++;
    CHECK_OK(usm_alloc_import(host_place(), USM_HOST, memory, WORDS * sizeof *memory, memory, delete_import,
                              &alloc, &error));
    usm_queue *queue = new_queue(random_below(seed, 2) == 0);
    const usm_access access = {alloc, USM_READ_WRITE};
    for (uint64_t i = random_below(seed, 4); i > 0; i--) {
        work *work = new_work();
        work->n = 1;
        work->words[0] = memory;
        usm_event_release(submit(queue, add_one, work, &access, 1, NULL, 0));
    }
    usm_queue_release(queue);
    usm_alloc_release(alloc);
    usm_deferred_drain(&usm_deferred_main);
}

/* A tensor whose deleter runs on whatever thread finds it. */
static void hand_over(uint64_t *seed)
{
    const int64_t length = WORDS;
    int32_t value = (int32_t)random_next(seed);
    usm_error error;
    usm_alloc *alloc = new_alloc(WORDS * sizeof value);
    const usm_view view = view_of(alloc, 0, &length);
    CHECK_OK(usm_fill_submit(any_queue(seed), &view, &value, NULL, &error));
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    DLManagedTensorVersioned *tensor = usm_export_versioned(&view, (DLDevice){kDLCPU, 0}, 0, NULL);
    CHECK(tensor != NULL);
    usm_alloc_release(alloc);
    int i = (int)random_below(seed, SLOTS);
    pthread_mutex_lock(&slots[i].lock);
    DLManagedTensorVersioned *old = slots[i].tensor;
    slots[i].tensor = tensor;
    pthread_mutex_unlock(&slots[i].lock);
    if (old != NULL) {
        CHECK_EQ(old->dl_tensor.shape[0], WORDS);
        check_uniform(old->dl_tensor.data, WORDS);
        old->deleter(old);
    }
}

/* Memory of one thread, in queues of all: after each step the model says what is in it. */
typedef struct own {
    usm_alloc *allocs[OWN];
    int32_t model[OWN][WORDS];
} own;

static usm_status combine(void *argument, usm_error *error)
{
    work *work = argument;
    (void)error;
    for (int i = 0; i < WORDS; i++) {
        work->words[0][i] = (int32_t)((uint32_t)work->words[0][i] * 31 + (uint32_t)work->words[1][i]);
    }
    free(work);
    return USM_OK;
}

static void check_own(own *own, int a)
{
    CHECK_EQ(wait_alloc(own->allocs[a], USM_READ), USM_OK);
    CHECK_SAME(own->allocs[a]->pointer, own->model[a], sizeof own->model[a]);
}

static void step_own(own *own, uint64_t *seed)
{
    int a = (int)random_below(seed, OWN), b = (int)random_below(seed, OWN);
    const int64_t all = WORDS, rest = WORDS - 1;
    int32_t value = (int32_t)random_next(seed);
    usm_view dst = view_of(own->allocs[a], 0, &all), src = view_of(own->allocs[b], 0, &all);
    usm_error error;
    switch (random_below(seed, 5)) {
        case 0:
            CHECK_OK(usm_fill_submit(any_queue(seed), &dst, &value, NULL, &error));
            for (int i = 0; i < WORDS; i++) {
                own->model[a][i] = value;
            }
            break;
        case 1:
            CHECK_OK(usm_copy_submit(any_queue(seed), &dst, &src, NULL, &error));
            memmove(own->model[a], own->model[b], sizeof own->model[a]);
            break;
        case 2:
            dst = view_of(own->allocs[a], 1, &rest);
            src = view_of(own->allocs[b], 0, &rest);
            CHECK_OK(usm_copy_submit(any_queue(seed), &dst, &src, NULL, &error));
            memmove(own->model[a] + 1, own->model[b], rest * sizeof(int32_t));
            break;
        case 3: {
            const usm_access accesses[] = {{own->allocs[a], USM_READ_WRITE}, {own->allocs[b], USM_READ}};
            work *work = new_work();
            work->words[0] = words_of(own->allocs[a]);
            work->words[1] = words_of(own->allocs[b]);
            usm_event_release(submit(any_queue(seed), combine, work, accesses, 2, NULL, 0));
            work = new_work();
            work->words[0] = own->model[a];
            work->words[1] = own->model[b];
            combine(work, NULL);
            break;
        }
        default:
            check_own(own, a);
            /* Another block of the pool, which another thread may have left a moment ago. */
            usm_alloc_release(own->allocs[a]);
            own->allocs[a] = new_alloc(sizeof own->model[a]);
            dst = view_of(own->allocs[a], 0, &all);
            CHECK_OK(usm_fill_submit(any_queue(seed), &dst, &value, NULL, &error));
            for (int i = 0; i < WORDS; i++) {
                own->model[a][i] = value;
            }
    }
}

static void *one_thread(void *argument)
{
    uint64_t seed = 1000 + (uint64_t)(uintptr_t)argument;
    own own = {0};
    for (int a = 0; a < OWN; a++) {
        own.allocs[a] = new_alloc(sizeof own.model[a]);
        memset(own.allocs[a]->pointer, 0, sizeof own.model[a]);
    }
    for (long step = scaled(8000); step > 0; step--) {
        CHECK_STEP(step, seed);
        switch (random_below(&seed, 16)) {
            case 0:
                come_and_go(&seed);
                break;
            case 1:
                hand_over(&seed);
                break;
            case 2:
            case 3:
                depend(&seed);
                break;
            case 4:
                mix(&seed);
                break;
            case 5:
                if (random_below(&seed, 8) == 0) {
                    usm_status status = wait_queue(any_queue(&seed));
                    CHECK(status == USM_OK || status == USM_FAILED);
                }
                break;
            case 6:
            case 7:
            case 8:
                count_up(&seed);
                break;
            default:
                step_own(&own, &seed);
        }
    }
    for (int a = 0; a < OWN; a++) {
        check_own(&own, a);
        usm_alloc_release(own.allocs[a]);
    }
    return NULL;
}

static void empty_slots(void)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].event != NULL) {
            CHECK_EQ(wait_event(slots[i].event), slots[i].fails ? USM_FAILED : USM_OK);
            usm_event_release(slots[i].event);
        }
        if (slots[i].tensor != NULL) {
            slots[i].tensor->deleter(slots[i].tensor);
        }
    }
}

static void threads_share_queues_and_memory(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < SLOTS; i++) {
        pthread_mutex_init(&slots[i].lock, NULL);
    }
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = new_queue(i != 1);
    }
    for (int i = 0; i < COUNTED + MIXED; i++) {
        size_t nbytes = sizeof(int32_t) * (i < COUNTED ? WORDS : MANY_WORDS);
        usm_alloc *alloc = new_alloc(nbytes);
        memset(alloc->pointer, 0, nbytes);
        *(i < COUNTED ? &counted[i] : &mixed[i - COUNTED]) = alloc;
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, one_thread, (void *)(uintptr_t)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    empty_slots();
    for (int i = 0; i < COUNTED; i++) {
        CHECK_EQ(wait_alloc(counted[i], USM_READ), USM_OK);
        check_uniform(words_of(counted[i]), WORDS);
        CHECK_EQ(words_of(counted[i])[0], added[i]);
        CHECK(added[i] > 0);
        usm_alloc_release(counted[i]);
    }
    for (int i = 0; i < MIXED; i++) {
        CHECK_EQ(wait_alloc(mixed[i], USM_READ), USM_OK);
        check_uniform(words_of(mixed[i]), MANY_WORDS);
        usm_alloc_release(mixed[i]);
    }
    for (int round = 0; round < 2; round++) { /* tasks of the first round submit others */
        for (int i = 0; i < QUEUES; i++) {
            usm_status status = wait_queue(queues[i]);
            CHECK(status == USM_OK || status == USM_FAILED);
        }
    }
    CHECK_EQ(nested, passed_on);
    for (int i = 0; i < QUEUES; i++) {
        usm_queue_release(queues[i]);
    }
    while (deleted != imported) { /* workers of queues that were dropped */
        sleep_ms(1);
        usm_deferred_drain(&usm_deferred_main);
    }
    CHECK(imported > 0 && passed_on > 0);
}

int main(void)
{
    watchdog(600);
    host_place();
    RUN_SETTLED(threads_share_queues_and_memory);
    return 0;
}
