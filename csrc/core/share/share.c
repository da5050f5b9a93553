#include "share.h"

#include "core/base/heap.h"
#include "core/device/registry.h"
#include "core/device/rule.h"
#include "core/memory/blocks.h"
#include "core/memory/pool.h"
#include "core/memory/reclaim.h"
#include "core/memory/usage.h"
#include "memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Pipes that are asked about in one call. */
#define BATCH 64

/*
 * The read end of a pipe that tells an exporter who has its memory open
 * (usm_share_entries.ends_with_exporter): the write end travels with a handle.
 */
typedef struct usm_pipe {
    struct usm_pipe *next;
    int fd;
} usm_pipe;

/* All blocks of the process, and what changes in them but `readonly`: leaf stripe of this address. */
static usm_share *all;

pthread_mutex_t *usm_share_lock(void)
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

void usm_share_destroy(USM_TAKES usm_share *share)
{
    const usm_backend *backend = share->place->context->backend;
    if (!usm_is_forked(backend)) {
        USM_CALL_IF(backend->has_driver, share->entries, close)(share->place, &share->memory);
    }
    usm_descriptors_close(share->record.descriptors, share->record.n_descriptors);
    if (share->created) {
        usm_pool_end_use(share->place->pools[share->memory.kind], share->memory.nbytes);
        usm_usage_give(share->place, share->memory.nbytes);
    }
    free(share);
}

void usm_share_list(usm_share *share)
{
    share->next = all;
    all = share;
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

/* Closes and frees those whose write ends are all closed: the others. Calls the system, so no lock. */
static usm_pipe *still_open(usm_pipe *pipes)
{
    usm_pipe *left = NULL;
    while (pipes != NULL) {
        struct pollfd asked[BATCH];
        nfds_t n = 0;
        for (const usm_pipe *at = pipes; at != NULL && n < BATCH; at = at->next) {
            asked[n++] = (struct pollfd){.fd = at->fd};
        }
        bool answered = poll(asked, n, 0) >= 0;
        for (nfds_t i = 0; i < n; i++) {
            usm_pipe *at = pipes;
            pipes = at->next;
            if (answered && (asked[i].revents & POLLHUP) != 0) {
                close(at->fd);
                free(at);
            } else {
                at->next = left;
                left = at;
            }
        }
    }
    return left;
}

/* Puts the second list behind the first. */
static void append(usm_pipe **pipes, usm_pipe *more)
{
    while (*pipes != NULL) {
        pipes = &(*pipes)->next;
    }
    *pipes = more;
}

/*
 * Forgets the pipes of these shares that are closed, and closes the blocks that nobody has any more. A child
 * that is forked meanwhile keeps them. No lock.
 */
static void ask(usm_share *list)
{
    usm_share *closed = NULL;
    for (usm_share *share = list; share != NULL; share = share->next_asked) {
        share->asked = still_open(share->asked);
    }
    pthread_mutex_t *mutex = usm_share_lock();
    for (usm_share *share = list; share != NULL; share = share->next_asked) {
        append(&share->pipes, share->asked);
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
        usm_share_destroy(closed);
        usm_context_release(context); /* of the allocation's end */
    }
}

size_t usm_share_sweep(void)
{
    usm_share *asked = NULL;
    size_t lent = 0;
    pthread_mutex_t *mutex = usm_share_lock();
    for (usm_share *share = all; share != NULL; share = share->next) {
        begin_asking(share, &asked);
    }
    usm_mutex_unlock(mutex);
    ask(asked);
    mutex = usm_share_lock();
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
    pthread_mutex_t *mutex = usm_share_lock();
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
        usm_share_destroy(share);
    }
}

usm_status usm_share_new_alloc(usm_share *share, size_t nbytes, USM_GIVES usm_alloc **out, usm_error *error)
{
    usm_status status = usm_alloc_import(share->place, share->memory.kind, share->memory.pointer,
                                         share->memory.nbytes, NULL, NULL, out, error);
    if (status == USM_OK) {
        atomic_store_explicit(&(*out)->flags, USM_ALLOC_SHARED, memory_order_relaxed);
        atomic_store_explicit(&(*out)->nbytes, nbytes, memory_order_relaxed);
    }
    return status;
}

void usm_share_own(usm_share *share, usm_alloc *alloc)
{
    alloc->deleter = end_alloc;
    alloc->owner = share;
    share->alloc = alloc;
}

usm_share *usm_share_new(usm_place *place, const usm_share_entries *entries, usm_kind kind, size_t nbytes)
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
        status = USM_UNLESS_FORKED(
            share->place->context->backend, error,
            USM_CALL(share->entries, create)(share->place, memory, &share->record, &zeroed, error));
        if (status != USM_OK) {
            usm_usage_give(share->place, asked);
        } else if (memory->nbytes > asked) { /* whole pages: these may exceed the limit */
            atomic_fetch_add_explicit(&share->place->held, memory->nbytes - asked, memory_order_relaxed);
        }
    }
    return status;
}

usm_status usm_share_create(usm_place *place, usm_kind kind, size_t nbytes, const usm_patience *patience,
                            usm_alloc **out, usm_error *error)
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
    usm_share *share = usm_share_new(place, entries, kind, nbytes);
    if (share == NULL) {
        return usm_error_memory(error, sizeof *share, "the record of a shared block");
    }
    status = create_block(share, error);
    if (status == USM_MEMORY) {
        usm_error_clear(error);
        status = usm_reclaim(place->context, patience, error);
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
        status = usm_share_new_alloc(share, nbytes, out, error);
    }
    if (status != USM_OK) {
        usm_share_destroy(share);
        return status;
    }
    usm_share_own(share, *out);
    usm_blocks_add(*out);
    pthread_mutex_t *mutex = usm_share_lock();
    usm_share_list(share);
    usm_mutex_unlock(mutex);
    return USM_OK;
}

usm_status usm_share_add_pipe(usm_share *share, int *out, usm_error *error)
{
    usm_share *asked = NULL;
    int ends[2];
    usm_pipe *pipe = usm_malloc(sizeof *pipe);
    if (pipe == NULL) {
        return usm_error_memory(error, sizeof *pipe, "the record of a handle");
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(pipe);
        return usm_error_set(error, USM_MEMORY, "cannot make a pipe for a handle: %s",
                             usm_error_errno(errno));
    }
    *pipe = (usm_pipe){NULL, ends[0]};
    *out = ends[1];
    pthread_mutex_t *mutex = usm_share_lock();
    begin_asking(share, &asked);
    append(&share->pipes, pipe);
    usm_mutex_unlock(mutex);
    ask(asked);
    return USM_OK;
}

usm_alloc *usm_share_find_listed(const usm_share_handle *handle, usm_share **lent)
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
