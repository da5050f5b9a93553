/*
 * Memory lent to streams of other libraries: whatever two threads do with it at the same time, no lend is
 * forgotten, and no block is used again while a stream may work on it. The streams are those of a backend in
 * this file: the host's, with streams that never run.
 */
#include "check.h"
#include "core/base/reclaimer.h"
#include "core/device/rule.h"
#include "core/memory/blocks.h"
#include "core/memory/pool.h"
#include "core/memory/reclaim.h"
#include "core/share/share.h"
#include "core/streams/lend.h"
#include "core/tasks/unretrieved.h"
#include "support.h"

#include <pthread.h>

enum { STREAMS = 4 };

static char handles[STREAMS]; /* the addresses of streams */

/* When the work of a stream became known here: found idle, or a marker enqueued behind it. */
static _Atomic long now, known[STREAMS];
static _Atomic bool idle = true;

static _Atomic long touched, synchronized; /* calls about streams; calls that wait for the device */
static _Atomic uint64_t generation = 100;  /* of the streams: their numbers begin there */
static _Atomic bool refuses;               /* to enqueue a marker */
static _Atomic bool cannot_wait;           /* for the device */

/* Called once, when the moment comes: what another thread does meanwhile. */
static struct {
    void (*run)(void);
    int moment; /* calls of the backend until then; 0: none */
} meanwhile;

static struct {
    usm_alloc *alloc;
    int stream;
    long lent_at;
} other;

static void count_moment(void)
{
    if (meanwhile.moment > 0 && --meanwhile.moment == 0) {
        meanwhile.run();
    }
}

static void now_known(const void *handle)
{
    atomic_store(&known[(const char *)handle - handles], atomic_fetch_add(&now, 1) + 1);
}

static usm_status stream_inspect(usm_device *device, void *handle, usm_stream_facts *facts, usm_error *error)
{
    (void)device;
    (void)error;
    atomic_fetch_add(&touched, 1);
    *facts = (usm_stream_facts){.id = (uint64_t)(uintptr_t)handle, .idle = atomic_load(&idle)};
    facts->options = (usm_queue_options){.in_order = true, .priority = USM_PRIORITY_NORMAL};
    if (facts->idle && handle != USM_STREAM_LEGACY) {
        now_known(handle);
    }
    count_moment();
    return USM_OK;
}

static uint64_t number_of(int stream)
{
    return atomic_load(&generation) + (uint64_t)stream;
}

static uint64_t stream_id(usm_device *device, void *handle)
{
    (void)device;
    atomic_fetch_add(&touched, 1);
    return number_of((int)((char *)handle - handles));
}

static usm_status synchronize(usm_device *device, usm_error *error)
{
    (void)device;
    atomic_fetch_add(&synchronized, 1);
    return atomic_load(&cannot_wait) ? usm_error_set(error, USM_MEMORY, "this wait was made to fail")
                                     : USM_OK;
}

static void *handle(usm_native what, const void *object)
{
    return what == USM_NATIVE_QUEUE ? ((const usm_queue *)object)->foreign : NULL;
}

static const usm_backend *host;

static usm_status queue_submit(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_queue *queue = event->queue;
    if (queue->foreign != NULL && atomic_load(&refuses)) {
        return usm_error_set(error, USM_DRIVER, "this marker was made to fail");
    }
    if (queue->foreign != NULL) {
        now_known(queue->foreign);
    }
    usm_status status = USM_CALL(host, queue_submit)(event, command, error);
    if (other.stream == 0) { /* to lend to another stream takes the lock of this queue, which is held here */
        count_moment();
    }
    return status;
}

static usm_backend backend;

static usm_device *device_with_streams(void)
{
    static usm_native_entries native = {.handle = handle,
                                        .stream_inspect = stream_inspect,
                                        .stream_id = stream_id,
                                        .synchronize = synchronize};
    static usm_device *device;
    if (device == NULL) {
        host = host_device()->backend;
        backend = *host;
        backend.native = &native;
        backend.queue_submit = queue_submit;
        backend.queue_run_now = NULL;
        device = usm_device_new(&backend, USM_GPU);
        CHECK(device != NULL);
        device->info = host_device()->info;
        device->native = host_device()->native;
    }
    return device;
}

