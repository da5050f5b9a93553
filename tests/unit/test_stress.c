/*
 * Several threads at once on the same queues and the same memory:
 *
 *     test_stress [host | cuda | level_zero]
 *
 * Memory that all of them use has invariants that hold in any order of the tasks (and break when two of them
 * meet); memory of one thread has a model. With ThreadSanitizer in a driver in software, what the driver does
 * is a part of the program: work of a device that meets other work is reported.
 */
#include "streams.h"

#include "core/exchange/dltensor.h"
#include "core/memory/reclaim.h"
#include "core/streams/lend.h"

#include <dlfcn.h>
#include <stdlib.h>

enum {
    THREADS = 4,
    QUEUES = 3,
    COUNTED = 6,        /* allocations that tasks add 1 to, all words of them */
    MIXED = 4,          /* allocations that are filled and copied into each other */
    OWN = 6,            /* allocations of one thread, of all kinds */
    WORDS = 64,         /* of each, but for the mixed ones: */
    MANY_WORDS = 20000, /* which is more than the submitting thread would do itself */
    SLOTS = 16,
    LARGE = (int)USM_POOL_LARGEST + 1, /* bytes that no pool keeps */
};

static usm_place *place;
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

static usm_alloc *allocate(usm_kind kind, size_t nbytes)
{
    usm_error error;
    usm_alloc *alloc;
    CHECK_OK(usm_alloc_create(place, kind, nbytes, false, &alloc, &error));
    return alloc;
}

static usm_queue *make_queue(bool in_order, bool profiling)
{
    const usm_queue_options options = {
        .in_order = in_order, .profiling = profiling, .priority = USM_PRIORITY_NORMAL};
    usm_error error;
    usm_queue *queue;
    CHECK_OK(usm_queue_create(place, &options, &queue, &error));
    return queue;
}

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

static usm_event *submit(usm_queue *queue, task run, void *argument, const usm_access *accesses, int n)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run, argument}};
    const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = (size_t)n};
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    return event;
}

/* Lengths and steps of views. */
static const int64_t all[] = {WORDS, 1}, rest[] = {WORDS - 1, 1}, every_other[] = {WORDS / 2, 2};
static const int64_t many[] = {MANY_WORDS, 1};

static usm_view view_of(usm_alloc *alloc, int offset, const int64_t axis[2])
{
    return (usm_view){alloc, (char *)(words_of(alloc) + offset), USM_INT32, 1, axis, axis + 1};
}

static usm_event *fill(usm_queue *queue, const usm_view *view, int32_t value)
{
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_fill_submit(queue, view, &value, &event, &error));
    return event;
}

static usm_event *copy(usm_queue *queue, const usm_view *dst, const usm_view *src)
{
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_copy_submit(queue, dst, src, &event, &error));
    return event;
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
        usm_status status =
            usm_event_wait(old, &(const usm_patience){usm_clock_ns() + 100000, NULL, NULL}, &error);
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
    leave(seed, submit(any_queue(seed), add_one, work, accesses, work->n), false);
}

static void mix(uint64_t *seed)
{
    usm_alloc *a = mixed[random_below(seed, MIXED)], *b = mixed[random_below(seed, MIXED)];
    const usm_view dst = view_of(a, 0, many), src = view_of(b, 0, many);
    usm_error error;
    switch (random_below(seed, 4)) {
        case 0:
            leave(seed, fill(any_queue(seed), &dst, (int32_t)random_next(seed)), false);
            break;
        case 1:
            leave(seed, copy(any_queue(seed), &dst, &src), false);
            break;
        case 2: /* a consumer has it, and does nothing */
            if (streams_are_there()) {
                void *stream = any_stream(seed);
                CHECK_OK(usm_alloc_stream_signal(a, USM_READ, place->device, stream, NULL, &error));
                CHECK_OK(usm_alloc_lend(a, place->device, stream, &error));
            }
            break;
        default: {
            usm_alloc *seen = allocate(USM_HOST, MANY_WORDS * sizeof(int32_t));
            const usm_view out = view_of(seen, 0, many);
            work *work = new_work();
            work->n = MANY_WORDS;
            work->words[0] = words_of(seen);
            usm_event_release(copy(any_queue(seed), &out, &dst));
            leave(seed, submit_access(any_queue(seed), look, work, seen, USM_READ), false);
            usm_alloc_release(seen);
        }
    }
}

