/*
 * Properties that pass between the core and a backend by value: the languages of programs, how a queue is
 * made, and what a driver says about a stream.
 */
#ifndef USM_CORE_PROPERTIES_H
#define USM_CORE_PROPERTIES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum usm_language {
    USM_LANGUAGE_PORTABLE, /* a part of OpenCL C (docs/design.md, section 7); for CUDA translated by
                              usmpy/_compile/cuda.py */
    USM_LANGUAGE_OPENCL,
    USM_LANGUAGE_SPIRV,
    USM_LANGUAGE_CUDA,
    USM_LANGUAGE_PTX,
    USM_LANGUAGE_NATIVE,  /* the driver's binary, as program_binary returns it */
    USM_LANGUAGE_LIBRARY, /* host: the path of a shared object that exports usmpy_kernels (cpu/kernel.h) */
    USM_LANGUAGE_POINTER, /* host: data is a usm_pointer_source */
    USM_LANGUAGE_BUILTIN, /* host: the built-in kernels, which are in the extension; no data */
} usm_language;

#define USM_LANGUAGE_BIT(language) (UINT32_C(1) << (language))

/* Kinds of memory. */
typedef enum usm_kind { USM_DEVICE, USM_SHARED, USM_HOST, USM_KINDS } usm_kind;

typedef enum usm_priority { USM_PRIORITY_LOW, USM_PRIORITY_NORMAL, USM_PRIORITY_HIGH } usm_priority;

typedef struct usm_queue_options {
    bool in_order, profiling;
    usm_priority priority;
    void *foreign;          /* as in usm_queue; the other members describe it */
    struct usm_keep *keeps; /* as there: taken over on success */
} usm_queue_options;

/* Streams of other libraries: one of these, which every device has, or a handle of the driver. */
#define USM_STREAM_LEGACY ((void *)1)
#define USM_STREAM_PER_THREAD ((void *)2)
/* Of stream_id (backend.h). */
#define USM_STREAM_IN_LEGACY UINT64_C(1)
#define USM_STREAM_NO_ID UINT64_MAX

/* What a driver says of a stream at this moment. */
typedef struct usm_stream_facts {
    uint64_t id;    /* no other stream of the process has, had or will have it, whatever handles it shares */
    bool capturing; /* what is enqueued becomes part of a graph, and does not run */
    bool idle;      /* all that was enqueued has ended */
    usm_queue_options options;
} usm_stream_facts;

#endif
