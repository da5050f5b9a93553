/* Commands: created, copied, run by a worker, and freed. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

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
