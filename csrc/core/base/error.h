/* What went wrong, in words and codes: filled by the callee that failed, untouched on success. */
#ifndef USM_CORE_ERROR_H
#define USM_CORE_ERROR_H

#include "deferred.h"
#include "refcount.h"
#include "status.h"

#include <stddef.h>

struct usm_failure;

/* Left uninitialised by callers: it is valid exactly when a status other than USM_OK came back. */
typedef struct usm_error {
    usm_status status;
    int code;         /* the driver's code; 0 if no driver reported it */
    char backend[16]; /* "" where no backend is involved */
    char name[48];    /* the driver's name of the code, e.g. "CL_OUT_OF_RESOURCES"; "" where none */
    char text[720];
    struct usm_failure *failure; /* USM_FAILED: one count, owned by this struct; else NULL */
} usm_error;

/* Fills error (NULL is allowed: the caller does not care) and returns status. */
usm_status usm_error_set(usm_error *error, usm_status status, const char *format, ...) USM_PRINTF(3, 4);
usm_status usm_error_driver(usm_error *error, usm_status status, const char *backend, int code,
                            const char *name, const char *format, ...) USM_PRINTF(6, 7);
usm_status usm_error_memory(usm_error *error, size_t nbytes, const char *what);
/* strerror, and what to do where a process that shares memory has no descriptor left. */
const char *usm_error_errno(int code);
/* Hands the failure on: error takes a count of its own. */
usm_status usm_error_failed(usm_error *error, USM_KEEPS struct usm_failure *failure);
/* Gives back what a filled error owns; needed only where it is not turned into an exception. */
void usm_error_clear(usm_error *error);

/*
 * Why a piece of asynchronous work has no result. Shared by its event, by the memory it would have written,
 * by its queue and by the failures of work that depended on it (as their cause). Immutable but for the
 * members below `payload_release`.
 */
typedef struct usm_failure {
    usm_refcount refs;
    usm_status status;
    int code;
    char backend[16];
    char name[48];
    char text[720];
    struct usm_failure *cause; /* one count; NULL for a first failure */
    /*
     * The exception of a host task: an opaque payload and the function that releases it. The function must
     * be callable from any thread without the GIL (csrc/py defers the release).
     */
    void *payload;
    void (*payload_release)(void *payload);
    /* It was raised or returned; memory that it spoiled is no longer refused (docs/design.md). */
    _Atomic bool delivered;
    /* A wait for several tasks included this one, and raised another failure: it needs no report either. */
    _Atomic bool covered;
    /* See unretrieved.h. */
    _Atomic bool listed;
    struct usm_failure *next;
    unsigned n_reported;
    bool reports_more;
    usm_deferred report;
} usm_failure;

/*
 * NULL when memory ran out. Each takes over nothing but what the comment says. An error's own failure is
 * handed on; one that was delivered already becomes the cause of a new one.
 */
USM_GIVES usm_failure *usm_failure_from_error(const usm_error *error);
USM_GIVES usm_failure *usm_failure_from_payload(USM_TAKES void *payload, void (*release)(void *));
USM_GIVES usm_failure *usm_failure_from_cause(USM_KEEPS usm_failure *cause);
/* The same, never NULL, with usm_error_clear. */
USM_GIVES usm_failure *usm_failure_take(usm_error *error);
/* The failure of last resort: static, for when even a failure cannot be allocated. */
USM_GIVES usm_failure *usm_failure_no_memory(void);
USM_RETAIN(usm_failure)
void usm_failure_release(USM_TAKES usm_failure *failure);
/* Marks it and all its causes as raised. */
void usm_failure_deliver(usm_failure *failure);
/* Marks it and all its causes as part of a wait that raised another failure. */
void usm_failure_cover(usm_failure *failure);
/* A caller has asked for it. */
static inline bool usm_failure_is_retrieved(const usm_failure *failure)
{
    return atomic_load_explicit(&((usm_failure *)failure)->delivered, memory_order_acquire) ||
           atomic_load_explicit(&((usm_failure *)failure)->covered, memory_order_acquire);
}

#endif
