/*
 * Memory lent to streams of other libraries: whatever two threads do with it at the same time, no lend is
 * forgotten. The streams are those of a backend in this file: the host's, with streams that never run.
 */
#include "check.h"
#include "core/device/rule.h"
#include "core/tasks/alloc_stream.h"
#include "support.h"

#include <pthread.h>

enum { STREAMS = 4 };

static char handles[STREAMS]; /* the addresses of streams */

/* When the work of a stream became known here: found idle, or a marker enqueued behind it. */
static _Atomic long now, known[STREAMS];
static _Atomic bool idle = true;

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
    *facts = (usm_stream_facts){.id = (uint64_t)(uintptr_t)handle, .idle = atomic_load(&idle)};
    facts->options = (usm_queue_options){.in_order = true, .priority = USM_PRIORITY_NORMAL};
    if (facts->idle) {
        now_known(handle);
    }
    count_moment();
    return USM_OK;
}

static void *handle(usm_native what, const void *object)
{
    return what == USM_NATIVE_QUEUE ? ((const usm_queue *)object)->foreign : NULL;
}

static const usm_backend *host;

static usm_status queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                               usm_error *error)
{
    if (queue->foreign != NULL) {
        now_known(queue->foreign);
    }
    usm_status status = USM_CALL(host, queue_submit)(queue, event, command, error);
    if (other.stream == 0) { /* to lend to another stream takes the lock of this queue, which is held here */
        count_moment();
    }
    return status;
}

static usm_device *device_with_streams(void)
{
    static usm_backend backend;
    static usm_native_entries native = {.handle = handle, .stream_inspect = stream_inspect};
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

static usm_alloc *new_lendable(void)
{
    usm_error error;
    usm_context *context;
    usm_place *place;
    usm_alloc *alloc;
    CHECK_OK(usm_context_default(device_with_streams(), &context, &error));
    CHECK_OK(usm_context_place(context, device_with_streams(), &place, &error));
    CHECK_OK(usm_alloc_create(place, USM_DEVICE, 100, false, &alloc, &error));
    return alloc;
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
                                             NULL, NULL, &error));
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

int main(void)
{
    watchdog(120);
    RUN(no_lend_is_forgotten);
    RUN(many_threads_lend);
    return 0;
}
