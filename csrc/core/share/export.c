#include "export.h"

#include "core/device/rule.h"
#include "core/tasks/hazard.h"
#include "core/tasks/wait.h"
#include "memfd.h"
#include "share.h"

#include <string.h>
#include <sys/stat.h>

/* Whether work on the memory has failed, or is not in the driver: only the host can wait for that. */
static usm_status waits_for_host(usm_alloc *alloc, bool *out, usm_error *error)
{
    usm_wait_list waits;
    usm_status status = usm_hazard_look(alloc, USM_READ_WRITE, &waits, error);
    *out = atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed) != NULL;
    for (size_t i = 0; i < waits.n && status == USM_OK; i++) {
        *out |= !usm_event_in_driver(waits.items[i].event);
    }
    usm_wait_list_clear(&waits);
    return status;
}

/* Has the driver note the end of all that is pending on the memory. */
static usm_status signal_openers(usm_share *share, usm_alloc *alloc, uint8_t *order,
                                 const usm_patience *patience, usm_error *error)
{
    usm_queue *queue;
    usm_event *event = NULL;
    const usm_access access = {alloc, USM_READ_WRITE};
    const usm_submission submission = {.command = USM_MARKER, .accesses = &access, .n_accesses = 1};
    bool by_host;
    usm_status status = waits_for_host(alloc, &by_host, error);
    if (status == USM_OK && by_host) {
        status = usm_alloc_wait(alloc, USM_READ_WRITE, true, patience, error);
    }
    if (status == USM_OK) {
        status = usm_place_queue(share->place, &queue, error);
    }
    if (status != USM_OK) {
        return status;
    }
    status = usm_queue_submit(queue, &submission, &event, error);
    if (status == USM_OK && (usm_event_ended(event) || !usm_event_in_driver(event))) {
        /* It has followed work of the host that came meanwhile, or failed with that. */
        status = usm_event_wait(event, patience, error);
    }
    if (status == USM_OK) {
        status = USM_UNLESS_FORKED(queue->backend, error,
                                   USM_CALL(share->entries, signal)(queue, &share->memory, order, error));
    }
    if (status == USM_LATER) {
        status = usm_event_wait(event, patience, error);
    }
    if (event != NULL) {
        usm_event_release(event);
    }
    usm_queue_release(queue);
    return status;
}

usm_status usm_share_export(usm_alloc *alloc, usm_share_handle *handle,
                            int descriptors[USM_HANDLE_DESCRIPTORS], const usm_patience *patience,
                            usm_error *error)
{
    usm_status status = USM_OK;
    if (alloc->pointer == NULL) {
        return USM_OK; /* USM_SHARE_NOTHING */
    }
    if (!usm_share_has(alloc)) {
        return usm_error_set(
            error, USM_BUFFER,
            "other processes cannot open this array's memory; y = usmpy.share(x) copies it once "
            "into memory that they can, then call y.get_ipc_handle()");
    }
    usm_share *share = usm_share_of(alloc);
    const usm_share_record *record = &share->record;
    if (share->entries->signal == NULL) {
        status = usm_alloc_wait(alloc, USM_READ_WRITE, true, patience, error);
    } else {
        status = signal_openers(share, alloc, handle->order, patience, error);
    }
    if (status == USM_OK) {
        status = usm_descriptors_copy(record->descriptors, record->n_descriptors, descriptors, error);
    }
    if (status != USM_OK) {
        return status;
    }
    uint32_t n = record->n_descriptors;
    if (share->entries->ends_with_exporter && share->created) {
        status = usm_share_add_pipe(share, &descriptors[n], error);
        if (status != USM_OK) {
            usm_descriptors_close(descriptors, n);
            return status;
        }
        n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct stat facts = {.st_ino = 0};
        fstat(descriptors[i], &facts);
        handle->descriptors[i] = descriptors[i];
        handle->inodes[i] = (uint64_t)facts.st_ino;
    }
    handle->n_descriptors = n;
    handle->rule = share->entries == &usm_memfd_entries ? USM_SHARE_MEMFD : USM_SHARE_BACKEND;
    handle->nbytes = share->memory.nbytes;
    memcpy(handle->block, share->block, sizeof handle->block);
    handle->n_bytes = record->n_bytes;
    memcpy(handle->bytes, record->bytes, record->n_bytes);
    return USM_OK;
}
