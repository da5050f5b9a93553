#include "opening.h"

#include "core/base/heap.h"
#include "core/device/rule.h"
#include "core/memory/blocks.h"
#include "memfd.h"
#include "share.h"

#include <sched.h>
#include <string.h>

static usm_alloc *find(const usm_share_handle *handle, usm_share **lent)
{
    pthread_mutex_t *mutex = usm_share_lock();
    usm_alloc *alloc = usm_share_find_listed(handle, lent);
    usm_mutex_unlock(mutex);
    return alloc;
}

usm_alloc *usm_share_find(const usm_share_handle *handle)
{
    usm_share *lent;
    return find(handle, &lent);
}

/* A block of another process, mapped here. */
static usm_status open_block(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                             bool readonly, USM_GIVES usm_share **out, usm_error *error)
{
    const usm_share_entries *entries =
        handle->rule == USM_SHARE_MEMFD ? &usm_memfd_entries : place->context->backend->share;
    if (entries == NULL) {
        return usm_error_set(error, USM_BUFFER, "%s cannot open memory of other processes",
                             place->device->info.name);
    }
    usm_share *share = usm_share_new(place, entries, (usm_kind)handle->kind, (size_t)handle->nbytes);
    if (share == NULL) {
        return usm_error_memory(error, sizeof *share, "the record of a shared block");
    }
    memcpy(share->block, handle->block, sizeof share->block);
    share->readonly = readonly;
    usm_share_record *record = &share->record;
    memcpy(record->bytes, handle->bytes, handle->n_bytes);
    record->n_bytes = handle->n_bytes;
    usm_status status = usm_handle_check(handle, descriptors, handle->n_descriptors, error);
    if (status == USM_OK) {
        status = usm_descriptors_copy(descriptors, handle->n_descriptors, record->descriptors, error);
    }
    if (status == USM_OK) {
        record->n_descriptors = handle->n_descriptors;
        status = USM_UNLESS_FORKED(place->context->backend, error,
                                   USM_CALL(entries, open)(place, record, readonly, &share->memory, error));
    }
    if (status != USM_OK) {
        usm_descriptors_close(record->descriptors, record->n_descriptors);
        free(share);
        return status;
    }
    *out = share;
    return USM_OK;
}

/* Opens the block and lists it, unless another thread was faster: then what was opened is closed again. */
static usm_status open_and_list(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                                bool readonly, USM_GIVES usm_alloc **out, usm_error *error)
{
    usm_share *share = NULL, *lent;
    usm_alloc *alloc;
    usm_status status = open_block(place, handle, descriptors, readonly, &share, error);
    if (status != USM_OK) {
        return status;
    }
    status = usm_share_new_alloc(share, share->memory.nbytes, &alloc, error);
    if (status != USM_OK) {
        usm_share_destroy(share);
        return status;
    }
    usm_share_own(share, alloc);
    usm_blocks_add(alloc);
    pthread_mutex_t *mutex = usm_share_lock();
    *out = usm_share_find_listed(handle, &lent);
    if (*out == NULL) {
        usm_share_list(share);
    }
    usm_mutex_unlock(mutex);
    if (*out != NULL) {
        usm_alloc_release(alloc);
    } else {
        *out = alloc;
    }
    return USM_OK;
}

/* Gives a block of this process whose allocation has ended a new one; NULL in *out: try again. */
static usm_status revive(usm_place *place, const usm_share_handle *handle, USM_GIVES usm_alloc **out,
                         usm_error *error)
{
    usm_share *lent;
    usm_alloc *alloc;
    usm_status status = usm_alloc_import(place, (usm_kind)handle->kind, NULL, (size_t)handle->nbytes, NULL,
                                         NULL, &alloc, error);
    if (status != USM_OK) {
        return status;
    }
    pthread_mutex_t *mutex = usm_share_lock();
    *out = usm_share_find_listed(handle, &lent);
    bool revived = *out == NULL && lent != NULL && lent->alloc == NULL;
    if (revived) {
        atomic_store_explicit(&alloc->flags, USM_ALLOC_SHARED, memory_order_relaxed);
        alloc->pointer = lent->memory.pointer;
        usm_share_own(lent, alloc);
    }
    usm_mutex_unlock(mutex);
    if (revived) {
        usm_blocks_add(alloc);
        usm_context_release(place->context); /* of the earlier allocation's end */
        *out = alloc;
    } else {
        usm_alloc_release(alloc);
        sched_yield();
    }
    return USM_OK;
}

static usm_status acquire(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                          bool readonly, USM_GIVES usm_alloc **out, usm_error *error)
{
    usm_status status = USM_OK;
    do {
        usm_share *lent;
        *out = find(handle, &lent);
        if (*out == NULL) {
            status = lent != NULL ? revive(place, handle, out, error)
                                  : open_and_list(place, handle, descriptors, readonly, out, error);
        }
    } while (status == USM_OK && *out == NULL);
    return status;
}

/* Orders later work here after what the exporter recorded in the driver. */
static usm_status follow_exporter(usm_share *share, usm_alloc *alloc, const usm_share_handle *handle,
                                  usm_error *error)
{
    usm_queue *queue;
    const usm_access access = {alloc, USM_READ_WRITE};
    const usm_submission submission = {.command = USM_MARKER, .accesses = &access, .n_accesses = 1};
    static const uint8_t nothing[USM_SHARE_ORDER];
    if (share->entries->wait == NULL || memcmp(handle->order, nothing, sizeof nothing) == 0 ||
        usm_handle_is_own(handle) || usm_handle_maker_ended(handle)) {
        return USM_OK;
    }
    usm_status status = usm_place_queue(share->place, &queue, error);
    if (status == USM_OK) {
        status =
            USM_UNLESS_FORKED(queue->backend, error,
                              USM_CALL(share->entries, wait)(queue, &share->memory, handle->order, error));
        if (status != USM_OK && usm_handle_maker_ended(handle)) {
            usm_error_clear(error);
            status = USM_OK;
        }
        if (status == USM_OK) {
            status = usm_queue_submit(queue, &submission, NULL, error);
        }
        usm_queue_release(queue);
    }
    return status;
}

usm_status usm_share_open(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                          bool readonly, usm_alloc **out, usm_error *error)
{
    if (handle->rule == USM_SHARE_NOTHING) {
        return usm_alloc_create(place, (usm_kind)handle->kind, 0, false, out, error);
    }
    usm_alloc *alloc;
    usm_status status = acquire(place, handle, descriptors, readonly, &alloc, error);
    if (status != USM_OK) {
        return status;
    }
    usm_share *share = usm_share_of(alloc);
    if (!readonly && atomic_load(&share->readonly)) {
        status = share->entries->make_writable == NULL
                     ? USM_OK
                     : USM_UNLESS_FORKED(
                           share->place->context->backend, error,
                           USM_CALL(share->entries, make_writable)(share->place, &share->memory, error));
        atomic_store(&share->readonly, status != USM_OK);
    }
    if (status == USM_OK) {
        status = follow_exporter(share, alloc, handle, error);
    }
    if (status != USM_OK) {
        usm_alloc_release(alloc);
        return status;
    }
    *out = alloc;
    return USM_OK;
}
