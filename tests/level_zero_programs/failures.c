/* Calls that fail on demand, lost devices, functions that are missing, and counts. */
#include "program.h"

#define N 4096

static ze_command_list_handle_t list;
static ze_event_pool_handle_t pool;
static int32_t *memory;

static void begin(void)
{
    open_context();
    list = new_list(devices[0], IN_ORDER);
    pool = new_pool(4, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    memory = new_memory(ZE_MEMORY_TYPE_SHARED, N);
}

static void end(void)
{
    OK(zeMemFree(context, memory));
    OK(zeEventPoolDestroy(pool));
    OK(zeCommandListDestroy(list));
    close_context();
}

static void chosen_calls_fail(void)
{
    begin();
    void *more[3];
    ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    fail_call("zeMemAllocHost", 2, 1, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    int64_t before = calls("zeMemAllocHost");
    OK(zeMemAllocHost(context, &desc, 64, 64, &more[0]));
    ENDS(zeMemAllocHost(context, &desc, 64, 64, &more[1]), ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    OK(zeMemAllocHost(context, &desc, 64, 64, &more[2]));
    CHECK(calls("zeMemAllocHost") == before + 3 && live("host_memory") == 2);
    fail_call("zeMemFree", 1, 2, ZE_RESULT_ERROR_UNKNOWN);
    ENDS(zeMemFree(context, more[0]), ZE_RESULT_ERROR_UNKNOWN);
    ENDS(zeMemFree(context, more[0]), ZE_RESULT_ERROR_UNKNOWN);
    OK(zeMemFree(context, more[0]));
    fail_call("zeMemFree", 1, UINT64_MAX, ZE_RESULT_ERROR_UNKNOWN);
    ENDS(zeMemFree(context, more[2]), ZE_RESULT_ERROR_UNKNOWN);
    fail_call("zeMemFree", 1, 0, ZE_RESULT_ERROR_UNKNOWN);
    OK(zeMemFree(context, more[2]));
    CHECK(SIM(int, zesimFail, const char *, uint64_t, uint64_t, uint32_t)("zeNone", 1, 1, 1) == -1);
    end();
}

/* ZESIM_FAIL=zeEventCreate:2:0x70000002,zeFenceCreate:1+:0x78000003 */
static void calls_fail_by_the_environment(void)
{
    begin();
    ze_event_handle_t event = new_event(pool, 0), none;
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 1};
    ENDS(zeEventCreate(pool, &desc, &none), ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    OK(zeEventCreate(pool, &desc, &none));
    OK(zeEventDestroy(event));
    OK(zeEventDestroy(none));
    ze_command_queue_handle_t queue;
    ze_fence_handle_t fence;
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    OK(zeCommandQueueCreate(context, devices[0], &queue_desc, &queue));
    for (int i = 0; i < 3; i++)
        ENDS(zeFenceCreate(queue, &fence_desc, &fence), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    OK(zeCommandQueueDestroy(queue));
    end();
}

static void the_device_is_lost_in_the_middle_of_its_work(void)
{
    begin();
    ze_event_handle_t first = new_event(pool, 0), second = new_event(pool, 1), third = new_event(pool, 2);
    int32_t one = 1, two = 2;
    fail_call("command", 2, 1, ZE_RESULT_ERROR_DEVICE_LOST);
    pause_all(true);
    OK(zeCommandListAppendMemoryFill(list, memory, &one, 4, N, first, 0, NULL));
    OK(zeCommandListAppendMemoryFill(list, memory, &two, 4, N, second, 1, &first));
    OK(zeCommandListAppendMemoryFill(list, memory, &two, 4, N, third, 1, &second));
    pause_all(false);
    ENDS(zeEventHostSynchronize(second, UINT64_MAX), ZE_RESULT_ERROR_DEVICE_LOST);
    ENDS(zeEventHostSynchronize(third, UINT64_MAX), ZE_RESULT_ERROR_DEVICE_LOST);
    OK(zeEventHostSynchronize(first, UINT64_MAX)); /* it was before */
    ENDS(zeEventQueryStatus(third), ZE_RESULT_ERROR_DEVICE_LOST);
    ENDS(zeDeviceGetStatus(devices[0]), ZE_RESULT_ERROR_DEVICE_LOST);
    OK(zeDeviceGetStatus(devices[1]));
    ENDS(zeContextGetStatus(context), ZE_RESULT_ERROR_DEVICE_LOST);
    CHECK(memory[0] == 1);
    ENDS(zeCommandListAppendBarrier(list, NULL, 0, NULL), ZE_RESULT_ERROR_DEVICE_LOST);
    OK(zeEventDestroy(first));
    while (live("command") > 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    OK(zeEventDestroy(second));
    OK(zeEventDestroy(third));
    end(); /* all of it can be released */
}

/* The host waits for a command that never runs, since that waits for an event that is never signaled. */
static void a_loss_wakes_who_waits(void)
{
    begin();
    ze_event_handle_t gate = new_event(pool, 0), event = new_event(pool, 1);
    OK(zeCommandListAppendBarrier(list, event, 1, &gate));
    ENDS(zeEventHostSynchronize(event, 1000000), ZE_RESULT_NOT_READY);
    lose(0, ZE_RESULT_ERROR_DEVICE_LOST);
    ENDS(zeEventHostSynchronize(event, UINT64_MAX), ZE_RESULT_ERROR_DEVICE_LOST);
    while (live("command") > 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    lose(0, ZE_RESULT_SUCCESS);
    OK(zeCommandListAppendBarrier(list, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeEventDestroy(gate));
    OK(zeEventDestroy(event));
    end();
}

/* ZESIM_WITHOUT=zeCommandListAppendMemAdvise: the loader says so, and calls no NULL. */
static void a_function_that_the_driver_lacks(void)
{
    begin();
    ENDS(zeCommandListAppendMemAdvise(list, devices[0], memory, N, ZE_MEMORY_ADVICE_SET_READ_MOSTLY),
         ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    ze_event_handle_t event = new_event(pool, 0);
    OK(zeCommandListAppendMemoryPrefetch(list, memory, N));
    OK(zeCommandListAppendBarrier(list, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeEventDestroy(event));
    end();
}

static void what_is_left_is_counted(void)
{
    begin();
    ze_event_handle_t event = new_event(pool, 3);
    char text[512];
    CHECK(live("event") == 1 && live("event_pool") == 1 && live("command_list") == 1 && live("none") == -1);
    CHECK(live(NULL) == 5);
    SIM(size_t, zesimReport, char *, size_t)(text, sizeof(text));
    CHECK(strcmp(text, "context 1\ncommand_list 1\nevent_pool 1\nevent 1\nshared_memory 1\n") == 0);
    CHECK(SIM(int64_t, zesimMade, const char *)("event") == 1);
    OK(zeEventDestroy(event));
    OK(zeEventPoolDestroy(pool));
    pool = new_pool(4, 0);
    ze_event_handle_t hidden = new_event(pool, 0);
    zeEventQueryStatus(hidden);
    CHECK(was_told("not host-visible"));
    OK(zeEventDestroy(hidden));
    end();
}

MAIN(TEST(chosen_calls_fail), TEST(calls_fail_by_the_environment),
     TEST(the_device_is_lost_in_the_middle_of_its_work), TEST(a_loss_wakes_who_waits),
     TEST(a_function_that_the_driver_lacks), TEST(what_is_left_is_counted))
