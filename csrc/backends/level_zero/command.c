/* What each command is for the driver. */
#include "level_zero.h"

#include <string.h>

/* Copies of fewer bytes are over before the change to other engines pays. */
#define COPY_ENGINE_BYTES ((size_t)1 << 20)

static bool on_device(const usm_level_zero_context *context, const void *pointer)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    return usm_level_zero.zeMemGetAllocProperties(context->id, pointer, &properties, NULL) ==
               ZE_RESULT_SUCCESS &&
           properties.type == ZE_MEMORY_TYPE_DEVICE;
}

/* Engines that only copy are for what crosses the bus: kernels run meanwhile. */
int usm_level_zero_list_for(const usm_queue *queue, const usm_command *command)
{
    const usm_level_zero_context *context = usm_level_zero_context_of(queue->context);
    bool large = command->kind == USM_COMMAND_COPY && command->as.copy.nbytes >= COPY_ENGINE_BYTES &&
                 usm_level_zero_device_of(queue->device)->copy.exists && !usm_queue_is_shared(queue);
    return large && on_device(context, command->as.copy.dst) != on_device(context, command->as.copy.src)
               ? USM_LEVEL_ZERO_COPY
               : USM_LEVEL_ZERO_COMPUTE;
}

/* Nothing has to be waited for: a point in the order has been reached. */
bool usm_level_zero_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                                  int64_t *end_ns)
{
    bool point = command->kind == USM_COMMAND_BARRIER || command->kind == USM_COMMAND_MARKER;
    if (!point || usm_level_zero_forked() || usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}

static bool overlaps(const usm_command *command)
{
    uintptr_t dst = (uintptr_t)command->as.copy.dst, src = (uintptr_t)command->as.copy.src;
    return dst < src + command->as.copy.nbytes && src < dst + command->as.copy.nbytes;
}

/* Level Zero refuses regions that overlap: through a block that goes with the task. */
static ze_result_t append_overlapping(usm_level_zero_event *event, ze_command_list_handle_t list,
                                      const usm_command *command, ze_event_handle_t signal, uint32_t n_waits,
                                      ze_event_handle_t *waits)
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
    result = usm_level_zero.zeCommandListAppendMemoryCopy(list, event->temporary, command->as.copy.src,
                                                          nbytes, NULL, n_waits, waits);
    if (result == ZE_RESULT_SUCCESS && !usm_level_zero_queue_of(queue)->lists[event->list].in_order) {
        result = usm_level_zero.zeCommandListAppendBarrier(list, NULL, 0, NULL);
    }
    return result == ZE_RESULT_SUCCESS
               ? usm_level_zero.zeCommandListAppendMemoryCopy(list, command->as.copy.dst, event->temporary,
                                                              nbytes, signal, 0, NULL)
               : result;
}

/* Where the source is of another context of ours, that has to be said; NULL elsewhere. */
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

static ze_result_t append_copy(usm_level_zero_event *event, ze_command_list_handle_t list,
                               const usm_command *command, ze_event_handle_t signal, uint32_t n_waits,
                               ze_event_handle_t *waits)
{
    if (overlaps(command)) {
        return append_overlapping(event, list, command, signal, n_waits, waits);
    }
    ze_context_handle_t other = context_of_source(event, command);
    if (other != NULL) {
        return usm_level_zero.zeCommandListAppendMemoryCopyFromContext(
            list, command->as.copy.dst, other, command->as.copy.src, command->as.copy.nbytes, signal, n_waits,
            waits);
    }
    return usm_level_zero.zeCommandListAppendMemoryCopy(list, command->as.copy.dst, command->as.copy.src,
                                                        command->as.copy.nbytes, signal, n_waits, waits);
}

static ze_result_t append_fill(ze_command_list_handle_t list, const usm_command *command,
                               ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits)
{
    return usm_level_zero.zeCommandListAppendMemoryFill(list, command->as.fill.dst, command->as.fill.pattern,
                                                        command->as.fill.pattern_size,
                                                        command->as.fill.nbytes, signal, n_waits, waits);
}

/*
 * A point in the order. Where others append too, theirs counts: a barrier without a list waits for all that
 * is in front of it, so the events of a list are waited for before it.
 */
static ze_result_t append_point(const usm_queue *queue, ze_command_list_handle_t list,
                                ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits)
{
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (n_waits > 0 && usm_queue_is_shared(queue)) {
        result = usm_level_zero.zeCommandListAppendWaitOnEvents(list, n_waits, waits);
        n_waits = 0;
        waits = NULL;
    }
    return result == ZE_RESULT_SUCCESS
               ? usm_level_zero.zeCommandListAppendBarrier(list, signal, n_waits, waits)
               : result;
}

/* A hint: memory that the driver cannot move, such as somebody else's, is left where it is. */
static ze_result_t append_prefetch(const usm_queue *queue, ze_command_list_handle_t list,
                                   const usm_command *command, ze_event_handle_t signal, uint32_t n_waits,
                                   ze_event_handle_t *waits)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    const void *pointer = command->as.prefetch.pointer;
    size_t nbytes = command->as.prefetch.nbytes;
    if (usm_level_zero.zeMemGetAllocProperties(usm_level_zero_context_of(queue->context)->id, pointer,
                                               &properties, NULL) == ZE_RESULT_SUCCESS &&
        properties.type == ZE_MEMORY_TYPE_SHARED) {
        (void)usm_level_zero.zeCommandListAppendMemAdvise(list, usm_level_zero_device_of(queue->device)->id,
                                                          pointer, nbytes,
                                                          ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION);
        (void)usm_level_zero.zeCommandListAppendMemoryPrefetch(list, pointer, nbytes);
    }
    return append_point(queue, list, signal, n_waits, waits);
}

/* The queue's lock held. */
static usm_status append(usm_level_zero_event *event, ze_command_list_handle_t list,
                         const usm_command *command, ze_event_handle_t signal, uint32_t n_waits,
                         ze_event_handle_t *waits, usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    const char *function;
    ze_result_t result;
    switch (command->kind) {
        case USM_COMMAND_COPY:
            function = "copying";
            result = append_copy(event, list, command, signal, n_waits, waits);
            break;
        case USM_COMMAND_FILL:
            function = "filling";
            result = append_fill(list, command, signal, n_waits, waits);
            break;
        case USM_COMMAND_PREFETCH:
            function = "prefetching";
            result = append_prefetch(queue, list, command, signal, n_waits, waits);
            break;
        case USM_COMMAND_LAUNCH:
            return usm_level_zero_launch_kernel(queue, list, command->as.launch, signal, n_waits, waits,
                                                error);
        default:
            function = "a point in the queue's order";
            result = append_point(queue, list, signal, n_waits, waits);
    }
    return result == ZE_RESULT_SUCCESS ? USM_OK : usm_level_zero_failed(error, result, function);
}

/* What others appended to a list without an order comes first. */
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
 * A command of several calls was refused half-way: what the driver has of it ends before its memory is let go
 * of. The event is the refused command's.
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
        status = append(event, list, command, slot->id, n_waits, n_waits > 0 ? waits : NULL, error);
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
        return status;
    }
    atomic_store(&event->slot, slot);
    return USM_OK;
}
