#include "hazard.h"

#include "core/base/heap.h"
#include "core/base/sync.h"
#include "queue.h"

#include <string.h>

/*
 * Lists longer than this keep repeated events: a repeat costs a hook, and searching for it n * n
 * comparisons.
 */
#define DEDUPLICATED 64

bool usm_wait_list_add(usm_wait_list *list, usm_event *event, bool data)
{
    if (list->n <= DEDUPLICATED) {
        for (size_t i = 0; i < list->n; i++) {
            if (list->items[i].event == event) {
                list->items[i].data |= data;
                return true;
            }
        }
    }
    if (list->n == list->capacity) {
        size_t capacity = list->capacity * 2;
        bool was_inline = list->items == list->inline_items;
        usm_wait *items = usm_realloc(was_inline ? NULL : list->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        if (was_inline) {
            memcpy(items, list->inline_items, sizeof list->inline_items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = (usm_wait){usm_event_retain(event), data};
    return true;
}

void usm_wait_list_clear(usm_wait_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        usm_event_release(list->items[i].event);
    }
    if (list->items != list->inline_items) {
        free(list->items);
    }
    usm_wait_list_init(list);
}

uint64_t usm_hazard_mask(const usm_access *accesses, size_t n)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        mask |= usm_alloc_stripe(accesses[i].alloc);
    }
    return mask;
}

usm_failure *usm_hazard_failure(usm_alloc *alloc)
{
    usm_failure *failure = atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed);
    bool already_reported =
        failure != NULL && atomic_load_explicit(&failure->delivered, memory_order_acquire);
    return already_reported || alloc->hazards.writer != NULL ? NULL : failure;
}

usm_status usm_hazard_collect(usm_alloc *alloc, usm_access_mode mode, usm_wait_list *waits,
                              usm_failure **cause, usm_error *error)
{
    if (USM_UNLIKELY(usm_alloc_has(alloc, USM_ALLOC_ENDED))) {
        return usm_error_set(error, USM_VALUE,
                             "this array was borrowed and its borrow has ended; copy what is needed later "
                             "before the end of the with block");
    }
    if (USM_LIKELY(usm_alloc_is_clean(alloc))) {
        return USM_OK;
    }
    usm_hazards *hazards = &alloc->hazards;
    usm_failure *failure = usm_hazard_failure(alloc);
    if (failure != NULL && (mode & USM_READ) != 0 && *cause == NULL) {
        *cause = failure;
    }
    bool enough = true;
    if (hazards->writer != NULL) {
        enough = usm_wait_list_add(waits, hazards->writer, (mode & USM_READ) != 0);
    }
    if ((mode & USM_WRITE) != 0) {
        for (uint32_t i = 0; i < hazards->n_readers && enough; i++) {
            enough = usm_wait_list_add(waits, hazards->readers[i], false);
        }
    }
    return enough ? USM_OK
                  : usm_error_memory(error, waits->n * 2 * sizeof(usm_wait), "a list of dependencies");
}

usm_status usm_hazard_look(usm_alloc *alloc, usm_access_mode mode, usm_wait_list *waits, usm_error *error)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_failure *cause = NULL;
    usm_wait_list_init(waits);
    usm_hazard_lock(stripe);
    usm_status status = usm_hazard_collect(alloc, mode, waits, &cause, error);
    usm_hazard_unlock(stripe);
    return status;
}

bool usm_hazard_reserve(usm_alloc *alloc, usm_access_mode mode)
{
    usm_hazards *hazards = &alloc->hazards;
    if ((mode & USM_WRITE) != 0 || hazards->n_readers < hazards->readers_capacity) {
        return true;
    }
    uint32_t capacity = hazards->readers_capacity == 0 ? 4 : hazards->readers_capacity * 2;
    usm_event **readers = usm_realloc(hazards->readers, capacity * sizeof *readers);
    if (readers == NULL) {
        return false;
    }
    hazards->readers = readers;
    hazards->readers_capacity = capacity;
    return true;
}

void usm_hazard_recount(usm_alloc *alloc)
{
    usm_hazards *hazards = &alloc->hazards;
    USM_EXPECT_HELD(
        atomic_load_explicit(&usm_hazard_stripes[usm_stripe(alloc)].lock.taken, memory_order_relaxed));
    bool unordered = usm_alloc_has(alloc, USM_ALLOC_UNORDERED);
    atomic_store_explicit(&hazards->pending, (hazards->writer != NULL) + hazards->n_readers + unordered,
                          memory_order_release);
}

/*
 * A reader that certainly ends before `event`, since both are of one queue in order: to wait for the later
 * one is enough. The list of readers is therefore as long as the queues are many, not the tasks. NULL: there
 * is none.
 */
static usm_event **earlier_reader(const usm_hazards *hazards, const usm_event *event)
{
    for (uint32_t i = 0; event->queue->in_order && i < hazards->n_readers; i++) {
        if (hazards->readers[i]->queue == event->queue) {
            return &hazards->readers[i];
        }
    }
    return NULL;
}

