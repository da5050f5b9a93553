/*
 * Unified shared memory (Level Zero Core Programming Guide, Memory and Images): all kinds are the
 * driver's own.
 */
#include "level_zero.h"

/*
 * `next` extends the description of the kind of memory that may be large: that of the device, or of the host.
 */
static ze_result_t allocate(const usm_level_zero_context *context, const usm_level_zero_device *device,
                            usm_kind kind, size_t nbytes, const void *next, void **out)
{
    const ze_device_mem_alloc_desc_t there = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        .pNext = next,
    };
    const ze_host_mem_alloc_desc_t here = {
        .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
        .pNext = kind == USM_HOST ? next : NULL,
    };
    size_t alignment = nbytes >= 4096 ? 256 : 64;
    switch (kind) {
        case USM_DEVICE:
            return usm_level_zero.zeMemAllocDevice(context->id, &there, nbytes, alignment, device->id, out);
        case USM_SHARED:
            return usm_level_zero.zeMemAllocShared(context->id, &there, &here, nbytes, alignment, device->id,
                                                   out);
        default:
            return usm_level_zero.zeMemAllocHost(context->id, &here, nbytes, alignment, out);
    }
}

/*
 * Larger blocks than maxMemAllocSize need ze_relaxed_allocation_limits; without that extension the driver
 * refuses them. Every block counts as a user of the context.
 */
usm_status usm_level_zero_memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                          bool *zeroed, usm_error *error)
{
    static const ze_relaxed_allocation_limits_exp_desc_t relaxed = {
        .stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
        .flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
    };
    const usm_device *device = place->device;
    const usm_level_zero_device *native = usm_level_zero_device_of(device);
    usm_level_zero_context *context = usm_level_zero_context_of(place->context);
    const bool exists[USM_KINDS] = {
        [USM_DEVICE] = device->info.has_usm_device,
        [USM_SHARED] = device->info.has_usm_shared,
        [USM_HOST] = device->info.has_usm_host,
    };
    *zeroed = false;
    *out = NULL;
    if (!exists[kind]) {
        return usm_error_set(error, USM_VALUE, "the driver reports that %s has no %s memory",
                             device->info.name, usm_kind_name(kind));
    }
    bool above = nbytes > native->max_block;
    atomic_fetch_add(&context->users, 1);
    ze_result_t result = allocate(context, native, kind, nbytes,
                                  above && native->driver->relaxed_limits ? &relaxed : NULL, out);
    if (result == ZE_RESULT_SUCCESS) {
        return USM_OK;
    }
    atomic_fetch_sub(&context->users, 1);
    bool too_much = result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
                    result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
                    result == ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    return usm_error_driver(error, too_much ? USM_MEMORY : USM_DRIVER, "level_zero", (int)result,
                            usm_level_zero_name(result), "cannot allocate %zu bytes of %s memory on %s: %s%s",
                            nbytes, usm_kind_name(kind), device->info.name, usm_level_zero_name(result),
                            above && !native->driver->relaxed_limits
                                ? " (more than one block may have, and the driver has no relaxed limits)"
                                : "");
}

void usm_level_zero_memory_free(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes)
{
    usm_level_zero_context *context = usm_level_zero_context_of(place->context);
    (void)kind;
    (void)nbytes;
    USM_LEVEL_ZERO_GIVE_BACK(zeMemFree, context->id, pointer);
    atomic_fetch_sub(&context->users, 1);
}

bool usm_level_zero_is_or_has(const usm_level_zero_device *device, ze_device_handle_t id)
{
    bool found = device->id == id;
    for (uint32_t i = 0; i < device->n_parts && !found; i++) {
        found = device->parts[i] == id;
    }
    return found;
}

/*
 * The usm_device for a device that the driver names, or whose part it names. Host memory belongs to no
 * device, so the first of the context stands for it.
 */
static usm_device *find_device(const usm_context *context, ze_device_handle_t id)
{
    for (size_t i = 0; i < context->n_devices; i++) {
        if (usm_level_zero_is_or_has(usm_level_zero_device_of(context->devices[i]), id)) {
            return context->devices[i];
        }
    }
    return context->devices[0];
}

/*
 * A pointer that the context does not know is of unknown type, which is no error (zeMemGetAllocProperties).
 */
usm_status usm_level_zero_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                                       usm_error *error)
{
    const usm_level_zero_context *native = usm_level_zero_context_of(context);
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device = NULL;
    info->identifies = USM_IDENTIFIES_ALL;
    if (pointer == NULL) {
        return USM_OK;
    }
    ze_result_t result = usm_level_zero.zeMemGetAllocProperties(native->id, pointer, &properties, &device);
    if (result != ZE_RESULT_SUCCESS) {
        return usm_level_zero_failed(error, result, "zeMemGetAllocProperties");
    }
    if (properties.type < ZE_MEMORY_TYPE_HOST || properties.type > ZE_MEMORY_TYPE_SHARED) {
        return USM_OK; /* memory of another library, or of another context */
    }
    info->kind = properties.type == ZE_MEMORY_TYPE_HOST     ? USM_HOST
                 : properties.type == ZE_MEMORY_TYPE_DEVICE ? USM_DEVICE
                                                            : USM_SHARED;
    info->device = find_device(context, device);
    if (usm_level_zero.zeMemGetAddressRange(native->id, pointer, &info->base, &info->size) !=
        ZE_RESULT_SUCCESS) {
        info->size = 0;
    }
    return USM_OK;
}

/* The device of the context that the place's device is, or is a part of; a number below n_devices. */
static size_t member_of(const usm_place *place)
{
    const usm_context *context = place->context;
    for (const usm_device *device = place->device;; device = device->parent) {
        for (size_t i = 0; i < context->n_devices; i++) {
            if (context->devices[i] == device) {
                return i;
            }
        }
    }
}

static ze_device_handle_t id_of(const usm_place *place)
{
    return usm_level_zero_device_of(place->context->devices[member_of(place)])->id;
}

static _Atomic uint8_t *peer_of(const usm_place *memory, const usm_place *user)
{
    return &usm_level_zero_context_of(user->context)
                ->peers[member_of(user) * user->context->n_devices + member_of(memory)];
}

/* Level Zero does not copy between devices that cannot access each other. */
usm_memory_connection usm_level_zero_memory_connection(const usm_place *memory, usm_kind kind,
                                                       const usm_place *user)
{
    if (memory->context != user->context) {
        return USM_CONNECTION_NONE; /* a pointer means nothing in another context (SYCL 2020, 4.8) */
    }
    bool same = usm_device_root(memory->device) == usm_device_root(user->device);
    bool processors = memory->device->type == USM_CPU && user->device->type == USM_CPU;
    return kind != USM_DEVICE || same || processors
               ? USM_CONNECTION_UNIFIED
               : (usm_memory_connection)atomic_load_explicit(peer_of(memory, user), memory_order_relaxed);
}

/*
 * zeDeviceCanAccessPeer: directly over a bus between the devices. Intel's driver tries it with a copy, and
 * waits for that.
 */
usm_memory_connection usm_level_zero_memory_connect(const usm_place *memory, const usm_place *user)
{
    ze_bool_t can = 0;
    ze_result_t result = usm_level_zero.zeDeviceCanAccessPeer(id_of(user), id_of(memory), &can);
    usm_memory_connection answer =
        result == ZE_RESULT_SUCCESS && can != 0 ? USM_CONNECTION_UNIFIED : USM_CONNECTION_NONE;
    atomic_store_explicit(peer_of(memory, user), (uint8_t)answer, memory_order_relaxed);
    return answer;
}
