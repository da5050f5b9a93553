/*
 * Releases the lock of the language (the GIL), which the calling thread may hold, around the rare long call
 * in a function that is usually short, such as a driver's first build of a kernel.
 */
#ifndef USM_CORE_DETACH_H
#define USM_CORE_DETACH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a blocked thread does every 20 ms without any lock: true ends the wait with USM_INTERRUPTED. NULL:
 * never.
 */
typedef bool (*usm_wait_poll)(void *argument);

/* How long a wait may take; a pointer that is NULL: until what is waited for has ended. */
typedef struct usm_patience {
    int64_t deadline_ns; /* usm_clock_ns; INT64_MAX: none */
    usm_wait_poll poll;
    void *argument;
} usm_patience;

/*
 * All set once, before other threads are here; what the first returns is for the second. The argument
 * of `poll` points to that.
 */
void usm_detach_set(void *(*detach)(void), void (*attach)(void *held), usm_wait_poll poll);

/* Around a long call, with no lock of the core held: usm_attach(held) on the same thread ends it. */
void *usm_detach(void);
void usm_attach(void *held);
/*
 * The usm_wait_poll of a wait in between; `argument` points to `held`. It does nothing on a thread that did
 * not hold the lock. If it ends the wait, an exception is set, and the call must fail with USM_INTERRUPTED.
 */
bool usm_detach_poll(void *argument);

#endif
