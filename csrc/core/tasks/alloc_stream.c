#include "alloc_stream.h"

#include "core/base/sync.h"
#include "core/device/rule.h"
#include "hazard.h"
#include "stream.h"

#include <time.h>

void usm_alloc_stream_attach(usm_alloc *alloc, usm_device *device, void *stream)
{
    alloc->stream_device = device;
    alloc->stream = stream;
    /* Not 0: a check without a lock must not find the memory idle. */
    atomic_store_explicit(&alloc->hazards.pending, 1, memory_order_relaxed);
    atomic_store_explicit(&alloc->flags, USM_ALLOC_FOREIGN | USM_ALLOC_UNORDERED, memory_order_release);
}

static bool is_unordered(usm_alloc *alloc)
{
    return (atomic_load_explicit(&alloc->flags, memory_order_acquire) & USM_ALLOC_UNORDERED) != 0;
}

/* The last lend of an allocation, as it was at one moment. */
typedef struct lend {
    usm_device *device;
    void *stream;
    uint64_t number;
    bool alone; /* nothing else is pending on the memory */
} lend;

/* False: the memory is not lent, or its stream is in order here. No lock. */
static bool look(usm_alloc *alloc, lend *out)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    if (!is_unordered(alloc)) {
        return false;
    }
    usm_hazard_lock(stripe);
    bool unordered = is_unordered(alloc);
    *out = (lend){alloc->stream_device, alloc->stream, alloc->lends,
                  atomic_load_explicit(&alloc->hazards.pending, memory_order_relaxed) == 1};
    usm_hazard_unlock(stripe);
    return unordered;
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

/*
 * The stream of this lend is idle, or its work is a task here: removes what was counted for it. Another
 * thread may have lent the memory since the look: that lend stays.
 */
static void clear_unordered(usm_alloc *alloc, const lend *looked_at)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    if (alloc->lends == looked_at->number) {
        atomic_fetch_and_explicit(&alloc->flags, (uint8_t)~USM_ALLOC_UNORDERED, memory_order_release);
        usm_hazard_recount(alloc);
    }
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

/* Makes what is in the stream of this lend a task, unless it is idle. */
static usm_status join(usm_alloc *alloc, const lend *lend, usm_error *error)
{
    usm_stream_facts facts;
    usm_status status =
        USM_CALL(lend->device->backend->native, stream_inspect)(lend->device, lend->stream, &facts, error);
    if (status != USM_OK) {
        return status;
    }
    if (facts.capturing) {
        return usm_error_set(
            error, USM_BUFFER,
            "the stream %p that this memory came from is being captured into a graph, and other queues cannot "
            "wait for it: work in Queue.from_stream() of that stream, which becomes a part of the graph, or end "
            "the capture first",
            lend->stream);
    }
    /* Two threads may both do this: the second marker changes nothing. */
    status = facts.idle ? USM_OK : mark(alloc, USM_READ_WRITE, lend->device, lend->stream, error);
    if (status == USM_OK) {
        clear_unordered(alloc, lend);
    }
    return status;
}

usm_status usm_alloc_stream_join(usm_alloc *alloc, usm_queue *queue, usm_error *error)
{
    lend lend;
    if (!look(alloc, &lend) || (queue != NULL && queue->in_order && queue->device == lend.device &&
                                usm_queue_stream(queue) == lend.stream)) {
        return USM_OK; /* for others there is still something to be done */
    }
    return join(alloc, &lend, error);
}

void usm_alloc_settle(usm_alloc *alloc)
{
    usm_wait_list waits;
    usm_stream_facts facts;
    lend lend;
    if (!usm_alloc_is_busy(alloc)) {
        return;
    }
    if (usm_hazard_look(alloc, USM_READ_WRITE, &waits, NULL) == USM_OK) {
        for (size_t i = 0; i < waits.n; i++) {
            (void)usm_event_has_ended(waits.items[i].event);
        }
    }
    usm_wait_list_clear(&waits);
    if (look(alloc, &lend) &&
        USM_CALL(lend.device->backend->native, stream_inspect)(lend.device, lend.stream, &facts, NULL) ==
            USM_OK &&
        facts.idle && !facts.capturing) {
        clear_unordered(alloc, &lend);
    }
}

static bool is_in(const lend *lend, const usm_device *device, const void *stream)
{
    return lend->device == device && lend->stream == stream;
}

usm_status usm_alloc_stream_signal(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_wait_list waits;
    lend lend;
    if (look(alloc, &lend) && lend.alone && is_in(&lend, device, stream)) {
        return USM_OK; /* whatever is pending is in that very stream */
    }
    usm_alloc_settle(alloc);
    if (!usm_alloc_is_busy(alloc)) {
        return USM_OK;
    }
    usm_status status =
        look(alloc, &lend) && !is_in(&lend, device, stream) ? join(alloc, &lend, error) : USM_OK;
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

/* Records the lend, unless work in another stream is still to be joined, which *earlier then says. */
static bool lend_to(usm_alloc *alloc, usm_device *device, void *stream, lend *earlier)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    *earlier = (lend){alloc->stream_device, alloc->stream, alloc->lends, false};
    bool lends = !is_unordered(alloc) || is_in(earlier, device, stream);
    if (lends) {
        alloc->stream_device = device;
        alloc->stream = stream;
        alloc->lends++;
        atomic_fetch_or_explicit(&alloc->flags, USM_ALLOC_UNORDERED, memory_order_release);
        usm_hazard_recount(alloc);
    }
    usm_hazard_unlock(stripe);
    return lends;
}

usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error)
{
    lend earlier;
    while (!lend_to(alloc, device, stream, &earlier)) {
        usm_status status = join(alloc, &earlier, error);
        if (status != USM_OK) {
            return status;
        }
    }
    return USM_OK;
}

usm_status usm_alloc_stream_retain(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_error *error)
{
    usm_stream_facts facts;
    usm_status status = USM_CALL(device->backend->native, stream_inspect)(device, stream, &facts, error);
    return status != USM_OK || facts.idle || facts.capturing ? status
                                                             : mark(alloc, mode, device, stream, error);
}
