/* Contexts: sets of devices that memory, events and work belong to. */
#include "driver.h"

#include <stdio.h>
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

/* What the environment says about the devices to play. */

static sim_setup setup;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t number(const char *name, uint64_t least, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return otherwise;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end == '\0' && value >= least && value <= most)
        return value;
    fprintf(stderr, "level-zero-sim: %s=%s is not a number from %llu to %llu\n", name, text,
            (unsigned long long)least, (unsigned long long)most);
    return otherwise;
}

static ze_device_type_t device_type(void)
{
    const char *text = getenv("ZESIM_TYPE");
    if (text == NULL || strcmp(text, "gpu") == 0)
        return ZE_DEVICE_TYPE_GPU;
    if (strcmp(text, "cpu") == 0)
        return ZE_DEVICE_TYPE_CPU;
    if (strcmp(text, "npu") == 0)
        return ZE_DEVICE_TYPE_VPU;
    fprintf(stderr, "level-zero-sim: ZESIM_TYPE=%s is not gpu, cpu or npu\n", text);
    return ZE_DEVICE_TYPE_GPU;
}

/* ZESIM_API=1.3 */
static uint32_t api_minor(void)
{
    const char *text = getenv("ZESIM_API");
    if (text == NULL || *text == '\0')
        return 12;
    char *end = NULL;
    unsigned long minor = strncmp(text, "1.", 2) == 0 ? strtoul(text + 2, &end, 10) : 0;
    if (end != NULL && end != text + 2 && *end == '\0' && minor <= 99)
        return (uint32_t)minor;
    fprintf(stderr, "level-zero-sim: ZESIM_API=%s is not a version such as 1.3\n", text);
    return 12;
}

/* ZESIM_WITHOUT=zeCommandListHostSynchronize,...: an old driver. */
static void leave_out(const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        int function = sim_function_index(text, length);
        if (function < 0)
            fprintf(stderr, "level-zero-sim: ZESIM_WITHOUT: no function %.*s\n", (int)length, text);
        else
            setup.without[function] = true;
        text += length;
        text += *text == ',';
    }
}

static void read_environment(void)
{
    setup.devices = (uint32_t)number("ZESIM_DEVICES", 0, 64, 2);
    setup.sub_devices = (uint32_t)number("ZESIM_SUB_DEVICES", 0, 16, 2);
    setup.units = (uint32_t)number("ZESIM_UNITS", 1, 1024, 8);
    setup.copy_engines = (uint32_t)number("ZESIM_COPY_ENGINES", 0, 8, 1);
    setup.overlap = (uint32_t)number("ZESIM_OVERLAP", 1, 16, 2);
    setup.timestamp_bits = (uint32_t)number("ZESIM_TIMESTAMP_BITS", 8, 64, 32);
    setup.memory_bytes = number("ZESIM_MEMORY_MIB", 1, 1 << 20, 8192) << 20;
    setup.max_alloc_bytes = number("ZESIM_MAX_ALLOC_MIB", 1, 1 << 20, 2048) << 20;
    setup.jitter_ns = 1000 * number("ZESIM_JITTER_US", 0, 1000000, 0);
    setup.look_ns = 1000 * number("ZESIM_LOOK_US", 0, 1000000, 50);
    setup.processor = (uint32_t)number("ZESIM_PROCESSOR", 0, 1023, SIM_ANY_PROCESSOR);
    setup.peer = number("ZESIM_PEER", 0, 1, 1) != 0;
    setup.relaxed = number("ZESIM_RELAXED", 0, 1, 1) != 0;
    setup.fill_bytes = (uint32_t)number("ZESIM_FILL_BYTES", 1, SIM_FILL_COMPUTE, SIM_FILL_COMPUTE);
    setup.immediate = number("ZESIM_IMMEDIATE", 0, 1, 1) != 0;
    setup.ipc = number("ZESIM_IPC", 0, 1, 1) != 0;
    setup.ipc_process = number("ZESIM_IPC_PROCESS", 0, 1, 0) != 0;
    setup.fp64 = number("ZESIM_FP64", 0, 1, 1) != 0;
    setup.optimize = number("ZESIM_OPTIMIZE", 0, 1, 1) != 0;
    setup.type = device_type();
    setup.api_minor = api_minor();
    setup.opencl = getenv("ZESIM_OPENCL");
    setup.cache = getenv("ZESIM_CACHE");
    const char *hierarchy = getenv("ZE_FLAT_DEVICE_HIERARCHY");
    setup.flat = hierarchy != NULL && strcmp(hierarchy, "FLAT") == 0;
    setup.combined = hierarchy != NULL && strcmp(hierarchy, "COMBINED") == 0;
    leave_out(getenv("ZESIM_WITHOUT"));
    sim_count_setup();
    sim_devices_setup(&setup);
}

const sim_setup *sim_settings(void)
{
    pthread_once(&once, read_environment);
    return &setup;
}
