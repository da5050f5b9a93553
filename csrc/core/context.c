#include "context.h"

#include "backend.h"
#include "heap.h"
#include "live.h"
#include "pool.h"
#include "queue.h"
#include "sync.h"

#include <string.h>

const char *usm_kind_name(usm_kind kind)
{
    static const char *const names[USM_KINDS] = {"device", "shared", "host"};
    return names[kind];
}

usm_status usm_context_create(usm_device *const *devices, size_t n_devices, usm_context **out,
                              usm_error *error)
{
    if (n_devices == 0) {
        return usm_error_set(error, USM_VALUE, "devices is empty; a context has at least one");
    }
    for (size_t i = 1; i < n_devices; i++) {
        if (devices[i]->backend != devices[0]->backend) {
            return usm_error_set(
                error, USM_VALUE,
                "devices[%zu] is of backend %s and devices[0] of %s; a context has devices of one", i,
                devices[i]->backend->name, devices[0]->backend->name);
        }
        for (size_t k = 0; k < i; k++) {
            if (devices[k] == devices[i]) {
                return usm_error_set(error, USM_VALUE, "devices[%zu] and devices[%zu] are the same device", k,
                                     i);
            }
        }
    }
    usm_context *context = usm_calloc(1, sizeof *context);
    usm_device **list = usm_malloc(n_devices * sizeof *list);
    if (context == NULL || list == NULL) {
        free(context);
        free(list);
        return usm_error_memory(error, sizeof *context, "a context");
    }
    usm_refcount_init(&context->refs, 1);
    context->backend = devices[0]->backend;
    context->devices = list;
    context->n_devices = n_devices;
    memcpy(list, devices, n_devices * sizeof *list);
    usm_status status = context->backend->context_create(context, error);
    if (status != USM_OK) {
        free(list);
        free(context);
        return status;
    }
    usm_live_add(USM_LIVE_CONTEXT, 1);
    *out = context;
    return USM_OK;
}

usm_context *usm_context_retain(usm_context *context)
{
    usm_refcount_up(&context->refs);
    return context;
}

static void free_place(usm_place *place)
{
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        usm_pool_destroy(place->pools[kind], place, kind);
    }
    free(place);
}

void usm_context_release(usm_context *context)
{
    if (!usm_refcount_down(&context->refs)) {
        return;
    }
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    while (place != NULL) {
        usm_place *next = place->next;
        free_place(place);
        place = next;
    }
    context->backend->context_destroy(context);
    free(context->devices);
    free(context);
    usm_live_add(USM_LIVE_CONTEXT, -1);
}

usm_status usm_context_default(usm_device *device, usm_context **out, usm_error *error)
{
    usm_device *root = usm_device_root(device);
    usm_registry_lock();
    *out = root->context;
    usm_registry_unlock();
    if (*out != NULL) {
        return USM_OK;
    }
    /* Made without the registry lock, since drivers may take long; the loser of a race gives its own back. */
    usm_context *context;
    usm_status status = usm_context_create(&root, 1, &context, error);
    if (status != USM_OK) {
        return status;
    }
    usm_registry_lock();
    if (root->context == NULL) {
        context->is_default = true;
        usm_refcount_init(&context->refs, USM_IMMORTAL);
        usm_live_add(USM_LIVE_CONTEXT, -1); /* like devices, not counted: it never goes */
        root->context = context;
        context = NULL;
    }
    *out = root->context;
    usm_registry_unlock();
    if (context != NULL) {
        usm_context_release(context);
    }
    return USM_OK;
}

static usm_place *find_place(usm_context *context, usm_device *device)
{
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    while (place != NULL && place->device != device) {
        place = place->next;
    }
    return place;
}

static bool contains(const usm_context *context, usm_device *device)
{
    for (; device != NULL; device = device->parent) {
        for (size_t i = 0; i < context->n_devices; i++) {
            if (context->devices[i] == device) {
                return true;
            }
        }
    }
    return false;
}

usm_status usm_context_place(usm_context *context, usm_device *device, usm_place **out, usm_error *error)
{
    *out = find_place(context, device);
    if (*out != NULL) {
        return USM_OK;
    }
    if (!contains(context, device)) {
        char text[USM_DEVICE_TEXT];
        return usm_error_set(error, USM_VALUE, "the device %s is not in the given context",
                             usm_device_text(device, text, sizeof text));
    }
    usm_place *place = usm_calloc(1, sizeof *place);
    bool enough = place != NULL;
    for (usm_kind kind = 0; kind < USM_KINDS && enough; kind++) {
        place->pools[kind] = usm_pool_create();
        enough = place->pools[kind] != NULL;
    }
    if (!enough) {
        if (place != NULL) {
            free_place(place);
        }
        return usm_error_memory(error, sizeof *place, "a context's record of a device");
    }
    place->context = context;
    place->device = device;
    usm_registry_lock();
    *out = find_place(context, device);
    if (*out == NULL) {
        place->next = atomic_load_explicit(&context->places, memory_order_relaxed);
        atomic_store_explicit(&context->places, place, memory_order_release);
        *out = place;
        place = NULL;
    }
    usm_registry_unlock();
    if (place != NULL) {
        free_place(place); /* another thread was faster */
    }
    return USM_OK;
}

static usm_queue *cached_queue(usm_place *place)
{
    usm_registry_lock();
    usm_queue *queue = place->queue;
    if (queue != NULL && !usm_refcount_up_unless_zero(&queue->refs)) {
        queue = NULL;
    }
    usm_registry_unlock();
    return queue;
}

usm_status usm_place_queue(usm_place *place, usm_queue **out, usm_error *error)
{
    *out = cached_queue(place);
    if (*out != NULL) {
        return USM_OK;
    }
    /* Made without the registry lock, which creation takes itself; the loser of a race gives its own back. */
    const usm_queue_options options = {.in_order = true, .priority = USM_PRIORITY_NORMAL};
    usm_queue *queue;
    usm_status status = usm_queue_create(place, &options, &queue, error);
    if (status != USM_OK) {
        return status;
    }
    usm_registry_lock();
    usm_queue *winner = place->queue;
    if (winner != NULL && !usm_refcount_up_unless_zero(&winner->refs)) {
        winner = NULL;
    }
    if (winner == NULL) {
        queue->cached = true;
        place->queue = queue;
        if (place->context->is_default) {
            usm_refcount_init(&queue->refs, USM_IMMORTAL);
            usm_live_add(USM_LIVE_QUEUE, -1);
        }
    }
    usm_registry_unlock();
    if (winner != NULL) {
        usm_queue_release(queue);
        queue = winner;
    }
    *out = queue;
    return USM_OK;
}
