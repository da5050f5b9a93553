/*
 * What each command is for the driver (Level Zero Core Programming Guide, Command Queues and Command Lists).
 */
#include "level_zero.h"

/* Smaller copies, in bytes, have ended before the change to another engine pays. */
#define COPY_ENGINE_BYTES ((size_t)1 << 20)

/* Memory of other contexts, and of the process, is of unknown type. */
static ze_memory_type_t type_of(const usm_queue *queue, const void *pointer)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_context_handle_t context = usm_level_zero_context_of(queue->context)->id;
    return usm_level_zero.zeMemGetAllocProperties(context, pointer, &properties, NULL) == ZE_RESULT_SUCCESS
               ? properties.type
               : ZE_MEMORY_TYPE_UNKNOWN;
}

static bool on_device(const usm_queue *queue, const void *pointer)
{
    return type_of(queue, pointer) == ZE_MEMORY_TYPE_DEVICE;
}

/*
 * The queue's list for a command. Engines that only copy take large copies between host and device, so that
 * kernels can run at the same time.
 */
int usm_level_zero_list_for(const usm_queue *queue, const usm_command *command)
{
    bool large = command->kind == USM_COMMAND_COPY && command->as.copy.nbytes >= COPY_ENGINE_BYTES &&
                 usm_level_zero_device_of(queue->device)->copy.exists && !usm_queue_is_shared(queue);
    return large && on_device(queue, command->as.copy.dst) != on_device(queue, command->as.copy.src)
               ? USM_LEVEL_ZERO_COPY
               : USM_LEVEL_ZERO_COMPUTE;
}

/*
 * zeCommandListAppendMemoryCopy does not support regions that overlap: the bytes go through a block that is
 * freed with the task. The second copy signals the task's event.
 */
static ze_result_t append_overlapping(usm_level_zero_event *event, const usm_level_zero_turn *turn,
                                      const usm_command *command)
{
    const usm_queue *queue = event->event.queue;
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    size_t nbytes = command->as.copy.nbytes;
    ze_result_t result =
        usm_level_zero.zeMemAllocDevice(usm_level_zero_context_of(queue->context)->id, &desc, nbytes, 64,
                                        usm_level_zero_device_of(queue->device)->id, &event->temporary);
    if (result != ZE_RESULT_SUCCESS) {
        event->temporary = NULL;
        return result;
    }
    result = usm_level_zero.zeCommandListAppendMemoryCopy(turn->list, event->temporary, command->as.copy.src,
                                                          nbytes, NULL, turn->n_waits, turn->waits);
    if (result == ZE_RESULT_SUCCESS && !usm_level_zero_queue_of(queue)->lists[event->list].in_order) {
        result = usm_level_zero.zeCommandListAppendBarrier(turn->list, NULL, 0, NULL);
    }
    return result == ZE_RESULT_SUCCESS
               ? usm_level_zero.zeCommandListAppendMemoryCopy(turn->list, command->as.copy.dst,
                                                              event->temporary, nbytes, turn->signal, 0, NULL)
               : result;
}

/*
 * The source's context if that is another one of usmpy: the driver must be told
 * (zeCommandListAppendMemoryCopyFromContext). Else NULL.
 */
static ze_context_handle_t context_of_source(const usm_level_zero_event *event, const usm_command *command)
{
    const usm_event *base = &event->event;
    const char *src = command->as.copy.src;
    for (size_t i = 0; i < base->n_accesses; i++) {
        const usm_alloc *alloc = base->accesses[i].alloc;
        const char *block = alloc->pointer;
        if (alloc->context != base->queue->context && alloc->context->backend == base->queue->backend &&
            src >= block && src < block + alloc->size) {
            return usm_level_zero_context_of(alloc->context)->id;
        }
    }
    return NULL;
}

static ze_result_t append_copy(usm_level_zero_event *event, const usm_level_zero_turn *turn,
                               const usm_command *command)
{
    if (usm_command_overlaps(command)) {
        return append_overlapping(event, turn, command);
    }
    ze_context_handle_t other = context_of_source(event, command);
    if (other != NULL) {
        return usm_level_zero.zeCommandListAppendMemoryCopyFromContext(
            turn->list, command->as.copy.dst, other, command->as.copy.src, command->as.copy.nbytes,
            turn->signal, turn->n_waits, turn->waits);
    }
    return usm_level_zero.zeCommandListAppendMemoryCopy(turn->list, command->as.copy.dst,
                                                        command->as.copy.src, command->as.copy.nbytes,
                                                        turn->signal, turn->n_waits, turn->waits);
}

static ze_result_t append_fill(const usm_level_zero_turn *turn, const usm_command *command)
{
    return usm_level_zero.zeCommandListAppendMemoryFill(
        turn->list, command->as.fill.dst, command->as.fill.pattern, command->as.fill.pattern_size,
        command->as.fill.nbytes, turn->signal, turn->n_waits, turn->waits);
}

/*
 * A point in the order. In a list that other libraries use too, their commands count as well: a barrier
 * without events waits for all earlier commands, so events are waited for separately, before it.
 */
