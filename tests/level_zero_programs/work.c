/* Commands: order, overlap, events, fences, timestamps. */
#include "program.h"

#include <dirent.h>

#define N 4096

static ze_command_list_handle_t list;
static ze_event_pool_handle_t pool;

static void begin(ze_command_queue_flags_t flags)
{
    open_context();
    list = new_list(devices[0], flags);
    pool = new_pool(8, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
}

/* What comes next comes after what was: the list may not be in order. */
static void then(void)
{
    OK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

static void end(void)
{
    OK(zeEventPoolDestroy(pool));
    OK(zeCommandListDestroy(list));
    close_context();
}

static void copies_and_fills_in_order(void)
{
    begin(IN_ORDER);
    int32_t *a = new_memory(ZE_MEMORY_TYPE_DEVICE, N), *b = new_memory(ZE_MEMORY_TYPE_SHARED, N);
    int32_t *c = new_memory(ZE_MEMORY_TYPE_HOST, N), plain[N / 4];
    int64_t pattern[2] = {0x0102030405060708, 0x1112131415161718};
    ze_event_handle_t event = new_event(pool, 0);
    CHECK(b[0] != 0); /* new memory holds no zeros */
    OK(zeCommandListAppendMemoryFill(list, a, pattern, 16, N, NULL, 0, NULL));
    then();
    OK(zeCommandListAppendMemoryCopy(list, b, a, N, NULL, 0, NULL));
    then();
    OK(zeCommandListAppendMemoryCopy(list, c, b, N, NULL, 0, NULL));
    then();
    OK(zeCommandListAppendMemoryCopy(list, plain, c, N, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    for (int i = 0; i < N / 16; i++)
        CHECK(memcmp(plain + 4 * i, pattern, 16) == 0);
    OK(zeEventDestroy(event));
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, b));
    OK(zeMemFree(context, c));
    end();
}

static void a_host_gets_its_answer_while_work_is_pending(void)
{
    begin(IN_ORDER);
    int32_t *a = new_memory(ZE_MEMORY_TYPE_SHARED, N), zero = 0;
    ze_event_handle_t event = new_event(pool, 0);
    pause_all(true);
    OK(zeCommandListAppendMemoryFill(list, a, &zero, 4, N, event, 0, NULL));
    CHECK(a[0] != 0);
    ENDS(zeEventQueryStatus(event), ZE_RESULT_NOT_READY);
    ENDS(zeEventHostSynchronize(event, 0), ZE_RESULT_NOT_READY);
    ENDS(zeEventHostSynchronize(event, 1000000), ZE_RESULT_NOT_READY);
    CHECK(live("command") == 1);
    pause_all(false);
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeEventQueryStatus(event));
    CHECK(a[0] == 0 && a[N / 4 - 1] == 0);
    OK(zeEventHostReset(event));
    ENDS(zeEventQueryStatus(event), ZE_RESULT_NOT_READY);
    OK(zeEventDestroy(event));
    OK(zeMemFree(context, a));
    end();
}

/* Two commands of a list that is not in order: the second may pass the first, which waits, only as far as the
 * interface says: they begin in order. */
static void commands_begin_in_order_and_overlap(void)
{
    begin(0);
    int32_t *a = new_memory(ZE_MEMORY_TYPE_SHARED, 64), *b = new_memory(ZE_MEMORY_TYPE_SHARED, 64), one = 1;
    ze_event_handle_t gate = new_event(pool, 0), first = new_event(pool, 1), second = new_event(pool, 2);
    OK(zeCommandListAppendMemoryFill(list, a, &one, 4, 64, first, 1, &gate));
    OK(zeCommandListAppendMemoryFill(list, b, &one, 4, 64, second, 0, NULL));
    ENDS(zeEventHostSynchronize(second, 20000000), ZE_RESULT_NOT_READY);
    OK(zeEventHostSignal(gate));
    OK(zeEventHostSynchronize(first, UINT64_MAX));
    OK(zeEventHostSynchronize(second, UINT64_MAX));
    CHECK(a[0] == 1 && b[0] == 1);
    OK(zeEventDestroy(gate));
    OK(zeEventDestroy(first));
    OK(zeEventDestroy(second));
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, b));
    end();
}

