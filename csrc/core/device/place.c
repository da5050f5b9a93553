#include "place.h"

#include "core/base/heap.h"

static const usm_place_part *const *all_parts;

void usm_place_set_parts(const usm_place_part *const *parts)
{
    all_parts = parts;
}

void usm_place_destroy(usm_place *place)
{
    for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
        if ((*part)->destroy != NULL) {
            (*part)->destroy(place);
        }
    }
    free(place);
}

usm_place *usm_place_new(struct usm_context *context, usm_device *device)
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
            usm_place_destroy(place);
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

bool usm_places_are_at_work(usm_place *place)
{
    bool are = false;
    for (; place != NULL && !are; place = place->next) {
        are = usm_place_is_at_work(place);
    }
    return are;
}

usm_status usm_places_wait(struct usm_context *context, const usm_patience *patience, usm_error *error)
{
    usm_status status = USM_OK;
    for (const usm_place_part *const *part = all_parts; *part != NULL && status == USM_OK; part++) {
        status = (*part)->finish_work != NULL ? (*part)->finish_work(context, patience, error) : USM_OK;
    }
    return status;
}

void usm_places_trim(usm_place *place)
{
    for (; place != NULL; place = place->next) {
        for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
            if ((*part)->trim != NULL) {
                (*part)->trim(place);
            }
        }
    }
}

void usm_places_unlist(usm_place *place)
{
    for (; place != NULL; place = place->next) {
        for (const usm_place_part *const *part = all_parts; *part != NULL; part++) {
            if ((*part)->unlist != NULL) {
                (*part)->unlist(place);
            }
        }
    }
}

void usm_places_destroy(usm_place *place)
{
    for (usm_place *next; place != NULL; place = next) {
        next = place->next;
        usm_place_destroy(place);
    }
}
