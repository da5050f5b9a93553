/*
 * Small programs that use the software driver through the real loader. A program is a table of tests;
 * `program NAME` runs one: it ends with 0 when all checks held, no object is left and no call broke a
 * rule.
 */
#ifndef ZE_PROGRAM_H
#define ZE_PROGRAM_H

#include <level_zero/ze_api.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define ENDS(call, expected)                                                                           \
    do {                                                                                               \
        unsigned seen_ = (unsigned)(call), wanted_ = (unsigned)(expected);                             \
        if (seen_ != wanted_) {                                                                        \
            fprintf(stderr, "%s:%d: 0x%x, not 0x%x: %s\n", __FILE__, __LINE__, seen_, wanted_, #call); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

#define OK(call) ENDS(call, ZE_RESULT_SUCCESS)

/* The driver's own functions: of the library that the loader has opened. */
#define SIM(result, name, ...) ((result(*)(__VA_ARGS__))sim_symbol(#name))

static inline void *sim_symbol(const char *name)
{
    void *library = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "the driver is not loaded, or has no %s\n", name);
        exit(1);
    }
    return symbol;
}

static inline int64_t live(const char *kind)
{
    return SIM(int64_t, zesimLive, const char *)(kind);
}

static inline int64_t calls(const char *function)
{
    return SIM(int64_t, zesimCalls, const char *)(function);
}

static inline void fail_call(const char *function, uint64_t first, uint64_t n, ze_result_t code)
{
    CHECK(SIM(int, zesimFail, const char *, uint64_t, uint64_t, uint32_t)(function, first, n, code) == 0);
}

static inline void pause_all(bool pause)
{
    SIM(void, zesimPause, int)(pause);
}

static inline void lose(uint32_t device, ze_result_t code)
{
    CHECK(SIM(int, zesimLose, uint32_t, uint32_t)(device, code) == 0);
}

/* True where the driver has seen rules broken that its text names so; forgets them. */
static inline bool was_told(const char *part)
{
    static char text[4096];
    SIM(uint32_t, zesimMisuse, char *, size_t)(text, sizeof(text));
    return strstr(text, part) != NULL;
}

/* --- what most tests begin with ------------------------------------------------------------------------ */

static ze_driver_handle_t driver;
static ze_device_handle_t devices[16];
static uint32_t n_devices;
static ze_context_handle_t context;

static inline void open_driver(void)
{
    uint32_t n = 1;
    OK(zeInit(0));
    OK(zeDriverGet(&n, &driver));
    CHECK(n == 1);
    n_devices = 16;
    OK(zeDeviceGet(driver, &n_devices, devices));
}

static inline void open_context(void)
{
    open_driver();
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    OK(zeContextCreate(driver, &desc, &context));
}

static inline void close_context(void)
{
    OK(zeContextDestroy(context));
    context = NULL;
}

/* ZE_COMMAND_QUEUE_FLAG_IN_ORDER of 1.7: the header may lack it, the validation layer of 1.8 refuses it. */
#define IN_ORDER 2

/* An immediate list; in order only where the loader knows of that. */
static inline ze_command_list_handle_t new_list(ze_device_handle_t device, ze_command_queue_flags_t flags)
{
    ze_command_list_handle_t list;
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                    .flags = flags,
                                    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_result_t result = zeCommandListCreateImmediate(context, device, &desc, &list);
    if (result == ZE_RESULT_ERROR_INVALID_ENUMERATION && flags == IN_ORDER) {
        desc.flags = 0;
        result = zeCommandListCreateImmediate(context, device, &desc, &list);
    }
    OK(result);
    return list;
}

static inline ze_event_pool_handle_t new_pool(uint32_t n, ze_event_pool_flags_t flags)
{
    ze_event_pool_handle_t pool;
    ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = n};
    OK(zeEventPoolCreate(context, &desc, 0, NULL, &pool));
    return pool;
}

static inline ze_event_handle_t new_event(ze_event_pool_handle_t pool, uint32_t index)
{
    ze_event_handle_t event;
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                            .index = index,
                            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    OK(zeEventCreate(pool, &desc, &event));
    return event;
}

static inline void *new_memory(ze_memory_type_t type, size_t size)
{
    void *memory = NULL;
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    if (type == ZE_MEMORY_TYPE_DEVICE)
        OK(zeMemAllocDevice(context, &device, size, 64, devices[0], &memory));
    else if (type == ZE_MEMORY_TYPE_SHARED)
        OK(zeMemAllocShared(context, &device, &host, size, 64, devices[0], &memory));
    else
        OK(zeMemAllocHost(context, &host, size, 64, &memory));
    return memory;
}

typedef struct test {
    const char *name;
    void (*run)(void);
} test;

/* clang-format off */
#define TEST(name) {#name, name}
/* clang-format on */

static inline int run_tests(int n_arguments, char **arguments, const test *tests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (n_arguments < 2) {
            printf("%s\n", tests[i].name);
            continue;
        }
        if (strcmp(arguments[1], tests[i].name) != 0)
            continue;
        static char text[4096];
        tests[i].run();
        CHECK(SIM(size_t, zesimReport, char *, size_t)(text, sizeof(text)) == 0);
        CHECK(SIM(uint32_t, zesimMisuse, char *, size_t)(text, sizeof(text)) == 0);
        return 0;
    }
    return n_arguments < 2 ? 0 : 2;
}

#define MAIN(...)                                                                          \
    int main(int n_arguments, char **arguments)                                            \
    {                                                                                      \
        static const test tests[] = {__VA_ARGS__};                                         \
        return run_tests(n_arguments, arguments, tests, sizeof(tests) / sizeof(tests[0])); \
    }

#endif
