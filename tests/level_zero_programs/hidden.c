/*
 * Loaded before other libraries: what a machine has or lacks, for tests of diagnose(). HIDE_LOADER=1: there
 * is no Level Zero loader. SHOW_NODES=open, closed or none: a node of a graphics processor that this user may
 * open or may not, or none at all.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    bool hide = getenv("HIDE_LOADER") != NULL && name != NULL && strncmp(name, "libze_loader", 12) == 0;
    return next(hide ? "libze_absent.so.1" : name, flags);
}

int access(const char *path, int mode)
{
    int (*next)(const char *, int) = NULL;
    const char *nodes = getenv("SHOW_NODES");
    *(void **)&next = dlsym(RTLD_NEXT, "access");
    if (nodes == NULL || strncmp(path, "/dev/dri/", 9) != 0) {
        return next(path, mode);
    }
    if (strcmp(nodes, "none") == 0 || strcmp(path, "/dev/dri/renderD129") != 0) {
        errno = ENOENT;
        return -1;
    }
    if (mode != F_OK && strcmp(nodes, "closed") == 0) {
        errno = EACCES;
        return -1;
    }
    return 0;
}
