/* What each command is for the host: a call of one of csrc/cpu's loops, or of a function. */
#include "host.h"

#include "cpu/cpu.h"

size_t usm_host_command_cost(const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return command->as.copy.nbytes;
        case USM_COMMAND_FILL:
            return command->as.fill.nbytes;
        case USM_COMMAND_STRIDED: {
            const usm_strided *plan = command->as.strided;
            size_t cost = 2 * (size_t)usm_dtype_table[plan->dst_dtype].itemsize; /* slower than plain bytes */
            for (int i = 0; i < plan->ndim; i++) {
                cost *= (size_t)plan->shape[i];
            }
            return cost;
        }
        case USM_COMMAND_LAUNCH:
            return command->as.launch->cost;
        case USM_COMMAND_SEQUENCE:
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
        case USM_COMMAND_PREFETCH:
        case USM_COMMAND_HOST:
            break;
    }
    return 0;
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
        case USM_COMMAND_SEQUENCE: /* a launch for backends */
        case USM_COMMAND_PREFETCH: /* it is here already */
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
            break;
    }
    return USM_OK;
}
