/* Memory of another process: a handle names its process, its file there, and the place in it. */
#include "driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x6d697370695a454cu

_Static_assert(sizeof(sim_ipc) <= ZE_MAX_IPC_HANDLE_SIZE, "the handle has room for it");

ze_result_t ZE_APICALL zeMemGetIpcHandle(ze_context_handle_t context, const void *address,
                                         ze_ipc_mem_handle_t *handle)
{
    SIM_ENTER(zeMemGetIpcHandle);
    (void)context;
    sim_ipc ipc = {.magic = MAGIC, .process = (int32_t)getpid()};
    if (!sim_exported(address, &ipc))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "not memory of this driver");
    if (ipc.type != ZE_MEMORY_TYPE_DEVICE)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "only memory of kind device has handles");
    memset(handle, 0, sizeof(*handle));
    memcpy(handle->data, &ipc, sizeof(ipc));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle)
{
    (void)context, (void)handle;
    SIM_ENTER(zeMemPutIpcHandle);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemOpenIpcHandle(ze_context_handle_t context, ze_device_handle_t device,
                                          ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void **out)
{
    (void)flags;
    SIM_ENTER(zeMemOpenIpcHandle);
    sim_ipc ipc;
    memcpy(&ipc, handle.data, sizeof(ipc));
    if (ipc.magic != MAGIC)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "not a handle of this driver");
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)ipc.process, (int)ipc.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "the process of the handle has ended, or is guarded");
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
