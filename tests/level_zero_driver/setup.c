/* What the environment says about the devices to play. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
