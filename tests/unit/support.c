#include "support.h"

#include "core/device/registry.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Thread_local long check_step;
_Thread_local uint64_t check_seed;

void check_print_step(void)
{
    if (check_seed != 0) {
        fprintf(stderr, " (step %ld, seed %#" PRIx64 ")", check_step, check_seed);
    }
    fprintf(stderr, "\n");
}

size_t check_difference(const void *got, const void *wanted, size_t n)
{
    size_t i = 0;
    if (memcmp(got, wanted, n) == 0) {
        return n;
    }
    while (((const char *)got)[i] == ((const char *)wanted)[i]) {
        i++;
    }
    return i;
}

void watchdog(unsigned seconds)
{
    alarm(seconds);
}

void expect_abort(void (*misuse)(void), const char *text)
{
    char output[8000];
    size_t used = 0;
    ssize_t n;
    int ends[2], status;
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        misuse();
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], output + used, sizeof output - 1 - used)) > 0) {
        used += (size_t)n;
    }
    close(ends[0]);
    output[used] = '\0';
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(output, text) == NULL) {
        CHECK_FAIL("the child ended with status %#x and said \"%s\", not \"%s\"", (unsigned)status, output,
                   text);
    }
}

long scaled(long count)
{
    const char *text = getenv("USM_TEST_SCALE");
    long percent = text == NULL ? 100 : atol(text);
    long result = count * percent / 100;
    return result > 0 ? result : 1;
}

uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
    return (random_next(state) >> 11) % n;
}

static usm_device *first_device(const char *backend)
{
    usm_core_start();
    const usm_backend_report *report = usm_backend_start(usm_backend_index(backend, strlen(backend)));
    if (report->absent != NULL) {
        CHECK_FAIL("no backend %s: %s", backend, report->absent);
    }
    return report->devices[0];
}

usm_device *host_device(void)
{
    return first_device("host");
}

