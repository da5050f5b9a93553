#include "share.h"

#include "core/base/heap.h"
#include "core/device/registry.h"
#include "core/device/rule.h"
#include "core/memory/blocks.h"
#include "core/memory/pool.h"
#include "core/memory/usage.h"
#include "core/tasks/alloc_stream.h"
#include "core/tasks/hazard.h"
#include "core/tasks/reclaim.h"
#include "memfd.h"
#include "pipe.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

typedef struct usm_share {
    struct usm_share *next; /* in `all` */
    uint8_t block[16];      /* as in handles */
    usm_alloc *alloc;       /* no count; NULL: it has ended, and others have the memory open */
    usm_place *place;
    const usm_share_entries *entries;
    usm_shared_memory memory;
    usm_share_record record; /* its descriptors are this struct's */
    bool created;            /* by this process, and not opened */
    _Atomic bool readonly;   /* nothing here may write to it; only ever cleared */
    /* Of handles that were made here, where the memory ends with the exporter. */
    usm_pipe *pipes;
    /* While a thread asks the system, without the lock, which of them are closed: these are that thread's. */
    bool busy;
    usm_pipe *asked;
    struct usm_share *next_asked;
} usm_share;

/* All blocks of the process, and what changes in them but `readonly`: leaf stripe of this address. */
static usm_share *all;

static usm_share *share_of(usm_alloc *alloc)
{
    return alloc->owner;
}

static pthread_mutex_t *lock(void)
{
    pthread_mutex_t *mutex = &usm_leaf_of(&all)->mutex;
    usm_mutex_lock(mutex);
    return mutex;
}

/* How memory of this kind of the place is shared; *place becomes the memory's own. */
static usm_status find_entries(usm_place **place, usm_kind kind, const usm_share_entries **entries,
                               usm_error *error)
{
    const usm_place *user = *place;
    *entries = user->context->backend->share;
    if (*entries != NULL && ((*entries)->kinds & 1u << kind) != 0) {
        return USM_OK;
    }
    if (user->device->info.has_usm_system && usm_place_host_reads(user, kind)) {
        *entries = &usm_memfd_entries;
        return usm_host_place(place, error);
    }
    bool device = *entries != NULL && kind != USM_DEVICE;
    return usm_error_set(error, USM_BUFFER, "%s cannot share %s memory between processes: %s",
                         user->device->info.name, usm_kind_name(kind),
                         device
                             ? "its driver shares memory of kind 'device'; copy into such an array first"
                             : "its driver has no call for that, and its commands do not use memory of the "
                               "host (has_usm_system); share an array of the host and copy it here");
}

/* Closes what the lock no longer finds. */
static void destroy(USM_TAKES usm_share *share)
{
    USM_CALL_IF(share->place->context->backend->has_driver, share->entries, close)
    (share->place, &share->memory);
    usm_descriptors_close(share->record.descriptors, share->record.n_descriptors);
    if (share->created) {
        usm_pool_end_use(share->place->pools[share->memory.kind], share->memory.nbytes);
        usm_usage_give(share->place, share->memory.nbytes);
    }
    free(share);
}

/* Nothing where it is not listed. */
static void unlist(usm_share *share)
{
    usm_share **at = &all;
    while (*at != NULL && *at != share) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = share->next;
    }
}

/* Others may have the block open. The lock is held. */
static bool is_lent(const usm_share *share)
{
    return share->pipes != NULL || share->busy;
}

/* Puts the share on the list of those whose pipes the calling thread asks about. The lock is held. */
static void begin_asking(usm_share *share, usm_share **list)
{
    if (share->pipes != NULL && !share->busy) {
        share->busy = true;
        share->asked = share->pipes;
        share->pipes = NULL;
        share->next_asked = *list;
        *list = share;
    }
}

/*
 * Forgets the pipes of these shares that are closed, and closes the blocks that nobody has any more. A child
 * that is forked meanwhile keeps them. No lock.
 */
static void ask(usm_share *list)
{
    usm_share *closed = NULL;
    for (usm_share *share = list; share != NULL; share = share->next_asked) {
        share->asked = usm_pipes_still_open(share->asked);
    }
    pthread_mutex_t *mutex = lock();
    for (usm_share *share = list; share != NULL; share = share->next_asked) {
        usm_pipes_append(&share->pipes, share->asked);
        share->busy = false;
        if (share->pipes == NULL && share->alloc == NULL) {
            unlist(share);
            share->next = closed;
            closed = share;
        }
    }
    usm_mutex_unlock(mutex);
    for (usm_share *next; closed != NULL; closed = next) {
        next = closed->next;
        usm_context *context = closed->place->context;
        destroy(closed);
        usm_context_release(context); /* of the allocation's end */
    }
}

size_t usm_share_sweep(void)
{
    usm_share *asked = NULL;
    size_t lent = 0;
    pthread_mutex_t *mutex = lock();
    for (usm_share *share = all; share != NULL; share = share->next) {
        begin_asking(share, &asked);
    }
    usm_mutex_unlock(mutex);
    ask(asked);
    mutex = lock();
    for (const usm_share *share = all; share != NULL; share = share->next) {
        lent += share->alloc == NULL && is_lent(share);
    }
    usm_mutex_unlock(mutex);
    return lent;
}

