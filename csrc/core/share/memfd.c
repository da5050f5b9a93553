#include "memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * No process can change the size: a file that became smaller would end the others with SIGBUS. And none can
 * add seals, such as one against writes.
 */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static usm_status map(int file, bool readonly, usm_shared_memory *memory, usm_error *error)
{
    memory->pointer =
        mmap(NULL, memory->nbytes, readonly ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory->pointer == MAP_FAILED) {
        return usm_error_set(error, USM_MEMORY, "cannot map %zu bytes of shared memory: %s", memory->nbytes,
                             strerror(errno));
    }
    /* Taken up where /sys/kernel/mm/transparent_hugepage/shmem_enabled is "advise". */
    madvise(memory->pointer, memory->nbytes, MADV_HUGEPAGE);
    return USM_OK;
}

static usm_status memfd_create_block(const usm_place *place, usm_shared_memory *memory,
                                     usm_share_record *record, bool *zeroed, usm_error *error)
{
    (void)place;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (memory->nbytes > (size_t)INT64_MAX - page) {
        return usm_error_set(error, USM_MEMORY, "cannot share %zu bytes", memory->nbytes);
    }
    memory->nbytes = (memory->nbytes + page - 1) / page * page;
    int file = memfd_create("usmpy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) {
        return usm_error_set(error, errno == ENOSYS || errno == EPERM ? USM_BUFFER : USM_MEMORY,
                             "cannot make memory for several processes (memfd_create: %s)",
                             usm_error_errno(errno));
    }
    usm_status status =
        ftruncate(file, (off_t)memory->nbytes) != 0 || fcntl(file, F_ADD_SEALS, SEALS) != 0
            ? usm_error_set(error, USM_MEMORY, "cannot make %zu bytes of memory for several processes: %s",
                            memory->nbytes, strerror(errno))
            : map(file, false, memory, error);
    if (status != USM_OK) {
        close(file);
        return status;
    }
    record->descriptors[0] = file;
    record->n_descriptors = 1;
    *zeroed = true;
    return USM_OK;
}

static usm_status memfd_open_block(const usm_place *place, const usm_share_record *record, bool readonly,
                                   usm_shared_memory *memory, usm_error *error)
{
    struct stat facts;
    (void)place;
    if (record->n_descriptors != 1 || fstat(record->descriptors[0], &facts) != 0) {
        return usm_error_set(error, USM_VALUE, "the handle has %u descriptors of memory; it must have 1",
                             record->n_descriptors);
    }
    int seals = fcntl(record->descriptors[0], F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) {
        return usm_error_set(
            error, USM_VALUE,
            "the handle's file is not sealed against changes of its size: usmpy did not make "
            "it, and its memory could vanish");
    }
    if ((uint64_t)facts.st_size != memory->nbytes) {
        return usm_error_set(error, USM_VALUE, "the handle is of %zu bytes and its file has %lld",
                             memory->nbytes, (long long)facts.st_size);
    }
    return map(record->descriptors[0], readonly, memory, error);
}

static usm_status memfd_make_writable(const usm_place *place, const usm_shared_memory *memory,
                                      usm_error *error)
{
    (void)place;
    if (mprotect(memory->pointer, memory->nbytes, PROT_READ | PROT_WRITE) != 0) {
        return usm_error_set(error, USM_BUFFER, "the shared memory cannot be made writable: %s",
                             strerror(errno));
    }
    return USM_OK;
}

static void memfd_close(const usm_place *place, const usm_shared_memory *memory)
{
    (void)place;
    munmap(memory->pointer, memory->nbytes);
}

const usm_share_entries usm_memfd_entries = {
    .kinds = (1u << USM_KINDS) - 1,
    .create = memfd_create_block,
    .open = memfd_open_block,
    .make_writable = memfd_make_writable,
    .close = memfd_close,
};
