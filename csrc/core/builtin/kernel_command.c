#include "kernel_command.h"

#include "builtin.h"
#include "core/device/backend.h"
#include "core/memory/connection.h"
#include "kernels.h"

#include <string.h>

void usm_command_plan(const usm_queue *queue, const usm_strided *strided, usm_kernel_plan *plan)
{
    usm_kernel_plan_strided(plan, strided);
    if (usm_builtin_is_serial(queue->place)) {
        usm_kernel_plan_lines(plan);
    }
}

/* The kernel of a plan: a move by the size of its units, or the cast of two types. */
static void name_strided(const usm_strided *strided, const usm_kernel_plan *plan, usm_builtin *builtin)
{
    static const char *const functions[] = {"usm_strided_1", "usm_strided_2",  "usm_strided_4",
                                            "usm_strided_8", "usm_strided_16", NULL,
                                            "usm_strided_64"};
    if (plan->size > 0) {
        usm_builtin_init(builtin, "strided", functions[__builtin_ctz((unsigned)plan->size)], NULL);
    } else {
        usm_builtin_init(builtin, "cast", "usm_cast", NULL);
        builtin->cast = (usm_cast){(uint8_t)strided->dst_dtype, (uint8_t)strided->src_dtype, plan->unaligned};
    }
}

/*
 * One launch for each point of the axes that a kernel has no room for. From the second one on the target is
 * read as well, so that one that failed is not forgotten when the next has ended.
 */
static usm_status submit_strided(usm_queue *queue, const usm_submission *submission, usm_event **out,
                                 usm_error *error)
{
    const usm_strided *strided = submission->command->as.strided;
    usm_kernel_plan plan;
    usm_builtin builtin;
    usm_access accesses[2];
    usm_submission part = *submission;
    usm_status status = USM_OK;
    usm_command_plan(queue, strided, &plan);
    name_strided(strided, &plan, &builtin);
    for (int64_t i = 0; i < plan.launches && status == USM_OK; i++) {
        bool ends = i == plan.launches - 1;
        usm_kernel_launch launch;
        usm_kernel_plan_launch(&plan, i, &launch);
        builtin.n_arguments = 0;
        usm_builtin_pointer(&builtin, launch.dst);
        usm_builtin_pointer(&builtin, launch.src);
        usm_builtin_value(&builtin, &launch.axes, sizeof launch.axes);
        memcpy(builtin.n, launch.n, sizeof builtin.n);
        builtin.transposes = launch.transposes;
        builtin.cost =
            (size_t)(launch.n[0] * launch.n[1] * launch.n[2]) * usm_dtype_table[strided->dst_dtype].itemsize;
        if (i == 1) {
            memcpy(accesses, submission->accesses, part.n_accesses * sizeof *accesses);
            accesses[0].mode = USM_READ_WRITE;
            part.accesses = accesses;
        }
        part.keeps = ends ? submission->keeps : NULL;
        status = usm_builtin_submit_for(queue, &builtin, &part, ends ? out : NULL, error);
    }
    return status;
}

/* Integers by their size: the arithmetic of signed and unsigned ones is the same. */
static const char *sequence_function(usm_dtype dtype)
{
    static const char *const functions[] = {"usm_sequence_uint8", "usm_sequence_uint16",
                                            "usm_sequence_uint32", "usm_sequence_uint64"};
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    if (info->kind == USM_DTYPE_KIND_FLOAT) {
        return info->itemsize == 8 ? "usm_sequence_float64" : "usm_sequence_float32";
    }
    return functions[__builtin_ctz(info->itemsize)];
}

