#include "lend.h"

#include "core/base/detach.h"
#include "core/base/sync.h"
#include "core/device/rule.h"
#include "core/tasks/hazard.h"
#include "core/tasks/unretrieved.h"
#include "core/tasks/wait.h"
#include "stream.h"

/* The last lend of an allocation, as it was at one moment. */
typedef struct lend {
    usm_device *device;
    void *stream;
    uint64_t id; /* as usm_alloc.stream_id */
    uint64_t number;
    bool alone; /* nothing else is pending on the memory */
} lend;

/* False: the memory is not lent, or its stream is in order here. No lock. */
static bool look(usm_alloc *alloc, lend *out)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    if (!usm_alloc_has(alloc, USM_ALLOC_UNORDERED)) {
        return false;
    }
    usm_hazard_lock(stripe);
    bool unordered = usm_alloc_has(alloc, USM_ALLOC_UNORDERED);
    *out = (lend){alloc->stream_device, alloc->stream, alloc->stream_id, alloc->lends,
                  atomic_load_explicit(&alloc->hazards.pending, memory_order_relaxed) == 1};
    usm_hazard_unlock(stripe);
    return unordered;
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
    const usm_submission submission = {
        .command = USM_MARKER, .accesses = &access, .n_accesses = 1, .orders = true};
    usm_status status = usm_stream_queue(device, handle, &stream, error);
    if (status == USM_OK) {
        status = usm_queue_submit(stream, &submission, NULL, error);
        usm_queue_release(stream);
    }
    return status;
}

/* Waits until all has ended that the device got before the moment `since_ns`. */
static usm_status synchronize(usm_device *device, int64_t since_ns, usm_error *error)
{
    usm_status status = USM_OK;
    if (atomic_load_explicit(&device->synchronized_ns, memory_order_acquire) <= since_ns &&
        !usm_is_forked(device->backend)) { /* where no work of it is */
        int64_t now_ns = usm_clock_ns();
        void *thread = usm_detach();
        status = USM_CALL(device->backend->native, synchronize)(device, error);
        usm_attach(thread);
        if (status == USM_OK) {
            atomic_store_explicit(&device->synchronized_ns, now_ns, memory_order_release);
        }
    }
    return status;
}

/*
 * Whether the lend is to this stream, which lives: no other one has got its handle since. One that is being
 * captured cannot be asked.
 */
static bool is_to(const lend *lend, usm_device *device, void *stream)
{
    if (lend->device != device || lend->stream != stream || lend->id == USM_STREAM_NO_ID ||
        usm_is_forked(device->backend)) {
        return false;
    }
    uint64_t id = lend->id != 0 ? USM_CALL(device->backend->native, stream_id)(device, stream) : 0;
    return id == 0 || id == lend->id;
}

/*
 * Makes what is in the stream of this lend a task, unless it is idle. Where the stream has gone, or nobody
 * named it, waits for the device.
 */
