/* Command lists: immediate ones hand their commands to threads of their own, others record them. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static ze_result_t start(ze_command_list_handle_t list, ze_command_list_handle_t *out)
{
    atomic_fetch_add(&list->context->children, 1);
    sim_born(SIM_COMMAND_LIST);
    *out = list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                           const ze_command_list_desc_t *desc, ze_command_list_handle_t *out)
{
    SIM_ENTER(zeCommandListCreate);
    ze_command_list_flags_t known = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING |
                                    ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT |
                                    ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY;
    if (sim_settings()->api_minor >= 7)
        known |= SIM_LIST_IN_ORDER;
    if ((desc->flags & ~known) != 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "list flags 0x%x", (unsigned)desc->flags);
    if (!sim_context_has(context, device))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of the context");
    ze_result_t result = sim_check_group(device, desc->commandQueueGroupOrdinal, 0);
    if (result == ZE_RESULT_SUCCESS)
        result = sim_lost(device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ze_command_list_handle_t list = calloc(1, sizeof(*list));
    if (list == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    list->context = context;
    list->device = device;
    list->ordinal = desc->commandQueueGroupOrdinal;
    list->in_order = (desc->flags & SIM_LIST_IN_ORDER) != 0;
    return start(list, out);
}

ze_result_t ZE_APICALL zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                                    const ze_command_queue_desc_t *desc,
                                                    ze_command_list_handle_t *out)
{
    SIM_ENTER(zeCommandListCreateImmediate);
    if (!sim_settings()->immediate)
        return sim_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "no immediate lists: ZESIM_IMMEDIATE=0");
    ze_result_t result = sim_check_queue(context, device, desc);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ze_command_list_handle_t list = calloc(1, sizeof(*list));
    if (list == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    list->context = context;
    list->device = device;
    list->ordinal = desc->ordinal;
    list->index = desc->index;
    list->immediate = true;
    list->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    list->in_order = (desc->flags & SIM_QUEUE_IN_ORDER) != 0;
    result = sim_engine_init(&list->engine, context, device, list->in_order);
    if (result != ZE_RESULT_SUCCESS) {
        free(list);
        return result;
    }
    return start(list, out);
}

static void forget(ze_command_list_handle_t list)
{
    sim_scatter(list->first);
    list->first = list->last = NULL;
    list->closed = false;
}

ze_result_t ZE_APICALL zeCommandListDestroy(ze_command_list_handle_t list)
{
    SIM_ENTER(zeCommandListDestroy);
    if (list->immediate)
        sim_engine_free(&list->engine, "zeCommandListDestroy");
    forget(list);
    atomic_fetch_sub(&list->context->children, 1);
    sim_gone(SIM_COMMAND_LIST);
    free(list);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListClose(ze_command_list_handle_t list)
{
    SIM_ENTER(zeCommandListClose);
    if (list->immediate)
        return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate list");
    list->closed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListReset(ze_command_list_handle_t list)
{
    SIM_ENTER(zeCommandListReset);
    if (list->immediate)
        return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate list");
    forget(list);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t hand_over(ze_command_list_handle_t list, sim_command *first, sim_command *last)
{
    ze_result_t result = sim_engine_submit(&list->engine, first, last);
    if (result != ZE_RESULT_SUCCESS)
        sim_scatter(first);
    else if (list->synchronous)
        result = sim_wait(sim_engine_idle, &list->engine, UINT64_MAX, list->device, NULL);
    return result;
}

ze_result_t sim_append(ze_command_list_handle_t list, sim_command *command)
{
    if (command == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_result_t lost = sim_lost(list->device);
    if (lost != ZE_RESULT_SUCCESS || list->closed) {
        if (list->closed)
            sim_misuse("a command for a list that was closed");
        sim_command_free(command);
        return lost != ZE_RESULT_SUCCESS ? lost : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    command->joins = command->joins || list->in_order;
    if (list->immediate)
        return hand_over(list, command, command);
    if (list->last == NULL)
        list->first = command;
    else
        list->last->next = command;
    list->last = command;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t list, uint32_t n,
                                                                   ze_command_list_handle_t *lists,
                                                                   ze_event_handle_t signal, uint32_t n_waits,
                                                                   ze_event_handle_t *waits)
{
    SIM_ENTER(zeCommandListImmediateAppendCommandListsExp);
    if (!list->immediate)
        return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "not an immediate list");
    if (sim_lost(list->device) != ZE_RESULT_SUCCESS)
        return sim_lost(list->device);
    sim_command *begin = sim_command_new(SIM_NOTHING, NULL, n_waits, waits);
    sim_command *end = sim_command_new(SIM_NOTHING, signal, 0, NULL);
    sim_command *first = NULL, *last = NULL;
    ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (begin != NULL && end != NULL)
        result = sim_gather(n, lists, &first, &last);
    if (result != ZE_RESULT_SUCCESS) {
        sim_scatter(first);
        sim_command_free(begin);
        sim_command_free(end);
        return result;
    }
    begin->holds = end->joins = true;
    begin->next = first != NULL ? first : end;
    if (last != NULL)
        last->next = end;
    return hand_over(list, begin, end);
}

ze_result_t ZE_APICALL zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout)
{
    SIM_ENTER(zeCommandListHostSynchronize);
    if (!list->immediate)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "not an immediate list");
    ze_result_t result = sim_wait(sim_engine_idle, &list->engine, timeout, list->device, NULL);
    return result == ZE_RESULT_SUCCESS ? sim_lost(list->device) : result;
}

/* --- questions ---------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeCommandListGetDeviceHandle(ze_command_list_handle_t list, ze_device_handle_t *device)
{
    SIM_ENTER(zeCommandListGetDeviceHandle);
    *device = list->device;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListGetContextHandle(ze_command_list_handle_t list,
                                                     ze_context_handle_t *context)
{
    SIM_ENTER(zeCommandListGetContextHandle);
    *context = list->context;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListGetOrdinal(ze_command_list_handle_t list, uint32_t *ordinal)
{
    SIM_ENTER(zeCommandListGetOrdinal);
    *ordinal = list->ordinal;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListImmediateGetIndex(ze_command_list_handle_t list, uint32_t *index)
{
    SIM_ENTER(zeCommandListImmediateGetIndex);
    *index = list->index;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t *immediate)
{
    SIM_ENTER(zeCommandListIsImmediate);
    *immediate = list->immediate;
    return ZE_RESULT_SUCCESS;
}

/* What can be appended to a command list, but for kernels (launch.c). */

