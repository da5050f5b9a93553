/*
 * Launches of kernels on the threads of csrc/cpu, which cuts the index space into boxes of whole work-groups.
 */
#include "host.h"

#include "cpu/cpu.h"

#include <string.h>

/*
 * Chooses the size of a work-group where the launch does not give one: the kernel's own, or a divisor of the
 * first dimension up to 64.
 */
static usm_status choose_local(const usm_launch *launch, usm_range *range, usm_error *error)
{
    const struct usmpy_kernel_entry *entry = launch->kernel->native;
    *range = launch->range;
    if (!range->has_local && entry->required_local[0] != 0) {
        memcpy(range->local, entry->required_local, sizeof range->local);
    } else if (!range->has_local) {
        size_t n = range->global[0] < 64 ? range->global[0] : 64;
        while (range->global[0] % n != 0) {
            n--;
        }
        range->local[0] = n;
    }
    for (int d = 0; d < 3; d++) {
        if (range->global[d] % range->local[d] != 0) {
            return usm_error_set(
                error, USM_VALUE,
                "the range's dimension %d is %zu, which the work-group's required %zu does not "
                "divide",
                d, range->global[d], range->local[d]);
        }
    }
    return USM_OK;
}

/*
 * Built-in kernels have no groups. Called on a thread of the queue, or on the submitting one for short
 * built-in kernels.
 */
usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error)
{
    const usm_host_program *native = launch->kernel->program->native;
    usm_range range;
    usm_cpu_launch run = {
        .range = &launch->range,
        .arguments = launch->arguments,
        .n_arguments = launch->n_arguments,
        .cost = launch->cost,
    };
    if (native->function != NULL) {
        run.call = usm_host_pointer_call;
        run.function = native;
    } else {
        run.kernel = launch->kernel->native;
    }
    if (native->library != NULL) {
        usm_status status = choose_local(launch, &range, error);
        if (status != USM_OK) {
            return status;
        }
        run.range = &range;
    }
    return usm_cpu_run(&run, width)
               ? USM_OK
               : usm_error_set(error, USM_MEMORY, "no memory is left for the work-groups of %s",
                               launch->kernel->name);
}
