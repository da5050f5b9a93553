/* Command queues: they run the commands of closed lists. */
#include "driver.h"

#include <stdlib.h>

ze_result_t sim_check_group(ze_device_handle_t device, uint32_t ordinal, uint32_t index)
{
    (void)device;
    uint32_t n = ordinal == SIM_COPY_GROUP ? sim_settings()->copy_engines : 4;
    if (ordinal >= sim_n_groups() || index >= n)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no queue %u in group %u", index, ordinal);
    return ZE_RESULT_SUCCESS;
}

ze_result_t sim_check_queue(ze_context_handle_t context, ze_device_handle_t device,
                            const ze_command_queue_desc_t *desc)
{
    ze_command_queue_flags_t known = ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY;
    if (sim_settings()->api_minor >= 7)
        known |= SIM_QUEUE_IN_ORDER;
    if ((desc->flags & ~known) != 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "queue flags 0x%x", (unsigned)desc->flags);
    if (!sim_context_has(context, device))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of the context");
    if (sim_lost(device) != ZE_RESULT_SUCCESS)
        return sim_lost(device);
    return sim_check_group(device, desc->ordinal, desc->index);
}

ze_result_t ZE_APICALL zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
                                            const ze_command_queue_desc_t *desc,
                                            ze_command_queue_handle_t *out)
{
    SIM_ENTER(zeCommandQueueCreate);
    ze_result_t result = sim_check_queue(context, device, desc);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ze_command_queue_handle_t queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    queue->ordinal = desc->ordinal;
    queue->index = desc->index;
    queue->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    result = sim_engine_init(&queue->engine, context, device, (desc->flags & SIM_QUEUE_IN_ORDER) != 0);
    if (result != ZE_RESULT_SUCCESS) {
        free(queue);
        return result;
    }
    atomic_fetch_add(&context->children, 1);
    sim_born(SIM_COMMAND_QUEUE);
    *out = queue;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueDestroy(ze_command_queue_handle_t queue)
{
    SIM_ENTER(zeCommandQueueDestroy);
    sim_engine_free(&queue->engine, "zeCommandQueueDestroy");
    atomic_fetch_sub(&queue->engine.context->children, 1);
    sim_gone(SIM_COMMAND_QUEUE);
    free(queue);
    return ZE_RESULT_SUCCESS;
}

ze_result_t sim_gather(uint32_t n, ze_command_list_handle_t *lists, sim_command **first, sim_command **last)
{
    *first = *last = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (lists[i]->immediate)
            return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate list");
        if (!lists[i]->closed)
            return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "list %u was not closed", i);
        for (const sim_command *command = lists[i]->first; command != NULL; command = command->next) {
            sim_command *copy = sim_command_copy(command);
            if (copy == NULL)
                return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
            if (*last == NULL)
                *first = copy;
            else
                (*last)->next = copy;
            *last = copy;
        }
    }
    return ZE_RESULT_SUCCESS;
}

void sim_scatter(sim_command *first)
{
    while (first != NULL) {
        sim_command *next = first->next;
        sim_command_free(first);
        first = next;
    }
}

ze_result_t ZE_APICALL zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t n,
                                                         ze_command_list_handle_t *lists,
                                                         ze_fence_handle_t fence)
{
    SIM_ENTER(zeCommandQueueExecuteCommandLists);
    if (sim_lost(queue->engine.device) != ZE_RESULT_SUCCESS)
        return sim_lost(queue->engine.device);
    for (uint32_t i = 0; i < n; i++)
        if (lists[i]->ordinal != queue->ordinal)
            return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a list of another group");
    sim_command *first, *last;
    ze_result_t result = sim_gather(n, lists, &first, &last);
    sim_command *end = NULL;
    if (result == ZE_RESULT_SUCCESS) {
        end = sim_command_new(SIM_NOTHING, NULL, 0, NULL);
        result = end == NULL ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_SUCCESS;
    }
    if (result == ZE_RESULT_SUCCESS) {
        end->joins = true;
        end->fence = fence;
        if (last == NULL)
            first = end;
        else
            last->next = end;
        result = sim_engine_submit(&queue->engine, first, end);
    }
    if (result != ZE_RESULT_SUCCESS) {
        sim_scatter(first);
        return result;
    }
    if (queue->synchronous)
        return sim_wait(sim_engine_idle, &queue->engine, UINT64_MAX, queue->engine.device, NULL);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
    SIM_ENTER(zeCommandQueueSynchronize);
    ze_result_t result = sim_wait(sim_engine_idle, &queue->engine, timeout, queue->engine.device, NULL);
    return result == ZE_RESULT_SUCCESS ? sim_lost(queue->engine.device) : result;
}

ze_result_t ZE_APICALL zeCommandQueueGetOrdinal(ze_command_queue_handle_t queue, uint32_t *ordinal)
{
    SIM_ENTER(zeCommandQueueGetOrdinal);
    *ordinal = queue->ordinal;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueGetIndex(ze_command_queue_handle_t queue, uint32_t *index)
{
    SIM_ENTER(zeCommandQueueGetIndex);
    *index = queue->index;
    return ZE_RESULT_SUCCESS;
}