typedef ze_command_list_handle_t list_handle;
typedef ze_event_handle_t event_handle;

/* Appends a command of no bytes. */
static ze_result_t append_point(list_handle list, event_handle signal, uint32_t n_waits, event_handle *waits,
                                bool joins, bool holds)
{
    sim_command *command = sim_command_new(SIM_NOTHING, signal, n_waits, waits);
    if (command != NULL) {
        command->joins = joins;
        command->holds = holds;
    }
    return sim_append(list, command);
}

ze_result_t ZE_APICALL zeCommandListAppendBarrier(list_handle list, event_handle signal, uint32_t n_waits,
                                                  event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendBarrier);
    return append_point(list, signal, n_waits, waits, true, true);
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryRangesBarrier(list_handle list, uint32_t n,
                                                              const size_t *sizes, const void **ranges,
                                                              event_handle signal, uint32_t n_waits,
                                                              event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendMemoryRangesBarrier);
    for (uint32_t i = 0; i < n; i++)
        sim_check_range(list->context, list->device, ranges[i], sizes[i],
                        "zeCommandListAppendMemoryRangesBarrier");
    return append_point(list, signal, n_waits, waits, true, true);
}

ze_result_t ZE_APICALL zeCommandListAppendSignalEvent(list_handle list, event_handle event)
{
    SIM_ENTER(zeCommandListAppendSignalEvent);
    return append_point(list, event, 0, NULL, false, false);
}

