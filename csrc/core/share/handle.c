#include "handle.h"

#include "core/base/sync.h"
#include "core/layout/dtype.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VERSION 1

/* Their numbers are the same on every architecture (Linux 5.3 and 5.6). */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static const char magic[8] = "USMPYIPC";

/* Whether a call failed for want of descriptors or memory, and may succeed later. */
static bool is_lack(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOMEM;
}

/*
 * The start of a file as text; empty where there is none. False, with errno, where is_lack(errno): then
 * nothing is known of the file.
 */
static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    int code = errno;
    text[n < 0 ? 0 : n] = '\0';
    if (file >= 0) {
        close(file);
    }
    errno = code;
    return n >= 0 || !is_lack(code);
}

/*
 * When a process was started, in clock ticks (field 22 of proc_pid_stat(5)); 0: there is no such process, or
 * it has ended and its parent has not waited for it (field 3). False, with errno: that cannot be known now.
 */
static bool start_of(int64_t process, uint64_t *out)
{
    char path[40], text[1024];
    *out = 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    if (!read_text(path, text, sizeof text)) {
        return false;
    }
    const char *at = strrchr(text, ')'); /* the end of the name, field 2, which may contain anything */
    if (at != NULL && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)) {
        return true;
    }
    for (int field = 2; field < 22 && at != NULL; field++) {
        at = strchr(at + 1, ' ');
    }
    *out = at == NULL ? 0 : strtoull(at, NULL, 10);
    return true;
}

/* Who makes handles: read once a process. */
typedef struct maker {
    char boot[40];
    int64_t process;
    uint64_t started;
    uint64_t processes;
} maker;

static maker this_process; /* leaf stripe of its address */

/* False, with errno, where start_of fails. */
static bool read_maker(maker *out)
{
    struct stat facts = {.st_ino = 0};
    if (!start_of(getpid(), &out->started) ||
        !read_text("/proc/sys/kernel/random/boot_id", out->boot, sizeof out->boot)) {
        return false;
    }
    out->boot[strcspn(out->boot, "\n")] = '\0';
    stat("/proc/self/ns/pid", &facts);
    out->processes = (uint64_t)facts.st_ino;
    out->process = getpid();
    return true;
}

/*
 * This process. False, with errno, where read_maker fails. Threads that come first may all read it; events
 * share the lock, which is not held meanwhile.
 */
static bool find_maker(maker *out)
{
    usm_leaf *leaf = usm_leaf_of(&this_process);
    usm_mutex_lock(&leaf->mutex);
    *out = this_process;
    usm_mutex_unlock(&leaf->mutex);
    if (out->process == getpid()) {
        return true;
    }
    if (!read_maker(out)) {
        return false;
    }
    usm_mutex_lock(&leaf->mutex);
    this_process = *out;
    usm_mutex_unlock(&leaf->mutex);
    return true;
}

static usm_status refuse_unknown(usm_error *error)
{
    return usm_error_set(error, USM_MEMORY, "cannot read in /proc what a handle says of its process: %s",
                         usm_error_errno(errno));
}

bool usm_handle_is_own(const usm_share_handle *handle)
{
    maker own;
    return find_maker(&own) && handle->process == own.process && handle->started == own.started;
}

bool usm_handle_maker_ended(const usm_share_handle *handle)
{
    maker own;
    uint64_t started;
    return find_maker(&own) && handle->processes == own.processes && start_of(handle->process, &started) &&
           started != handle->started;
}

static size_t size_of(const usm_share_handle *handle)
{
    return offsetof(usm_share_handle, dims) + 2 * (size_t)handle->ndim * sizeof handle->dims[0];
}

static uint64_t check_of(const usm_share_handle *handle)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const size_t at = offsetof(usm_share_handle, check), end = at + sizeof handle->check;
    for (size_t i = 0; i < handle->size; i++) {
        if (i < at || i >= end) {
            hash = (hash ^ ((const unsigned char *)handle)[i]) * UINT64_C(1099511628211);
        }
    }
    return hash;
}

usm_status usm_handle_seal(usm_share_handle *handle, usm_error *error)
{
    maker own;
    if (!find_maker(&own)) {
        return refuse_unknown(error);
    }
    memcpy(handle->boot, own.boot, sizeof handle->boot);
    handle->process = own.process;
    handle->started = own.started;
    handle->processes = own.processes;
    memcpy(handle->magic, magic, sizeof magic);
    handle->version = VERSION;
    handle->size = (uint32_t)size_of(handle);
    handle->check = check_of(handle);
    return USM_OK;
}

usm_status usm_handle_read(const void *bytes, size_t n, usm_share_handle *handle, usm_error *error)
{
    maker here;
    const size_t least = offsetof(usm_share_handle, dims);
    if (n < offsetof(usm_share_handle, check) || memcmp(bytes, magic, sizeof magic) != 0) {
        return usm_error_set(error, USM_VALUE, "data is no handle of usmpy; pass bytes(handle)");
    }
    memset(handle, 0, sizeof *handle);
    memcpy(handle, bytes, n < sizeof *handle ? n : sizeof *handle);
    if (handle->version != VERSION) {
        return usm_error_set(error, USM_VALUE,
                             "the handle has version %u and this usmpy reads version %d: use the same usmpy "
                             "in both processes",
                             handle->version, VERSION);
    }
    if (handle->size != n || n < least || n > sizeof *handle) {
        return usm_error_set(error, USM_VALUE, "the handle has %zu bytes of %u: it was truncated or damaged",
                             n, handle->size);
    }
    if (check_of(handle) != handle->check || size_of(handle) != n || handle->kind >= USM_KINDS ||
        handle->n_descriptors > USM_HANDLE_DESCRIPTORS || handle->n_bytes > USM_SHARE_BYTES ||
        handle->device[sizeof handle->device - 1] != '\0') {
        return usm_error_set(error, USM_VALUE, "the handle was changed after it was made: its check differs");
    }
    if (!find_maker(&here)) {
        return refuse_unknown(error);
    }
    if (memcmp(handle->boot, here.boot, sizeof here.boot) != 0) {
        return usm_error_set(
            error, USM_VALUE,
            "the handle was made on another machine, or before this one was started: handles "
            "are for processes of one machine that run at the same time");
    }
    return USM_OK;
}

