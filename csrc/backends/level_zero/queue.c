/*
 * Queues. A task whose dependencies the driver knows is appended to one of the queue's lists (command_list.c)
 * in its submission, with their events to wait for. One that depends on something else (the host, another
 * context, a task not yet appended) is appended when that has ended: USM_LATER.
 */
#include "level_zero.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

/*
 * The list for computing is made at once, so that its failure is that of the queue; the one for copying at
 * the first large copy.
 */
usm_status usm_level_zero_queue_create(usm_queue *queue, usm_error *error)
{
    usm_level_zero_queue *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a queue");
    }
    native->lists[USM_LEVEL_ZERO_COMPUTE].id = queue->foreign;
    queue->native = native;
    atomic_fetch_add(&usm_level_zero_context_of(queue->context)->users, 1);
    usm_status status = usm_level_zero_list_make(queue, USM_LEVEL_ZERO_COMPUTE, error);
    if (status != USM_OK) {
        usm_level_zero_queue_destroy(queue);
        queue->native = NULL;
    }
    return status;
}

/* A list of another library is left to it. */
void usm_level_zero_queue_destroy(usm_queue *queue)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(queue);
    usm_level_zero_lists_free(queue);
    atomic_fetch_sub(&usm_level_zero_context_of(queue->context)->users, 1);
    free(native);
}

/*
 * Fills in the events to wait for. False: the driver cannot wait for one of the links. A list in order keeps
 * its own order; tasks of other lists, and of lists without an order, wait for each other's events.
 */
static bool collect(const usm_level_zero_event *event, ze_event_handle_t *waits, uint32_t *n)
{
    const usm_event *base = &event->event;
    const usm_level_zero_list *list = &usm_level_zero_queue_of(base->queue)->lists[event->list];
    *n = 0;
    for (size_t i = 0; i < base->n_links; i++) {
        const usm_link *link = &base->links[i];
        usm_link_state state = usm_link_look(base, link);
        if (state == USM_LINK_ENDED) {
            continue;
        }
        if (state == USM_LINK_ELSEWHERE || link->event->queue->context != base->queue->context) {
            return false;
        }
        bool same_list =
            link->event->queue == base->queue && ((usm_level_zero_event *)link->event)->list == event->list;
        if (!(same_list && list->in_order)) {
            waits[(*n)++] =
                atomic_load_explicit(&((usm_level_zero_event *)link->event)->slot, memory_order_acquire)->id;
        }
    }
    return true;
}

/* `waits` has room for all links. */
static usm_status submit(usm_level_zero_event *event, const usm_command *command, ze_event_handle_t *waits,
                         usm_error *error)
{
    uint32_t n = 0;
    if (!collect(event, waits, &n)) {
        return USM_LATER;
    }
    return usm_level_zero_append(event, command, n, waits, error);
}

/*
 * A fill of memory that the driver does not know, which is the host's: zeCommandListAppendMemoryFill takes
 * memory of its context alone, where copies take any.
 */
static bool is_fill_of_host(const usm_event *event, const usm_command *command)
{
    return command->kind == USM_COMMAND_FILL && !event->queue->device->info.has_usm_system &&
           (event->n_accesses == 0 || event->accesses[0].alloc->context != event->queue->context);
}

enum { FILL_PART = 16 << 10 }; /* a multiple of all patterns */

/* Such a fill. */
usm_status usm_level_zero_queue_run(usm_event *event, const usm_command *command, usm_error *error)
{
    char *dst = command->as.fill.dst;
    size_t nbytes = command->as.fill.nbytes, done = command->as.fill.pattern_size;
    (void)event, (void)error;
    memcpy(dst, command->as.fill.pattern, done);
    while (done < nbytes) { /* what is there, doubled as long as it stays in a cache */
        size_t part = done < FILL_PART ? done : FILL_PART;
        part = part < nbytes - done ? part : nbytes - done;
        memcpy(dst + done, dst, part);
        done += part;
    }
    return USM_OK;
}

/*
 * The list of events is on the stack for the usual number of links. Nothing is kept of it: the append
 * copies the handles.
 */
usm_status usm_level_zero_queue_submit(usm_event *base, const usm_command *command, usm_error *error)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    ze_event_handle_t few[USM_INLINE_LINKS], *waits = few;
    if (command->kind == USM_COMMAND_HOST || is_fill_of_host(base, command)) {
        return USM_ON_HOST;
    }
    if (base->n_links > USM_INLINE_LINKS) {
        waits = usm_malloc(base->n_links * sizeof *waits);
        if (waits == NULL) {
            return usm_error_memory(error, base->n_links * sizeof *waits, "a list of events");
        }
    }
    event->list = usm_level_zero_list_for(base->queue, command);
    usm_status status = submit(event, command, waits, error);
    if (waits != few) {
        free(waits);
    }
    return status;
}

/* Only points in the order, which have been reached, since nothing has to be waited for. */
bool usm_level_zero_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                                  int64_t *end_ns)
{
    if (!usm_command_is_point(command) || usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}
