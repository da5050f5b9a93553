/*
 * Handles: how an array over shared memory is described to another process of this machine. The bytes are a
 * plain struct in the machine's own byte order, since they never leave it.
 *
 * Nothing in a handle is secret, and its check only finds damage: a handle is to be trusted as its sender is.
 */
#ifndef USM_CORE_HANDLE_H
#define USM_CORE_HANDLE_H

#include "core/device/backend.h"
#include "core/device/context.h"
#include "core/layout/layout.h"

/* The record's descriptors, and the end of a pipe (usm_share_entries.ends_with_exporter). */
#define USM_HANDLE_DESCRIPTORS (USM_SHARE_DESCRIPTORS + 1)

/* How the memory is shared: `rule`. */
enum { USM_SHARE_NOTHING, USM_SHARE_MEMFD, USM_SHARE_BACKEND };

#define USM_HANDLE_READONLY 1u

typedef struct usm_share_handle {
    char magic[8];
    uint32_t version;
    uint32_t size;  /* of all bytes; `dims` ends after 2 * ndim entries */
    uint64_t check; /* of all other bytes (FNV-1a) */
    /* Where it was made: the machine's boot; the process, by its number and start in clock ticks. */
    char boot[40];
    int64_t process;
    uint64_t started;
    /* The block; the identity is random. */
    uint8_t block[16];
    uint64_t nbytes;
    uint8_t rule, kind;
    /* The array on it. */
    uint8_t dtype, ndim, flags;
    int64_t offset;               /* bytes from the begin of the block to the first element */
    uint8_t uuid[16];             /* of the device that the array is on */
    char device[USM_DEVICE_TEXT]; /* its filter string in the exporter */
    /* Descriptors: their numbers in the exporter, and the inode of each. */
    uint32_t n_descriptors;
    int32_t descriptors[USM_HANDLE_DESCRIPTORS];
    uint64_t inodes[USM_HANDLE_DESCRIPTORS];
    uint64_t processes; /* the PID namespace that `process` is of */
    /* For the backend. */
    uint32_t n_bytes;
    uint8_t order[USM_SHARE_ORDER];
    uint8_t bytes[USM_SHARE_BYTES];
    int64_t dims[2 * USM_MAX_NDIM]; /* the shape, then the strides in elements */
} usm_share_handle;

/*
 * Sets what says where the handle was made, its size and the check; everything else is set, and what is not
 * used is 0. USM_MEMORY: descriptors or memory are lacking to read it.
 */
usm_status usm_handle_seal(usm_share_handle *handle, usm_error *error);
/*
 * Copies the bytes of a handle. USM_VALUE, which says why: no handle, another version, truncated, damaged, or
 * made before the machine was started. USM_MEMORY as above.
 */
usm_status usm_handle_read(const void *bytes, size_t n, usm_share_handle *handle, usm_error *error);
/* Whether the array's type and layout are those of an array, and all of its elements lie in the block. */
bool usm_handle_is_within(const usm_share_handle *handle);
/* Whether this process made the handle, and not a process that it was forked from. False if not known. */
bool usm_handle_is_own(const usm_share_handle *handle);
/* Whether the process that made the handle has ended. False where that cannot be known (containers). */
bool usm_handle_maker_ended(const usm_share_handle *handle);

/*
 * Duplicates of the descriptors of a handle whose bytes came without them, taken from its exporter
 * (pidfd_getfd): n_descriptors in `out`, close-on-exec, the caller's. USM_VALUE: the exporter has ended, or
 * has closed the handle. USM_BUFFER: the kernel does not let this process do so. USM_MEMORY: this process
 * has as many descriptors as it may have.
 */
usm_status usm_handle_fetch(const usm_share_handle *handle, int *out, usm_error *error);
/* USM_VALUE if these are not the handle's descriptors. */
usm_status usm_handle_check(const usm_share_handle *handle, const int *descriptors, size_t n,
                            usm_error *error);

/* Duplicates, close-on-exec. On failure none is left open. */
usm_status usm_descriptors_copy(const int *from, size_t n, int *to, usm_error *error);
void usm_descriptors_close(const int *descriptors, size_t n);

#endif
