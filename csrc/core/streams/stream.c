#include "stream.h"

#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/device/rule.h"
#include "core/tasks/wait.h"

/* The most streams of a place; one more drops the oldest. */
#define MOST_STREAMS 64

typedef struct usm_stream {
    struct usm_stream *next;
    void *handle;
    uint64_t id;
    usm_queue *queue; /* one count, which is no live object of anybody's */
} usm_stream;

usm_status usm_stream_inspect(usm_device *device, void *handle, usm_stream_facts *facts, usm_error *error)
{
    const usm_backend *backend = device->backend;
    return usm_backend_has_streams(backend)
               ? USM_UNLESS_FORKED(backend, error,
                                   USM_CALL(backend->native, stream_inspect)(device, handle, facts, error))
               : usm_error_set(error, USM_BUFFER,
                               "memory of backend %s has no streams that other libraries could use",
                               backend->name);
}

void *usm_queue_stream(const usm_queue *queue)
{
    const usm_backend *backend = queue->backend;
    return !usm_backend_has_streams(backend) ? NULL
                                             : USM_CALL(backend->native, handle)(USM_NATIVE_QUEUE, queue);
}

/* A destroyed stream's handle may come back for another one: the id tells them apart. */
static usm_queue *find(usm_place *place, const void *handle, uint64_t id)
{
    usm_leaf *leaf = usm_leaf_of(place);
    usm_mutex_lock(&leaf->mutex);
    usm_stream *at = place->streams;
    while (at != NULL && (at->handle != handle || at->id != id)) {
        at = at->next;
    }
    usm_queue *queue = at != NULL ? usm_queue_retain(at->queue) : NULL;
    usm_mutex_unlock(&leaf->mutex);
    return queue;
}

static void forget(usm_stream *stream)
{
    usm_live_add(USM_LIVE_QUEUE, 1); /* usm_queue_release counts it down */
    usm_queue_release(stream->queue);
    free(stream);
}

/*
 * Puts the stream in front of the list. Returns the last one if there are too many, for the caller to drop
 * with no lock held.
 */
static usm_stream *keep(usm_place *place, usm_stream *stream)
{
    int n = 1;
    usm_stream *last = NULL;
    usm_leaf *leaf = usm_leaf_of(place);
    usm_mutex_lock(&leaf->mutex);
    stream->next = place->streams;
    place->streams = stream;
    for (usm_stream **at = &stream->next; *at != NULL; at = &(*at)->next) {
        if (++n > MOST_STREAMS && (*at)->next == NULL) {
            last = *at; /* pending work of it holds counts of its own */
            *at = NULL;
            break;
        }
    }
    usm_mutex_unlock(&leaf->mutex);
    return last;
}

/* The queue is of the default context, which never goes. */
usm_status usm_stream_queue(usm_device *device, void *handle, usm_queue **out, usm_error *error)
{
    usm_stream_facts facts;
    usm_place *place;
    usm_status status = usm_stream_inspect(device, handle, &facts, error);
    if (status == USM_OK) {
        status = usm_context_place(NULL, usm_device_root(device), &place, error);
    }
    if (status != USM_OK) {
        return status;
    }
    *out = find(place, handle, facts.id);
    if (*out != NULL) {
        return USM_OK;
    }
    usm_stream *stream = usm_calloc(1, sizeof *stream);
    if (stream == NULL) {
        return usm_error_memory(error, sizeof *stream, "a record of a stream");
    }
    facts.options.foreign = handle;
    status = usm_queue_create(place, &facts.options, &stream->queue, error);
    if (status != USM_OK) {
        free(stream);
        return status;
    }
    stream->handle = handle;
    stream->id = facts.id;
    *out = usm_queue_retain(stream->queue);
    usm_live_add(USM_LIVE_QUEUE, -1);
    stream = keep(place, stream);
    if (stream != NULL) {
        forget(stream);
    }
    return USM_OK;
}

/* The task is in the stream itself, so that later work there is ordered after it. */
static bool is_in_stream(usm_event *event, const usm_device *device, const void *handle)
{
    const usm_queue *queue = event->queue;
    return queue->in_order && queue->device == device && usm_queue_stream(queue) == handle;
}

/*
 * Leaves in `waits` what has not ended, is not in the stream, and the driver's streams can wait for. All
 * other tasks that are not in the stream have ended when this returns.
 */
static usm_status wait_for_host(const usm_device *device, const void *handle, usm_wait *waits, size_t *n,
                                const usm_patience *patience, usm_error *error)
{
    size_t kept = 0;
    const usm_backend *backend = device->backend;
    for (size_t i = 0; i < *n; i++) {
        usm_event *event = waits[i].event;
        if (usm_event_has_ended(event)) {
            continue;
        }
        if (event->queue->backend == backend && usm_event_in_driver(event)) {
            if (!is_in_stream(event, device, handle)) {
                waits[kept++] = waits[i];
            }
            continue;
        }
        usm_status status = usm_event_wait_end(event, patience, error);
        if (status != USM_OK) {
            return status;
        }
    }
    *n = kept;
    return USM_OK;
}

usm_status usm_stream_follow(usm_device *device, void *handle, const usm_wait *waits, size_t n_waits,
                             const usm_patience *patience, usm_error *error)
{
    usm_stream_facts facts;
    usm_queue *stream = NULL;
    usm_status status = usm_stream_inspect(device, handle, &facts, error);
    if (status != USM_OK || n_waits == 0) {
        return status;
    }
    usm_wait *left = usm_malloc(n_waits * sizeof *left); /* borrows the caller's counts */
    if (left == NULL) {
        return usm_error_memory(error, n_waits * sizeof *left, "a list of dependencies");
    }
    for (size_t i = 0; i < n_waits; i++) {
        left[i] = (usm_wait){waits[i].event, false};
    }
    status = wait_for_host(device, handle, left, &n_waits, patience, error);
    if (status == USM_OK && n_waits > 0 && facts.capturing) {
        status = usm_error_set(
            error, USM_BUFFER,
            "work on this memory is pending, and the stream %p is being captured into a graph, which "
            "cannot wait for it: wait for the work before the capture begins",
            handle);
    } else if (status == USM_OK && n_waits > 0) {
        status = usm_stream_queue(device, handle, &stream, error);
    }
    if (stream != NULL) {
        const usm_submission submission = {.command = USM_MARKER, .waits = left, .n_waits = n_waits};
        status = usm_queue_submit(stream, &submission, NULL, error);
        usm_queue_release(stream);
    }
    free(left);
    return status;
}

usm_status usm_stream_adopt(usm_device *device, void *handle, usm_keep *keeps, usm_queue **out,
                            usm_error *error)
{
    usm_stream_facts facts;
    usm_place *place;
    usm_status status = usm_stream_inspect(device, handle, &facts, error);
    if (status == USM_OK) {
        status = usm_context_place(NULL, usm_device_root(device), &place, error);
    }
    if (status == USM_OK) {
        facts.options.foreign = handle;
        status = usm_queue_create(place, &facts.options, out, error);
    }
    if (status == USM_OK) {
        (*out)->keeps = keeps;
    }
    return status;
}

static void free_streams(usm_place *place)
{
    while (place->streams != NULL) {
        usm_stream *stream = place->streams;
        place->streams = stream->next;
        forget(stream);
    }
}

const usm_place_part usm_stream_part = {.destroy = free_streams};