static void a_barrier_waits_for_all_before_it(void)
{
    begin(0);
    char *a = new_memory(ZE_MEMORY_TYPE_SHARED, 1 << 24);
    ze_event_handle_t event = new_event(pool, 0);
    for (int round = 1; round < 20; round++) {
        OK(zeCommandListAppendMemoryFill(list, a, &round, 1, 1 << 24, NULL, 0, NULL));
        OK(zeCommandListAppendBarrier(list, event, 0, NULL));
        OK(zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(a[(1 << 24) - 1] == round);
        OK(zeEventHostReset(event));
    }
    OK(zeEventDestroy(event));
    OK(zeMemFree(context, a));
    end();
}

static void a_queue_runs_closed_lists_and_signals_a_fence(void)
{
    begin(0);
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t recorded;
    ze_fence_handle_t fence;
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    int32_t *a = new_memory(ZE_MEMORY_TYPE_SHARED, N), seven = 7;
    OK(zeCommandQueueCreate(context, devices[0], &queue_desc, &queue));
    OK(zeCommandListCreate(context, devices[0], &list_desc, &recorded));
    OK(zeFenceCreate(queue, &fence_desc, &fence));
    OK(zeCommandListAppendMemoryFill(recorded, a, &seven, 4, N / 2, NULL, 0, NULL));
    OK(zeCommandListAppendBarrier(recorded, NULL, 0, NULL));
    OK(zeCommandListAppendMemoryCopy(recorded, a + N / 8, a, N / 2, NULL, 0, NULL));
    ENDS(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(zeCommandListClose(recorded));
    for (int round = 0; round < 10; round++) {
        memset(a, 0, N);
        pause_all(true);
        OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, fence));
        ENDS(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
        ENDS(zeCommandQueueSynchronize(queue, 0), ZE_RESULT_NOT_READY);
        CHECK(a[0] == 0);
        pause_all(false);
        OK(zeFenceHostSynchronize(fence, UINT64_MAX));
        OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
        CHECK(a[0] == 7 && a[N / 4 - 1] == 7);
        OK(zeFenceReset(fence));
    }
    OK(zeFenceDestroy(fence));
    OK(zeCommandListDestroy(recorded));
    OK(zeCommandQueueDestroy(queue));
    OK(zeMemFree(context, a));
    end();
}

static void timestamps_lie_between_those_of_the_host(void)
{
    begin(IN_ORDER);
    ze_event_pool_handle_t timed =
        new_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t event = new_event(timed, 0), plain = new_event(pool, 0);
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    OK(zeDeviceGetProperties(devices[0], &properties));
    uint64_t host[2], own[2], mask = (1ull << properties.kernelTimestampValidBits) - 1;
    char *a = new_memory(ZE_MEMORY_TYPE_DEVICE, 1 << 24), zero = 0;
    ze_kernel_timestamp_result_t times;
    OK(zeDeviceGetGlobalTimestamps(devices[0], &host[0], &own[0]));
    OK(zeCommandListAppendMemoryFill(list, a, &zero, 1, 1 << 24, event, 0, NULL));
    ENDS(zeEventHostSynchronize(event, UINT64_MAX), ZE_RESULT_SUCCESS);
    OK(zeDeviceGetGlobalTimestamps(devices[0], &host[1], &own[1]));
    OK(zeEventQueryKernelTimestamp(event, &times));
    ENDS(zeEventQueryKernelTimestamp(plain, &times), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    uint64_t whole = own[1] - own[0], start = (times.global.kernelStart - own[0]) & mask,
             length = (times.global.kernelEnd - times.global.kernelStart) & mask;
    CHECK(length > 0 && start <= whole && start + length <= whole);
    CHECK((host[1] - host[0]) / properties.timerResolution <= whole + 1);
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    uint64_t ns = properties.timerResolution;
    OK(zeDeviceGetProperties(devices[0], &properties));
    CHECK(properties.timerResolution == 1000000000 / ns); /* the same clock, told by its frequency */
    OK(zeEventDestroy(event));
    OK(zeEventDestroy(plain));
    OK(zeEventPoolDestroy(timed));
    OK(zeMemFree(context, a));
    end();
}

static void regions_are_copied_row_by_row(void)
{
    begin(IN_ORDER);
    unsigned char *a = new_memory(ZE_MEMORY_TYPE_SHARED, 1000), *b = new_memory(ZE_MEMORY_TYPE_SHARED, 1000);
    ze_event_handle_t event = new_event(pool, 0);
    for (int i = 0; i < 1000; i++)
        a[i] = (unsigned char)i, b[i] = 255;
    ze_copy_region_t from = {.originX = 1, .originY = 2, .originZ = 3, .width = 4, .height = 3, .depth = 2};
    ze_copy_region_t to = {.width = 4, .height = 3, .depth = 2};
    OK(zeCommandListAppendMemoryCopyRegion(list, b, &to, 20, 200, a, &from, 10, 100, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 5; x++)
                CHECK(b[z * 200 + y * 20 + x] == (x == 4 ? 255 : a[(3 + z) * 100 + (2 + y) * 10 + 1 + x]));
    OK(zeEventDestroy(event));
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, b));
    end();
}

static void lists_wait_for_each_other_by_events(void)
{
    begin(IN_ORDER);
    ze_command_list_handle_t other = new_list(devices[n_devices - 1], IN_ORDER);
    int32_t *a = new_memory(ZE_MEMORY_TYPE_HOST, N), *b = new_memory(ZE_MEMORY_TYPE_HOST, N);
    ze_event_handle_t filled = new_event(pool, 0), copied = new_event(pool, 1);
    for (int round = 1; round < 200; round++) {
        OK(zeCommandListAppendMemoryCopy(other, b, a, N, copied, 1, &filled));
        OK(zeCommandListAppendMemoryFill(list, a, &round, 4, N, filled, 0, NULL));
        OK(zeEventHostSynchronize(copied, UINT64_MAX));
        CHECK(b[0] == round && b[N / 4 - 1] == round);
        OK(zeEventHostReset(filled));
        OK(zeEventHostReset(copied));
    }
    OK(zeEventDestroy(filled));
    OK(zeEventDestroy(copied));
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, b));
    OK(zeCommandListDestroy(other));
    end();
}

