#include "copy.h"

#include "core/builtin/kernel_command.h"
#include "core/device/backend.h"
#include "core/tasks/wait.h"
#include "route.h"

#include <string.h>

/* One command in `queue`, which reaches both sides. `named` is the queue that the caller asked. */
static usm_status submit_plan(usm_queue *named, usm_queue *queue, const usm_plan *plan,
                              const usm_access *accesses, usm_event **out, usm_error *error)
{
    usm_command command;
    if (usm_strided_is_block(&plan->strided)) {
        command.kind = USM_COMMAND_COPY;
        command.as.copy.dst = plan->strided.dst;
        command.as.copy.src = plan->strided.src;
        command.as.copy.nbytes = (size_t)usm_dtype_nbytes(plan->strided.dst_dtype, plan->strided.shape[0]);
    } else {
        command.kind = USM_COMMAND_STRIDED;
        command.as.strided = &plan->strided;
    }
    const usm_submission submission = {
        .command = &command, .accesses = accesses, .n_accesses = 2, .internal = queue != named};
    return usm_command_submit(queue, &submission, out, error);
}

/* A copy without elements: a marker, for callers that want an event. */
static usm_status submit_nothing(usm_queue *queue, usm_event **out, usm_error *error)
{
    const usm_submission submission = {.command = USM_MARKER};
    return out == NULL ? USM_OK : usm_queue_submit(queue, &submission, out, error);
}

/*
 * Submits every hop of every piece without a wait in between: the hazards of a buffer order its next
 * filling after its emptying. From the second piece on dst is read as well, so that the failure of a
 * piece is still known when the next one has ended.
 */
static usm_status submit_pieces(usm_queue *named, const usm_route *route, usm_access dst,
                                usm_alloc *const *allocs, int turns, usm_event **out, usm_error *error)
{
    usm_status status = USM_OK;
    int last = route->n_hops - 1;
    for (int64_t piece = 0; piece < route->pieces && status == USM_OK; piece++) {
        usm_alloc *const *turn = allocs + piece % turns * (USM_ROUTE_HOPS - 1);
        char *pointers[USM_ROUTE_HOPS - 1] = {NULL};
        for (int i = 0; i < last; i++) {
            pointers[i] = turn[i]->pointer;
        }
        for (int hop = 0; hop <= last && status == USM_OK; hop++) {
            const usm_access accesses[] = {
                hop == last ? dst : (usm_access){turn[hop], USM_WRITE},
                {hop == 0 ? route->src : turn[hop - 1], USM_READ},
            };
            bool ends = hop == last && piece == route->pieces - 1;
            usm_plan plan;
            usm_route_hop(route, hop, piece, pointers, &plan);
            status = submit_plan(named, route->queues[hop], &plan, accesses, ends ? out : NULL, error);
        }
        dst.mode = USM_READ_WRITE; /* of the next piece */
    }
    return status;
}

/* A route with several hops: allocates its buffers, two of each if they are used in turn. */
static usm_status submit_through(usm_queue *named, const usm_route *route, usm_access dst, usm_event **out,
                                 usm_error *error)
{
    enum { MOST = 2 * (USM_ROUTE_HOPS - 1) };
    usm_alloc *allocs[MOST] = {NULL};
    usm_status status = USM_OK;
    int turns = route->pieces > 1 ? 2 : 1;
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < route->n_hops - 1 && status == USM_OK; i++) {
            const usm_route_buffer *buffer = &route->buffers[i];
            status = usm_alloc_create(buffer->place, buffer->kind, usm_route_buffer_bytes(route, i), false,
                                      &allocs[turn * (USM_ROUTE_HOPS - 1) + i], error);
        }
    }
    if (status == USM_OK) {
        status = submit_pieces(named, route, dst, allocs, turns, out, error);
    }
    for (int i = 0; i < MOST; i++) {
        if (allocs[i] != NULL) {
            usm_alloc_release(allocs[i]); /* the tasks hold it */
        }
    }
    return status;
}

