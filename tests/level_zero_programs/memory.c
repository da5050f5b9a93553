/* Memory: kinds, limits, what the driver knows of pointers, and memory of other processes. */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

static ze_memory_allocation_properties_t properties_of(ze_context_handle_t of, const void *address,
                                                       ze_device_handle_t *device)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    OK(zeMemGetAllocProperties(of, address, &properties, device));
    return properties;
}

static void the_driver_knows_kinds_and_ranges(void)
{
    open_context();
    ze_context_handle_t other;
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    OK(zeContextCreate(driver, &desc, &other));
    const ze_memory_type_t types[] = {ZE_MEMORY_TYPE_HOST, ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_SHARED};
    const char *counters[] = {"host_memory", "device_memory", "shared_memory"};
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        ze_device_handle_t device = NULL;
        char *memory = new_memory(types[i], 10000);
        CHECK(live(counters[i]) == 1 && live(NULL) == 3); /* two contexts */
        for (int place = 0; place < 10000; place += 4999) {
            ze_memory_allocation_properties_t properties = properties_of(context, memory + place, &device);
            CHECK(properties.type == types[i] && properties.id != last);
            CHECK(device == (i == 0 ? NULL : devices[0]));
            void *base;
            size_t size;
            OK(zeMemGetAddressRange(context, memory + place, &base, &size));
            CHECK(base == memory && size == 12288);
        }
        last = properties_of(context, memory, NULL).id;
        CHECK(properties_of(context, memory - 1, NULL).type == ZE_MEMORY_TYPE_UNKNOWN);
        CHECK(properties_of(context, memory + 12288, NULL).type == ZE_MEMORY_TYPE_UNKNOWN);
        CHECK(properties_of(other, memory, NULL).type == ZE_MEMORY_TYPE_UNKNOWN);
        ENDS(zeMemGetAddressRange(other, memory, NULL, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        OK(zeMemFree(context, memory));
        CHECK(properties_of(context, memory, NULL).type == ZE_MEMORY_TYPE_UNKNOWN);
    }
    CHECK(properties_of(context, &last, NULL).type == ZE_MEMORY_TYPE_UNKNOWN);
    OK(zeContextDestroy(other));
    close_context();
}

/* ZESIM_MEMORY_MIB=64, ZESIM_MAX_ALLOC_MIB=16 */
static void limits(void)
{
    open_context();
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_relaxed_allocation_limits_exp_desc_t relaxed = {
        .stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
        .flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE};
    size_t mib = 1 << 20;
    void *memory[6], *more;
    ENDS(zeMemAllocDevice(context, &desc, 17 * mib, 64, devices[0], &more), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    ENDS(zeMemAllocDevice(context, &desc, 4096, 96, devices[0], &more),
         ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
    desc.pNext = &relaxed;
    OK(zeMemAllocDevice(context, &desc, 40 * mib, 1 << 16, devices[0], &memory[0]));
    CHECK((uintptr_t)memory[0] % (1 << 16) == 0);
    OK(zeMemAllocDevice(context, &desc, 24 * mib, 64, devices[0], &memory[1]));
    ENDS(zeMemAllocDevice(context, &desc, 4096, 64, devices[0], &more), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    OK(zeMemAllocDevice(context, &desc, 24 * mib, 64, devices[1], &memory[2])); /* each has its own */
    OK(zeMemFree(context, memory[1]));
    OK(zeMemAllocDevice(context, &desc, 24 * mib, 64, devices[0], &memory[1]));
    for (int i = 0; i < 3; i++)
        OK(zeMemFree(context, memory[i]));
    close_context();
}

static void many_small_ones_do_not_meet(void)
{
    open_context();
    enum { MANY = 3000 };
    static char *memory[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            memory[i] = new_memory(ZE_MEMORY_TYPE_SHARED, (size_t)(64 + i * 37 % 9000));
            memset(memory[i], i, (size_t)(64 + i * 37 % 9000));
        }
        CHECK(live("shared_memory") == MANY);
        for (int i = 0; i < MANY; i++) {
            for (int k = 0; k < 64 + i * 37 % 9000; k += 63)
                CHECK(memory[i][k] == (char)i);
            OK(zeMemFree(context, memory[i]));
        }
    }
    close_context();
}

static void wrong_frees_are_told(void)
{
    open_context();
    char *memory = new_memory(ZE_MEMORY_TYPE_SHARED, 4096);
    ENDS(zeMemFree(context, memory + 64), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    CHECK(was_told("not what an allocation gave"));
    OK(zeMemFree(context, memory));
    ENDS(zeMemFree(context, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    was_told("");
    memory = new_memory(ZE_MEMORY_TYPE_SHARED, 4096);
    ze_context_handle_t first = context;
    open_context(); /* before the other goes: it would have its address */
    OK(zeContextDestroy(first));
    CHECK(was_told("1 objects of the context are left"));
    OK(zeMemFree(context, memory));
    CHECK(was_told("memory of another context"));
    close_context();
}

/* Freed while a command uses it: the call may wait until the command completes. */
static void a_free_that_waits(void)
{
    open_context();
    ze_command_list_handle_t list = new_list(devices[0], 0);
    char *memory = new_memory(ZE_MEMORY_TYPE_SHARED, 1 << 24), zero = 0;
    ze_memory_free_ext_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
                                      .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
    for (int i = 0; i < 4; i++)
        OK(zeCommandListAppendMemoryFill(list, memory, &zero, 1, 1 << 24, NULL, 0, NULL));
    OK(zeMemFreeExt(context, &desc, memory));
    OK(zeCommandListDestroy(list));
    close_context();
}

/* Another process, which has the handle and a descriptor for it. */
static void the_other_process(void)
{
    open_context();
    ze_ipc_mem_handle_t handle;
    const char *text = getenv("HANDLE");
    for (size_t i = 0; i < sizeof(handle); i++) {
        unsigned byte;
        CHECK(sscanf(text + 2 * i, "%2x", &byte) == 1);
        handle.data[i] = (char)byte;
    }
    /* The descriptor's number here, unless the driver takes it out of the other process. */
    int descriptor = atoi(getenv("DESCRIPTOR"));
    if (getenv("ZESIM_IPC_PROCESS") == NULL)
        memcpy(handle.data, &descriptor, sizeof(descriptor));
    char *memory;
    OK(zeMemOpenIpcHandle(context, devices[0], handle, 0, (void **)&memory));
    CHECK(live("ipc_memory") == 1);
    CHECK(properties_of(context, memory + 4999, NULL).type == ZE_MEMORY_TYPE_DEVICE);
    for (int i = 0; i < 5000; i++)
        CHECK(memory[i] == (char)(i * 7));
    memory[0] = 99;
    OK(zeMemCloseIpcHandle(context, memory));
    memset(&handle, 0, sizeof(handle));
    ENDS(zeMemOpenIpcHandle(context, devices[0], handle, 0, (void **)&memory),
         ZE_RESULT_ERROR_INVALID_ARGUMENT);
    close_context();
}

static void memory_of_another_process(void)
{
    open_context();
    char *before = new_memory(ZE_MEMORY_TYPE_DEVICE, 5000), *memory = new_memory(ZE_MEMORY_TYPE_DEVICE, 5000);
    char *host = new_memory(ZE_MEMORY_TYPE_HOST, 5000);
    for (int i = 0; i < 5000; i++)
        memory[i] = (char)(i * 7);
    ze_ipc_mem_handle_t handle;
    ENDS(zeMemGetIpcHandle(context, host, &handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(zeMemGetIpcHandle(context, memory, &handle));
    CHECK(live("ipc_handle") == 1);
    int descriptor;
    memcpy(&descriptor, handle.data, sizeof(descriptor));
    descriptor = dup(descriptor);
    CHECK(descriptor >= 0);
    char text[2 * sizeof(handle) + 1];
    for (size_t i = 0; i < sizeof(handle); i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)handle.data[i]);
    setenv("HANDLE", text, 1);
    snprintf(text, sizeof(text), "%d", descriptor);
    setenv("DESCRIPTOR", text, 1);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "memory", "the_other_process", NULL);
        _exit(127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(memory[0] == 99);
    close(descriptor);
    OK(zeMemFree(context, before));
    OK(zeMemFree(context, memory));
    CHECK(live("ipc_handle") == 0);
    OK(zeMemFree(context, host));
    close_context();
}

MAIN(TEST(the_driver_knows_kinds_and_ranges), TEST(limits), TEST(many_small_ones_do_not_meet),
     TEST(wrong_frees_are_told), TEST(a_free_that_waits), {"the_other_process", the_other_process},
     TEST(memory_of_another_process))
