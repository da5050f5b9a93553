/*
 * Engines: threads that run the commands of a queue or an immediate list. Commands begin in the order in
 * which they came, each when its events are signalled; an engine in order has one thread, others have
 * several, so that what is not ordered by events and barriers overlaps.
 */
#include "driver.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t sim_lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* held for less than a sleep takes */
static sim_engine *engines;                                       /* all */
static bool paused;                                               /* zesimPause() */

void sim_signal(ze_event_handle_t event, uint64_t start_ns, uint64_t end_ns)
{
    event->start_ns = start_ns;
    event->end_ns = end_ns;
    atomic_store(&event->signalled, true);
}

/* --- workers ------------------------------------------------------------------------------------------ */

static bool may_begin(const sim_engine *engine, const sim_command *command)
{
    if (sim_lost(engine->device) != ZE_RESULT_SUCCESS)
        return true; /* to be dropped */
    if (paused || (command->joins && command != engine->first))
        return false;
    for (uint32_t i = 0; i < command->n_waits; i++)
        if (!atomic_load(&command->waits[i]->signalled))
            return false;
    return true;
}

/* The next command to begin, if it may now. */
static sim_command *next_command(sim_engine *engine)
{
    for (sim_command *command = engine->first; command != NULL; command = command->next) {
        if (!command->started)
            return may_begin(engine, command) ? command : NULL;
        if (command->holds)
            return NULL;
    }
    return NULL;
}

/* One more worker, where there is something for it. The lock is held. */
static void rouse(sim_engine *engine)
{
    if (engine->n_held == 0)
        return;
    if (engine->closing)
        pthread_cond_broadcast(&engine->wake);
    else if (next_command(engine) != NULL)
        pthread_cond_signal(&engine->wake);
}

/*
 * Something has ended: in `here`, whose worker looks for more by itself, or (NULL) elsewhere. The lock is
 * held.
 */
static void tell(sim_engine *here)
{
    for (sim_engine *engine = engines; engine != NULL; engine = engine->next)
        if (engine != here || engine->closing)
            rouse(engine);
    sim_tell_hosts();
}

void sim_tell(void)
{
    pthread_mutex_lock(&sim_lock);
    tell(NULL);
    pthread_mutex_unlock(&sim_lock);
}

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

/* Between 0 and ZESIM_JITTER_US, another time for each command. */
static void wait_a_little(void)
{
    static _Atomic uint64_t state = 88172645463325252u;
    uint64_t most = sim_settings()->jitter_ns;
    if (most == 0)
        return;
    uint64_t x = atomic_fetch_add(&state, 0x9E3779B97F4A7C15u);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    sleep_ns((x ^ (x >> 31)) % most);
}

/* Takes an ended command out of the engine. The lock is held. */
static void leave(sim_engine *engine, sim_command *command)
{
    sim_command *before = NULL;
    for (sim_command *at = engine->first; at != command; at = at->next)
        before = at;
    if (before == NULL)
        engine->first = command->next;
    else
        before->next = command->next;
    if (engine->last == command)
        engine->last = before;
    for (uint32_t i = 0; i < command->n_waits; i++)
        atomic_fetch_sub(&command->waits[i]->waits, 1);
    if (command->signal != NULL)
        atomic_fetch_sub(&command->signal->signals, 1);
    if (command->verb == SIM_RESET)
        atomic_fetch_sub(&command->as.reset->waits, 1);
    if (command->fence != NULL)
        atomic_fetch_sub(&command->fence->pending, 1);
}

/* The lock is held. A failure is the device's at once: nothing begins between the command and its loss. */
static void begin(sim_engine *engine, sim_command *command)
{
    ze_device_handle_t root = engine->device->root;
    command->started = true;
    engine->n_running++;
    ze_result_t result = sim_lost(root) == ZE_RESULT_SUCCESS ? sim_enter(SIM_FN_command) : ZE_RESULT_SUCCESS;
    if (result != ZE_RESULT_SUCCESS)
        atomic_store(&root->lost, (uint32_t)result);
}