/* Tasks that fail, and others that depend on what may fail. */
static usm_status wait_inside(void *argument, usm_error *error)
{
    work *work = argument;
    usm_status status = usm_event_wait_end(work->before, NULL, error);
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
        leave(seed, submit_task(any_queue(seed), task_fail, NULL), true);
        return;
    }
    if (random_below(seed, 3) == 0) {
        work *work = new_work();
        work->before = before;
        work->queue = usm_queue_retain(any_queue(seed));
        leave(seed, submit_task(any_queue(seed), wait_inside, work), false);
        passed_on++;
        return;
    }
    bool data = random_below(seed, 2) == 0;
    _Atomic int ran = 0;
    usm_event *event = submit_after(any_queue(seed), task_count, &ran, before, data);
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
    usm_queue *queue = make_queue(random_below(seed, 2) == 0, random_below(seed, 2) == 0);
    for (uint64_t i = random_below(seed, 4); i > 0; i--) {
        work *work = new_work();
        work->n = 1;
        work->words[0] = memory;
        usm_event_release(submit_access(queue, add_one, work, alloc, USM_READ_WRITE));
    }
    usm_alloc_release(alloc);
    if (random_below(seed, 8) == 0) { /* goes back to the driver, after the last task on it */
        alloc = allocate((usm_kind)random_below(seed, USM_KINDS), LARGE);
        const usm_view view = view_of(alloc, 0, all);
        usm_event_release(fill(queue, &view, 1));
        usm_alloc_release(alloc);
    }
    usm_queue_release(queue);
    usm_deferred_drain(&usm_deferred_main);
}

/* What is spare goes back to the driver, or all that its work holds, too. */
static void trim(uint64_t *seed)
{
    usm_error error;
    if (random_below(seed, 2) == 0) {
        usm_reclaim_place(place);
    } else {
        CHECK_OK(usm_reclaim(place->context, NULL, &error));
    }
}

