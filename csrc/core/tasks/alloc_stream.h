/*
 * Memory that streams of other libraries work on: whose producer may have work pending in a stream, or which
 * was lent to one. The first use here orders the stream and the queue (usm_alloc_order in alloc.h).
 */
#ifndef USM_CORE_ALLOC_STREAM_H
#define USM_CORE_ALLOC_STREAM_H

#include "alloc.h"

/*
 * The producer of memory that was imported just now, and that nobody else has seen, may have work on it in
 * this stream of the device (1 and 2 as in DLPack). Nothing is enqueued yet: the first use of the memory
 * brings the two into order (usm_alloc_order), if it still must.
 */
void usm_alloc_follows(usm_alloc *alloc, usm_device *device, void *stream);
/*
 * From now on others may work on the memory in this stream, for they were lent it: the next use of it comes
 * behind, in the same way. Memory that is not in order yet is put so first. Any thread, no lock.
 */
usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error);
/*
 * Before memory that was lent goes back to the driver, where no task of ours holds it: waits for the stream,
 * ten seconds at most. At once for all other memory. No lock, no GIL where that may take long.
 */
void usm_alloc_finish_lent(usm_alloc *alloc);

/* Ends what the driver has ended of the work on it: usm_alloc_is_busy is exact then. No lock. */
void usm_alloc_settle(usm_alloc *alloc);
/*
 * Later work of the stream waits, on the device, for what an access must wait for: usm_stream_follow. Nothing
 * is enqueued where nothing is pending, or where it is pending in that very stream. No lock, no GIL.
 */
usm_status usm_alloc_hand_over(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                               usm_wait_poll poll, void *argument, usm_error *error);
/*
 * What is enqueued in the stream at this moment becomes a task of ours that accesses the memory: it stays as
 * long, and later uses come behind. Nothing where the stream is idle, or is being captured. No lock.
 */
usm_status usm_alloc_outlast(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                             usm_error *error);

#endif
