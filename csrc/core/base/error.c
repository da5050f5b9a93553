#include "error.h"

#include "heap.h"
#include "live.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Atomic int64_t usm_live_counts[USM_LIVE_KINDS];

const char *usm_live_name(usm_live_kind kind)
{
    static const char *const names[USM_LIVE_KINDS] = {
        "contexts", "queues", "events", "allocs", "exports", "failures", "programs", "kernels",
    };
    return kind < USM_LIVE_KINDS ? names[kind] : "";
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

const char *usm_error_errno(int code)
{
    return code == EMFILE
               ? "Too many open files; each shared array and each handle holds descriptors: release "
                 "some, or raise the limit (ulimit -n)"
               : strerror(code);
}

usm_status usm_error_set(usm_error *error, usm_status status, const char *format, ...)
{
    if (error != NULL) {
        error->status = status;
        error->code = 0;
        error->backend[0] = error->name[0] = '\0';
        error->failure = NULL;
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return status;
}

usm_status usm_error_driver(usm_error *error, usm_status status, const char *backend, int code,
                            const char *name, const char *format, ...)
{
    if (error != NULL) {
        error->status = status;
        error->code = code;
        error->failure = NULL;
        copy_text(error->backend, sizeof error->backend, backend);
        copy_text(error->name, sizeof error->name, name);
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return status;
}

usm_status usm_error_memory(usm_error *error, size_t nbytes, const char *what)
{
    return usm_error_set(error, USM_MEMORY, "cannot allocate %zu bytes for %s", nbytes, what);
}

usm_status usm_error_failed(usm_error *error, usm_failure *failure)
{
    if (error != NULL) {
        usm_error_set(error, USM_FAILED, "%s", failure->text);
        error->failure = usm_failure_retain(failure);
    }
    return USM_FAILED;
}

void usm_error_clear(usm_error *error)
{
    if (error->failure != NULL) {
        usm_failure_release(error->failure);
        error->failure = NULL;
    }
}

static usm_failure no_memory = {
    .refs = {USM_IMMORTAL},
    .status = USM_MEMORY,
    .text = "memory ran out while the failure of a task was being recorded",
};

usm_failure *usm_failure_no_memory(void)
{
    return &no_memory;
}

static usm_failure *failure_new(void)
{
    usm_failure *failure = usm_calloc(1, sizeof *failure);
    if (failure != NULL) {
        usm_refcount_init(&failure->refs, 1);
        usm_live_add(USM_LIVE_FAILURE, 1);
    }
    return failure;
}

/* The first error is the cause of all that follows, not the link before. */
static void set_cause(usm_failure *failure, usm_failure *cause)
{
    usm_failure *first = cause->cause != NULL ? cause->cause : cause;
    failure->status = USM_FAILED;
    failure->code = first->code;
    copy_text(failure->backend, sizeof failure->backend, first->backend);
    copy_text(failure->name, sizeof failure->name, first->name);
    failure->cause = usm_failure_retain(first);
}

usm_failure *usm_failure_from_error(const usm_error *error)
{
    bool has_failure = error->failure != NULL;
    if (has_failure && !atomic_load_explicit(&error->failure->delivered, memory_order_acquire)) {
        return usm_failure_retain(error->failure);
    }
    usm_failure *failure = failure_new();
    if (failure != NULL) {
        failure->status = error->status;
        failure->code = error->code;
        copy_text(failure->backend, sizeof failure->backend, error->backend);
        copy_text(failure->name, sizeof failure->name, error->name);
        copy_text(failure->text, sizeof failure->text, error->text);
        if (has_failure) {
            /*
             * A wait in a task delivered this failure, and the task passed it on; the end of that task
             * itself was not delivered.
             */
            set_cause(failure, error->failure);
        }
    }
    return failure;
}

usm_failure *usm_failure_take(usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_error_clear(error);
    return failure != NULL ? failure : usm_failure_no_memory();
}

usm_failure *usm_failure_from_payload(void *payload, void (*release)(void *))
{
    usm_failure *failure = failure_new();
    if (failure == NULL) {
        release(payload);
        return NULL;
    }
    failure->status = USM_FAILED;
    copy_text(failure->text, sizeof failure->text, "a host task raised an exception");
    failure->payload = payload;
    failure->payload_release = release;
    return failure;
}

usm_failure *usm_failure_from_cause(usm_failure *cause)
{
    usm_failure *failure = failure_new();
    if (failure != NULL) {
        set_cause(failure, cause);
        copy_text(failure->text, sizeof failure->text,
                  "this task did not run, because a task that it depends on failed");
    }
    return failure;
}

void usm_failure_release(usm_failure *failure)
{
    /* A loop, not recursion: a cause's own cause may end with it. */
    while (failure != NULL && usm_refcount_down(&failure->refs)) {
        usm_failure *cause = failure->cause;
        if (failure->payload_release != NULL) {
            failure->payload_release(failure->payload);
        }
        free(failure);
        usm_live_add(USM_LIVE_FAILURE, -1);
        failure = cause;
    }
}

void usm_failure_deliver(usm_failure *failure)
{
    for (; failure != NULL; failure = failure->cause) {
        if (failure !=
            &no_memory) { /* which stands for many failures: the next one is still to be delivered */
            atomic_store_explicit(&failure->delivered, true, memory_order_release);
        }
    }
}

void usm_failure_cover(usm_failure *failure)
{
    for (; failure != NULL; failure = failure->cause) {
        if (failure != &no_memory) {
            atomic_store_explicit(&failure->covered, true, memory_order_release);
        }
    }
}
