#include "alloc_stream.h"

#include "core/base/sync.h"
#include "core/device/backend.h"
#include "hazard.h"
#include "stream.h"

#include <time.h>

void usm_alloc_stream_attach(usm_alloc *alloc, usm_device *device, void *stream)
{
    alloc->stream_device = device;
    atomic_store_explicit(&alloc->stream, stream, memory_order_relaxed);
    /* Not 0: a check without a lock must not find the memory idle. */
    atomic_store_explicit(&alloc->hazards.pending, 1, memory_order_relaxed);
    atomic_store_explicit(&alloc->flags, USM_ALLOC_FOREIGN | USM_ALLOC_UNORDERED, memory_order_release);
}

static bool is_unordered(usm_alloc *alloc)
{
    return (atomic_load_explicit(&alloc->flags, memory_order_acquire) & USM_ALLOC_UNORDERED) != 0;
}

void usm_alloc_finish_lent(usm_alloc *alloc)
{
    const struct timespec pause = {.tv_nsec = 50000};
    int64_t deadline_ns = usm_clock_ns() + INT64_C(10000000000);
    while (is_unordered(alloc) && usm_clock_ns() < deadline_ns) {
        usm_alloc_settle(alloc);
        if (is_unordered(alloc)) {
            nanosleep(&pause, NULL);
        }
    }
}

/* The stream is idle, or its work is a task here: removes what was counted for it. */
static void is_in_order(usm_alloc *alloc)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    atomic_fetch_and_explicit(&alloc->flags, (uint8_t)~USM_ALLOC_UNORDERED, memory_order_release);
    usm_hazard_recount(alloc);
    usm_hazard_unlock(stripe);
}

/* Makes a task that accesses the memory of what is in the stream so far. */
static usm_status mark(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *handle,
                       usm_error *error)
{
    usm_queue *stream;
    const usm_access access = {alloc, mode};
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {
        .command = &command, .accesses = &access, .n_accesses = 1, .orders = true};
    usm_status status = usm_stream_queue(device, handle, &stream, error);
    if (status == USM_OK) {
        status = usm_queue_submit(stream, &submission, NULL, error);
        usm_queue_release(stream);
    }
    return status;
}

usm_status usm_alloc_stream_join(usm_alloc *alloc, usm_queue *queue, usm_error *error)
{
    usm_stream_facts facts;
    usm_device *device = alloc->stream_device;
    const usm_backend *backend = device->backend;
    void *stream = atomic_load_explicit(&alloc->stream, memory_order_relaxed);
    if (queue != NULL && queue->in_order && usm_queue_stream(queue) == stream && queue->device == device) {
        return USM_OK; /* for others there is still something to be done */
    }
    usm_status status = backend->native->stream_inspect(device, stream, &facts, error);
    if (status != USM_OK) {
        return status;
    }
    if (facts.capturing) {
        return usm_error_set(
            error, USM_BUFFER,
            "the stream %p that this memory came from is being captured into a graph, and other queues cannot "
            "wait for it: work in Queue.from_stream() of that stream, which becomes a part of the graph, or end "
            "the capture first",
            stream);
    }
    /* Two threads may both do this: the second marker changes nothing. */
    status = facts.idle ? USM_OK : mark(alloc, USM_READ_WRITE, device, stream, error);
    if (status == USM_OK) {
        is_in_order(alloc);
    }
    return status;
}

void usm_alloc_settle(usm_alloc *alloc)
{
    usm_wait_list waits;
    usm_stream_facts facts;
    if (!usm_alloc_is_busy(alloc)) {
        return;
    }
    if (usm_hazard_look(alloc, USM_READ_WRITE, &waits, NULL) == USM_OK) {
        for (size_t i = 0; i < waits.n; i++) {
            (void)usm_event_has_ended(waits.items[i].event);
        }
    }
    usm_wait_list_clear(&waits);
    if (is_unordered(alloc) &&
        alloc->stream_device->backend->native->stream_inspect(
            alloc->stream_device, atomic_load_explicit(&alloc->stream, memory_order_relaxed), &facts, NULL) ==
            USM_OK &&
        facts.idle && !facts.capturing) {
        is_in_order(alloc);
    }
}

usm_status usm_alloc_stream_signal(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_wait_list waits;
    usm_status status = USM_OK;
    if (is_unordered(alloc) && atomic_load_explicit(&alloc->stream, memory_order_relaxed) == stream &&
        atomic_load_explicit(&alloc->hazards.pending, memory_order_acquire) == 1) {
        return USM_OK; /* whatever is pending is in that very stream */
    }
    usm_alloc_settle(alloc);
    if (!usm_alloc_is_busy(alloc)) {
        return USM_OK;
    }
    if (is_unordered(alloc) && atomic_load_explicit(&alloc->stream, memory_order_relaxed) != stream) {
        status = usm_alloc_stream_join(alloc, NULL, error);
    }
    if (status != USM_OK) {
        return status;
    }
    status = usm_hazard_look(alloc, mode, &waits, error);
    if (status == USM_OK && waits.n > 0) {
        status = usm_stream_follow(device, stream, waits.items, waits.n, poll, argument, error);
    }
    usm_wait_list_clear(&waits);
    return status;
}

usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    if (is_unordered(alloc) && atomic_load_explicit(&alloc->stream, memory_order_relaxed) != stream) {
        usm_status status = usm_alloc_stream_join(alloc, NULL, error);
        if (status != USM_OK) {
            return status;
        }
    }
    usm_hazard_lock(stripe);
    alloc->stream_device = device;
    atomic_store_explicit(&alloc->stream, stream, memory_order_relaxed);
    atomic_fetch_or_explicit(&alloc->flags, USM_ALLOC_UNORDERED, memory_order_release);
    usm_hazard_recount(alloc);
    usm_hazard_unlock(stripe);
    return USM_OK;
}

usm_status usm_alloc_stream_retain(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_error *error)
{
    usm_stream_facts facts;
    usm_status status = device->backend->native->stream_inspect(device, stream, &facts, error);
    return status != USM_OK || facts.idle || facts.capturing ? status
                                                             : mark(alloc, mode, device, stream, error);
}