ze_result_t ZE_APICALL zeCommandListAppendWaitOnEvents(list_handle list, uint32_t n, event_handle *events)
{
    SIM_ENTER(zeCommandListAppendWaitOnEvents);
    return append_point(list, NULL, n, events, false, true);
}

ze_result_t ZE_APICALL zeCommandListAppendEventReset(list_handle list, event_handle event)
{
    SIM_ENTER(zeCommandListAppendEventReset);
    sim_command *command = sim_command_new(SIM_RESET, NULL, 0, NULL);
    if (command != NULL) {
        command->as.reset = event;
        command->holds = true;
    }
    return sim_append(list, command);
}

static ze_result_t append_copy(list_handle list, void *to, ze_context_handle_t from_context, const void *from,
                               size_t size, event_handle signal, uint32_t n_waits, event_handle *waits)
{
    if (to == NULL || from == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    sim_check_range(list->context, list->device, to, size, "zeCommandListAppendMemoryCopy");
    sim_check_range(from_context, list->device, from, size, "zeCommandListAppendMemoryCopy");
    if (size > 0 && (char *)to < (const char *)from + size && (const char *)from < (char *)to + size)
        sim_misuse("zeCommandListAppendMemoryCopy: the ranges overlap");
    sim_command *command = sim_command_new(SIM_COPY, signal, n_waits, waits);
    if (command != NULL) {
        command->to = to;
        command->from = from;
        command->size = size;
    }
    return sim_append(list, command);
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopy(list_handle list, void *to, const void *from,
                                                     size_t size, event_handle signal, uint32_t n_waits,
                                                     event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendMemoryCopy);
    return append_copy(list, to, list->context, from, size, signal, n_waits, waits);
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyFromContext(list_handle list, void *to,
                                                                ze_context_handle_t context, const void *from,
                                                                size_t size, event_handle signal,
                                                                uint32_t n_waits, event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendMemoryCopyFromContext);
    return append_copy(list, to, context, from, size, signal, n_waits, waits);
}

/* Bytes from the beginning to the end of the region; 0 for an empty one. */
static size_t extent(const ze_copy_region_t *r, uint32_t pitch, uint32_t slice)
{
    uint32_t depth = r->depth > 0 ? r->depth : 1;
    if (r->width == 0 || r->height == 0)
        return 0;
    return (size_t)(r->originZ + depth - 1) * slice + (size_t)(r->originY + r->height - 1) * pitch +
           r->originX + r->width;
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyRegion(
    list_handle list, void *to, const ze_copy_region_t *to_region, uint32_t to_pitch, uint32_t to_slice,
    const void *from, const ze_copy_region_t *from_region, uint32_t from_pitch, uint32_t from_slice,
    event_handle signal, uint32_t n_waits, event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendMemoryCopyRegion);
    if (to_region->width != from_region->width || to_region->height != from_region->height ||
        to_region->depth != from_region->depth)
        return sim_fail(ZE_RESULT_ERROR_INVALID_SIZE, "regions of two sizes");
    sim_check_range(list->context, list->device, to, extent(to_region, to_pitch, to_slice),
                    "zeCommandListAppendMemoryCopyRegion");
    sim_check_range(list->context, list->device, from, extent(from_region, from_pitch, from_slice),
                    "zeCommandListAppendMemoryCopyRegion");
    sim_command *command = sim_command_new(SIM_REGION, signal, n_waits, waits);
    if (command != NULL) {
        command->to = to;
        command->from = from;
        command->size = extent(to_region, to_pitch, to_slice);
        command->as.region = (sim_region){.to = *to_region,
                                          .from = *from_region,
                                          .to_pitch = to_pitch,
                                          .to_slice = to_slice,
                                          .from_pitch = from_pitch,
                                          .from_slice = from_slice};
    }
    return sim_append(list, command);
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryFill(list_handle list, void *to, const void *pattern,
                                                     size_t width, size_t size, event_handle signal,
                                                     uint32_t n_waits, event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendMemoryFill);
    size_t most = sim_fill_most(list->ordinal);
    if (width == 0 || (width & (width - 1)) != 0 || width > most)
        return sim_fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pattern of %zu bytes", width);
    if (size % width != 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes in patterns of %zu", size, width);
    sim_check_range(list->context, list->device, to, size, "zeCommandListAppendMemoryFill");
    sim_command *command = sim_command_new(SIM_FILL, signal, n_waits, waits);
    if (command != NULL) {
        command->to = to;
        command->size = size;
        command->as.pattern.width = width;
        memcpy(command->as.pattern.bytes, pattern, width);
    }
    return sim_append(list, command);
}

/* Prefetch and advice need memory that the driver knows. */
static void check_known(list_handle list, const void *address, size_t size, const char *function)
{
    sim_allocation a;
    if (!sim_find(address, &a))
        sim_misuse("%s: memory that the driver does not know", function);
    else
        sim_check_range(list->context, list->device, address, size, function);
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryPrefetch(list_handle list, const void *address, size_t size)
{
    SIM_ENTER(zeCommandListAppendMemoryPrefetch);
    check_known(list, address, size, "zeCommandListAppendMemoryPrefetch");
    return append_point(list, NULL, 0, NULL, false, false);
}

ze_result_t ZE_APICALL zeCommandListAppendMemAdvise(list_handle list, ze_device_handle_t device,
                                                    const void *address, size_t size,
                                                    ze_memory_advice_t advice)
{
    (void)device, (void)advice;
    SIM_ENTER(zeCommandListAppendMemAdvise);
    check_known(list, address, size, "zeCommandListAppendMemAdvise");
    return append_point(list, NULL, 0, NULL, false, false);
}

ze_result_t ZE_APICALL zeCommandListAppendWriteGlobalTimestamp(list_handle list, uint64_t *to,
                                                               event_handle signal, uint32_t n_waits,
                                                               event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendWriteGlobalTimestamp);
    sim_check_range(list->context, list->device, to, sizeof(*to), "zeCommandListAppendWriteGlobalTimestamp");
    sim_command *command = sim_command_new(SIM_CLOCK, signal, n_waits, waits);
    if (command != NULL) {
        command->to = to;
        command->size = sizeof(*to);
    }
    return sim_append(list, command);
}

ze_result_t ZE_APICALL zeCommandListAppendQueryKernelTimestamps(list_handle list, uint32_t n,
                                                                event_handle *events, void *to,
                                                                const size_t *offsets, event_handle signal,
                                                                uint32_t n_waits, event_handle *waits)
{
    SIM_ENTER(zeCommandListAppendQueryKernelTimestamps);
    size_t size = 0;
    event_handle *block = malloc(n * (sizeof(event_handle) + sizeof(size_t)) + 1);
    sim_command *command = block == NULL ? NULL : sim_command_new(SIM_TIMESTAMPS, signal, n_waits, waits);
    if (command == NULL) {
        free(block);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    size_t *places = (size_t *)(block + n);
    for (uint32_t i = 0; i < n; i++) {
        block[i] = events[i];
        places[i] = offsets != NULL ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
        size_t end = places[i] + sizeof(ze_kernel_timestamp_result_t);
        size = end > size ? end : size;
    }
    sim_check_range(list->context, list->device, to, size, "zeCommandListAppendQueryKernelTimestamps");
    command->to = to;
    command->size = size;
    command->as.stamps.n = n;
    command->as.stamps.events = block;
    command->as.stamps.offsets = places;
    return sim_append(list, command);
}
