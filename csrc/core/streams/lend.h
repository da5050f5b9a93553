/*
 * Memory that streams of other libraries work on: memory whose producer may have work pending in a stream,
 * and memory that was lent to one. The first use here orders the queue after the stream (usm_alloc_order,
 * alloc.h).
 */
#ifndef USM_CORE_LEND_H
#define USM_CORE_LEND_H

#include "core/tasks/event.h"

/*
 * The producer of this imported memory may have work on it pending in the stream (stream.h).
 * Called right after the import, before any other thread knows the allocation. Enqueues nothing: the first
 * use of the memory orders the two.
 */
void usm_alloc_stream_attach(usm_alloc *alloc, usm_device *device, void *stream);
/*
 * Lends the memory to other libraries, which may work on it in this stream from now on: the next use here is
 * ordered after the stream in the same way. Work that is pending in an earlier stream is joined first. Any
 * thread, no lock.
 */
usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error);
/*
 * The end of a loan, on any thread: the stream, which lived at its beginning, may have been destroyed, and is
 * not touched. `id` is what stream_id said then, or 0 for one that always lives. The next use of the memory
 * is ordered after the stream, which must live then; or waits for the device where the id is
 * USM_STREAM_NO_ID. Cannot fail, never waits. No lock.
 */
void usm_alloc_lend_ended(usm_alloc *alloc, usm_device *device, void *stream, uint64_t id);
/*
 * Retires the tasks on the memory that the driver has completed, so that usm_alloc_is_busy is exact. No lock.
 */
void usm_alloc_settle(usm_alloc *alloc);
/*
 * Makes later work of the stream wait, on the device, for the tasks on which such an access depends
 * (usm_stream_follow). Enqueues nothing if nothing is pending, or only in that very stream. No lock, no GIL.
 */
usm_status usm_alloc_stream_signal(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   const usm_patience *patience, usm_error *error);
/*
 * Makes the work that is enqueued in the stream now a task that accesses the memory: the memory lives until
 * it has completed, and later uses are ordered after it. Does nothing if the stream is idle or is being
 * captured. No lock.
 */
usm_status usm_alloc_stream_retain(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_error *error);

#endif