/* The deleter of allocations: neither tasks nor streams of others use the memory. Any thread, no lock. */
static void end_alloc(void *owner)
{
    usm_share *share = owner, *asked = NULL;
    usm_blocks_remove(share->alloc);
    pthread_mutex_t *mutex = lock();
    bool lent = is_lent(share);
    if (lent) {
        share->alloc = NULL;
        usm_context_retain(share->place->context);
        begin_asking(share, &asked);
    } else {
        unlist(share);
    }
    usm_mutex_unlock(mutex);
    ask(asked);
    if (!lent) {
        destroy(share);
    }
}

/* An allocation over a mapped block that nobody else knows. It does not own the block yet. */
static usm_status new_alloc(usm_share *share, size_t nbytes, USM_GIVES usm_alloc **out, usm_error *error)
{
    usm_status status = usm_alloc_import(share->place, share->memory.kind, share->memory.pointer,
                                         share->memory.nbytes, NULL, NULL, out, error);
    if (status == USM_OK) {
        atomic_store_explicit(&(*out)->flags, USM_ALLOC_SHARED, memory_order_relaxed);
        atomic_store_explicit(&(*out)->nbytes, nbytes, memory_order_relaxed);
    }
    return status;
}

/* The allocation's end is the block's from now on. The lock is held, unless nobody knows either of them. */
static void own(usm_share *share, usm_alloc *alloc)
{
    alloc->deleter = end_alloc;
    alloc->owner = share;
    share->alloc = alloc;
}

static usm_share *new_share(usm_place *place, const usm_share_entries *entries, usm_kind kind, size_t nbytes)
{
    usm_share *share = usm_calloc(1, sizeof *share);
    if (share != NULL) {
        share->place = place;
        share->entries = entries;
        share->memory.kind = kind;
        share->memory.nbytes = nbytes;
    }
    return share;
}

/* A block of the driver or the system, within the limit of the place. */
static usm_status create_block(usm_share *share, usm_error *error)
{
    bool zeroed;
    usm_shared_memory *memory = &share->memory;
    size_t asked = memory->nbytes;
    usm_status status = usm_alloc_admit(share->place, memory->kind, asked, error);
    if (status == USM_OK) {
        status = USM_CALL(share->entries, create)(share->place, memory, &share->record, &zeroed, error);
        if (status != USM_OK) {
            usm_usage_give(share->place, asked);
        } else if (memory->nbytes > asked) { /* whole pages: these may exceed the limit */
            atomic_fetch_add_explicit(&share->place->held, memory->nbytes - asked, memory_order_relaxed);
        }
    }
    return status;
}

usm_status usm_share_create(usm_place *place, usm_kind kind, size_t nbytes, usm_wait_poll poll,
                            void *argument, usm_alloc **out, usm_error *error)
{
    const usm_share_entries *entries;
    if (nbytes == 0) {
        return usm_alloc_create(place, kind, 0, false, out, error);
    }
    usm_share_sweep();
    usm_status status = find_entries(&place, kind, &entries, error);
    if (status != USM_OK) {
        return status;
    }
    usm_share *share = new_share(place, entries, kind, nbytes);
    if (share == NULL) {
        return usm_error_memory(error, sizeof *share, "the record of a shared block");
    }
    status = create_block(share, error);
    if (status == USM_MEMORY) {
        usm_error_clear(error);
        status = usm_reclaim(place->context, poll, argument, error);
        if (status == USM_OK) {
            status = create_block(share, error);
        }
    }
    if (status != USM_OK) {
        free(share);
        return status;
    }
    share->created = true;
    usm_pool_begin_use(place->pools[kind], share->memory.nbytes);
    if (getrandom(share->block, sizeof share->block, 0) != sizeof share->block) {
        status = usm_error_set(error, USM_MEMORY, "the system has no random numbers: %s", strerror(errno));
    }
    if (status == USM_OK) {
        status = new_alloc(share, nbytes, out, error);
    }
    if (status != USM_OK) {
        destroy(share);
        return status;
    }
    own(share, *out);
    usm_blocks_add(*out);
    pthread_mutex_t *mutex = lock();
    share->next = all;
    all = share;
    usm_mutex_unlock(mutex);
    return USM_OK;
}

/* Adds a pipe, whose write end goes to *out. Those of handles that are closed go. */
static usm_status add_pipe(usm_share *share, int *out, usm_error *error)
{
    usm_share *asked = NULL;
    usm_pipe *pipe;
    usm_status status = usm_pipe_create(&pipe, out, error);
    if (status != USM_OK) {
        return status;
    }
    pthread_mutex_t *mutex = lock();
    begin_asking(share, &asked);
    usm_pipes_append(&share->pipes, pipe);
    usm_mutex_unlock(mutex);
    ask(asked);
    return USM_OK;
}

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
static usm_status signal_openers(usm_share *share, usm_alloc *alloc, uint8_t *order, usm_wait_poll poll,
                                 void *argument, usm_error *error)
{
    usm_queue *queue;
    usm_event *event = NULL;
    const usm_access access = {alloc, USM_READ_WRITE};
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    bool by_host;
    usm_status status = waits_for_host(alloc, &by_host, error);
    if (status == USM_OK && by_host) {
        status = usm_alloc_wait(alloc, USM_READ_WRITE, true, INT64_MAX, poll, argument, error);
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
        status = usm_event_wait(event, INT64_MAX, poll, argument, error);
    }
    if (status == USM_OK) {
        status = USM_CALL(share->entries, signal)(queue, &share->memory, order, error);
    }
    if (status == USM_LATER) {
        status = usm_event_wait(event, INT64_MAX, poll, argument, error);
    }
    if (event != NULL) {
        usm_event_release(event);
    }
    usm_queue_release(queue);
    return status;
}

