/* Command queues: they run the commands of closed lists. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

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

/* Commands: created, copied, run by a worker, and freed. */

sim_command *sim_command_new(sim_verb verb, ze_event_handle_t signal, uint32_t n_waits,
                             ze_event_handle_t *waits)
{
    sim_command *command = calloc(1, sizeof(*command) + n_waits * sizeof(ze_event_handle_t));
    if (command == NULL)
        return NULL;
    command->verb = verb;
    command->signal = signal;
    command->n_waits = n_waits;
    command->waits = (ze_event_handle_t *)(command + 1);
    if (n_waits > 0)
        memcpy(command->waits, waits, n_waits * sizeof(ze_event_handle_t));
    sim_born(SIM_COMMAND);
    return command;
}

void sim_command_free(sim_command *command)
{
    if (command == NULL)
        return;
    if (command->verb == SIM_LAUNCH)
        sim_launch_free(command->as.launch);
    if (command->verb == SIM_TIMESTAMPS)
        free(command->as.stamps.events);
    sim_gone(SIM_COMMAND);
    free(command);
}

sim_command *sim_command_copy(const sim_command *command)
{
    sim_command *copy = sim_command_new(command->verb, command->signal, command->n_waits, command->waits);
    if (copy == NULL)
        return NULL;
    copy->joins = command->joins;
    copy->holds = command->holds;
    copy->to = command->to;
    copy->from = command->from;
    copy->size = command->size;
    copy->as = command->as;
    bool whole = true;
    if (command->verb == SIM_LAUNCH) {
        copy->as.launch = sim_launch_copy(command->as.launch);
        whole = copy->as.launch != NULL;
    } else if (command->verb == SIM_TIMESTAMPS) {
        uint32_t n = command->as.stamps.n;
        size_t bytes = n * (sizeof(ze_event_handle_t) + sizeof(size_t));
        copy->as.stamps.events = malloc(bytes);
        whole = copy->as.stamps.events != NULL;
        if (whole) {
            memcpy(copy->as.stamps.events, command->as.stamps.events, bytes);
            copy->as.stamps.offsets = (size_t *)(copy->as.stamps.events + n);
        }
    }
    if (!whole) {
        copy->verb = SIM_NOTHING;
        sim_command_free(copy);
        return NULL;
    }
    return copy;
}

static void copy_region(const sim_command *command)
{
    const sim_region *r = &command->as.region;
    uint32_t depth = r->to.depth > 0 ? r->to.depth : 1;
    for (uint32_t z = 0; z < depth; z++)
        for (uint32_t y = 0; y < r->to.height; y++) {
            size_t to = (size_t)(r->to.originZ + z) * r->to_slice + (size_t)(r->to.originY + y) * r->to_pitch;
            size_t from =
                (size_t)(r->from.originZ + z) * r->from_slice + (size_t)(r->from.originY + y) * r->from_pitch;
            memcpy((char *)command->to + to + r->to.originX,
                   (const char *)command->from + from + r->from.originX, r->to.width);
        }
}

static void fill(const sim_command *command)
{
    size_t width = command->as.pattern.width, done = width;
    char *to = command->to;
    if (width == 1) {
        memset(to, command->as.pattern.bytes[0], command->size);
        return;
    }
    memcpy(to, command->as.pattern.bytes, width < command->size ? width : command->size);
    while (done < command->size) {
        size_t n = done < command->size - done ? done : command->size - done;
        memcpy(to + done, to, n);
        done += n;
    }
}

static void write_timestamps(const sim_command *command)
{
    for (uint32_t i = 0; i < command->as.stamps.n; i++) {
        ze_event_handle_t event = command->as.stamps.events[i];
        size_t offset = command->as.stamps.offsets[i];
        ze_kernel_timestamp_result_t *out = (ze_kernel_timestamp_result_t *)((char *)command->to + offset);
        out->global.kernelStart = out->context.kernelStart = sim_kernel_ticks(event->start_ns);
        out->global.kernelEnd = out->context.kernelEnd = sim_kernel_ticks(event->end_ns);
    }
}

ze_result_t sim_command_run(const sim_command *command, const sim_engine *engine)
{
    switch (command->verb) {
        case SIM_NOTHING:
            break;
        case SIM_COPY:
            memmove(command->to, command->from, command->size);
            break;
        case SIM_REGION:
            copy_region(command);
            break;
        case SIM_FILL:
            fill(command);
            break;
        case SIM_RESET:
            atomic_store(&command->as.reset->signalled, false);
            break;
        case SIM_CLOCK:
            *(uint64_t *)command->to = sim_ticks(sim_now_ns());
            break;
        case SIM_TIMESTAMPS:
            write_timestamps(command);
            break;
        case SIM_LAUNCH:
            return sim_launch_run(command->as.launch, engine);
    }
    return ZE_RESULT_SUCCESS;
}
