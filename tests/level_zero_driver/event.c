/* Events, their pools, and fences. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

ze_result_t ZE_APICALL zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
                                         uint32_t n, ze_device_handle_t *devices, ze_event_pool_handle_t *out)
{
    SIM_ENTER(zeEventPoolCreate);
    if (desc->count == 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pool of no events");
    for (uint32_t i = 0; devices != NULL && i < n; i++)
        if (!sim_context_has(context, devices[i]))
            return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a device that the context lacks");
    ze_event_pool_handle_t pool = calloc(1, sizeof(*pool));
    _Atomic uint8_t *taken = calloc(desc->count, sizeof(*taken));
    if (pool == NULL || taken == NULL) {
        free(pool);
        free((void *)taken);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    pool->context = context;
    pool->flags = desc->flags;
    pool->count = desc->count;
    pool->taken = taken;
    atomic_fetch_add(&context->children, 1);
    sim_born(SIM_EVENT_POOL);
    *out = pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventPoolDestroy(ze_event_pool_handle_t pool)
{
    SIM_ENTER(zeEventPoolDestroy);
    uint32_t live = atomic_load(&pool->live);
    if (live > 0)
        sim_misuse("zeEventPoolDestroy: %u events of the pool are left", live);
    atomic_fetch_sub(&pool->context->children, 1);
    sim_gone(SIM_EVENT_POOL);
    free((void *)pool->taken);
    free(pool);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
                                     ze_event_handle_t *out)
{
    SIM_ENTER(zeEventCreate);
    if (desc->index >= pool->count)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "event %u of a pool of %u", desc->index,
                        pool->count);
    ze_event_handle_t event = calloc(1, sizeof(*event));
    if (event == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (atomic_exchange(&pool->taken[desc->index], 1) != 0)
        sim_misuse("zeEventCreate: event %u of the pool exists already", desc->index);
    event->pool = pool;
    event->index = desc->index;
    atomic_fetch_add(&pool->live, 1);
    sim_born(SIM_EVENT);
    *out = event;
    return ZE_RESULT_SUCCESS;
}

static void check_unused(ze_event_handle_t event, const char *function)
{
    sim_settle();
    uint32_t signals = atomic_load(&event->signals), waits = atomic_load(&event->waits);
    if (signals + waits > 0)
        sim_misuse("%s: %u commands are to signal the event, and %u to wait for it", function, signals,
                   waits);
}

ze_result_t ZE_APICALL zeEventDestroy(ze_event_handle_t event)
{
    SIM_ENTER(zeEventDestroy);
    check_unused(event, "zeEventDestroy");
    atomic_store(&event->pool->taken[event->index], 0);
    atomic_fetch_sub(&event->pool->live, 1);
    sim_gone(SIM_EVENT);
    free(event);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventGetEventPool(ze_event_handle_t event, ze_event_pool_handle_t *pool)
{
    SIM_ENTER(zeEventGetEventPool);
    *pool = event->pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventHostSignal(ze_event_handle_t event)
{
    SIM_ENTER(zeEventHostSignal);
    uint64_t now = sim_now_ns();
    pthread_mutex_lock(&sim_lock);
    sim_signal(event, now, now);
    pthread_mutex_unlock(&sim_lock);
    sim_tell();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventHostReset(ze_event_handle_t event)
{
    SIM_ENTER(zeEventHostReset);
    check_unused(event, "zeEventHostReset");
    atomic_store(&event->signalled, false);
    return ZE_RESULT_SUCCESS;
}

static bool event_is_over(void *event)
{
    return atomic_load(&((ze_event_handle_t)event)->signalled);
}

/* What an event of a pool that the host does not see would tell is not defined. */
static void check_visible(ze_event_handle_t event, const char *function)
{
    if ((event->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) == 0)
        sim_misuse("%s: the event's pool is not host-visible", function);
}

