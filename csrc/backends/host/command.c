/*
 * What each command is for the host: a call of one of csrc/cpu's loops, or of a function. Runs on any thread,
 * when all links have ended.
 */
#include "host.h"

#include "cpu/cpu.h"

size_t usm_host_command_cost(const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return command->as.copy.nbytes;
        case USM_COMMAND_FILL:
            return command->as.fill.nbytes;
        case USM_COMMAND_STRIDED: /* twice what is written: slower than plain bytes */
            return 2 * usm_dtype_table[command->as.strided->dst_dtype].itemsize *
                   usm_strided_count(command->as.strided);
        case USM_COMMAND_LAUNCH:
            return command->as.launch->cost;
        default:
            return 0;
    }
}

usm_status usm_host_execute(const usm_command *command, unsigned width, usm_error *error)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
        case USM_COMMAND_FILL:
            usm_cpu_block(command, width);
            break;
        case USM_COMMAND_STRIDED:
            usm_cpu_strided(command->as.strided, width);
            break;
        case USM_COMMAND_HOST:
            return command->as.host.run(command->as.host.argument, error);
        case USM_COMMAND_LAUNCH:
            return usm_host_launch(command->as.launch, width, error);
        default: /* points in the order, and prefetches of memory that is here already */
            break;
    }
    return USM_OK;
}