/* Whether the steps of the copy would be ordered after the task that this thread runs. */
static usm_status check_wait(const usm_route *route, usm_access dst, usm_error *error)
{
    const usm_command command = {.kind = USM_COMMAND_COPY};
    usm_status status = USM_OK;
    for (int hop = 0; hop < route->n_hops && status == USM_OK; hop++) {
        usm_access accesses[2];
        usm_submission submission = {.command = &command, .accesses = accesses};
        if (hop == 0) {
            accesses[submission.n_accesses++] = (usm_access){route->src, USM_READ};
        }
        if (hop == route->n_hops - 1) {
            accesses[submission.n_accesses++] = dst;
        }
        status = usm_queue_check_wait(route->queues[hop], &submission, error);
    }
    return status;
}

usm_status usm_copy_check_wait(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error)
{
    usm_route route;
    if (USM_LIKELY(usm_event_current() == NULL)) {
        return USM_OK;
    }
    usm_status status = usm_route_plan(&route, queue, dst, src, error);
    if (status == USM_OK) {
        status = check_wait(&route, usm_write_view(dst), error);
        usm_route_clear(&route);
    }
    return status;
}

static usm_status submit_route(usm_queue *queue, const usm_route *route, usm_access dst, usm_event **out,
                               usm_error *error)
{
    if (route->n_hops == 0) {
        return submit_nothing(queue, out, error);
    }
    if (USM_LIKELY(route->n_hops == 1)) {
        const usm_access accesses[] = {dst, {route->src, USM_READ}};
        return submit_plan(queue, route->queues[0], &route->axes, accesses, out, error);
    }
    return submit_through(queue, route, dst, out, error);
}

usm_status usm_copy_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_event **out,
                           usm_error *error)
{
    usm_route route;
    usm_status status = usm_route_plan(&route, queue, dst, src, error);
    if (status != USM_OK) {
        return status;
    }
    if (USM_UNLIKELY(usm_alloc_is_loaned(dst->alloc) || usm_alloc_is_loaned(src->alloc))) {
        status = check_wait(&route, usm_write_view(dst), error);
    }
    if (USM_LIKELY(status == USM_OK)) {
        status = submit_route(queue, &route, usm_write_view(dst), out, error);
    }
    usm_route_clear(&route);
    return status;
}

usm_status usm_fill_submit(usm_queue *queue, const usm_view *dst, const void *value, usm_event **out,
                           usm_error *error)
{
    size_t size = usm_dtype_table[dst->dtype].itemsize;
    if (usm_view_size(dst) == 0) {
        return submit_nothing(queue, out, error);
    }
    usm_plan plan;
    usm_copy_plan(&plan, dst, dst);
    if (plan.strided.ndim == 1 && plan.strided.dst_strides[0] == (int64_t)size) {
        const usm_access access = usm_write_view(dst);
        usm_command command = {.kind = USM_COMMAND_FILL};
        const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
        command.as.fill.dst = plan.strided.dst;
        command.as.fill.nbytes = (size_t)plan.strided.shape[0] * size;
        command.as.fill.pattern_size = size;
        memcpy(command.as.fill.pattern, value, size);
        return usm_command_submit(queue, &submission, out, error);
    }
    /* One element, read for every element of dst; on a device without host memory it is filled in first. */
    usm_kind kind = queue->device->info.has_usm_host ? USM_HOST : USM_DEVICE;
    usm_alloc *element;
    usm_status status = usm_alloc_create(queue->place, kind, size, false, &element, error);
    if (status != USM_OK) {
        return status;
    }
    int64_t zeros[USM_MAX_NDIM] = {0};
    const usm_view src = {element, element->pointer, dst->dtype, dst->ndim, dst->shape, zeros};
    if (kind == USM_HOST) {
        memcpy(element->pointer, value, size);
    } else {
        const usm_view one = {element, element->pointer, dst->dtype, 0, NULL, NULL};
        status = usm_fill_submit(queue, &one, value, NULL, error);
    }
    if (status == USM_OK) {
        const usm_access accesses[] = {usm_write_view(dst), {element, USM_READ}};
        usm_copy_plan(&plan, dst, &src);
        status = submit_plan(queue, queue, &plan, accesses, out, error);
    }
    usm_alloc_release(element);
    return status;
}