usm_status usm_share_export(usm_alloc *alloc, usm_share_handle *handle,
                            int descriptors[USM_HANDLE_DESCRIPTORS], usm_wait_poll poll, void *argument,
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
    usm_share *share = share_of(alloc);
    const usm_share_record *record = &share->record;
    if (share->entries->signal == NULL) {
        status = usm_alloc_wait(alloc, USM_READ_WRITE, true, INT64_MAX, poll, argument, error);
    } else {
        status = signal_openers(share, alloc, handle->order, poll, argument, error);
    }
    if (status == USM_OK) {
        status = usm_descriptors_copy(record->descriptors, record->n_descriptors, descriptors, error);
    }
    if (status != USM_OK) {
        return status;
    }
    uint32_t n = record->n_descriptors;
    if (share->entries->ends_with_exporter && share->created) {
        status = add_pipe(share, &descriptors[n], error);
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
    handle->kind = (uint8_t)share->memory.kind;
    handle->nbytes = share->memory.nbytes;
    memcpy(handle->block, share->block, sizeof handle->block);
    handle->n_bytes = record->n_bytes;
    memcpy(handle->bytes, record->bytes, record->n_bytes);
    return USM_OK;
}

/*
 * The lock is held. The allocation of a block, a new count; else NULL, and *lent is the block if it is one of
 * this process whose allocation has ended, or ends now, while others have it open.
 */
static usm_alloc *find(const usm_share_handle *handle, usm_share **lent)
{
    *lent = NULL;
    for (usm_share *share = all; share != NULL && handle->rule != USM_SHARE_NOTHING; share = share->next) {
        if (memcmp(share->block, handle->block, sizeof share->block) != 0 ||
            share->memory.nbytes != handle->nbytes) {
            continue;
        }
        if (share->alloc != NULL && usm_refcount_up_unless_zero(&share->alloc->refs)) {
            return share->alloc;
        }
        if (share->created && share->entries->ends_with_exporter) {
            *lent = share;
        }
    }
    return NULL;
}

usm_alloc *usm_share_find(const usm_share_handle *handle)
{
    usm_share *lent;
    pthread_mutex_t *mutex = lock();
    usm_alloc *alloc = find(handle, &lent);
    usm_mutex_unlock(mutex);
    return alloc;
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
    usm_share *share = new_share(place, entries, (usm_kind)handle->kind, (size_t)handle->nbytes);
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
    if (status != USM_OK) {
        free(share);
        return status;
    }
    record->n_descriptors = handle->n_descriptors;
    status = USM_CALL(entries, open)(place, record, readonly, &share->memory, error);
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
    status = new_alloc(share, share->memory.nbytes, &alloc, error);
    if (status != USM_OK) {
        destroy(share);
        return status;
    }
    own(share, alloc);
    usm_blocks_add(alloc);
    pthread_mutex_t *mutex = lock();
    *out = find(handle, &lent);
    if (*out == NULL) {
        share->next = all;
        all = share;
    }
    usm_mutex_unlock(mutex);
    if (*out == NULL) {
        *out = alloc;
    } else {
        usm_alloc_release(alloc);
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
    pthread_mutex_t *mutex = lock();
    *out = find(handle, &lent);
    bool revived = *out == NULL && lent != NULL && lent->alloc == NULL;
    if (revived) {
        atomic_store_explicit(&alloc->flags, USM_ALLOC_SHARED, memory_order_relaxed);
        alloc->pointer = lent->memory.pointer;
        own(lent, alloc);
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
        pthread_mutex_t *mutex = lock();
        *out = find(handle, &lent);
        usm_mutex_unlock(mutex);
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
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    static const uint8_t nothing[USM_SHARE_ORDER];
    if (share->entries->wait == NULL || memcmp(handle->order, nothing, sizeof nothing) == 0 ||
        usm_handle_is_own(handle) || usm_handle_maker_ended(handle)) {
        return USM_OK;
    }
    usm_status status = usm_place_queue(share->place, &queue, error);
    if (status == USM_OK) {
        status = USM_CALL(share->entries, wait)(queue, &share->memory, handle->order, error);
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
    usm_share *share = share_of(alloc);
    if (!readonly && atomic_load(&share->readonly)) {
        status = share->entries->make_writable == NULL
                     ? USM_OK
                     : USM_CALL(share->entries, make_writable)(share->place, &share->memory, error);
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