static ze_result_t append_point(const usm_level_zero_turn *turn)
{
    if (turn->n_waits == 0 || !usm_queue_is_shared(turn->queue)) {
        return usm_level_zero.zeCommandListAppendBarrier(turn->list, turn->signal, turn->n_waits,
                                                         turn->waits);
    }
    ze_result_t result =
        usm_level_zero.zeCommandListAppendWaitOnEvents(turn->list, turn->n_waits, turn->waits);
    return result == ZE_RESULT_SUCCESS
               ? usm_level_zero.zeCommandListAppendBarrier(turn->list, turn->signal, 0, NULL)
               : result;
}

/*
 * A hint: only shared memory can move. A prefetch takes no events, so it is not ordered after the task's
 * links; the point behind it is.
 */
static ze_result_t append_prefetch(const usm_level_zero_turn *turn, const usm_command *command)
{
    const usm_queue *queue = turn->queue;
    const void *pointer = command->as.prefetch.pointer;
    size_t nbytes = command->as.prefetch.nbytes;
    if (type_of(queue, pointer) == ZE_MEMORY_TYPE_SHARED) {
        (void)usm_level_zero.zeCommandListAppendMemAdvise(
            turn->list, usm_level_zero_device_of(queue->device)->id, pointer, nbytes,
            ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION);
        (void)usm_level_zero.zeCommandListAppendMemoryPrefetch(turn->list, pointer, nbytes);
    }
    return append_point(turn);
}

/* The queue's lock held. */
static usm_status append(usm_level_zero_event *event, const usm_level_zero_turn *turn,
                         const usm_command *command, usm_error *error)
{
    const char *function;
    ze_result_t result;
    switch (command->kind) {
        case USM_COMMAND_COPY:
            function = "copying";
            result = append_copy(event, turn, command);
            break;
        case USM_COMMAND_FILL:
            function = "filling";
            result = append_fill(turn, command);
            break;
        case USM_COMMAND_PREFETCH:
            function = "prefetching";
            result = append_prefetch(turn, command);
            break;
        case USM_COMMAND_LAUNCH:
            return usm_level_zero_launch_kernel(turn, command->as.launch, error);
        default:
            function = "a point in the queue's order";
            result = append_point(turn);
    }
    return result == ZE_RESULT_SUCCESS ? USM_OK : usm_level_zero_failed(error, result, function);
}

/*
 * An in-order queue over a list that does not keep an order itself: commands that other libraries
 * appended come first.
 */
static usm_status order_shared(const usm_queue *queue, int which, ze_command_list_handle_t list,
                               usm_error *error)
{
    if (!usm_queue_is_shared(queue) || !queue->in_order ||
        usm_level_zero_queue_of(queue)->lists[which].in_order) {
        return USM_OK;
    }
    ze_result_t result = usm_level_zero.zeCommandListAppendBarrier(list, NULL, 0, NULL);
    return result == ZE_RESULT_SUCCESS ? USM_OK
                                       : usm_level_zero_failed(error, result, "zeCommandListAppendBarrier");
}

/*
 * One of several calls for a command was refused: waits until the driver has ended what it has of the
 * command, before its memory is freed. Uses the event of the refused command.
 */
static void wait_for_rest(const usm_level_zero_event *event, const usm_command *command,
                          ze_command_list_handle_t list, ze_event_handle_t signal)
{
    bool several = event->temporary != NULL || command->kind == USM_COMMAND_PREFETCH ||
                   usm_queue_is_shared(event->event.queue);
    if (!several || list == NULL) {
        return;
    }
    if (usm_level_zero.zeCommandListAppendBarrier(list, signal, 0, NULL) == ZE_RESULT_SUCCESS) {
        (void)usm_level_zero.zeEventHostSynchronize(signal, UINT64_MAX);
    } else if (usm_level_zero.zeCommandListHostSynchronize != NULL) {
        (void)usm_level_zero.zeCommandListHostSynchronize(list, UINT64_MAX);
    }
}

/*
 * Takes an event from the pool, appends the command to the open list, and ends the list. A plain list is run
 * as a whole, so a failure before its end leaves nothing.
 */
usm_status usm_level_zero_append(usm_level_zero_event *event, const usm_command *command, uint32_t n_waits,
                                 ze_event_handle_t *waits, usm_error *error)
{
    usm_queue *queue = event->event.queue;
    usm_status status = USM_OK;
    usm_level_zero_slot *slot = usm_level_zero_slot_take(queue->context, event->event.profiled, error);
    if (slot == NULL) {
        return error->status;
    }
    ze_command_list_handle_t list = usm_level_zero_list_begin(queue, event->list, error);
    status = list == NULL ? error->status : order_shared(queue, event->list, list, error);
    if (status == USM_OK) {
        const usm_level_zero_turn turn = {queue, list, slot->id, n_waits, n_waits > 0 ? waits : NULL};
        status = append(event, &turn, command, error);
    }
    if (status == USM_OK) {
        status = usm_level_zero_list_end(queue, event->list, error);
    } else if (!usm_level_zero_list_drop(queue, event->list)) {
        wait_for_rest(event, command, list, slot->id);
    }
    if (status == USM_OK && command->kind == USM_COMMAND_LAUNCH) {
        event->kernel = usm_kernel_retain(command->as.launch->kernel);
    }
    if (status != USM_OK) {
        usm_level_zero_slot_put(queue->context, slot, false);
        usm_level_zero_release_parts(event); /* the same task may be tried again */
        return status;
    }
    atomic_store(&event->slot, slot);
    return USM_OK;
}