static usm_alloc *new_lendable_of(size_t nbytes)
{
    usm_error error;
    usm_context *context;
    usm_place *place;
    usm_alloc *alloc;
    CHECK_OK(usm_context_default(device_with_streams(), &context, &error));
    CHECK_OK(usm_context_place(context, device_with_streams(), &place, &error));
    CHECK_OK(usm_alloc_create(place, USM_DEVICE, nbytes, false, &alloc, &error));
    return alloc;
}

static usm_alloc *new_lendable(void)
{
    return new_lendable_of(100);
}

static bool is_lent_to(usm_alloc *alloc, int stream)
{
    return (atomic_load(&alloc->flags) & USM_ALLOC_UNORDERED) != 0 && alloc->stream == &handles[stream];
}

/* What a thread may do with memory that is lent to stream 0. */
enum { ORDER, SETTLE, SIGNAL, LEND, DOINGS };

static void act(usm_alloc *alloc, int doing, int stream)
{
    usm_error error;
    switch (doing) {
        case ORDER:
            CHECK_OK(usm_alloc_order(alloc, NULL, &error));
            break;
        case SETTLE:
            usm_alloc_settle(alloc);
            break;
        case SIGNAL:
            CHECK_OK(usm_alloc_stream_signal(alloc, USM_READ_WRITE, device_with_streams(), &handles[stream],
                                             NULL, &error));
            break;
        default:
            CHECK_OK(usm_alloc_lend(alloc, device_with_streams(), &handles[stream], &error));
    }
}

static void *lend_in_thread(void *unused)
{
    (void)unused;
    act(other.alloc, LEND, other.stream);
    other.lent_at = atomic_load(&now);
    return NULL;
}

static void lend_meanwhile(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, lend_in_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/*
 * A lends, orders, signals or settles; B lends, to the same stream or another one, in every call of the
 * backend that A makes. Afterwards the work of B's stream is known to come before, or the memory says that it
 * is lent to it.
 */
static void no_lend_is_forgotten(void)
{
    int cases = 0;
    for (int doing = 0; doing < DOINGS; doing++) {
        for (int busy = 0; busy < 2; busy++) {
            for (int stream = 0; stream < 2; stream++) {
                bool reached = true;
                for (int moment = 1; reached; moment++) {
                    usm_alloc *alloc = new_lendable();
                    atomic_store(&idle, busy == 0);
                    act(alloc, LEND, 0);
                    other.alloc = alloc;
                    other.stream = stream;
                    other.lent_at = -1;
                    meanwhile.run = lend_meanwhile;
                    meanwhile.moment = moment;
                    act(alloc, doing, 2);
                    reached = meanwhile.moment == 0;
                    meanwhile.moment = 0;
                    if (reached && !is_lent_to(alloc, stream) &&
                        atomic_load(&known[stream]) <= other.lent_at) {
                        CHECK_FAIL("doing %d, busy %d: the lend to stream %d in call %d is forgotten", doing,
                                   busy, stream, moment);
                    }
                    CHECK(doing != LEND || is_lent_to(alloc, 2));
                    cases += reached;
                    atomic_store(&idle, true);
                    act(alloc, ORDER, 0);
                    CHECK_EQ(atomic_load(&alloc->flags) & USM_ALLOC_UNORDERED, 0);
                    usm_alloc_release(alloc);
                }
            }
        }
    }
    CHECK(cases >= 2 * (4 + 3)); /* idle: one call each; busy: three, but for settle */
}

enum { THREADS = 3 };

static void *act_at_random(void *alloc)
{
    static _Atomic uint64_t seeds;
    uint64_t seed = atomic_fetch_add(&seeds, 1) + 1;
    for (long i = scaled(3000); i > 0; i--) {
        int doing = (int)random_below(&seed, DOINGS), stream = (int)random_below(&seed, STREAMS);
        atomic_store(&idle, random_below(&seed, 2) == 0);
        act(alloc, doing, stream);
    }
    return NULL;
}

/* For ThreadSanitizer, and for what is counted: at the end nothing is pending that is not there. */
static void many_threads_lend(void)
{
    pthread_t threads[THREADS];
    usm_alloc *alloc = new_lendable();
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, act_at_random, alloc), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    atomic_store(&idle, true);
    CHECK_EQ(wait_alloc(alloc, USM_READ_WRITE), USM_OK);
    usm_alloc_settle(alloc);
    CHECK(!usm_alloc_is_busy(alloc));
    act(alloc, LEND, 1);
    CHECK(is_lent_to(alloc, 1) && usm_alloc_is_busy(alloc));
    act(alloc, ORDER, 0);
    CHECK(!usm_alloc_is_busy(alloc));
    usm_alloc_release(alloc);
}

