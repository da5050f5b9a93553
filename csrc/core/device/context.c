#include "context.h"

#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/sync.h"
#include "registry.h"
#include "rule.h"

#include <stddef.h>
#include <string.h>

/* All contexts of the process, newest first (registry lock). */
static usm_context *all_contexts;

/*
 * Registry lock held. The context that stands for the driver's object, with a count for the caller, or NULL.
 * If there are several (CUDA has one for each device), the default one.
 */
static usm_context *find(const usm_backend *backend, void *handle)
{
    for (int any = 0; any < 2; any++) {
        for (usm_context *context = all_contexts; context != NULL; context = context->next) {
            if (context->backend == backend && (any != 0 || context->is_default) &&
                USM_CALL(backend->native, handle)(USM_NATIVE_CONTEXT, context) == handle &&
                usm_refcount_up_unless_zero(&context->refs)) {
                return context;
            }
        }
    }
    return NULL;
}

/* Takes `devices` over. `foreign` as in usm_context. */
static usm_status create(const usm_backend *backend, usm_device **devices, size_t n_devices, void *foreign,
                         usm_context **out, usm_error *error)
{
    usm_context *context = usm_calloc(1, sizeof *context);
    if (context == NULL) {
        free(devices);
        return usm_error_memory(error, sizeof *context, "a context");
    }
    usm_refcount_init(&context->refs, 1);
    context->backend = backend;
    context->runs_on_submitting_thread =
        backend->builtin_language == USM_LANGUAGE_BUILTIN && backend->queue_run_now != NULL;
    context->devices = devices;
    context->n_devices = n_devices;
    context->foreign = foreign;
    usm_status status = USM_OK;
    if (backend->context_create != NULL) {
        void *held = backend->has_driver ? usm_detach() : NULL;
        status = USM_UNLESS_FORKED(backend, error,
                                   USM_CALL_IF(backend->has_driver, backend, context_create)(context, error));
        usm_attach(held);
    }
    if (status != USM_OK) {
        free(devices);
        free(context);
        return status;
    }
    usm_live_add(USM_LIVE_CONTEXT, 1);
    usm_registry_lock();
    usm_context *known = foreign == NULL ? NULL : find(backend, foreign);
    context->next = all_contexts;
    if (all_contexts != NULL) {
        all_contexts->previous = context;
    }
    all_contexts = context;
    usm_registry_unlock();
    if (known != NULL) { /* another thread was faster */
        usm_context_release(context);
        context = known;
    }
    *out = context;
    return USM_OK;
}

usm_status usm_context_create(usm_device *const *devices, size_t n_devices, usm_context **out,
                              usm_error *error)
{
    if (n_devices == 0) {
        return usm_error_set(error, USM_VALUE, "devices is empty; a context has at least one device");
    }
    for (size_t i = 1; i < n_devices; i++) {
        if (devices[i]->backend != devices[0]->backend) {
            return usm_error_set(
                error, USM_VALUE,
                "devices[%zu] is of backend %s and devices[0] of %s; all devices of a context must be of one backend",
                i, devices[i]->backend->name, devices[0]->backend->name);
        }
        for (size_t k = 0; k < i; k++) {
            if (devices[k] == devices[i]) {
                return usm_error_set(error, USM_VALUE,
                                     "devices[%zu] and devices[%zu] are the same device; name each once", k,
                                     i);
            }
        }
    }
    usm_device **list = usm_malloc(n_devices * sizeof *list);
    if (list == NULL) {
        return usm_error_memory(error, n_devices * sizeof *list, "a context");
    }
    memcpy(list, devices, n_devices * sizeof *list);
    return create(devices[0]->backend, list, n_devices, NULL, out, error);
}

/* The devices that the driver's objects are, in a malloc'd array. */
static usm_status known_devices(const usm_backend *backend, const usm_native_facts *facts, usm_device ***out,
                                usm_error *error)
{
    usm_device **devices = usm_malloc(facts->n_devices * sizeof *devices);
    if (devices == NULL) {
        return usm_error_memory(error, facts->n_devices * sizeof *devices, "a context");
    }
    for (size_t i = 0; i < facts->n_devices; i++) {
        usm_status status = usm_device_adopt(backend, facts->devices[i], &devices[i], error);
        if (status != USM_OK) {
            free(devices);
            return status;
        }
    }
    *out = devices;
    return USM_OK;
}

usm_status usm_context_adopt(const usm_backend *backend, void *handle, usm_context **out, usm_error *error)
{
    usm_native_facts facts = {.devices = NULL};
    usm_device **devices = NULL;
    usm_registry_lock();
    *out = find(backend, handle);
    usm_registry_unlock();
    if (*out != NULL) {
        return USM_OK;
    }
    usm_status status = USM_UNLESS_FORKED(
        backend, error, USM_CALL(backend->native, inspect)(USM_NATIVE_CONTEXT, handle, &facts, error));
    if (status == USM_OK) {
        status = known_devices(backend, &facts, &devices, error);
    }
    if (status == USM_OK) {
        status = create(backend, devices, facts.n_devices, handle, out, error);
    }
    free(facts.devices);
    return status;
}

