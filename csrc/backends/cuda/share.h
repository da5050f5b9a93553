/* What share.c and share_order.c have of a block of memory for several processes. */
#ifndef USM_CUDA_SHARE_H
#define USM_CUDA_SHARE_H

#include "cuda_backend.h"

/* An event of this process that others may wait for, and its handle for them. */
typedef struct usm_cuda_exported {
    void *link; /* of usm_cuda_device.exported */
    CUevent id;
    CUipcEventHandle handle;
} usm_cuda_exported;

/* An event of another process, open here while the block is. */
typedef struct usm_cuda_imported {
    struct usm_cuda_imported *next;
    CUevent id;
    CUipcEventHandle handle;
} usm_cuda_imported;

/* usm_shared_memory.native: a block as this process has it mapped. */
typedef struct usm_cuda_mapping {
    struct usm_cuda_mapping *next; /* in the list of share.c */
    usm_device *device;
    CUdeviceptr at;
    size_t nbytes;
    bool readonly;        /* the list's lock */
    pthread_mutex_t lock; /* what follows; the driver and a device's lock under it */
    usm_cuda_exported *exported;
    usm_cuda_imported *imported;
} usm_cuda_mapping;

/* Gives back the block's events. `entered`: the device's context is current; else it is lost. */
void usm_cuda_share_end_order(usm_cuda_mapping *mapping, bool entered);

#endif