static void end_loan(usm_alloc *alloc, int stream, uint64_t id)
{
    long before = atomic_load(&touched);
    usm_alloc_lend_ended(alloc, device_with_streams(), &handles[stream], id);
    CHECK_EQ(atomic_load(&touched), before);
    CHECK((atomic_load(&alloc->flags) & USM_ALLOC_UNORDERED) != 0);
}

static void expect_order(usm_alloc *alloc, int stream, bool waits)
{
    long before = atomic_load(&synchronized), known_before = atomic_load(&known[stream]);
    act(alloc, ORDER, 0);
    CHECK_EQ(atomic_load(&synchronized), before + waits);
    CHECK(waits || atomic_load(&known[stream]) > known_before);
    CHECK_EQ(atomic_load(&alloc->flags) & USM_ALLOC_UNORDERED, 0);
}

/* The next use asks the stream; it waits for the device where that is another one, or none was named. */
static void the_end_of_a_loan_touches_no_stream(void)
{
    usm_alloc *alloc = new_lendable();
    for (int busy = 0; busy < 2; busy++) {
        atomic_store(&idle, busy == 0);
        end_loan(alloc, 1, number_of(1));
        end_loan(alloc, 1, number_of(1));
        expect_order(alloc, 1, false);
        end_loan(alloc, 1, USM_STREAM_NO_ID);
        expect_order(alloc, 1, true);
        end_loan(alloc, 1, number_of(1));
        end_loan(alloc, 2, number_of(2)); /* both have to be waited for */
        expect_order(alloc, 1, true);
        end_loan(alloc, 1, number_of(1));
        atomic_fetch_add(&generation, STREAMS); /* destroyed; the new stream has its handle */
        expect_order(alloc, 1, true);
    }
    atomic_store(&idle, true);
    CHECK_EQ(wait_alloc(alloc, USM_READ_WRITE), USM_OK);
    usm_alloc_release(alloc);
}

/* Whether an allocation of this size gets the block. */
static bool is_used_again(const void *pointer, size_t nbytes)
{
    usm_alloc *alloc = new_lendable_of(nbytes);
    bool same = alloc->pointer == pointer;
    usm_alloc_release(alloc);
    return same;
}

static void a_block_waits_until_its_stream_is_known_to_live(void)
{
    usm_alloc *alloc = new_lendable_of(5000);
    void *pointer = alloc->pointer;
    long before = atomic_load(&synchronized), touches = atomic_load(&touched);
    end_loan(alloc, 1, number_of(1));
    usm_alloc_release(alloc);
    CHECK_EQ(atomic_load(&touched), touches);
    CHECK(!is_used_again(pointer, 5000));
    usm_reclaim_stream_lives(device_with_streams(), &handles[1], number_of(1) + STREAMS);
    CHECK(!is_used_again(pointer, 5000));
    usm_reclaim_stream_lives(device_with_streams(), &handles[1], number_of(1));
    CHECK(is_used_again(pointer, 5000));
    CHECK_EQ(atomic_load(&synchronized), before);
}