usm_place *default_place(const char *backend)
{
    usm_error error;
    usm_context *context;
    usm_place *place;
    usm_device *device = first_device(backend);
    CHECK_OK(usm_context_default(device, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    return place;
}

usm_place *host_place(void)
{
    return default_place("host");
}

static usm_queue *make_queue(bool in_order, bool profiling)
{
    const usm_queue_options options = {
        .in_order = in_order, .profiling = profiling, .priority = USM_PRIORITY_NORMAL};
    usm_error error;
    usm_queue *queue;
    CHECK_OK(usm_queue_create(host_place(), &options, &queue, &error));
    return queue;
}

usm_queue *new_queue(bool in_order)
{
    return make_queue(in_order, false);
}

usm_queue *new_profiling_queue(bool in_order)
{
    return make_queue(in_order, true);
}

usm_alloc *new_alloc(size_t nbytes)
{
    usm_error error;
    usm_alloc *alloc;
    CHECK_OK(usm_alloc_create(host_place(), USM_DEVICE, nbytes, false, &alloc, &error));
    return alloc;
}

live live_now(void)
{
    live now;
    for (usm_live_kind kind = 0; kind < USM_LIVE_KINDS; kind++) {
        now.counts[kind] = usm_live_count(kind);
    }
    return now;
}

void settle(const live *before)
{
    for (usm_live_kind kind = 0; kind < USM_LIVE_KINDS; kind++) {
        for (int ms = 0; usm_live_count(kind) != before->counts[kind]; ms++) {
            if (ms == 60000) {
                CHECK_FAIL("%" PRId64 " live %s instead of %" PRId64, usm_live_count(kind),
                           usm_live_name(kind), before->counts[kind]);
            }
            sleep_ms(1);
        }
    }
}

void gate_open(gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_pass(gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->arrived++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open) {
        pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
}

void gate_await(gate *gate, int arrived)
{
    pthread_mutex_lock(&gate->mutex);
    while (gate->arrived < arrived) {
        pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
}

int gate_arrived(gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    int arrived = gate->arrived;
    pthread_mutex_unlock(&gate->mutex);
    return arrived;
}

static void shuffle_axes(random_view *random, const int *order)
{
    int64_t shape[VIEW_AXES], strides[VIEW_AXES];
    memcpy(shape, random->shape, sizeof shape);
    memcpy(strides, random->strides, sizeof strides);
    for (int i = 0; i < random->view.ndim; i++) {
        random->shape[i] = shape[order[i]];
        random->strides[i] = strides[order[i]];
    }
}

void random_view_make(random_view *random, uint64_t *seed, usm_alloc *alloc, usm_dtype dtype, int ndim,
                      const int64_t *shape, bool repeats)
{
    int size = usm_dtype_table[dtype].itemsize, order[VIEW_AXES], back[VIEW_AXES];
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
    }
    for (int i = ndim - 1; i > 0; i--) {
        int k = (int)random_below(seed, (uint64_t)i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < ndim; i++) {
        back[order[i]] = i;
    }
    int64_t reach = 1, low = 0, stepped = 1;
    bool plain = random_below(seed, 3) == 0; /* compact, so that axes merge */
    for (int i = ndim - 1; i >= 0; i--) {
        int64_t length = shape[order[i]],
                step = plain || stepped > 2 ? 1 : 1 + (int64_t)random_below(seed, 2);
        stepped *= step;
        random->shape[i] = length;
        random->strides[i] = reach * step;
        if (!plain && repeats && random_below(seed, 6) == 0) {
            random->strides[i] = 0;
        } else {
            reach *= length * step > 0 ? length * step : 1;
            if (!plain && random_below(seed, 4) == 0) {
                random->strides[i] = -random->strides[i];
                low += random->strides[i] * (length - 1);
            }
        }
    }
    random->view = (usm_view){alloc, NULL, dtype, ndim, random->shape, random->strides};
    shuffle_axes(random, back);
    CHECK(reach * size + 16 < VIEW_BUFFER);
    /* Anywhere in the buffer, also where elements are not aligned. */
    int64_t room = VIEW_BUFFER - reach * size;
    int64_t shift = (int64_t)random_below(seed, (uint64_t)(room < 300 ? room : 300));
    random->view.data = (char *)alloc->pointer + shift - low * size;
}

int random_shape(uint64_t *seed, int64_t *shape)
{
    int ndim = (int)random_below(seed, VIEW_AXES + 1);
    for (int i = 0; i < ndim; i++) {
        shape[i] = random_below(seed, 5) == 0 ? 1 : 1 + (int64_t)random_below(seed, ndim > 3 ? 3 : 9);
        if (random_below(seed, 40) == 0) {
            shape[i] = 0;
        }
    }
    return ndim;
}

int64_t view_count(const usm_view *view)
{
    int64_t n = 1;
    for (int i = 0; i < view->ndim; i++) {
        n *= view->shape[i];
    }
    return n;
}

char *view_element(const usm_view *view, int64_t number)
{
    int64_t at = 0;
    for (int i = view->ndim - 1; i >= 0; i--) {
        at += number % view->shape[i] * view->strides[i];
        number /= view->shape[i];
    }
    return view->data + at * usm_dtype_table[view->dtype].itemsize;
}

usm_status task_gate(void *argument, usm_error *error)
{
    (void)error;
    gate_pass(argument);
    return USM_OK;
}

usm_status task_fail(void *argument, usm_error *error)
{
    if (argument != NULL) {
        gate_pass(argument);
    }
    return usm_error_driver(error, USM_DRIVER, "host", 42, "TEST_FAILURE", "this task was made to fail");
}

usm_status task_count(void *argument, usm_error *error)
{
    (void)error;
    atomic_fetch_add((_Atomic int *)argument, 1);
    return USM_OK;
}

static usm_event *submit(usm_queue *queue, const usm_command *command, const usm_access *accesses,
                         size_t n_accesses, const usm_wait *waits, size_t n_waits)
{
    const usm_submission submission = {.command = command,
                                       .accesses = accesses,
                                       .n_accesses = n_accesses,
                                       .waits = waits,
                                       .n_waits = n_waits};
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    return event;
}

usm_event *submit_task(usm_queue *queue, task run, void *argument)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run, argument}};
    return submit(queue, &command, NULL, 0, NULL, 0);
}

usm_event *submit_access(usm_queue *queue, task run, void *argument, usm_alloc *alloc, usm_access_mode mode)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run, argument}};
    const usm_access access = {alloc, mode};
    return submit(queue, &command, &access, 1, NULL, 0);
}

