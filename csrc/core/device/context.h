/* Contexts: several devices of one platform whose memory and events may meet. */
#ifndef USM_CORE_CONTEXT_H
#define USM_CORE_CONTEXT_H

#include "core/base/deferred.h"
#include "core/base/reclaimer.h"
#include "core/base/refcount.h"
#include "place.h"

struct usm_backend;

typedef struct usm_context {
    usm_refcount refs;
    bool
        runs_on_submitting_thread; /* the submitting thread runs short work, with the hazards locked (host) */
    const struct usm_backend *backend;
    void *native;
    void *foreign; /* the driver's context that another library made; NULL: it was made here */
    bool is_default;
    size_t n_devices;
    usm_device **devices;             /* as given at creation */
    _Atomic(usm_place *) places;      /* grows under the registry lock, read without */
    _Atomic uint64_t free_generation; /* grows whenever memory goes back to the driver or to its owner */
    /* Registry lock: what lives as long as this, and the list of all contexts. */
    usm_keep *keeps;
    struct usm_context *previous, *next;
    usm_reclaimable reclaimable; /* at its end */
} usm_context;

/*
 * Called before memory is given back. A cache of facts about a pointer compares the number, since another
 * allocation may have the address later; the number never comes back to an earlier value. Such a cache reads
 * it before it looks at the pointers. Where the host works there is none.
 */
static inline void usm_context_advance_free_generation(usm_context *context)
{
    if (!context->runs_on_submitting_thread) {
        atomic_fetch_add_explicit(&context->free_generation, 1, memory_order_release);
    }
}

/*
 * A new context over these devices: one at least, of one backend, without repeats (else USM_VALUE). Two
 * contexts over the same devices differ.
 */
usm_status usm_context_create(usm_device *const *devices, size_t n_devices, USM_GIVES usm_context **out,
                              usm_error *error);

/*
 * The context that stands for a driver's object that another library may have made: one a native context, so
 * it may be one that was here before. The driver's object is held as long as it lives. The devices must be
 * known here (else USM_NOT_FOUND).
 */
usm_status usm_context_adopt(const struct usm_backend *backend, void *handle, USM_GIVES usm_context **out,
                             usm_error *error);

/*
 * Lets `keep` live as long as the context, unless one that is the `same` is there. False: it is the caller's
 * still. `same` runs with the registry lock.
 */
bool usm_context_keep(usm_context *context, usm_keep *keep, bool (*same)(const usm_keep *, const usm_keep *));

/*
 * The pair's entry, made on first use; NULL: in the default context of the device. USM_VALUE where the device
 * is not in the context; a partition of a device that is in it counts as in it (SYCL lets a context of the
 * parent be used with its sub-devices).
 */
usm_status usm_context_place(usm_context *context, usm_device *device, usm_place **out, usm_error *error);

/* The platform's default context of the device's root, which the root's partitions join. Immortal. */
usm_status usm_context_default(usm_device *device, usm_context **out, usm_error *error);

/*
 * The place of the host's own device in its default context, which lives as long as the process.
 * USM_UNAVAILABLE where the host backend did not start. May block on the first call: no lock, no GIL.
 */
usm_status usm_host_place(usm_place **out, usm_error *error);

/*
 * The contexts of the process one by one: the one after this, which the caller holds (NULL: the first).
 */
USM_GIVES usm_context *usm_context_after(const usm_context *context);
/* After the interpreter: gives unused default contexts back to the drivers that ask for that. */
void usm_contexts_close(void);

USM_RETAIN(usm_context)
void usm_context_release(USM_TAKES usm_context *context);

#endif
