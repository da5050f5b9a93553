#include "place.h"

#include "context.h"
#include "core/base/heap.h"
#include "core/base/sync.h"

const char *usm_kind_name(usm_kind kind)
{
    static const char *const names[USM_KINDS] = {"device", "shared", "host"};
    return names[kind];
}

static const usm_place_part *const *all_parts;

void usm_place_set_parts(const usm_place_part *const *parts)
{
    all_parts = parts;
}

static void destroy(usm_place *place)
{
    for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
        if ((*part)->destroy != NULL) {
            (*part)->destroy(place);
        }
    }
    free(place);
}

static usm_place *new_place(usm_context *context, usm_device *device)
{
    usm_place *place = usm_calloc(1, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    place->context = context;
    place->device = device;
    atomic_init(&place->limit, SIZE_MAX);
    for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
        if ((*part)->create != NULL && !(*part)->create(place)) {
            destroy(place);
            return NULL;
        }
    }
    return place;
}

bool usm_place_is_at_work(usm_place *place)
{
    bool is = false;
    for (const usm_place_part *const *part = all_parts; *part != NULL && !is; part++) {
        is = (*part)->is_at_work != NULL && (*part)->is_at_work(place);
    }
    return is;
}

bool usm_places_are_at_work(usm_context *context)
{
    bool are = false;
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    for (; place != NULL && !are; place = place->next) {
        are = usm_place_is_at_work(place);
    }
    return are;
}

usm_status usm_places_wait(usm_context *context, usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_status status = USM_OK;
    for (const usm_place_part *const *part = all_parts; *part != NULL && status == USM_OK; part++) {
        status = (*part)->finish_work != NULL ? (*part)->finish_work(context, poll, argument, error) : USM_OK;
    }
    return status;
}

void usm_places_trim(usm_context *context)
{
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    for (; place != NULL; place = place->next) {
        for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
            if ((*part)->trim != NULL) {
                (*part)->trim(place);
            }
        }
    }
}

void usm_places_unlist(usm_context *context)
{
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    for (; place != NULL; place = place->next) {
        for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
            if ((*part)->unlist != NULL) {
                (*part)->unlist(place);
            }
        }
    }
}

void usm_places_destroy(usm_context *context)
{
    usm_place *place = atomic_load_explicit(&context->places, memory_order_acquire);
    for (usm_place *next; place != NULL; place = next) {
        next = place->next;
        destroy(place);
    }
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
        return usm_error_set(
            error, USM_VALUE,
            "the device %s is not in the given context; a device of context.devices, or a part of one, is "
            "allowed",
            usm_device_text(device, text, sizeof text));
    }
    usm_place *place = new_place(context, device);
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
        destroy(place); /* another thread was faster */
    }
    return USM_OK;
}