/* A tensor whose deleter runs on whatever thread finds it. */
static void hand_over(uint64_t *seed)
{
    usm_alloc *alloc = allocate(USM_SHARED, WORDS * sizeof(int32_t));
    const usm_view view = view_of(alloc, 0, all);
    usm_event_release(fill(any_queue(seed), &view, (int32_t)random_next(seed)));
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

/* A consumer fills it in the stream. */
static DLManagedTensorVersioned *lend(usm_alloc *alloc, int32_t value, void *stream)
{
    const usm_view view = view_of(alloc, 0, all);
    const usm_device_info *info = &place->device->info;
    const DLDevice device = {(DLDeviceType)info->dlpack_type, info->dlpack_id};
    usm_error error;
    CHECK_OK(usm_alloc_stream_signal(alloc, USM_READ_WRITE, place->device, stream, NULL, &error));
    DLManagedTensorVersioned *tensor = usm_export_versioned(&view, device, 0, stream);
    CHECK(tensor != NULL);
    fill_in_stream(tensor->dl_tensor.data, value, WORDS, stream);
    return tensor;
}

/* The memory and the consumer's stream go while there is work, in either order. */
static void lend_and_drop(uint64_t *seed)
{
    if (!streams_are_there()) {
        return;
    }
    bool stream_first = random_below(seed, 2) == 0;
    void *stream = new_stream();
    usm_alloc *alloc = allocate((usm_kind)random_below(seed, USM_KINDS), WORDS * sizeof(int32_t));
    const usm_view view = view_of(alloc, 0, all);
    usm_event_release(fill(any_queue(seed), &view, 1));
    DLManagedTensorVersioned *tensor = lend(alloc, 2, stream);
    usm_alloc_release(alloc);
    if (stream_first) {
        end_stream(stream);
    }
    tensor->deleter(tensor);
    if (!stream_first) {
        end_stream(stream);
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

static void check_own(own *own, int a, uint64_t *seed)
{
    usm_alloc *alloc = usm_alloc_retain(own->allocs[a]);
    if (!usm_alloc_host_reads(alloc)) {
        const usm_view src = view_of(alloc, 0, all);
        usm_alloc_release(alloc);
        alloc = allocate(USM_HOST, sizeof own->model[a]);
        const usm_view dst = view_of(alloc, 0, all);
        usm_event_release(copy(any_queue(seed), &dst, &src));
    }
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    CHECK_SAME(alloc->pointer, own->model[a], sizeof own->model[a]);
    usm_alloc_release(alloc);
}

static void fill_own(own *own, int a, int step, uint64_t *seed)
{
    const usm_view view = view_of(own->allocs[a], 0, step == 1 ? all : every_other);
    int32_t value = (int32_t)random_next(seed);
    usm_event_release(fill(any_queue(seed), &view, value));
    for (int i = 0; i < WORDS; i += step) {
        own->model[a][i] = value;
    }
}

/* Another block of the pool, which another thread may have left a moment ago. */
static void renew_own(own *own, int a, uint64_t *seed)
{
    if (own->allocs[a] != NULL) {
        usm_alloc_release(own->allocs[a]);
    }
    own->allocs[a] = allocate((usm_kind)random_below(seed, USM_KINDS), sizeof own->model[a]);
    fill_own(own, a, 1, seed);
}

static void combine_own(own *own, int a, int b, uint64_t *seed)
{
    if (!usm_alloc_host_reads(own->allocs[a]) || !usm_alloc_host_reads(own->allocs[b])) {
        return;
    }
    const usm_access accesses[] = {{own->allocs[a], USM_READ_WRITE}, {own->allocs[b], USM_READ}};
    work *work = new_work();
    work->words[0] = words_of(own->allocs[a]);
    work->words[1] = words_of(own->allocs[b]);
    usm_event_release(submit(any_queue(seed), combine, work, accesses, 2));
    work = new_work();
    work->words[0] = own->model[a];
    work->words[1] = own->model[b];
    combine(work, NULL);
}

/* A consumer works on it in a stream, and says where, as DLPack's deleters and its exchange table do. */
static void lend_own(own *own, int a, uint64_t *seed)
{
    if (!streams_are_there()) {
        return;
    }
    usm_error error;
    void *stream = any_stream(seed);
    int32_t value = (int32_t)random_next(seed);
    DLManagedTensorVersioned *tensor = lend(own->allocs[a], value, stream);
    if (random_below(seed, 2) == 0) {
        CHECK_OK(usm_alloc_lend(own->allocs[a], place->device, stream, &error));
    }
    tensor->deleter(tensor);
    for (int i = 0; i < WORDS; i++) {
        own->model[a][i] = value;
    }
}

static void step_own(own *own, uint64_t *seed)
{
    int a = (int)random_below(seed, OWN), b = (int)random_below(seed, OWN);
    usm_view dst = view_of(own->allocs[a], 0, all), src = view_of(own->allocs[b], 0, all);
    switch (random_below(seed, 7)) {
        case 0:
        case 1:
            fill_own(own, a, random_below(seed, 4) == 0 ? 2 : 1, seed);
            break;
        case 2:
            usm_event_release(copy(any_queue(seed), &dst, &src));
            memmove(own->model[a], own->model[b], sizeof own->model[a]);
            break;
        case 3:
            dst = view_of(own->allocs[a], 1, rest);
            src = view_of(own->allocs[b], 0, rest);
            usm_event_release(copy(any_queue(seed), &dst, &src));
            memmove(own->model[a] + 1, own->model[b], sizeof own->model[a] - sizeof(int32_t));
            break;
        case 4:
            combine_own(own, a, b, seed);
            break;
        case 5:
            lend_own(own, a, seed);
            break;
        default:
            check_own(own, a, seed);
            renew_own(own, a, seed);
    }
}

static void *one_thread(void *argument)
{
    uint64_t seed = 1000 + (uint64_t)(uintptr_t)argument;
    own own = {0};
    use_streams();
    for (int a = 0; a < OWN; a++) {
        renew_own(&own, a, &seed);
    }
    for (long step = scaled(place->device->backend->has_driver ? 1000 : 5000); step > 0; step--) {
        CHECK_STEP(step, seed);
        switch (random_below(&seed, 17)) {
            case 0:
                come_and_go(&seed);
                break;
            case 16:
                lend_and_drop(&seed);
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
                } else if (random_below(&seed, 8) == 0) {
                    trim(&seed);
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
        check_own(&own, a, &seed);
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
    for (int i = 0; i < SLOTS; i++) {
        pthread_mutex_init(&slots[i].lock, NULL);
    }
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = make_queue(i != 1, i == 2);
    }
    for (int i = 0; i < COUNTED + MIXED; i++) {
        usm_alloc *alloc = i < COUNTED ? allocate(USM_SHARED, WORDS * sizeof(int32_t))
                                       : allocate(USM_DEVICE, MANY_WORDS * sizeof(int32_t));
        const usm_view view = view_of(alloc, 0, i < COUNTED ? all : many);
        usm_event_release(fill(queues[0], &view, 0));
        *(i < COUNTED ? &counted[i] : &mixed[i - COUNTED]) = alloc;
    }
    in_threads(THREADS, one_thread, NULL, 1);
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

/* What the software Level Zero driver noticed, where it is there; CUDA's aborts instead (CUDASIM_ABORT). */
static void no_misuse(void)
{
    const char *path = getenv("ZE_ENABLE_ALT_DRIVERS");
    void *driver = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (driver != NULL) {
        char text[4096];
        void *function = dlsym(driver, "zesimMisuse");
        uint32_t (*misuse)(char *, size_t);
        CHECK(function != NULL);
        memcpy(&misuse, &function, sizeof misuse);
        if (misuse(text, sizeof text) != 0) {
            CHECK_FAIL("%s", text);
        }
    }
}

int main(int argc, char **argv)
{
    watchdog((unsigned)scaled(600));
    place = default_place(argc > 1 ? argv[1] : "host");
    make_streams(place);
    RUN_SETTLED(threads_share_queues_and_memory);
    RUN(no_misuse);
    return 0;
}
