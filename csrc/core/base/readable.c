/* What the kernel says of an address, without touching it. */
#include "readable.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Mapped, at least. Pages that are reserved (PROT_NONE) pass: heaps, sanitizers and drivers reserve much. */
static bool is_mapped(uintptr_t address)
{
    unsigned char resident;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mincore((void *)(address - address % page), 1, &resident) == 0;
}

bool usm_is_readable(const void *address)
{
    void *word;
    if (address == NULL || (uintptr_t)address % sizeof word != 0) {
        return false;
    }
    struct iovec here = {&word, sizeof word}, there = {(void *)(uintptr_t)address, sizeof word};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof word) {
        return true;
    }
    /* A filter of system calls, as containers have them, may refuse the question. */
    return errno != EFAULT && is_mapped((uintptr_t)address);
}