/* The default stream, which always exists, orders the next use: nothing is asked when the last count goes. */
static void a_block_that_is_lent_to_the_default_stream_alone_is_used_again_at_once(void)
{
    usm_error error;
    device_with_streams()->info.host_reads_device = false;
    for (int others = 0; others < 2; others++) {
        atomic_store(&idle, false);
        usm_alloc *alloc = new_lendable_of(7000);
        usm_place *place = alloc->place;
        void *pointer = alloc->pointer;
        if (others == 1) {
            end_loan(alloc, 1, number_of(1));
            usm_alloc_lend_ended(alloc, device_with_streams(), USM_STREAM_LEGACY, 0);
        } else {
            CHECK_OK(usm_alloc_lend(alloc, device_with_streams(), USM_STREAM_LEGACY, &error));
        }
        long touches = atomic_load(&touched), before = atomic_load(&synchronized);
        usm_alloc_release(alloc);
        CHECK_EQ(is_used_again(pointer, 7000), others == 0);
        CHECK_EQ(atomic_load(&touched), touches);
        CHECK_EQ(atomic_load(&synchronized), before);
        atomic_store(&idle, true);
        usm_reclaim_place(place);
    }
    device_with_streams()->info.host_reads_device = true;
}

/* A driver may wait for that work when the context's memory and the context go. */
static void a_context_ends_once_the_device_has_no_work(void)
{
    usm_error error;
    usm_context *context;
    usm_place *place;
    usm_device *device = device_with_streams();
    live before = live_now();
    backend.has_driver = true;
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    atomic_store(&idle, false);
    usm_context_release(context);
    usm_reclaimer_settle();
    CHECK_EQ(live_now().counts[USM_LIVE_CONTEXT], before.counts[USM_LIVE_CONTEXT] + 1);
    atomic_store(&idle, true);
    usm_reclaimer_settle();
    settle(&before);
    backend.has_driver = false;
}

static void a_drain_waits_for_the_device_once(void)
{
    enum { BLOCKS = 5 };
    usm_alloc *allocs[BLOCKS];
    long before = atomic_load(&synchronized);
    for (int i = 0; i < BLOCKS; i++) {
        allocs[i] = new_lendable_of(9000);
    }
    for (int i = 0; i < BLOCKS; i++) {
        end_loan(allocs[i], i % STREAMS, i % 2 == 0 ? number_of(i % STREAMS) : USM_STREAM_NO_ID);
        usm_alloc_release(allocs[i]);
    }
    CHECK(usm_reclaimer_drain() >= BLOCKS * (size_t)9000);
    CHECK_EQ(atomic_load(&synchronized), before + 1);
}

static int reports;

static void count_report(usm_deferred *node)
{
    usm_failure *failure = (usm_failure *)((char *)node - offsetof(usm_failure, report));
    CHECK(strstr(failure->text, "made to fail") != NULL);
    CHECK_EQ(failure->n_reported, 0);
    reports++;
    usm_failure_release(failure);
}

/* The marker behind the stream fails when the last count goes. */
static void what_cannot_be_recorded_waits_and_is_reported_once(void)
{
    usm_unretrieved_set_reporter(count_report);
    atomic_store(&idle, false);
    long before = atomic_load(&synchronized);
    for (int i = 0; i < 3; i++) {
        usm_alloc *alloc = new_lendable_of(20000);
        void *pointer = alloc->pointer;
        act(alloc, LEND, 0);
        atomic_store(&refuses, true);
        usm_alloc_release(alloc);
        atomic_store(&refuses, false);
        CHECK(!is_used_again(pointer, 20000));
    }
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(reports, 1);
    CHECK_EQ(atomic_load(&synchronized), before);
    usm_reclaimer_drain();
    CHECK(atomic_load(&synchronized) > before);
    atomic_store(&idle, true);
    usm_unretrieved_set_reporter(NULL);
}

/* What the device may still work on when the last count goes. */
enum { BLOCK, LARGE, POOLED, FOREIGN, SHARED, WAYS };

static _Atomic int owners_left;

static void end_owner(void *owner)
{
    (void)owner;
    atomic_fetch_sub(&owners_left, 1);
}

