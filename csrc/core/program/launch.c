#include "launch.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

/* Structs may be read in place by code that was compiled for their alignment. */
static size_t aligned(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

usm_launch *usm_launch_clone_in(const usm_launch *launch, void *room, size_t room_size)
{
    size_t head = aligned(sizeof *launch + launch->n_arguments * sizeof *launch->arguments), size = head;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        const usm_argument *argument = &launch->arguments[i];
        if (argument->kind == USM_PARAMETER_VALUE && argument->size > USM_INLINE_VALUE) {
            size += aligned(argument->size);
        }
    }
    usm_launch *clone = size <= room_size ? room : usm_malloc(size);
    if (clone == NULL) {
        return NULL;
    }
    usm_argument *arguments = (usm_argument *)(clone + 1);
    char *at = (char *)clone + head;
    *clone = *launch;
    clone->kernel = usm_kernel_retain(launch->kernel);
    clone->arguments = arguments;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        arguments[i] = launch->arguments[i];
        if (arguments[i].kind == USM_PARAMETER_VALUE && arguments[i].size > USM_INLINE_VALUE) {
            memcpy(at, launch->arguments[i].as.data, arguments[i].size);
            arguments[i].as.data = at;
            at += aligned(arguments[i].size);
        }
    }
    return clone;
}

void usm_launch_free_from(usm_launch *launch, const void *room)
{
    if (launch != NULL) {
        usm_kernel_release(launch->kernel);
        if (launch != room) {
            free(launch);
        }
    }
}
