/* Calls, failures on demand, living objects, and misuse: what tests ask the driver by its zesim functions. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const function_names[SIM_N_FUNCTIONS] = {
#define SIM_ENTRY(table, place, since, name) #name,
#define SIM_EMPTY(table, place, since)
#include "tables.inc"
#undef SIM_ENTRY
#undef SIM_EMPTY
    "command",
};

static const char *const kind_names[SIM_N_KINDS] = {
    "context",       "command_queue", "command_list", "event_pool", "event",
    "fence",         "module",        "build_log",    "kernel",     "device_memory",
    "shared_memory", "host_memory",   "ipc_handle",   "ipc_memory", "command",
};

/* Which calls of a function fail: those from `first` to `last`, counted from 1 at the order. */
typedef struct failure {
    uint64_t seen, first, last;
    ze_result_t code;
} failure;

static _Atomic uint64_t calls[SIM_N_FUNCTIONS];
static _Atomic int64_t live[SIM_N_KINDS], born[SIM_N_KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* failures and misuse; a leaf */
static failure failures[SIM_N_FUNCTIONS];
static _Atomic uint32_t n_failures; /* functions that have one */
static char misuse_text[4096];
static uint32_t n_misuses;
static _Thread_local char last_error[256];

int sim_function_index(const char *name, size_t length)
{
    for (int i = 0; i < SIM_N_FUNCTIONS; i++)
        if (strlen(function_names[i]) == length && memcmp(function_names[i], name, length) == 0)
            return i;
    return -1;
}

ze_result_t sim_enter(sim_function function)
{
    atomic_fetch_add_explicit(&calls[function], 1, memory_order_relaxed);
    if (atomic_load_explicit(&n_failures, memory_order_acquire) == 0)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = ZE_RESULT_SUCCESS;
    pthread_mutex_lock(&lock);
    failure *f = &failures[function];
    if (f->last > 0) {
        f->seen++;
        if (f->seen >= f->first && f->seen <= f->last)
            result = f->code;
    }
    pthread_mutex_unlock(&lock);
    if (result != ZE_RESULT_SUCCESS)
        sim_fail(result, "%s was told to fail", function_names[function]);
    return result;
}

void sim_born(sim_kind kind)
{
    atomic_fetch_add(&live[kind], 1);
    atomic_fetch_add(&born[kind], 1);
}

void sim_gone(sim_kind kind)
{
    atomic_fetch_sub(&live[kind], 1);
}

void sim_misuse(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "level-zero-sim: misuse: %s\n", text);
    pthread_mutex_lock(&lock);
    n_misuses++;
    size_t used = strlen(misuse_text);
    snprintf(misuse_text + used, sizeof(misuse_text) - used, "%s\n", text);
    pthread_mutex_unlock(&lock);
}

ze_result_t sim_fail(ze_result_t result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    return result;
}

const char *sim_last_error(void)
{
    return last_error;
}

static void set_failure(int function, uint64_t first, uint64_t last, ze_result_t code)
{
    pthread_mutex_lock(&lock);
    failure *f = &failures[function];
    if (f->last == 0 && last > 0)
        atomic_fetch_add(&n_failures, 1);
    if (f->last > 0 && last == 0)
        atomic_fetch_sub(&n_failures, 1);
    *f = (failure){.first = first, .last = last, .code = code};
    pthread_mutex_unlock(&lock);
}

/* ZESIM_FAIL=zeMemAllocDevice:3:0x70000003,zeEventCreate:1+:0x70000002: the third call, all calls. */
void sim_count_setup(void)
{
    const char *text = getenv("ZESIM_FAIL");
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        const char *colon = memchr(text, ':', length);
        int function = colon == NULL ? -1 : sim_function_index(text, (size_t)(colon - text));
        char *end = NULL;
        uint64_t n = colon == NULL ? 0 : strtoull(colon + 1, &end, 10);
        bool onwards = end != NULL && *end == '+';
        end += onwards;
        if (function < 0 || n == 0 || *end != ':') {
            fprintf(stderr, "level-zero-sim: ZESIM_FAIL: not function:n:code: %.*s\n", (int)length, text);
        } else {
            uint64_t code = strtoull(end + 1, NULL, 0);
            set_failure(function, n, onwards ? UINT64_MAX : n, (ze_result_t)code);
        }
        text += length;
        text += *text == ',';
    }
}

