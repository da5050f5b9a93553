/*
 * Launches: the arguments, the group size and the number of groups of a kernel, as the driver takes them
 * (Level Zero Core Programming Guide, Kernel Arguments and Execution).
 */
#include "level_zero.h"

#include <string.h>

/* A null pointer is a null value; local memory is a size without a value (zeKernelSetArgumentValue). */
static ze_result_t set_argument(ze_kernel_handle_t id, uint32_t i, const usm_argument *argument)
{
    switch (argument->kind) {
        case USM_PARAMETER_POINTER:
            return usm_level_zero.zeKernelSetArgumentValue(
                id, i, sizeof argument->as.pointer,
                argument->as.pointer != NULL ? &argument->as.pointer : NULL);
        case USM_PARAMETER_LOCAL:
            return usm_level_zero.zeKernelSetArgumentValue(id, i, argument->size, NULL);
        default:
            return usm_level_zero.zeKernelSetArgumentValue(id, i, argument->size,
                                                           usm_argument_value(argument));
    }
}

/*
 * Hands over the arguments that changed, and pointers each time: the driver looks up the allocation then,
 * which may be another one at the same address. The kernel's lock held; on failure *i is the argument that
 * was refused.
 */
static ze_result_t set_arguments(const usm_launch *launch, size_t *i)
{
    usm_level_zero_kernel *native = launch->kernel->native;
    for (*i = 0; *i < launch->n_arguments; ++*i) {
        const usm_argument *wanted = &launch->arguments[*i];
        usm_argument *set = &native->set[*i];
        if (usm_argument_is_set(set, wanted)) {
            continue;
        }
        set->kind = USM_PARAMETER_UNKNOWN;
        ze_result_t result = set_argument(native->id, (uint32_t)*i, wanted);
        if (result != ZE_RESULT_SUCCESS) {
            return result;
        }
        if (wanted->kind != USM_PARAMETER_POINTER) {
            *set = *wanted;
        }
    }
    return ZE_RESULT_SUCCESS;
}

/*
 * Level Zero launches whole groups, and a kernel may rely on the number of its work-items: the driver's
 * suggestion is reduced to a divisor of the range.
 */
static void choose_group(const usm_launch *launch, const size_t required[3], uint32_t group[3])
{
    const usm_range *range = &launch->range;
    usm_level_zero_kernel *native = launch->kernel->native;
    bool small = true;
    for (int i = 0; i < 3; i++) {
        group[i] = (uint32_t)(range->has_local ? range->local[i] : required[i]);
        small = small && range->global[i] <= UINT32_MAX;
    }
    if (range->has_local || required[0] != 0) {
        return;
    }
    if (!small || usm_level_zero.zeKernelSuggestGroupSize(
                      native->id, (uint32_t)range->global[0], (uint32_t)range->global[1],
                      (uint32_t)range->global[2], &group[0], &group[1], &group[2]) != ZE_RESULT_SUCCESS) {
        group[0] = launch->kernel->max_local < 256 ? (uint32_t)launch->kernel->max_local : 256;
        group[1] = group[2] = 1;
    }
    for (int i = 0; i < 3; i++) {
        group[i] = (uint32_t)usm_largest_divisor(range->global[i], group[i]);
    }
}

/*
 * Numbers of groups are 32-bit, and devices limit them further. A built-in kernel walks over what its launch
 * does not cover.
 */
static usm_status count_groups(const usm_queue *queue, const usm_launch *launch, const uint32_t group[3],
                               ze_group_count_t *out, usm_error *error)
{
    const usm_level_zero_device *device = usm_level_zero_device_of(queue->device);
    uint32_t counts[3];
    for (int i = 0; i < 3; i++) {
        size_t n = launch->range.global[i] / group[i];
        size_t most = device->groups_max[i] > 0 ? device->groups_max[i] : UINT32_MAX;
        if (n * group[i] != launch->range.global[i]) {
            return usm_error_set(
                error, USM_VALUE,
                "the kernel %s wants groups of %u work-items along dimension %d, and %zu is no "
                "multiple of that",
                launch->kernel->name, group[i], i, launch->range.global[i]);
        }
        if (n > most && launch->cost != 0) { /* built-in: the kernel walks what is beyond */
            n = most;
        }
        if (n > most) {
            return usm_error_set(
                error, USM_VALUE,
                "%zu groups of %u work-items along dimension %d are more than the %zu that %s "
                "launches",
                n, group[i], i, most, queue->device->info.name);
        }
        counts[i] = (uint32_t)n;
    }
    *out = (ze_group_count_t){counts[0], counts[1], counts[2]};
    return USM_OK;
}

/*
 * Sets the group size, and counts the groups. The kernel's lock held. A loop of launches of one size
 * does so once.
 */
static usm_status set_size(const usm_queue *queue, const usm_launch *launch, usm_error *error)
{
    usm_level_zero_kernel *native = launch->kernel->native;
    uint32_t group[3];
    if (native->sized && memcmp(&native->range, &launch->range, sizeof native->range) == 0) {
        return USM_OK;
    }
    native->sized = false;
    choose_group(launch, launch->kernel->required_local, group);
    if (count_groups(queue, launch, group, &native->groups, error) != USM_OK) {
        return error->status;
    }
    ze_result_t result = usm_level_zero.zeKernelSetGroupSize(native->id, group[0], group[1], group[2]);
    if (result != ZE_RESULT_SUCCESS) {
        return usm_level_zero_failed(error, result, "zeKernelSetGroupSize");
    }
    memcpy(&native->range, &launch->range, sizeof native->range);
    native->sized = true;
    return USM_OK;
}

static usm_status refuse_argument(const usm_queue *queue, const usm_launch *launch, size_t i,
                                  ze_result_t result, usm_error *error)
{
    const usm_parameter *parameter = &launch->kernel->parameters[i];
    return usm_error_driver(error, USM_DRIVER, "level_zero", (int)result, usm_level_zero_name(result),
                            "%s refuses argument %zu (%s) of the kernel %s: %s (0x%x)",
                            queue->device->info.name, i,
                            parameter->name != NULL ? parameter->name : "unnamed", launch->kernel->name,
                            usm_level_zero_name(result), (unsigned)result);
}

usm_status usm_level_zero_launch_kernel(const usm_level_zero_turn *turn, const usm_launch *launch,
                                        usm_error *error)
{
    const usm_queue *queue = turn->queue;
    usm_level_zero_kernel *native = launch->kernel->native;
    size_t i = 0;
    usm_status status;
    pthread_mutex_lock(&native->lock);
    ze_result_t result = set_arguments(launch, &i);
    if (result != ZE_RESULT_SUCCESS) {
        status = refuse_argument(queue, launch, i, result, error);
        goto done;
    }
    status = set_size(queue, launch, error);
    if (status == USM_OK) {
        result = usm_level_zero.zeCommandListAppendLaunchKernel(turn->list, native->id, &native->groups,
                                                                turn->signal, turn->n_waits, turn->waits);
        status = result == ZE_RESULT_SUCCESS
                     ? USM_OK
                     : usm_level_zero_failed(error, result, "zeCommandListAppendLaunchKernel");
    }
done:
    pthread_mutex_unlock(&native->lock);
    return status;
}
