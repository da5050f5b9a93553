/* fork(): the host backend goes on in the child, drivers refuse; nobody hangs on a lock of a lost thread. */
#ifndef USM_CORE_FORK_H
#define USM_CORE_FORK_H

#include "core/base/error.h"
#include "core/base/sync.h"

/* Installs the fork handlers. Once a process. */
void usm_fork_start(void);

/*
 * Of a backend whose driver does not survive fork(): its calls in a child of a process that used the driver
 * fail with USM_FORKED, and what the driver has is left to the parent. Static there, with its name in
 * messages; any thread.
 */
typedef struct usm_fork_guard {
    const char *driver;
    _Atomic bool used, forked;
} usm_fork_guard;

/* The driver is in use from now on. */
static inline void usm_fork_guard_use(usm_fork_guard *guard)
{
    atomic_store_explicit(&guard->used, true, memory_order_release);
}

/* The child of a process that used the driver? */
static inline bool usm_fork_guard_is_child(const usm_fork_guard *guard)
{
    return atomic_load_explicit(&((usm_fork_guard *)guard)->forked, memory_order_acquire);
}

/* For usm_backend.fork. */
static inline void usm_fork_guard_fork(usm_fork_guard *guard, usm_fork_phase phase)
{
    if (phase == USM_FORK_CHILD && atomic_load_explicit(&guard->used, memory_order_acquire)) {
        atomic_store_explicit(&guard->forked, true, memory_order_release);
    }
}

/* USM_FORKED, with what to do about it. */
usm_status usm_fork_guard_refuse(const usm_fork_guard *guard, usm_error *error);

#endif