static usm_status submit_sequence(usm_queue *queue, const usm_submission *submission, usm_event **out,
                                  usm_error *error)
{
    const usm_sequence *sequence = &submission->command->as.sequence;
    const uint64_t whole[] = {(uint64_t)sequence->istart, (uint64_t)sequence->istep},
                   n = (uint64_t)sequence->count;
    double last = sequence->has_last ? sequence->last
                                     : sequence->start + (double)(sequence->count - 1) * sequence->step;
    const double wide[] = {sequence->start, sequence->step, last};
    const float narrow[] = {(float)sequence->start, (float)sequence->step, (float)last};
    bool real = usm_dtype_table[sequence->dtype].kind == USM_DTYPE_KIND_FLOAT;
    bool fp64 = queue->device->info.has_fp64 || usm_builtin_is_on_host(queue);
    usm_builtin builtin;
    usm_builtin_init(&builtin, "sequence", sequence_function(sequence->dtype), NULL);
    usm_builtin_pointer(&builtin, sequence->dst);
    for (int i = 0; i < (real ? 3 : 2); i++) {
        const void *number = !real ? (const void *)&whole[i] : fp64 ? (const void *)&wide[i] : &narrow[i];
        usm_builtin_value(&builtin, number, real && !fp64 ? sizeof(float) : 8);
    }
    usm_builtin_value(&builtin, &n, sizeof n);
    builtin.n[0] = sequence->count;
    builtin.cost = 8 * (size_t)sequence->count;
    return usm_builtin_submit_for(queue, &builtin, submission, out, error);
}

/* The shortest pattern that gives the same bytes. */
static size_t shortest(const usm_command *command)
{
    const unsigned char *pattern = command->as.fill.pattern;
    size_t size = command->as.fill.pattern_size;
    while (size > 1 && memcmp(pattern, pattern + size / 2, size / 2) == 0) {
        size /= 2;
    }
    return size;
}

static bool is_aligned(const void *pointer, size_t size)
{
    return (uintptr_t)pointer % size == 0;
}

/*
 * Whether the backend takes this fill: the pattern is short and aligned enough, or the device does not reach
 * the memory, which only the backend can carry there.
 */
static bool driver_fills(const usm_queue *queue, const usm_submission *submission, size_t size)
{
    if (usm_builtin_is_on_host(queue) ||
        (size <= queue->device->info.max_fill && is_aligned(submission->command->as.fill.dst, size))) {
        return true;
    }
    return submission->n_accesses == 0 || !usm_place_reaches(queue->place, submission->accesses[0].alloc);
}

static usm_status submit_fill(usm_queue *queue, const usm_submission *submission, usm_event **out,
                              usm_error *error)
{
    static const char *const functions[] = USM_BY_SIZE("usm_fill_");
    usm_command command = *submission->command;
    usm_submission shorter = *submission;
    size_t size = shortest(&command);
    command.as.fill.pattern_size = size;
    shorter.command = &command;
    if (driver_fills(queue, &shorter, size)) {
        return usm_queue_submit(queue, &shorter, out, error);
    }
    bool aligned = is_aligned(command.as.fill.dst, size < 8 ? size : 8);
    const uint64_t wide = size, n = aligned ? command.as.fill.nbytes / size : command.as.fill.nbytes;
    usm_builtin builtin;
    usm_builtin_init(&builtin, "fill", aligned ? functions[__builtin_ctzl(size)] : "usm_fill_any", NULL);
    usm_builtin_pointer(&builtin, command.as.fill.dst);
    usm_builtin_value(&builtin, command.as.fill.pattern, aligned ? size : USM_MAX_PATTERN);
    if (!aligned) {
        usm_builtin_value(&builtin, &wide, sizeof wide);
    }
    usm_builtin_value(&builtin, &n, sizeof n);
    builtin.n[0] = (int64_t)n;
    builtin.cost = command.as.fill.nbytes;
    return usm_builtin_submit_for(queue, &builtin, &shorter, out, error);
}

usm_status usm_command_submit(usm_queue *queue, const usm_submission *submission, usm_event **out,
                              usm_error *error)
{
    usm_command_kind kind = submission->command->kind;
    if (kind == USM_COMMAND_STRIDED && !usm_builtin_is_on_host(queue)) {
        return submit_strided(queue, submission, out, error);
    }
    return kind == USM_COMMAND_SEQUENCE ? submit_sequence(queue, submission, out, error)
           : kind == USM_COMMAND_FILL   ? submit_fill(queue, submission, out, error)
                                        : usm_queue_submit(queue, submission, out, error);
}