static void run(sim_engine *engine, sim_command *command)
{
    ze_device_handle_t root = engine->device->root;
    wait_a_little();
    uint64_t start_ns = sim_now_ns();
    ze_result_t result = sim_lost(root);
    if (result == ZE_RESULT_SUCCESS)
        result = sim_command_run(command, engine);
    uint64_t end_ns = sim_now_ns();
    pthread_mutex_lock(&sim_lock);
    engine->n_running--;
    if (result != ZE_RESULT_SUCCESS)
        atomic_store(&root->lost, (uint32_t)result);
    leave(engine, command);
    if (result == ZE_RESULT_SUCCESS && command->signal != NULL)
        sim_signal(command->signal, start_ns, end_ns);
    if (result == ZE_RESULT_SUCCESS && command->fence != NULL)
        atomic_store(&command->fence->signalled, true);
    tell(engine);
}

static bool has_come(void *of)
{
    const sim_engine *engine = of;
    return atomic_load(&engine->n_came) != engine->n_seen;
}

/* One of the workers looks for the next command. The lock is held at entry and exit. */
static void linger(sim_engine *engine)
{
    engine->lingers = true;
    engine->n_seen = atomic_load(&engine->n_came);
    pthread_mutex_unlock(&sim_lock);
    uint64_t look = sim_settings()->look_ns;
    (void)sim_poll(has_come, engine, &look);
    pthread_mutex_lock(&sim_lock);
    engine->lingers = false;
}

/* A device does its work beside the host, not on its processor. */
static void leave_host(void)
{
    uint32_t processor = sim_settings()->processor;
    cpu_set_t there;
    if (processor == SIM_ANY_PROCESSOR)
        return;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    if (pthread_setaffinity_np(pthread_self(), sizeof(there), &there) != 0)
        fprintf(stderr, "level-zero-sim: ZESIM_PROCESSOR=%u is no processor of this machine\n", processor);
}

static void *work(void *of)
{
    sim_engine *engine = of;
    leave_host();
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        sim_command *command = next_command(engine);
        if (command != NULL) {
            begin(engine, command);
            rouse(engine);
            pthread_mutex_unlock(&sim_lock);
            run(engine, command); /* takes the lock */
            pthread_mutex_unlock(&sim_lock);
            sim_command_free(command);
            pthread_mutex_lock(&sim_lock);
            continue;
        }
        if (engine->closing && engine->first == NULL)
            break;
        if (engine->first == NULL && !engine->closing && !engine->lingers) {
            linger(engine);
            if (engine->first != NULL || engine->closing)
                continue;
        }
        engine->n_held++;
        pthread_cond_wait(&engine->wake, &sim_lock);
        engine->n_held--;
    }
    pthread_mutex_unlock(&sim_lock);
    return NULL;
}

/* Signals are the program's own: no worker takes one. */
static bool start_worker(sim_engine *engine)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&engine->workers[engine->n_started], NULL, work, engine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    engine->n_started += code == 0;
    return code == 0;
}

/* --- engines ------------------------------------------------------------------------------------------ */

