/* Contexts: sets of devices that memory, events and work belong to. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

bool sim_context_has(ze_context_handle_t context, ze_device_handle_t device)
{
    for (uint32_t i = 0; i < context->n_devices; i++)
        if (context->devices[i] == device || context->devices[i] == device->root)
            return true;
    return false;
}

ze_result_t sim_context_lost(ze_context_handle_t context)
{
    for (uint32_t i = 0; i < context->n_devices; i++)
        if (sim_lost(context->devices[i]) != ZE_RESULT_SUCCESS)
            return sim_lost(context->devices[i]);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t create(uint32_t n, const ze_device_handle_t *devices, ze_context_handle_t *out)
{
    ze_device_handle_t *all;
    uint32_t n_all = sim_shown(&all);
    ze_context_handle_t context = calloc(1, sizeof(*context));
    ze_device_handle_t *list = calloc((n > 0 ? n : n_all) + 1, sizeof(ze_device_handle_t));
    if (context == NULL || list == NULL) {
        free(context);
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    context->devices = list;
    context->n_devices = n > 0 ? n : n_all;
    for (uint32_t i = 0; i < context->n_devices; i++)
        list[i] = n > 0 ? devices[i] : all[i];
    sim_born(SIM_CONTEXT);
    *out = context;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                       ze_context_handle_t *context)
{
    (void)driver, (void)desc;
    SIM_ENTER(zeContextCreate);
    return create(0, NULL, context);
}

ze_result_t ZE_APICALL zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t *desc, uint32_t n,
                                         ze_device_handle_t *devices, ze_context_handle_t *context)
{
    (void)driver, (void)desc;
    SIM_ENTER(zeContextCreateEx);
    return create(devices == NULL ? 0 : n, devices, context);
}

ze_result_t ZE_APICALL zeContextDestroy(ze_context_handle_t context)
{
    SIM_ENTER(zeContextDestroy);
    int children = atomic_load(&context->children);
    if (children != 0)
        sim_misuse("zeContextDestroy: %d objects of the context are left", children);
    sim_gone(SIM_CONTEXT);
    free(context->devices);
    free(context);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeContextGetStatus(ze_context_handle_t context)
{
    SIM_ENTER(zeContextGetStatus);
    return sim_context_lost(context);
}

ze_result_t ZE_APICALL zeContextSystemBarrier(ze_context_handle_t context, ze_device_handle_t device)
{
    (void)context;
    SIM_ENTER(zeContextSystemBarrier);
    return sim_lost(device);
}

ze_result_t ZE_APICALL zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t device,
                                                   void *address, size_t size)
{
    SIM_ENTER(zeContextMakeMemoryResident);
    sim_check_range(context, device, address, size, "zeContextMakeMemoryResident");
    return sim_lost(device);
}

ze_result_t ZE_APICALL zeContextEvictMemory(ze_context_handle_t context, ze_device_handle_t device,
                                            void *address, size_t size)
{
    SIM_ENTER(zeContextEvictMemory);
    sim_check_range(context, device, address, size, "zeContextEvictMemory");
    return sim_lost(device);
}
