/*
 * The registry of backends: the only list of them, the first use that starts each one, and the report of how
 * that went. Every other file reaches a backend through the table of a device or a context.
 */
#ifndef USM_CORE_REGISTRY_H
#define USM_CORE_REGISTRY_H

#include "backend.h"

/* Every name that a filter string may use, also those that this build left out. Builds for tests have more
 * backends, which are found by their names alone. */
#define USM_N_BACKENDS 4

/* Interfaces of other software whose objects belong to one backend, also where this build has left it out. */
typedef enum usm_interface {
    USM_INTERFACE_PROCESS, /* memory, threads and functions of this process */
    USM_INTERFACE_CUDA,    /* __cuda_stream__ and __cuda_array_interface__ */
    USM_INTERFACE_STREAMS, /* streams of any library: of the first backend that has streams and works, or CUDA
                            */
    USM_INTERFACE_SYCL_OPENCL,     /* sycl::backend::opencl */
    USM_INTERFACE_SYCL_LEVEL_ZERO, /* sycl::backend::ext_oneapi_level_zero */
} usm_interface;

typedef struct usm_backend_report {
    const char *name;
    const usm_backend *backend; /* NULL: left out of this build */
    /* For diagnose(), as in usm_backend; NULL: none. */
    const char *const *environment;
    const usm_library_report *libraries;
    const char *absent;   /* NULL when it works; else why not, in full */
    bool broken;          /* absent for another reason than that there is no driver */
    usm_device **devices; /* best first */
    size_t n_devices;
} usm_backend_report;

/*
 * Starts the backend by its index (of usm_backend_index, or below USM_N_BACKENDS) on first use and says how
 * it went. The report is the core's own, constant from then on. Blocks on the first call, without the GIL
 * (usm_detach). No lock.
 */
const usm_backend_report *usm_backend_start(int index);
/* The same of the backend that the interface belongs to. */
const usm_backend_report *usm_backend_start_for(usm_interface interface);
/* -1 for an unknown name. */
int usm_backend_index(const char *name, size_t length);
/* A fork waits, before it takes the registry lock, until no other thread starts a backend. */
void usm_backends_fork_starts(usm_fork_phase phase);
/* Calls fork hooks of the backends that were started. Registry lock held. */
void usm_backends_fork(usm_fork_phase phase);

/*
 * The backends of this build one by one, started as needed (those for tests alone only if they were): the
 * next from *index, which is 0 at first; NULL: there is none. May block: no lock, no GIL.
 */
const usm_backend_report *usm_backend_next(int *index);

/* The device that the driver's object is, a part that was made before included; else USM_NOT_FOUND. */
usm_status usm_device_adopt(const struct usm_backend *backend, void *handle, usm_device **out,
                            usm_error *error);

#endif
