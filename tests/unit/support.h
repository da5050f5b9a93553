/* What the tests of the core share: devices and queues, tasks that can be held up, counts that come back. */
#ifndef USM_TESTS_SUPPORT_H
#define USM_TESTS_SUPPORT_H

#include "check.h"

#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/copy/copy.h"
#include "core/device/registry.h"
#include "core/program/program.h"
#include "core/start.h"
#include "core/streams/stream.h"
#include "core/tasks/submit.h"
#include "core/tasks/wait.h"

#include <pthread.h>
#include <string.h>

/* Ends the program with SIGALRM, which the runner reports, should it take longer. Forked children
 * need their own. */
void watchdog(unsigned seconds);

/*
 * Runs the function in a child, which must end by abort(), after a message that holds the text: what builds
 * for tests do where a lock or a count is misused.
 */
void expect_abort(void (*misuse)(void), const char *text);

/* Loops of threads and randomised programs run `count` times this, a percentage from USM_TEST_SCALE. */
long scaled(long count);

/* xorshift64*: the same programs on every machine. Seeds are not 0. */
uint64_t random_next(uint64_t *state);
/* 0 <= result < n */
uint64_t random_below(uint64_t *state, uint64_t n);

/*
 * What the start of the driver without devices does, which is called "level_zero" in programs that have no
 * others (driver.c); NULL: nothing.
 */
extern void (*driver_start)(void);
const usm_backend_report *start_driver(void);

/* The host device and its default context; the first call starts the core. */
usm_device *host_device(void);
usm_place *host_place(void);
/* The same of a backend's first device. */
usm_place *default_place(const char *backend);

/* One count to the caller. */
usm_queue *new_queue(bool in_order);
usm_queue *new_profiling_queue(bool in_order);
usm_alloc *new_alloc(size_t nbytes);

/* The live counts. settle() waits until all are back, which workers that release the last
 * task may delay. */
typedef struct live {
    int64_t counts[USM_LIVE_KINDS];
} live;
live live_now(void);
void settle(const live *before);

/* A test that must leave nothing behind. */
#define RUN_SETTLED(test)         \
    do {                          \
        live before = live_now(); \
        RUN(test);                \
        settle(&before);          \
    } while (0)

/* Blocks tasks until it is opened, and counts those that have reached it. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    int arrived;
} gate;
#define GATE_CLOSED                                                   \
    {                                                                 \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 \
    }
void gate_open(gate *gate);
/* What a task does at the gate. */
void gate_pass(gate *gate);
/* Waits until this number of tasks has reached the gate. */
void gate_await(gate *gate, int arrived);
int gate_arrived(gate *gate);

/* Functions of host tasks: `argument` is a gate; a gate, failing behind it; an int that is counted up. */
usm_status task_gate(void *argument, usm_error *error);
usm_status task_fail(void *argument, usm_error *error);
usm_status task_count(void *argument, usm_error *error);

/* Submits or dies. One count of the event to the caller. */
typedef usm_status (*task)(void *argument, usm_error *error);
usm_event *submit_task(usm_queue *queue, task run, void *argument);
usm_event *submit_access(usm_queue *queue, task run, void *argument, usm_alloc *alloc, usm_access_mode mode);
usm_event *submit_after(usm_queue *queue, task run, void *argument, usm_event *after, bool data);
usm_event *submit_barrier(usm_queue *queue, const usm_wait *waits, size_t n_waits);

/* Waits without a deadline; the status, with the error thrown away. */
usm_status wait_event(usm_event *event);
usm_status wait_queue(usm_queue *queue);
usm_status wait_alloc(usm_alloc *alloc, usm_access_mode mode);

/* Waits for the end, checks the state and gives the count back. */
void expect_end(USM_TAKES usm_event *event, usm_event_state state);

enum { VIEW_AXES = 5, VIEW_BUFFER = 1 << 16 /* bytes of an allocation that takes any of these views */ };

/* A view into a buffer: a compact array of which every axis was stepped, some turned round,
 * and all permuted. */
typedef struct random_view {
    usm_view view;
    int64_t shape[VIEW_AXES], strides[VIEW_AXES];
} random_view;

/* Up to VIEW_AXES lengths; returns how many. */
int random_shape(uint64_t *seed, int64_t *shape);
/* Elements may be unaligned. `repeats`: an axis may be broadcast, which is for reading alone. */
void random_view_make(random_view *random, uint64_t *seed, usm_alloc *alloc, usm_dtype dtype, int ndim,
                      const int64_t *shape, bool repeats);
int64_t view_count(const usm_view *view);
/* The element of that number in row-major order. */
char *view_element(const usm_view *view, int64_t number);

/*
 * Runs a task of another queue to its end: before a check that something has not begun, this gives what
 * wrongly could begin the time that a task takes. The check holds however long that is.
 */
void run_another_task(void);

/* Runs the function in n threads at once, to their end; its arguments are `size` bytes apart. */
void in_threads(int n, void *(*run)(void *argument), void *first, size_t size);

/* The pause of a loop that looks for something; nothing is true after a time. */
void sleep_ms(int ms);

/*
 * Waits until all other threads of the process sleep: at two looks, and none ran in between. What they do at
 * once, they have done.
 */
void await_rest(void);

/* How many threads have a name that begins so; a thread takes its name after it was started. */
int threads_named(const char *name);
/* Checks it once all threads have come to rest. */
void expect_threads(const char *name, int wanted);
/* Waits for it, as for threads that end after they were idle for some time. */
void await_threads(const char *name, int wanted);

#endif
