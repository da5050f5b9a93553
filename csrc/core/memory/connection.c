#include "connection.h"
#include "core/base/detach.h"
#include "core/device/rule.h"

const char *usm_connection_name(usm_memory_connection connection)
{
    static const char *const names[] = {
        [USM_CONNECTION_NONE] = "NONE",
        [USM_CONNECTION_MIGRATABLE] = "MIGRATABLE",
        [USM_CONNECTION_UNIFIED] = "UNIFIED",
    };
    return names[connection];
}

usm_memory_connection usm_connection(const usm_place *memory, usm_kind kind, const usm_place *user)
{
    const usm_backend *backend = user->context->backend;
    if (memory == user) {
        return USM_CONNECTION_UNIFIED;
    }
    if (backend->memory_connection != NULL && memory->context->backend == backend) {
        usm_memory_connection answer = USM_CALL(backend, memory_connection)(memory, kind, user);
        if (USM_UNLIKELY(answer == USM_CONNECTION_UNASKED)) {
            if (usm_is_forked(backend)) {
                return USM_CONNECTION_NONE;
            }
            void *held = usm_detach();
            answer = USM_CALL(backend, memory_connect)(memory, user);
            usm_attach(held);
        }
        return answer;
    }
    bool reaches = memory->context == user->context ||
                   (user->device->info.has_usm_system && usm_place_host_reads(memory, kind));
    return reaches ? USM_CONNECTION_UNIFIED : USM_CONNECTION_NONE;
}

/* The device itself, or a part of it. */
static bool is_within(const usm_device *device, const usm_device *whole)
{
    while (device != NULL && device != whole) {
        device = device->parent;
    }
    return device != NULL;
}

bool usm_place_is_home(const usm_place *place, const usm_alloc *alloc)
{
    const usm_place *memory = alloc->place;
    if (!usm_place_reaches(place, alloc)) {
        return false;
    }
    /* Memory of kind "shared" moves to the device that uses it, and "host" is as far from all of them. */
    bool of_all = alloc->kind != USM_DEVICE && memory->context->backend == place->context->backend;
    /*
     * Parts of a GPU have memory of their own. Memory of the whole device may be on any part: drivers do not
     * report it.
     */
    return of_all || place->device->type == USM_CPU || is_within(memory->device, place->device) ||
           is_within(place->device, memory->device);
}
