/*
 * What usmpy is measured against on Level Zero: the same work through the same loader, without a library in
 * between. As a C programmer would write a loop: an immediate list in order, and events of one pool, which
 * are reset when they are used again. Compiled by level_zero.py; every function repeats n times.
 */
#include <level_zero/ze_api.h>

#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1024, LAUNCHES = 100, GROUP = 256, IN_ORDER = 1 << 1 /* of version 1.7 */ };

typedef struct raw {
    ze_context_handle_t context;
    ze_device_handle_t device;
    ze_command_list_handle_t in_order, out_of_order;
    ze_event_pool_handle_t pool;
    ze_event_handle_t events[LAUNCHES];
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    char *x, *y; /* usmpy's own: blocks of one size are not equally fast */
} raw;

static void check_call(ze_result_t result, const char *call)
{
    if (result != ZE_RESULT_SUCCESS) {
        fprintf(stderr, "level_zero_raw.c: 0x%x from %s\n", (unsigned)result, call);
        abort();
    }
}
#define check(call) check_call(call, #call)

static ze_command_list_handle_t new_list(const raw *r, ze_command_queue_flags_t flags)
{
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .flags = flags,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    ze_command_list_handle_t list;
    check(zeCommandListCreateImmediate(r->context, r->device, &desc, &list));
    return list;
}

static void *allocate(const raw *r, size_t nbytes)
{
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *pointer;
    check(zeMemAllocDevice(r->context, &desc, nbytes, 64, r->device, &pointer));
    return pointer;
}

/* Two blocks of a device's memory, in a context, and a kernel of a SPIR-V module. */
raw *raw_open(const unsigned char *spirv, size_t size, const char *kernel, ze_context_handle_t context,
              ze_device_handle_t device, void *x, void *y)
{
    raw *r = calloc(1, sizeof *r);
    const ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = LAUNCHES,
    };
    const ze_module_desc_t module = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = size,
        .pInputModule = spirv,
    };
    const ze_kernel_desc_t function = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel};
    r->context = context;
    r->device = device;
    r->x = x;
    r->y = y;
    r->in_order = new_list(r, IN_ORDER);
    r->out_of_order = new_list(r, 0);
    check(zeEventPoolCreate(r->context, &pool, 1, &r->device, &r->pool));
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        const ze_event_desc_t event = {
            .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
            .index = i,
            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
            .wait = ZE_EVENT_SCOPE_FLAG_HOST,
        };
        check(zeEventCreate(r->pool, &event, &r->events[i]));
    }
    check(zeModuleCreate(r->context, r->device, &module, &r->module, NULL));
    check(zeKernelCreate(r->module, &function, &r->kernel));
    check(zeKernelSetGroupSize(r->kernel, GROUP, 1, 1));
    return r;
}

void raw_close(raw *r)
{
    check(zeKernelDestroy(r->kernel));
    check(zeModuleDestroy(r->module));
    for (int i = 0; i < LAUNCHES; i++) {
        check(zeEventDestroy(r->events[i]));
    }
    check(zeEventPoolDestroy(r->pool));
    check(zeCommandListDestroy(r->in_order));
    check(zeCommandListDestroy(r->out_of_order));
    free(r);
}

static void launch(const raw *r, ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n_waits,
                   ze_event_handle_t *waits)
{
    const ze_group_count_t groups = {ELEMENTS / GROUP, 1, 1};
    const float a = 2;
    const int n = ELEMENTS;
    check(zeKernelSetArgumentValue(r->kernel, 0, sizeof r->x, &r->x));
    check(zeKernelSetArgumentValue(r->kernel, 1, sizeof r->y, &r->y));
    check(zeKernelSetArgumentValue(r->kernel, 2, sizeof a, &a));
    check(zeKernelSetArgumentValue(r->kernel, 3, sizeof n, &n));
    check(zeCommandListAppendLaunchKernel(list, r->kernel, &groups, signal, n_waits, waits));
}

static void wait_for(const raw *r, int i)
{
    check(zeEventHostSynchronize(r->events[i], UINT64_MAX));
    check(zeEventHostReset(r->events[i]));
}

/* Each launch has an event, which says how it went; the last one is waited for. */
static void reset_all(const raw *r)
{
    for (int k = 0; k < LAUNCHES; k++) {
        check(zeEventHostReset(r->events[k]));
    }
}

void raw_submit(const raw *r)
{
    for (int k = 0; k < LAUNCHES; k++) {
        launch(r, r->in_order, r->events[k], 0, NULL);
    }
}

void raw_submit_end(const raw *r)
{
    check(zeEventHostSynchronize(r->events[LAUNCHES - 1], UINT64_MAX));
    reset_all(r);
}

void raw_launches(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        raw_submit(r);
        raw_submit_end(r);
    }
}

void raw_launch_wait(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        launch(r, r->in_order, r->events[0], 0, NULL);
        wait_for(r, 0);
    }
}

/* Each launch waits for the `depends` before it. */
void raw_launches_depends(const raw *r, int n, int depends)
{
    ze_event_handle_t *events = (ze_event_handle_t *)r->events;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < LAUNCHES; k++) {
            int waits = k < depends ? k : depends;
            launch(r, r->out_of_order, events[k], (uint32_t)waits, waits > 0 ? &events[k - waits] : NULL);
        }
        check(zeEventHostSynchronize(events[LAUNCHES - 1], UINT64_MAX));
        reset_all(r);
    }
}

void raw_wait_ended(const raw *r, int n)
{
    launch(r, r->in_order, r->events[0], 0, NULL);
    check(zeEventHostSynchronize(r->events[0], UINT64_MAX));
    for (int i = 0; i < n; i++) {
        check(zeEventHostSynchronize(r->events[0], UINT64_MAX));
    }
    check(zeEventHostReset(r->events[0]));
}

void raw_barrier_wait(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        check(zeCommandListAppendBarrier(r->in_order, r->events[0], 0, NULL));
        wait_for(r, 0);
    }
}

void raw_copy_wait(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        check(zeCommandListAppendMemoryCopy(r->in_order, r->y, r->x, nbytes, r->events[0], 0, NULL));
        wait_for(r, 0);
    }
}

void raw_fill_wait(const raw *r, int n, size_t nbytes)
{
    const float pattern = 7;
    for (int i = 0; i < n; i++) {
        check(zeCommandListAppendMemoryFill(r->in_order, r->y, &pattern, sizeof pattern, nbytes, r->events[0],
                                            0, NULL));
        wait_for(r, 0);
    }
}

void raw_allocate_free(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        check(zeMemFree(r->context, allocate(r, nbytes)));
    }
}