usm_event *submit_after(usm_queue *queue, task run, void *argument, usm_event *after, bool data)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run, argument}};
    const usm_wait wait = {after, data};
    return submit(queue, &command, NULL, 0, &wait, 1);
}

usm_event *submit_barrier(usm_queue *queue, const usm_wait *waits, size_t n_waits)
{
    const usm_command command = {.kind = USM_COMMAND_BARRIER};
    return submit(queue, &command, NULL, 0, waits, n_waits);
}

usm_status wait_event(usm_event *event)
{
    usm_error error;
    usm_status status = usm_event_wait(event, NULL, &error);
    if (status != USM_OK) {
        usm_error_clear(&error);
    }
    return status;
}

usm_status wait_queue(usm_queue *queue)
{
    usm_error error;
    usm_status status = usm_queue_wait(queue, NULL, &error);
    if (status != USM_OK) {
        usm_error_clear(&error);
    }
    return status;
}

usm_status wait_alloc(usm_alloc *alloc, usm_access_mode mode)
{
    usm_error error;
    usm_status status = usm_alloc_wait(alloc, mode, true, NULL, &error);
    if (status != USM_OK) {
        usm_error_clear(&error);
    }
    return status;
}

void expect_end(usm_event *event, usm_event_state state)
{
    usm_error error;
    CHECK_OK(usm_event_wait_end(event, NULL, &error));
    CHECK_EQ(usm_event_get_state(event), state);
    usm_event_release(event);
}

void run_another_task(void)
{
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(false);
    expect_end(submit_task(queue, task_count, &ran), USM_EVENT_COMPLETE);
    usm_queue_release(queue);
}

void in_threads(int n, void *(*run)(void *argument), void *first, size_t size)
{
    pthread_t *threads = malloc((size_t)n * sizeof *threads);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, run, (void *)((uintptr_t)first + (size_t)i * size)), 0);
    }
    for (int i = 0; i < n; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    free(threads);
}

void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* The file of that name of a thread; empty if the thread has ended. */
static void read_of_thread(const char *thread, const char *name, char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, name);
    FILE *file = fopen(path, "r");
    size_t n = file == NULL ? 0 : fread(text, 1, size - 1, file);
    text[n] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}

/* Whether all other threads sleep, and the sum of how often they went to sleep. */
static bool all_sleep(unsigned long long *times)
{
    bool sleep = true;
    DIR *tasks = opendir("/proc/self/task");
    *times = 0;
    for (struct dirent *entry; sleep && (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid()) {
            char text[4096];
            read_of_thread(entry->d_name, "status", text, sizeof text);
            const char *switches = strstr(text, "\nvoluntary_ctxt_switches:");
            sleep = switches != NULL && strstr(text, "\nState:\tS") != NULL;
            *times += sleep ? strtoull(strchr(switches, ':') + 1, NULL, 10) : 0;
        }
    }
    closedir(tasks);
    return sleep;
}

void await_rest(void)
{
    unsigned long long before, now;
    bool slept = all_sleep(&before);
    for (;;) { /* the watchdog ends it */
        sleep_ms(1);
        bool sleep = all_sleep(&now);
        if (slept && sleep && now == before) {
            return;
        }
        slept = sleep;
        before = now;
    }
}

int threads_named(const char *name)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char text[32];
        read_of_thread(entry->d_name, "comm", text, sizeof text);
        n += entry->d_name[0] != '.' && strncmp(text, name, strlen(name)) == 0;
    }
    closedir(tasks);
    return n;
}

void expect_threads(const char *name, int wanted)
{
    await_rest();
    CHECK_EQ(threads_named(name), wanted);
}

void await_threads(const char *name, int wanted)
{
    while (threads_named(name) != wanted) { /* the watchdog ends it */
        sleep_ms(1);
    }
}