/* Lent to a stream that may be gone; a block that the pool keeps, to the default stream. */
static usm_alloc *new_lent(int way)
{
    static char bytes[64];
    usm_error error;
    usm_alloc *alloc = new_lendable_of(way == LARGE ? USM_POOL_LARGEST + 1 : 30000);
    usm_place *place = alloc->place;
    place->device->info.host_reads_device = way != POOLED;
    if (way == FOREIGN || way == SHARED) {
        usm_alloc_release(alloc);
    }
    if (way == FOREIGN) {
        CHECK_OK(usm_alloc_import(place, USM_DEVICE, bytes, sizeof bytes, bytes, end_owner, &alloc, &error));
        atomic_fetch_add(&owners_left, 1);
    } else if (way == SHARED) {
        CHECK_OK(usm_share_create(host_place(), USM_DEVICE, 30000, NULL, &alloc, &error));
    }
    if (way == POOLED) {
        CHECK_OK(usm_alloc_lend(alloc, device_with_streams(), USM_STREAM_LEGACY, &error));
    } else {
        end_loan(alloc, 1, number_of(1));
    }
    return alloc;
}

static bool is_kept(int way, const void *pointer)
{
    usm_block block;
    usm_deferred_drain(&usm_deferred_main);
    return way == FOREIGN ? atomic_load(&owners_left) == 1 : usm_blocks_find(pointer, &block);
}

/* As trim() does, or what ends the process. */
static void reclaim(usm_place *place, bool stops)
{
    if (stops) {
        usm_reclaim_pool(place->pools[USM_DEVICE]);
        usm_reclaimer_stop();
    } else {
        usm_reclaim_place(place);
    }
}

static void what_cannot_be_waited_for_is_kept_and_reported_once(void)
{
    reports = 0;
    usm_unretrieved_set_reporter(count_report);
    atomic_store(&idle, false);
    for (int way = 0; way < WAYS; way++) {
        for (int stops = 0; stops < 2; stops++) {
            usm_alloc *alloc = new_lent(way);
            usm_place *place = alloc->place;
            void *pointer = alloc->pointer;
            atomic_store(&cannot_wait, true);
            usm_alloc_release(alloc);
            for (int tries = 0; tries < 2; tries++) {
                long before = atomic_load(&synchronized);
                reclaim(place, stops == 1 && tries == 0); /* which ends the thread, too */
                CHECK(atomic_load(&synchronized) > before);
                CHECK(is_kept(way, pointer));
            }
            CHECK(!is_used_again(pointer, 30000));
            atomic_store(&cannot_wait, false);
            reclaim(place, false);
            CHECK(!is_kept(way, pointer));
        }
    }
    atomic_store(&idle, true);
    CHECK_EQ(reports, 1);
    usm_unretrieved_set_reporter(NULL);
}

/* The memory of a context that ends cannot wait for a later try. */
static void a_context_that_ends_leaves_what_cannot_be_waited_for_to_the_driver(void)
{
    usm_error error;
    usm_context *context;
    usm_place *place;
    usm_alloc *alloc;
    usm_block block;
    usm_device *device = device_with_streams();
    device->info.host_reads_device = false;
    atomic_store(&idle, false);
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    CHECK_OK(usm_alloc_create(place, USM_DEVICE, 40000, false, &alloc, &error));
    static int32_t *pointer; /* static: LeakSanitizer finds it there */
    pointer = alloc->pointer;
    CHECK_OK(usm_alloc_lend(alloc, device, USM_STREAM_LEGACY, &error));
    atomic_store(&cannot_wait, true);
    usm_alloc_release(alloc);
    usm_context_release(context);
    atomic_store(&cannot_wait, false);
    atomic_store(&idle, true);
    pointer[0] = pointer[9999] = 7; /* AddressSanitizer: it was not freed */
    CHECK(!usm_blocks_find(pointer, &block));
}

int main(void)
{
    watchdog(120);
    RUN(no_lend_is_forgotten);
    RUN(many_threads_lend);
    RUN(the_end_of_a_loan_touches_no_stream);
    RUN(a_block_waits_until_its_stream_is_known_to_live);
    RUN(a_block_that_is_lent_to_the_default_stream_alone_is_used_again_at_once);
    RUN(a_context_ends_once_the_device_has_no_work);
    RUN(a_drain_waits_for_the_device_once);
    RUN(what_cannot_be_recorded_waits_and_is_reported_once);
    RUN(what_cannot_be_waited_for_is_kept_and_reported_once);
    RUN(a_context_that_ends_leaves_what_cannot_be_waited_for_to_the_driver);
    return 0;
}
