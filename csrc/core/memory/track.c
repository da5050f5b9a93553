#include "track.h"

#include "core/base/heap.h"

#include <string.h>

_Atomic bool usm_track_on;

typedef struct usm_tracked {
    struct usm_tracked *next, *previous;
    usm_tracked_info info;
} usm_tracked;

/* A ring, with the oldest after this head; under its own leaf stripe. */
static usm_tracked ring = {.next = &ring, .previous = &ring};
static size_t n_tracked;
static char *(*place_hook)(void);

void usm_track_set(bool on)
{
    atomic_store_explicit(&usm_track_on, on, memory_order_relaxed);
}

void usm_track_set_place(char *(*place)(void))
{
    place_hook = place;
}

void usm_track_begin(usm_alloc *alloc)
{
    usm_tracked *tracked = usm_malloc(sizeof *tracked);
    if (tracked == NULL) {
        return;
    }
    tracked->info = (usm_tracked_info){
        .device = alloc->place->device,
        .kind = (usm_kind)alloc->kind,
        .foreign = usm_alloc_has(alloc, USM_ALLOC_FOREIGN),
        .pointer = alloc->pointer,
        .size = alloc->size,
        .born_ns = usm_clock_ns(),
        .where = place_hook != NULL ? place_hook() : NULL,
    };
    usm_leaf *leaf = usm_leaf_of(&ring);
    usm_mutex_lock(&leaf->mutex);
    tracked->next = &ring;
    tracked->previous = ring.previous;
    ring.previous->next = tracked;
    ring.previous = tracked;
    n_tracked++;
    usm_mutex_unlock(&leaf->mutex);
    alloc->tracked = tracked;
}

void usm_track_end(usm_alloc *alloc)
{
    usm_tracked *tracked = alloc->tracked;
    alloc->tracked = NULL;
    usm_leaf *leaf = usm_leaf_of(&ring);
    usm_mutex_lock(&leaf->mutex);
    tracked->previous->next = tracked->next;
    tracked->next->previous = tracked->previous;
    n_tracked--;
    usm_mutex_unlock(&leaf->mutex);
    free(tracked->info.where);
    free(tracked);
}

usm_status usm_track_list(usm_tracked_info **out, size_t *n, usm_error *error)
{
    usm_leaf *leaf = usm_leaf_of(&ring);
    bool enough = true;
    size_t i = 0;
    usm_mutex_lock(&leaf->mutex);
    usm_tracked_info *list = usm_malloc((n_tracked + 1) * sizeof *list);
    enough = list != NULL;
    for (usm_tracked *at = ring.next; enough && at != &ring; at = at->next, i++) {
        list[i] = at->info;
        if (at->info.where != NULL) {
            size_t size = strlen(at->info.where) + 1;
            list[i].where = usm_malloc(size);
            enough = list[i].where != NULL;
            if (enough) {
                memcpy(list[i].where, at->info.where, size);
            }
        }
    }
    usm_mutex_unlock(&leaf->mutex);
    if (!enough) {
        usm_track_list_free(list, i);
        return usm_error_memory(error, (i + 1) * sizeof *list, "a list of allocations");
    }
    *out = list;
    *n = i;
    return USM_OK;
}

void usm_track_list_free(usm_tracked_info *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].where);
    }
    free(list);
}
