/*
 * Where a queue's commands go: an immediate list, which runs them as they are appended; or, where the driver
 * has none and where the environment says so, plain lists that are recorded, closed and executed by a queue
 * of the driver, one for each task. A plain list is used again when its fence is signalled.
 */
#include "level_zero.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

struct usm_level_zero_recording {
    struct usm_level_zero_recording *next; /* run later */
    ze_command_list_handle_t id;
    ze_fence_handle_t fence;
    bool used; /* to be emptied first */
    bool runs; /* until its fence is signalled */
};

static enum { BY_DRIVER, IMMEDIATE, PLAIN } wish; /* set at the start, constant from then on */

/* USMPY_LEVEL_ZERO_COMMAND_LISTS, read once, before there is any queue. */
usm_status usm_level_zero_lists_start(usm_error *error)
{
    const char *text = getenv("USMPY_LEVEL_ZERO_COMMAND_LISTS");
    bool any = text == NULL || text[0] == '\0';
    if (!any && strcmp(text, "immediate") != 0 && strcmp(text, "plain") != 0) {
        return usm_error_driver(error, USM_DRIVER, "level_zero", 0, "",
                                "USMPY_LEVEL_ZERO_COMMAND_LISTS is \"%.40s\"; it can be immediate or plain",
                                text);
    }
    wish = any ? BY_DRIVER : strcmp(text, "plain") == 0 ? PLAIN : IMMEDIATE;
    return USM_OK;
}

/* Of a queue of the driver, or of the one that an immediate list has inside. */
static ze_command_queue_desc_t describe(const usm_queue *queue, const usm_level_zero_group *group)
{
    return (ze_command_queue_desc_t){
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = group->ordinal,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        .priority = queue->priority == USM_PRIORITY_HIGH  ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
                    : queue->priority == USM_PRIORITY_LOW ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW
                                                          : ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
    };
}

/*
 * Drivers since 1.7 keep the order themselves (ZE_COMMAND_QUEUE_FLAG_IN_ORDER). The loader's validation layer
 * may be older than the driver and refuse the flag.
 */
static ze_result_t make_immediate(const usm_queue *queue, const usm_level_zero_group *group,
                                  usm_level_zero_list *list)
{
    ze_context_handle_t context = usm_level_zero_context_of(queue->context)->id;
    const usm_level_zero_device *device = usm_level_zero_device_of(queue->device);
    ze_command_queue_desc_t desc = describe(queue, group);
    ze_result_t result = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (usm_level_zero.zeCommandListCreateImmediate == NULL) {
        return result;
    }
    if (queue->in_order && (uint32_t)device->driver->version >= ZE_MAKE_VERSION(1, 7)) {
        desc.flags = USM_LEVEL_ZERO_IN_ORDER;
        result = usm_level_zero.zeCommandListCreateImmediate(context, device->id, &desc, &list->id);
        list->in_order = result == ZE_RESULT_SUCCESS;
        desc.flags = 0;
    }
    return result == ZE_RESULT_SUCCESS
               ? result
               : usm_level_zero.zeCommandListCreateImmediate(context, device->id, &desc, &list->id);
}

/* Drivers report either for a function that is missing in their tables. */
static bool lacks_immediate(ze_result_t result)
{
    return result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_UNINITIALIZED;
}

/* The queue's lock held, or the queue is just made. */
static usm_status make_list(const usm_queue *queue, int which, usm_level_zero_list *list, usm_error *error)
{
    const usm_level_zero_device *device = usm_level_zero_device_of(queue->device);
    const usm_level_zero_group *group = which == USM_LEVEL_ZERO_COPY ? &device->copy : &device->compute;
    const char *function = "zeCommandListCreateImmediate";
    ze_result_t result =
        wish == PLAIN ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : make_immediate(queue, group, list);
    if (result != ZE_RESULT_SUCCESS) {
        list->id = NULL;
    }
    if (lacks_immediate(result) && wish != IMMEDIATE) {
        const ze_command_queue_desc_t desc = describe(queue, group);
        function = "zeCommandQueueCreate";
        result = usm_level_zero.zeCommandQueueCreate(usm_level_zero_context_of(queue->context)->id,
                                                     device->id, &desc, &list->runner);
        list->ordinal = group->ordinal;
        if (result != ZE_RESULT_SUCCESS) {
            list->runner = NULL;
        }
    }
    return result == ZE_RESULT_SUCCESS ? USM_OK : usm_level_zero_failed(error, result, function);
}

usm_status usm_level_zero_list_make(usm_queue *queue, int which, usm_error *error)
{
    usm_level_zero_list *list = &usm_level_zero_queue_of(queue)->lists[which];
    return list->id != NULL || list->runner != NULL ? USM_OK : make_list(queue, which, list, error);
}

/* NULL: the error is filled. */
static usm_level_zero_recording *new_recording(const usm_queue *queue, const usm_level_zero_list *list,
                                               usm_error *error)
{
    const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                         .commandQueueGroupOrdinal = list->ordinal};
    const ze_fence_desc_t fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    usm_level_zero_recording *made = usm_calloc(1, sizeof *made);
    if (made == NULL) {
        usm_error_memory(error, sizeof *made, "a list of commands");
        return NULL;
    }
    const char *function = "zeCommandListCreate";
    ze_result_t result =
        usm_level_zero.zeCommandListCreate(usm_level_zero_context_of(queue->context)->id,
                                           usm_level_zero_device_of(queue->device)->id, &desc, &made->id);
    if (result == ZE_RESULT_SUCCESS) {
        function = "zeFenceCreate";
        result = usm_level_zero.zeFenceCreate(list->runner, &fence, &made->fence);
        if (result == ZE_RESULT_SUCCESS) {
            return made;
        }
        usm_level_zero.zeCommandListDestroy(made->id);
    }
    usm_level_zero_failed(error, result, function);
    free(made);
    return NULL;
}