/*
 * Places of an earlier event that a new one takes over. They are counted, since most are of one event, whose
 * atomic count is then changed once.
 */
typedef struct replaced {
    usm_event *event; /* NULL: none */
    uint32_t places;
} replaced;

static void settle(replaced *replaced)
{
    if (replaced->event != NULL) {
        atomic_fetch_sub_explicit(&replaced->event->places, replaced->places, memory_order_release);
        replaced->event = NULL;
    }
}

/*
 * The event is alive under the stripe of the allocation whose place it had: its end takes that stripe too.
 */
static void replace(replaced *replaced, usm_event *event)
{
    if (replaced->event != event) {
        settle(replaced);
        replaced->event = event;
        replaced->places = 0;
    }
    replaced->places++;
}

/*
 * The counts of the allocation that the replaced events had, one each. One becomes the new event's, which
 * ends after all of them. Without any, the event takes a count of its own.
 */
static void take_over(usm_alloc *alloc, uint32_t counts)
{
    if (counts == 0) {
        usm_alloc_retain(alloc);
    } else if (USM_UNLIKELY(counts > 1)) {
        usm_refcount_down_by(&alloc->refs, (int32_t)counts - 1); /* not the last */
    }
}

static void record(usm_alloc *alloc, usm_access_mode mode, usm_event *event, replaced *replaced)
{
    usm_hazards *hazards = &alloc->hazards;
    uint32_t counts = 0;
    if ((mode & USM_WRITE) != 0) {
        if (hazards->writer != NULL) {
            replace(replaced, hazards->writer);
            counts++;
        }
        hazards->writer = event;
        for (uint32_t i = 0; i < hazards->n_readers; i++) {
            replace(replaced, hazards->readers[i]);
        }
        counts += hazards->n_readers;
        hazards->n_readers = 0;
    } else {
        usm_event **earlier = earlier_reader(hazards, event);
        if (earlier != NULL) {
            replace(replaced, *earlier);
            counts++;
            *earlier = event;
        } else {
            hazards->readers[hazards->n_readers++] = event;
        }
    }
    take_over(alloc, counts);
    usm_hazard_recount(alloc);
}

void usm_hazard_record(usm_event *event)
{
    replaced replaced = {NULL, 0};
    atomic_store_explicit(&event->places, (uint32_t)event->n_accesses, memory_order_relaxed);
    for (size_t i = 0; i < event->n_accesses; i++) {
        record(event->accesses[i].alloc, event->accesses[i].mode, event, &replaced);
    }
    settle(&replaced);
}

bool usm_hazard_is_forgotten(const usm_event *event, const usm_failure *failure)
{
    if (failure != NULL || atomic_load_explicit(&((usm_event *)event)->places, memory_order_acquire) != 0) {
        return false;
    }
    for (size_t i = 0; i < event->n_accesses; i++) {
        /*
         * A failure that an earlier write left; that write has ended, and a later one, which may leave one
         * too, has not.
         */
        if ((event->accesses[i].mode & USM_WRITE) != 0 &&
            atomic_load_explicit(&event->accesses[i].alloc->hazards.failure, memory_order_relaxed) != NULL) {
            return false;
        }
    }
    return true;
}

bool usm_hazard_forget(usm_alloc *alloc, usm_access_mode mode, usm_event *event, usm_failure *failure)
{
    usm_hazards *hazards = &alloc->hazards;
    bool counted = hazards->writer == event;
    if (counted) {
        hazards->writer = NULL;
    }
    for (uint32_t i = 0; (mode & USM_WRITE) == 0 && i < hazards->n_readers; i++) {
        if (hazards->readers[i] == event) {
            hazards->readers[i] = hazards->readers[--hazards->n_readers];
            counted = true;
            break;
        }
    }
    /* Writes end in the order of submission, so the last one decides; until then the failure is not read. */
    if ((mode & USM_WRITE) != 0 && failure == NULL) {
        usm_hazard_spoil(alloc, NULL);
    } else if ((mode & USM_WRITE) != 0 && !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
        usm_hazard_spoil(alloc, failure);
    }
    usm_hazard_recount(alloc);
    return counted;
}

void usm_hazard_spoil(usm_alloc *alloc, usm_failure *failure)
{
    if (failure == NULL && atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed) == NULL) {
        return;
    }
    usm_failure *old = atomic_exchange_explicit(
        &alloc->hazards.failure, failure == NULL ? NULL : usm_failure_retain(failure), memory_order_acq_rel);
    if (old != NULL) {
        usm_failure_release(old);
    }
}

static bool names(const usm_hazards *hazards, const usm_event *event)
{
    for (uint32_t i = 0; i < hazards->n_readers; i++) {
        if (hazards->readers[i] == event) {
            return true;
        }
    }
    return hazards->writer == event;
}

void usm_hazard_hold(const usm_event *event)
{
    for (size_t i = 0; i < event->n_accesses; i++) {
        usm_alloc *alloc = event->accesses[i].alloc;
        if (!names(&alloc->hazards, event)) {
            usm_alloc_retain(alloc);
        }
    }
}
