/*
 * Streams of other libraries: queues of the driver that they made, enqueue in, and may destroy. Each is
 * USM_STREAM_LEGACY, USM_STREAM_PER_THREAD or a handle of the driver (exchange/dlpack_types.h has DLPack's
 * numbers for them).
 *
 * Each is a usm_queue here, so that work of others is a task like ours: memory is held until it has ended,
 * hazards and waits know it.
 */
#ifndef USM_CORE_STREAM_H
#define USM_CORE_STREAM_H

#include "core/tasks/submit.h"

/*
 * What the driver says of the stream; USM_BUFFER where the backend has none. Any thread, no lock; does not
 * wait.
 */
usm_status usm_stream_inspect(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error);

/*
 * The queue that stands for the stream, in the default context of the device: the same one as long as the
 * stream lives. The process keeps some of them, so that the next exchange finds it. Any thread, no lock; does
 * not wait.
 */
usm_status usm_stream_queue(usm_device *device, void *stream, USM_GIVES usm_queue **out, usm_error *error);

/*
 * Makes later work of the stream wait for these tasks, on the device. Those that the driver does not know
 * (work of the host) are waited for here. Where all have ended nothing is enqueued. USM_BUFFER where the
 * stream is being captured and something is pending. No lock, no GIL.
 */
usm_status usm_stream_follow(usm_device *device, void *stream, const usm_wait *waits, size_t n_waits,
                             const usm_patience *patience, usm_error *error);

/* The driver's stream of a queue, for others to be ordered with; NULL: the queue has none. */
void *usm_queue_stream(const usm_queue *queue);

/*
 * A new queue that enqueues in the stream `handle` of the device, which lives as long as `keeps` (taken over
 * on success). USM_BUFFER where the device has no streams.
 */
usm_status usm_stream_adopt(usm_device *device, void *handle, usm_keep *keeps, USM_GIVES usm_queue **out,
                            usm_error *error);

/* The queues that a place keeps for streams of other libraries. */
extern const usm_place_part usm_stream_part;

#endif