ze_result_t ZE_APICALL zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout)
{
    SIM_ENTER(zeEventHostSynchronize);
    check_visible(event, "zeEventHostSynchronize");
    if (sim_poll(event_is_over, event, &timeout))
        return ZE_RESULT_SUCCESS;
    return sim_wait(event_is_over, event, timeout, NULL, event->pool->context);
}

ze_result_t ZE_APICALL zeEventQueryStatus(ze_event_handle_t event)
{
    SIM_ENTER(zeEventQueryStatus);
    check_visible(event, "zeEventQueryStatus");
    /* Asked first: what had ended before the loss has then been seen to end. */
    ze_result_t lost = sim_context_lost(event->pool->context);
    if (event_is_over(event))
        return ZE_RESULT_SUCCESS;
    return lost != ZE_RESULT_SUCCESS ? lost : ZE_RESULT_NOT_READY;
}

static ze_result_t read_times(ze_event_handle_t event, ze_kernel_timestamp_result_t *out)
{
    if ((event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event's pool has no timestamps");
    if (!event_is_over(event))
        return ZE_RESULT_NOT_READY;
    out->global.kernelStart = out->context.kernelStart = sim_kernel_ticks(event->start_ns);
    out->global.kernelEnd = out->context.kernelEnd = sim_kernel_ticks(event->end_ns);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventQueryKernelTimestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *out)
{
    SIM_ENTER(zeEventQueryKernelTimestamp);
    return read_times(event, out);
}

ze_result_t ZE_APICALL zeEventQueryTimestampsExp(ze_event_handle_t event, ze_device_handle_t device,
                                                 uint32_t *count, ze_kernel_timestamp_result_t *out)
{
    (void)device;
    SIM_ENTER(zeEventQueryTimestampsExp);
    bool asks = *count == 0 || out == NULL;
    *count = 1;
    return asks ? ZE_RESULT_SUCCESS : read_times(event, out);
}

/* --- fences ------------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
                                     ze_fence_handle_t *out)
{
    SIM_ENTER(zeFenceCreate);
    ze_fence_handle_t fence = calloc(1, sizeof(*fence));
    if (fence == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    fence->queue = queue;
    atomic_store(&fence->signalled, (desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0);
    sim_born(SIM_FENCE);
    *out = fence;
    return ZE_RESULT_SUCCESS;
}

static void check_idle(ze_fence_handle_t fence, const char *function)
{
    sim_settle();
    if (atomic_load(&fence->pending) > 0)
        sim_misuse("%s: work that is to signal the fence has not ended", function);
}

ze_result_t ZE_APICALL zeFenceDestroy(ze_fence_handle_t fence)
{
    SIM_ENTER(zeFenceDestroy);
    check_idle(fence, "zeFenceDestroy");
    sim_gone(SIM_FENCE);
    free(fence);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeFenceReset(ze_fence_handle_t fence)
{
    SIM_ENTER(zeFenceReset);
    check_idle(fence, "zeFenceReset");
    atomic_store(&fence->signalled, false);
    return ZE_RESULT_SUCCESS;
}

static bool fence_is_over(void *fence)
{
    return atomic_load(&((ze_fence_handle_t)fence)->signalled);
}

ze_result_t ZE_APICALL zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout)
{
    SIM_ENTER(zeFenceHostSynchronize);
    if (sim_poll(fence_is_over, fence, &timeout))
        return ZE_RESULT_SUCCESS;
    return sim_wait(fence_is_over, fence, timeout, fence->queue->engine.device, NULL);
}

ze_result_t ZE_APICALL zeFenceQueryStatus(ze_fence_handle_t fence)
{
    SIM_ENTER(zeFenceQueryStatus);
    if (fence_is_over(fence))
        return ZE_RESULT_SUCCESS;
    ze_result_t lost = sim_lost(fence->queue->engine.device);
    return lost != ZE_RESULT_SUCCESS ? lost : ZE_RESULT_NOT_READY;
}
