/*
 * What is given back to a driver later, on a thread of its own: memory whose end makes the driver wait for
 * the work of a whole device. A thread that drops the last reference, which may hold the GIL, only hands
 * over.
 *
 * A driver that waits may keep other threads' submissions out meanwhile (CUDA's cuMemFree does), so the
 * thread asks before each of them whether the driver would wait, and comes back later if so. It lets the
 * driver wait once too many bytes have piled up, and at the end of the process; usm_reclaimer_drain does on
 * behalf of its caller. What cannot be given back since the driver fails is kept, and tried again.
 */
#ifndef USM_CORE_RECLAIMER_H
#define USM_CORE_RECLAIMER_H

#include "status.h"
#include "sync.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in what is given back. */
typedef struct usm_reclaimable {
    struct usm_reclaimable *next;
    size_t nbytes;
    int64_t since_ns;  /* usm_clock_ns of usm_reclaimer_put */
    int64_t failed_ns; /* usm_clock_ns of the last failure with `waits`; 0: none */
    /*
     * Gives it back, and ends the object that it is in. False: the driver would wait for work; with `waits`
     * the driver failed. Any thread without the GIL, no lock, one thread at a time.
     */
    bool (*give_back)(struct usm_reclaimable *self, bool waits);
} usm_reclaimable;

/* `give_back` and `nbytes` are set. Never blocks. Any thread, any lock but a leaf. */
void usm_reclaimer_put(USM_TAKES usm_reclaimable *item);
/* Takes back one that `fits`, which is called with a leaf lock held; NULL: none. Any lock but a leaf. */
USM_GIVES usm_reclaimable *usm_reclaimer_take(bool (*fits)(const usm_reclaimable *item, const void *argument),
                                              const void *argument);
/*
 * Tries to give back all that was put before: their bytes, of those that the calling thread gave back. Waits
 * for work in the driver. No lock, no GIL.
 */
size_t usm_reclaimer_drain(void);
/*
 * In builds for tests: gives back all for which no driver waits, and waits, a second at most, for what other
 * threads are giving back. No lock, no GIL.
 */
void usm_reclaimer_settle(void);
/* The process ends: gives back what is left, but waits no longer than a second for it. No lock. */
void usm_reclaimer_stop(void);

/* For core/tasks/fork.c only. */
void usm_reclaimer_fork(usm_fork_phase phase);

#endif