/*
 * The recordings of a list: idle ones first, then those that run, in the order in which the driver got them.
 */
static void put_first(usm_level_zero_list *list, usm_level_zero_recording *recording)
{
    recording->next = list->first;
    list->first = recording;
    list->last = list->last == NULL ? recording : list->last;
}

static void put_last(usm_level_zero_list *list, usm_level_zero_recording *recording)
{
    recording->next = NULL;
    *(list->first == NULL ? &list->first : &list->last->next) = recording;
    list->last = recording;
}

/* The oldest recording, if it can be used again. NULL: all of them run. */
static usm_level_zero_recording *take_first(usm_level_zero_list *list)
{
    usm_level_zero_recording *first = list->first;
    if (first == NULL ||
        (first->runs && usm_level_zero.zeFenceQueryStatus(first->fence) != ZE_RESULT_SUCCESS)) {
        return NULL;
    }
    list->first = first->next;
    list->last = list->first == NULL ? NULL : list->last;
    return first;
}

/* For new commands. */
static usm_status empty(usm_level_zero_recording *recording, usm_error *error)
{
    ze_result_t result = ZE_RESULT_SUCCESS;
    const char *function = "zeFenceReset";
    if (recording->runs) {
        result = usm_level_zero.zeFenceReset(recording->fence);
        recording->runs = result != ZE_RESULT_SUCCESS;
    }
    if (result == ZE_RESULT_SUCCESS && recording->used) {
        function = "zeCommandListReset";
        result = usm_level_zero.zeCommandListReset(recording->id);
        recording->used = result != ZE_RESULT_SUCCESS;
    }
    return result == ZE_RESULT_SUCCESS ? USM_OK : usm_level_zero_failed(error, result, function);
}

/* An immediate list is always open. Of plain ones, one is taken or made and stays open until end or drop. */
ze_command_list_handle_t usm_level_zero_list_begin(usm_queue *queue, int which, usm_error *error)
{
    usm_level_zero_list *list = &usm_level_zero_queue_of(queue)->lists[which];
    if (usm_level_zero_list_make(queue, which, error) != USM_OK) {
        return NULL;
    }
    if (list->runner == NULL) {
        return list->id;
    }
    usm_level_zero_recording *recording = take_first(list);
    if (recording == NULL) {
        recording = new_recording(queue, list, error);
    } else if (empty(recording, error) != USM_OK) {
        put_first(list, recording);
        recording = NULL;
    }
    if (recording == NULL) {
        return NULL;
    }
    recording->used = true;
    list->open = recording;
    return recording->id;
}

/* The fence is signalled when the driver has ended the whole list, which is after the task's event. */
usm_status usm_level_zero_list_end(usm_queue *queue, int which, usm_error *error)
{
    usm_level_zero_list *list = &usm_level_zero_queue_of(queue)->lists[which];
    usm_level_zero_recording *recording = list->open;
    if (list->runner == NULL) {
        return USM_OK;
    }
    const char *function = "zeCommandListClose";
    ze_result_t result = usm_level_zero.zeCommandListClose(recording->id);
    if (result == ZE_RESULT_SUCCESS) {
        function = "zeCommandQueueExecuteCommandLists";
        result = usm_level_zero.zeCommandQueueExecuteCommandLists(list->runner, 1, &recording->id,
                                                                  recording->fence);
    }
    if (result != ZE_RESULT_SUCCESS) {
        usm_level_zero_list_drop(queue, which);
        return usm_level_zero_failed(error, result, function);
    }
    recording->runs = true;
    put_last(list, recording);
    list->open = NULL;
    return USM_OK;
}

bool usm_level_zero_list_drop(usm_queue *queue, int which)
{
    usm_level_zero_list *list = &usm_level_zero_queue_of(queue)->lists[which];
    if (list->open != NULL) {
        put_first(list, list->open);
        list->open = NULL;
    }
    return list->runner != NULL;
}

/*
 * All tasks have ended; the driver may still work behind the last one. zeCommandQueueSynchronize may fail for
 * a reason of its own, such as memory: after three tries the lists are destroyed in any case.
 */
static void free_runner(usm_level_zero_list *list)
{
    ze_result_t result = ZE_RESULT_NOT_READY;
    for (int i = 0; i < 3 && result != ZE_RESULT_SUCCESS && result != ZE_RESULT_ERROR_DEVICE_LOST; i++) {
        result = usm_level_zero.zeCommandQueueSynchronize(list->runner, UINT64_MAX);
    }
    for (usm_level_zero_recording *at = list->first, *next; at != NULL; at = next) {
        next = at->next;
        USM_LEVEL_ZERO_GIVE_BACK(zeFenceDestroy, at->fence);
        USM_LEVEL_ZERO_GIVE_BACK(zeCommandListDestroy, at->id);
        free(at);
    }
    USM_LEVEL_ZERO_GIVE_BACK(zeCommandQueueDestroy, list->runner);
}

void usm_level_zero_lists_free(usm_queue *queue)
{
    for (int i = 0; i < USM_LEVEL_ZERO_LISTS; i++) {
        usm_level_zero_list *list = &usm_level_zero_queue_of(queue)->lists[i];
        if (list->runner != NULL) {
            free_runner(list);
        } else if (list->id != NULL && list->id != queue->foreign) {
            USM_LEVEL_ZERO_GIVE_BACK(zeCommandListDestroy, list->id);
        }
    }
}