static void broken_rules_are_told(void)
{
    begin(IN_ORDER);
    int32_t *a = new_memory(ZE_MEMORY_TYPE_SHARED, N), zero = 0;
    ze_event_handle_t event = new_event(pool, 0);
    OK(zeCommandListAppendMemoryFill(list, a, &zero, 4, N + 4096, event, 0, NULL));
    CHECK(was_told("4096 bytes behind"));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeCommandListAppendSignalEvent(list, event));
    CHECK(was_told("signalled already"));
    OK(zeEventHostReset(event));
    was_told("");
    pause_all(true);
    OK(zeCommandListAppendMemoryFill(list, a, &zero, 4, N, NULL, 0, NULL));
    OK(zeMemFree(context, a));
    CHECK(was_told("uses the memory"));
    pause_all(false);
    OK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    OK(zeEventDestroy(event));
    was_told("");
    OK(zeCommandListDestroy(list));
    was_told("");
    list = new_list(devices[0], IN_ORDER);
    end();
}

/* Threads of this process that may run on that processor alone. */
static int threads_on(const char *processor)
{
    char path[300], line[256], wanted[64];
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    snprintf(wanted, sizeof(wanted), "Cpus_allowed_list:\t%s\n", processor);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        while (status != NULL && fgets(line, sizeof(line), status) != NULL)
            n += strcmp(line, wanted) == 0;
        if (status != NULL)
            fclose(status);
    }
    closedir(tasks);
    return n;
}

static void engines_stay_on_their_processor(void)
{
    open_context();
    const char *processor = getenv("ZESIM_PROCESSOR");
    int before = threads_on(processor);
    bool expected = atoi(getenv("EXPECT_THREADS")) != 0;
    ze_command_list_handle_t list = new_list(devices[0], IN_ORDER);
    ze_event_pool_handle_t pool = new_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t event = new_event(pool, 0);
    OK(zeCommandListAppendBarrier(list, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    CHECK((threads_on(processor) > before) == expected); /* several where the list is not in order */
    OK(zeEventDestroy(event));
    OK(zeEventPoolDestroy(pool));
    OK(zeCommandListDestroy(list));
    close_context();
}

MAIN(TEST(engines_stay_on_their_processor), TEST(copies_and_fills_in_order),
     TEST(a_host_gets_its_answer_while_work_is_pending), TEST(commands_begin_in_order_and_overlap),
     TEST(a_barrier_waits_for_all_before_it), TEST(a_queue_runs_closed_lists_and_signals_a_fence),
     TEST(timestamps_lie_between_those_of_the_host), TEST(regions_are_copied_row_by_row),
     TEST(lists_wait_for_each_other_by_events), TEST(broken_rules_are_told))