ze_result_t sim_engine_init(sim_engine *engine, ze_context_handle_t context, ze_device_handle_t device,
                            bool in_order)
{
    memset(engine, 0, sizeof(*engine));
    engine->context = context;
    engine->device = device;
    engine->process = (int32_t)getpid();
    engine->n_workers = in_order ? 1 : sim_settings()->overlap;
    engine->workers = calloc(engine->n_workers, sizeof(pthread_t));
    if (engine->workers == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pthread_cond_init(&engine->wake, NULL);
    pthread_mutex_lock(&sim_lock);
    engine->next = engines;
    engines = engine;
    pthread_mutex_unlock(&sim_lock);
    return ZE_RESULT_SUCCESS;
}

bool sim_engine_idle(void *of)
{
    return ((sim_engine *)of)->first == NULL;
}

void sim_engine_free(sim_engine *engine, const char *function)
{
    if (engine->process != (int32_t)getpid())
        return; /* a child of fork(): the threads are not here */
    pthread_mutex_lock(&sim_lock);
    bool busy = engine->first != NULL;
    engine->closing = true;
    pthread_cond_broadcast(&engine->wake);
    pthread_mutex_unlock(&sim_lock);
    if (busy && sim_lost(engine->device) == ZE_RESULT_SUCCESS) /* else they end by themselves */
        sim_misuse("%s: its commands have not ended", function);
    for (uint32_t i = 0; i < engine->n_started; i++)
        pthread_join(engine->workers[i], NULL);
    pthread_mutex_lock(&sim_lock);
    for (sim_engine **at = &engines; *at != NULL; at = &(*at)->next)
        if (*at == engine) {
            *at = engine->next;
            break;
        }
    pthread_mutex_unlock(&sim_lock);
    pthread_cond_destroy(&engine->wake);
    free(engine->workers);
}

static void check_signal(const sim_command *command)
{
    ze_event_handle_t event = command->signal;
    if (event == NULL || !atomic_load(&event->signalled))
        return;
    if (atomic_load(&event->signals) + atomic_load(&event->waits) == 0)
        sim_misuse("a command is to signal an event that is signalled already, and was not reset");
}

ze_result_t sim_engine_submit(sim_engine *engine, sim_command *first, sim_command *last)
{
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (const sim_command *command = first; command != NULL; command = command->next)
        check_signal(command);
    pthread_mutex_lock(&sim_lock);
    while (engine->n_started < engine->n_workers && result == ZE_RESULT_SUCCESS)
        if (!start_worker(engine))
            result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (result == ZE_RESULT_SUCCESS) {
        for (sim_command *command = first; command != NULL; command = command->next) {
            for (uint32_t i = 0; i < command->n_waits; i++)
                atomic_fetch_add(&command->waits[i]->waits, 1);
            if (command->signal != NULL)
                atomic_fetch_add(&command->signal->signals, 1);
            if (command->verb == SIM_RESET)
                atomic_fetch_add(&command->as.reset->waits, 1);
            if (command->fence != NULL)
                atomic_fetch_add(&command->fence->pending, 1);
        }
        if (engine->last == NULL)
            engine->first = first;
        else
            engine->last->next = first;
        engine->last = last;
        engine->n_came++;
        if (!engine->lingers)
            rouse(engine);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

/* --- what has not ended ------------------------------------------------------------------------------- */

bool sim_engines_drop(void)
{
    for (const sim_engine *engine = engines; engine != NULL; engine = engine->next)
        if (engine->first != NULL && engine->process == (int32_t)getpid() &&
            sim_lost(engine->device) != ZE_RESULT_SUCCESS)
            return true;
    return false;
}

static bool meets(const void *address, size_t size, const char *begin, const char *end)
{
    const char *at = address;
    return at < end && at + size > begin;
}

static bool uses(const sim_command *command, const char *begin, const char *end)
{
    if (command->verb == SIM_LAUNCH)
        return sim_launch_uses(command->as.launch, begin, end);
    return (command->to != NULL && meets(command->to, command->size, begin, end)) ||
           (command->from != NULL && meets(command->from, command->size, begin, end));
}

/* sim_lock is held. */
bool sim_in_use(const char *begin, const char *end)
{
    bool found = false;
    for (const sim_engine *engine = engines; engine != NULL; engine = engine->next)
        for (const sim_command *command = engine->first; command != NULL; command = command->next)
            found = found || uses(command, begin, end);
    return found;
}

bool sim_kernel_in_use(ze_kernel_handle_t kernel)
{
    bool found = false;
    pthread_mutex_lock(&sim_lock);
    for (const sim_engine *engine = engines; engine != NULL; engine = engine->next)
        for (const sim_command *command = engine->first; command != NULL; command = command->next)
            found = found || (command->verb == SIM_LAUNCH && sim_launch_is_of(command->as.launch, kernel));
    pthread_mutex_unlock(&sim_lock);
    return found;
}

/* --- for tests ---------------------------------------------------------------------------------------- */

/* No command begins from now on until the pause ends. */
SIM_EXPORT void zesimPause(int pause);
void zesimPause(int pause)
{
    pthread_mutex_lock(&sim_lock);
    paused = pause != 0;
    tell(NULL);
    pthread_mutex_unlock(&sim_lock);
}