/* --- for tests ---------------------------------------------------------------------------------------- */

/* `n` calls of the function from the `first` on, counted from now, end in `code`. -1: no such function. */
SIM_EXPORT int zesimFail(const char *function, uint64_t first, uint64_t n, uint32_t code);
int zesimFail(const char *function, uint64_t first, uint64_t n, uint32_t code)
{
    int index = sim_function_index(function, strlen(function));
    if (index < 0)
        return -1;
    first = first > 0 ? first : 1;
    uint64_t last = n == 0 ? 0 : first + n - 1 < first ? UINT64_MAX : first + n - 1;
    set_failure(index, first, last, (ze_result_t)code);
    return 0;
}

/* How often the driver's function was called; NULL: all of them. -1: no such function. */
SIM_EXPORT int64_t zesimCalls(const char *function);
int64_t zesimCalls(const char *function)
{
    if (function != NULL) {
        int index = sim_function_index(function, strlen(function));
        return index < 0 ? -1 : (int64_t)atomic_load(&calls[index]);
    }
    int64_t all = 0;
    for (int i = 0; i < SIM_N_FUNCTIONS; i++)
        all += (int64_t)atomic_load(&calls[i]);
    return all;
}

static int64_t count_of(const _Atomic int64_t *counts, const char *kind)
{
    int64_t all = 0;
    for (int i = 0; i < SIM_N_KINDS; i++) {
        if (kind != NULL && strcmp(kind, kind_names[i]) == 0)
            return atomic_load(&counts[i]);
        all += atomic_load(&counts[i]);
    }
    return kind == NULL ? all : -1;
}

/* Living objects of this kind; NULL: of all kinds. -1: no such kind. */
SIM_EXPORT int64_t zesimLive(const char *kind);
int64_t zesimLive(const char *kind)
{
    return count_of(live, kind);
}

/* Objects of this kind that were ever made. */
SIM_EXPORT int64_t zesimMade(const char *kind);
int64_t zesimMade(const char *kind)
{
    return count_of(born, kind);
}

/* "context 1\nevent 3\n": kinds with living objects. The length that the text has without its end. */
SIM_EXPORT size_t zesimReport(char *text, size_t size);
size_t zesimReport(char *text, size_t size)
{
    size_t used = 0;
    if (size > 0)
        text[0] = '\0';
    for (int i = 0; i < SIM_N_KINDS; i++) {
        long long n = atomic_load(&live[i]);
        if (n == 0)
            continue;
        bool fits = used < size;
        int written =
            snprintf(fits ? text + used : NULL, fits ? size - used : 0, "%s %lld\n", kind_names[i], n);
        used += (size_t)written;
    }
    return used;
}

/* ZESIM_REPORT: the file that gets the report when the process ends. */
__attribute__((destructor)) static void report_at_exit(void)
{
    const char *path = getenv("ZESIM_REPORT");
    char text[1024];
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        zesimReport(text, sizeof(text));
        fprintf(file, "%smade %lld\n", text, (long long)zesimMade(NULL));
        fclose(file);
    }
}

/* What callers did wrong since this was last asked, a line each; how many. */
SIM_EXPORT uint32_t zesimMisuse(char *text, size_t size);
uint32_t zesimMisuse(char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t n = n_misuses;
    if (size > 0)
        snprintf(text, size, "%s", misuse_text);
    n_misuses = 0;
    misuse_text[0] = '\0';
    pthread_mutex_unlock(&lock);
    return n;
}
