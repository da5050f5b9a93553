/*
 * Commands of devices that are the host's own processors: the driver calls a function in its order
 * (clEnqueueNativeKernel; OpenCL API 3.0, 5.8), and that calls the loops of csrc/cpu. They are several times
 * as fast as kernels that the driver compiles, and nothing has to be built.
 */
#include "opencl.h"

#include "core/base/thread.h"
#include "cpu/cpu.h"

/* Smaller copies are the driver's. From here on the loops pay: they use all processors, and stores that
 * bypass the caches, where drivers use ordinary ones and often one thread. Fills by the loops are as fast as
 * drivers' at any size; PoCL 6 never gives back a queue of its own fills. */
#define LARGE_BYTES ((size_t)4 << 20)

bool usm_opencl_is_native_kernel(const usm_queue *queue, const usm_command *command)
{
    bool is_host = queue->device->info.is_host;
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return is_host && command->as.copy.nbytes >= LARGE_BYTES;
        case USM_COMMAND_FILL:
            return is_host;
        case USM_COMMAND_STRIDED: /* only such devices get strided copies */
            return true;
        case USM_COMMAND_LAUNCH:
            return usm_opencl_is_cpu_kernel(queue, command->as.launch);
        default:
            return false;
    }
}

static void run_launch(const usm_launch *launch, unsigned width)
{
    const usm_cpu_launch run = {
        .kernel = launch->kernel->native,
        .range = &launch->range,
        .arguments = launch->arguments,
        .n_arguments = launch->n_arguments,
        .cost = launch->cost,
    };
    (void)usm_cpu_run(&run, width); /* a built-in kernel needs no memory */
}

void usm_opencl_run_on_cpu(const usm_command *command, unsigned width)
{
    switch (command->kind) {
        case USM_COMMAND_STRIDED:
            usm_cpu_strided(command->as.strided, width);
            break;
        case USM_COMMAND_LAUNCH:
            run_launch(command->as.launch, width);
            break;
        default:
            usm_cpu_block(command, width);
    }
}

/* The driver copies this struct when the command is enqueued. */
typedef struct call {
    const usm_command *command;
    unsigned width;
} call;

/* On a thread of the driver, with all links of the task ended. Calls nothing but csrc/cpu. */
static void CL_CALLBACK run(void *copied)
{
    const call *call = copied;
    usm_thread_is_foreign(); /* and Intel's driver pins it: helpers would share one processor with it */
    usm_opencl_run_on_cpu(call->command, call->width);
}

cl_int usm_opencl_enqueue_native(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    /* Helpers would inherit a low priority, and keep it for tasks of other queues. */
    call call = {command, queue->priority == USM_PRIORITY_LOW ? 1 : queue->device->info.max_compute_units};
    return usm_opencl_platform_of(queue)->api->clEnqueueNativeKernel(
        turn->id, run, &call, sizeof call, 0, NULL, NULL, turn->n_waits, turn->waits, id);
}
