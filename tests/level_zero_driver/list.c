/* Command lists: immediate ones hand their commands to threads of their own, others record them. */
#include "driver.h"

#include <stdlib.h>

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