static usm_status join(usm_alloc *alloc, const lend *lend, usm_error *error)
{
    usm_stream_facts facts;
    if (!is_to(lend, lend->device, lend->stream)) {
        usm_status ended = synchronize(lend->device, usm_clock_ns(), error);
        if (ended == USM_OK) {
            clear_unordered(alloc, lend);
        }
        return ended;
    }
    usm_status status = usm_stream_inspect(lend->device, lend->stream, &facts, error);
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

static usm_status join_stream(usm_alloc *alloc, usm_queue *queue, usm_error *error)
{
    lend lend;
    if (!look(alloc, &lend)) {
        return USM_OK;
    }
    bool own = queue != NULL && queue->in_order && is_to(&lend, queue->device, usm_queue_stream(queue));
    return own ? USM_OK /* for others there is still something to be done */
               : join(alloc, &lend, error);
}

static bool hold(usm_alloc *alloc, bool alive)
{
    lend lend;
    usm_error error;
    if (!look(alloc, &lend) || (lend.id != 0 && !alive)) {
        return false;
    }
    usm_status status = join(alloc, &lend, &error);
    if (status != USM_OK) {
        usm_unretrieved_report_once(&error);
    }
    return status == USM_OK && usm_alloc_is_busy(alloc);
}

/* The stream can be asked, and is idle: it needs no order. */
static void settle(usm_alloc *alloc)
{
    usm_stream_facts facts;
    lend lend;
    if (look(alloc, &lend) && lend.id == 0 &&
        usm_stream_inspect(lend.device, lend.stream, &facts, NULL) == USM_OK && facts.idle &&
        !facts.capturing) {
        clear_unordered(alloc, &lend);
    }
}

static bool end(usm_alloc *alloc, int64_t since_ns, bool waits)
{
    lend lend;
    usm_error error;
    settle(alloc);
    if (!look(alloc, &lend)) {
        return true;
    }
    usm_status status = waits ? synchronize(lend.device, since_ns, &error) : USM_LATER;
    if (status == USM_OK) {
        clear_unordered(alloc, &lend);
    } else if (waits) {
        usm_unretrieved_report_once(&error);
    }
    return status == USM_OK;
}

static const usm_lender lender = {.join = join_stream, .hold = hold, .end = end};

void usm_alloc_stream_attach(usm_alloc *alloc, usm_device *device, void *stream)
{
    alloc->stream_device = device;
    alloc->stream = stream;
    alloc->stream_id = 0;
    atomic_store_explicit(&alloc->lender, &lender, memory_order_relaxed);
    /* Not 0: a check without a lock must not find the memory idle. */
    atomic_store_explicit(&alloc->hazards.pending, 1, memory_order_relaxed);
    atomic_store_explicit(&alloc->flags, USM_ALLOC_FOREIGN | USM_ALLOC_UNORDERED, memory_order_release);
}

void usm_alloc_settle(usm_alloc *alloc)
{
    usm_wait_list waits;
    if (!usm_alloc_is_busy(alloc)) {
        return;
    }
    if (usm_hazard_look(alloc, USM_READ_WRITE, &waits, NULL) == USM_OK) {
        for (size_t i = 0; i < waits.n; i++) {
            (void)usm_event_has_ended(waits.items[i].event);
        }
    }
    usm_wait_list_clear(&waits);
    settle(alloc);
}

usm_status usm_alloc_stream_signal(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   const usm_patience *patience, usm_error *error)
{
    usm_wait_list waits;
    lend lend;
    bool in_it = look(alloc, &lend) && is_to(&lend, device, stream);
    if (in_it && lend.alone) {
        return USM_OK; /* whatever is pending is in that very stream */
    }
    usm_alloc_settle(alloc);
    if (!usm_alloc_is_busy(alloc)) {
        return USM_OK;
    }
    usm_status status =
        look(alloc, &lend) && !is_to(&lend, device, stream) ? join(alloc, &lend, error) : USM_OK;
    if (status != USM_OK) {
        return status;
    }
    status = usm_hazard_look(alloc, mode, &waits, error);
    if (status == USM_OK && waits.n > 0) {
        status = usm_stream_follow(device, stream, waits.items, waits.n, patience, error);
    }
    usm_wait_list_clear(&waits);
    return status;
}

/*
 * Records the lend, unless work in another stream is still to be joined, which *earlier then says. `all`:
 * what is pending there and here has no stream in common, so that the device is waited for.
 */
static bool lend_to(usm_alloc *alloc, const lend *new, bool all, lend *earlier)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    *earlier = (lend){alloc->stream_device, alloc->stream, alloc->stream_id, alloc->lends, false};
    bool other = usm_alloc_has(alloc, USM_ALLOC_UNORDERED) &&
                 (earlier->device != new->device || earlier->stream != new->stream || earlier->id != new->id);
    if (!other || all) {
        alloc->stream_device = new->device;
        alloc->stream = new->stream;
        atomic_store_explicit(&alloc->lender, &lender, memory_order_relaxed);
        alloc->stream_id = other ? USM_STREAM_NO_ID : new->id;
        alloc->lends++;
        atomic_fetch_or_explicit(&alloc->flags, USM_ALLOC_UNORDERED, memory_order_release);
        usm_hazard_recount(alloc);
    }
    usm_hazard_unlock(stripe);
    return !other || all;
}

usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error)
{
    lend earlier;
    const lend new = {.device = device, .stream = stream};
    while (!lend_to(alloc, &new, false, &earlier)) {
        usm_status status = join(alloc, &earlier, error);
        if (status != USM_OK) {
            return status;
        }
    }
    return USM_OK;
}

void usm_alloc_lend_ended(usm_alloc *alloc, usm_device *device, void *stream, uint64_t id)
{
    lend earlier;
    usm_error error;
    const lend new = {.device = device, .stream = stream, .id = id};
    bool all = false;
    while (!lend_to(alloc, &new, all, &earlier)) {
        all = earlier.id != 0 || earlier.device != device;
        if (!all && join(alloc, &earlier, &error) != USM_OK) {
            usm_unretrieved_report_once(&error);
            all = true;
        }
    }
}

usm_status usm_alloc_stream_retain(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                                   usm_error *error)
{
    usm_stream_facts facts;
    usm_status status = usm_stream_inspect(device, stream, &facts, error);
    return status != USM_OK || facts.idle || facts.capturing ? status
                                                             : mark(alloc, mode, device, stream, error);
}