bool usm_handle_is_within(const usm_share_handle *handle)
{
    int64_t size, low, high;
    if (handle->dtype >= USM_DTYPES || handle->ndim > USM_MAX_NDIM ||
        usm_layout_size(handle->ndim, handle->dims, usm_dtype_table[handle->dtype].itemsize, &size, NULL) !=
            USM_OK ||
        handle->offset < 0 || (uint64_t)handle->offset > handle->nbytes ||
        (handle->rule == USM_SHARE_NOTHING && handle->nbytes > 0)) {
        return false;
    }
    if (size == 0) {
        return true;
    }
    /* As if the block began at address 0: what lies before it is beyond any address. */
    return usm_dtype_span(handle->dtype, handle->ndim, handle->dims, handle->dims + handle->ndim, size,
                          (const void *)(uintptr_t)handle->offset, &low, &high) &&
           (uint64_t)high <= handle->nbytes - (uint64_t)handle->offset;
}

/* Why there is no descriptor of the process: what errno was, 0 for another process of its number. */
static usm_status not_there(const usm_share_handle *handle, int code, usm_error *error)
{
    if (is_lack(code)) {
        return usm_error_set(error, USM_MEMORY, "cannot take descriptors of process %lld: %s",
                             (long long)handle->process, usm_error_errno(code));
    }
    if (code == ENOSYS) {
        return usm_error_set(
            error, USM_BUFFER,
            "this kernel has no pidfd_open: call from_bytes(data, fds) with the descriptors");
    }
    return usm_error_set(
        error, USM_VALUE,
        "the process %lld that made the handle has ended: pass the handle's descriptors along "
        "(from_bytes(data, fds)), or keep the process running",
        (long long)handle->process);
}

static usm_status take(const usm_share_handle *handle, int process, uint32_t i, int *out, usm_error *error)
{
    *out = (int)syscall(SYS_pidfd_getfd, process, handle->descriptors[i], 0); /* close-on-exec */
    if (*out >= 0) {
        return USM_OK;
    }
    int code = errno;
    if (code == EBADF) {
        return usm_error_set(
            error, USM_VALUE,
            "the process %lld has closed the handle: keep it open until the other process has "
            "opened it",
            (long long)handle->process);
    }
    if (code == ESRCH || is_lack(code)) {
        return not_there(handle, code, error);
    }
    return usm_error_set(
        error, USM_BUFFER,
        "the kernel does not let this process take descriptors of process %lld (pidfd_getfd: %s): both must be "
        "of one user, and /proc/sys/kernel/yama/ptrace_scope must be 0 (a container needs "
        "--cap-add=SYS_PTRACE); else send the descriptors, as usmpy.multiprocessing does, and call "
        "from_bytes(data, fds)",
        (long long)handle->process, strerror(code));
}

usm_status usm_handle_fetch(const usm_share_handle *handle, int *out, usm_error *error)
{
    usm_status status = USM_OK;
    uint32_t n = 0;
    if (handle->n_descriptors == 0) {
        return USM_OK;
    }
    int process = (int)syscall(SYS_pidfd_open, (pid_t)handle->process, 0);
    /* The number may be that of a later process; one that the descriptor refers to keeps its own. */
    uint64_t started = 0;
    int code = process < 0 || !start_of(handle->process, &started) ? errno : 0;
    if (code != 0 || started != handle->started) {
        if (process >= 0) {
            close(process);
        }
        return not_there(handle, code, error);
    }
    for (; n < handle->n_descriptors && status == USM_OK; n++) {
        status = take(handle, process, n, &out[n], error);
    }
    if (status == USM_OK) {
        status = usm_handle_check(handle, out, n, error);
        n += status != USM_OK;
    }
    if (status != USM_OK) {
        usm_descriptors_close(out, n - 1);
    }
    close(process);
    return status;
}

usm_status usm_handle_check(const usm_share_handle *handle, const int *descriptors, size_t n,
                            usm_error *error)
{
    if (n != handle->n_descriptors) {
        return usm_error_set(error, USM_VALUE, "fds has %zu descriptors and the handle %u; they must match",
                             n, handle->n_descriptors);
    }
    for (size_t i = 0; i < n; i++) {
        struct stat facts;
        if (fstat(descriptors[i], &facts) != 0) {
            return usm_error_set(error, USM_VALUE, "fds[%zu] is %d, which is no open descriptor", i,
                                 descriptors[i]);
        }
        if ((uint64_t)facts.st_ino != handle->inodes[i]) {
            return usm_error_set(error, USM_VALUE,
                                 "fds[%zu] is not the handle's file: the handle is stale, or the descriptors "
                                 "are of another one",
                                 i);
        }
    }
    return USM_OK;
}

usm_status usm_descriptors_copy(const int *from, size_t n, int *to, usm_error *error)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 0);
        if (to[i] < 0) {
            int code = errno;
            usm_descriptors_close(to, i);
            return usm_error_set(error, code == EBADF ? USM_VALUE : USM_MEMORY,
                                 "cannot duplicate the descriptor %d: %s", from[i], usm_error_errno(code));
        }
    }
    return USM_OK;
}

void usm_descriptors_close(const int *descriptors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        close(descriptors[i]);
    }
}
