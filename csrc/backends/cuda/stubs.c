/* Programs and built-in kernels, until they are here. */
#include "cuda_backend.h"

#define WEAK __attribute__((weak))

static usm_status absent(usm_error *error)
{
    return usm_error_set(error, USM_VALUE, "the CUDA backend has no programs yet");
}
WEAK usm_status usm_cuda_program_build(usm_program *base, const usm_program_source *source, char **log,
                                       usm_error *error)
{
    (void)base, (void)source, (void)log;
    return absent(error);
}
WEAK void usm_cuda_program_destroy(usm_program *base)
{
    (void)base;
}
WEAK usm_status usm_cuda_program_binary(usm_program *base, void **out, size_t *size, usm_error *error)
{
    (void)base, (void)out, (void)size;
    return absent(error);
}
WEAK usm_status usm_cuda_kernel_create(usm_kernel *base, const char *name, usm_error *error)
{
    (void)base, (void)name;
    return absent(error);
}
WEAK void usm_cuda_kernel_destroy(usm_kernel *base)
{
    (void)base;
}
WEAK usm_status usm_cuda_launch(const usm_queue *queue, CUstream stream, const usm_launch *launch,
                                usm_error *error)
{
    (void)queue, (void)stream, (void)launch;
    return absent(error);
}
WEAK usm_status usm_cuda_run_builtin(const usm_queue *queue, CUstream stream, const usm_command *command,
                                     usm_error *error)
{
    (void)queue, (void)stream, (void)command;
    return absent(error);
}
WEAK usm_status usm_cuda_prepare(usm_queue *queue, const usm_command *command, usm_error *error)
{
    (void)queue, (void)command, (void)error;
    return USM_OK;
}