bool usm_context_keep(usm_context *context, usm_keep *keep, bool (*same)(const usm_keep *, const usm_keep *))
{
    usm_registry_lock();
    usm_keep *known = context->keeps;
    while (known != NULL && !same(known, keep)) {
        known = known->next;
    }
    if (known == NULL) {
        keep->next = context->keeps;
        context->keeps = keep;
    }
    usm_registry_unlock();
    return known == NULL;
}

usm_context *usm_context_after(const usm_context *context)
{
    usm_registry_lock();
    usm_context *next = context == NULL ? all_contexts : context->next;
    while (next != NULL && !usm_refcount_up_unless_zero(&next->refs)) {
        next = next->next;
    }
    usm_registry_unlock();
    return next;
}

static usm_place *places_of(usm_context *context)
{
    return atomic_load_explicit(&context->places, memory_order_acquire);
}

static usm_place *find_place(usm_context *context, usm_device *device)
{
    usm_place *place = places_of(context);
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
    usm_status status = context == NULL ? usm_context_default(device, &context, error) : USM_OK;
    if (status != USM_OK) {
        return status;
    }
    *out = find_place(context, device);
    if (*out != NULL) {
        return USM_OK;
    }
    if (!contains(context, device)) {
        char text[USM_DEVICE_TEXT];
        return usm_error_set(
            error, USM_VALUE,
            "the device %s is not in the given context; a device of context.devices, or a part of one, is "
            "allowed",
            usm_device_text(device, text, sizeof text));
    }
    usm_place *place = usm_place_new(context, device);
    if (place == NULL) {
        return usm_error_memory(error, sizeof *place, "a context's record of a device");
    }
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
        usm_place_destroy(place); /* another thread was faster */
    }
    return USM_OK;
}

/* The context is on no list any more. Waits for the driver as context_destroy does. */
static void destroy(usm_context *context)
{
    usm_places_destroy(places_of(context));
    if (context->backend->context_destroy != NULL && !usm_is_forked(context->backend)) {
        USM_CALL_IF(context->backend->has_driver, context->backend, context_destroy)(context);
    }
    usm_keep_drop(context->keeps);
    free(context->devices);
    free(context);
    usm_live_add(USM_LIVE_CONTEXT, -1);
}

static bool give_back(usm_reclaimable *item, bool waits)
{
    usm_context *context = (usm_context *)((char *)item - offsetof(usm_context, reclaimable));
    bool now = waits || !usm_places_are_at_work(places_of(context));
    if (now) {
        destroy(context);
    }
    return now;
}

void usm_context_release(usm_context *context)
{
    if (!usm_refcount_down(&context->refs)) {
        return;
    }
    usm_registry_lock();
    *(context->previous != NULL ? &context->previous->next : &all_contexts) = context->next;
    if (context->next != NULL) {
        context->next->previous = context->previous;
    }
    usm_registry_unlock();
    if (context->backend->has_driver) {
        context->reclaimable.give_back = give_back;
        usm_reclaimer_put(&context->reclaimable);
    } else {
        destroy(context);
    }
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

usm_status usm_host_place(usm_place **out, usm_error *error)
{
    const usm_backend_report *host = usm_backend_start_for(USM_INTERFACE_PROCESS);
    if (host->absent != NULL) {
        return usm_error_set(error, USM_UNAVAILABLE, "%s", host->absent);
    }
    return usm_context_place(NULL, host->devices[0], out, error);
}

/*
 * Contexts that were closed. Their structs stay, since other threads may just have released memory of them.
 */
static usm_context *closed_contexts;

/* Registry lock held. */
static void unlist(usm_context *context)
{
    usm_context **at = &all_contexts;
    while (*at != context) {
        at = &(*at)->next;
    }
    *at = context->next;
    if (context->next != NULL) {
        context->next->previous = context->previous;
    }
    usm_places_unlist(places_of(context));
    for (size_t i = 0; i < context->n_devices; i++) {
        context->devices[i]->context = NULL;
    }
    context->next = closed_contexts;
    closed_contexts = context;
}

static void close_default(usm_context *context)
{
    usm_places_trim(places_of(context));
    if (!usm_is_forked(context->backend) && USM_CALL(context->backend, context_close)(context)) {
        usm_registry_lock();
        unlist(context);
        usm_registry_unlock();
    }
}

/* The first default context that was not tried yet: `skip` of them could not be closed. */
static usm_context *default_context(size_t skip)
{
    usm_registry_lock();
    usm_context *context = all_contexts;
    for (; context != NULL; context = context->next) {
        if (context->is_default && context->backend->context_close != NULL && skip-- == 0) {
            break;
        }
    }
    usm_registry_unlock();
    return context;
}

void usm_contexts_close(void)
{
    size_t left = 0;
    for (usm_context *context; (context = default_context(left)) != NULL;) {
        close_default(context);
        left += default_context(left) == context;
    }
}
