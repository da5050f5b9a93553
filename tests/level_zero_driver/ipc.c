/*
 * Memory of another process: a handle has a descriptor of the file that the memory is in, and its place
 * there. The descriptor is one of the process that opens the handle, unless the handle names another process.
 */
#include "driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(sim_ipc) <= ZE_MAX_IPC_HANDLE_SIZE, "the handle has room for it");

ze_result_t ZE_APICALL zeMemGetIpcHandle(ze_context_handle_t context, const void *address,
                                         ze_ipc_mem_handle_t *handle)
{
    SIM_ENTER(zeMemGetIpcHandle);
    sim_ipc ipc = {.process = sim_settings()->ipc_process ? (int32_t)getpid() : 0};
    ze_result_t result = sim_export(context, address, &ipc);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    memset(handle, 0, sizeof(*handle));
    memcpy(handle->data, &ipc, sizeof(ipc));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle)
{
    SIM_ENTER(zeMemPutIpcHandle);
    sim_ipc ipc;
    memcpy(&ipc, handle.data, sizeof(ipc));
    return sim_put(context, ipc.fd);
}

/* A duplicate of the descriptor, here or in the process that the handle names; -1: there is none. */
static int take_descriptor(const sim_ipc *ipc)
{
    if (ipc->process == 0)
        return fcntl(ipc->fd, F_DUPFD_CLOEXEC, 0);
    int process = (int)syscall(SYS_pidfd_open, ipc->process, 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, ipc->fd, 0);
    if (process >= 0)
        close(process);
    return fd;
}

/* Is it a file of this driver's, which has that place? */
static bool is_ours(const sim_ipc *ipc, int fd)
{
    char path[64], file[64] = "";
    struct stat facts;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return readlink(path, file, sizeof(file) - 1) > 0 && strncmp(file, "/memfd:level-zero-sim", 21) == 0 &&
           fstat(fd, &facts) == 0 && ipc->size > 0 && ipc->size <= (uint64_t)facts.st_size &&
           ipc->offset <= (uint64_t)facts.st_size - ipc->size;
}

ze_result_t ZE_APICALL zeMemOpenIpcHandle(ze_context_handle_t context, ze_device_handle_t device,
                                          ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void **out)
{
    (void)flags;
    SIM_ENTER(zeMemOpenIpcHandle);
    sim_ipc ipc;
    memcpy(&ipc, handle.data, sizeof(ipc));
    if (!sim_context_has(context, device))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of the context");
    if (sim_lost(device) != ZE_RESULT_SUCCESS)
        return sim_lost(device);
    if (ipc.device != device->root->index)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory of another device");
    int fd = take_descriptor(&ipc);
    if (fd < 0 || !is_ours(&ipc, fd)) {
        if (fd >= 0)
            close(fd);
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle's descriptor is not of this driver");
    }
    ze_result_t result = sim_import(context, device, &ipc, fd, out);
    if (result != ZE_RESULT_SUCCESS)
        close(fd);
    return result;
}

ze_result_t ZE_APICALL zeMemCloseIpcHandle(ze_context_handle_t context, const void *address)
{
    SIM_ENTER(zeMemCloseIpcHandle);
    return sim_release(context, address, true);
}
