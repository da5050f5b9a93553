/* Commands of the minimal backend: threads of the core run them. */
#include "core/program/launch.h"
#include "cpu/cpu.h"
#include "minimal.h"

/* Of a built-in kernel: the backend takes no programs of users. */
static void launch_builtin(const usm_launch *launch)
{
    const usm_cpu_launch run = {
        .kernel = launch->kernel->native,
        .range = &launch->range,
        .arguments = launch->arguments,
        .n_arguments = launch->n_arguments,
        .cost = launch->cost,
    };
    (void)usm_cpu_run(&run, 1); /* a built-in kernel needs no memory */
}

/* On a thread of the queue, when everything that the command depends on has completed. */
usm_status usm_minimal_queue_run(usm_event *event, const usm_command *command, usm_error *error)
{
    (void)event;
    (void)error; /* a driver's call may fail: usm_error_driver */
    switch (command->kind) {
        case USM_COMMAND_COPY:
        case USM_COMMAND_FILL:
            usm_cpu_block(command, 1);
            return USM_OK;
        case USM_COMMAND_STRIDED:
            usm_cpu_strided(command->as.strided, 1);
            return USM_OK;
        case USM_COMMAND_LAUNCH:
            launch_builtin(command->as.launch);
            return USM_OK;
        default: /* barriers and markers, which do nothing, and prefetches, which are hints */
            return USM_OK;
    }
}
