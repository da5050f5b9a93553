#include "launch.h"

#include "heap.h"

#include <stdlib.h>
#include <string.h>

usm_launch *usm_launch_clone(const usm_launch *launch)
{
    size_t size = sizeof *launch + launch->n_arguments * sizeof *launch->arguments;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        const usm_argument *argument = &launch->arguments[i];
        if (argument->kind == USM_PARAMETER_VALUE && argument->size > USM_INLINE_VALUE) {
            size += argument->size;
        }
    }
    usm_launch *clone = usm_malloc(size);
    if (clone == NULL) {
        return NULL;
    }
    usm_argument *arguments = (usm_argument *)(clone + 1);
    char *at = (char *)(arguments + launch->n_arguments);
    *clone = *launch;
    clone->kernel = usm_kernel_retain(launch->kernel);
    clone->arguments = arguments;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        arguments[i] = launch->arguments[i];
        if (arguments[i].kind == USM_PARAMETER_VALUE && arguments[i].size > USM_INLINE_VALUE) {
            memcpy(at, launch->arguments[i].as.data, arguments[i].size);
            arguments[i].as.data = at;
            at += arguments[i].size;
        }
    }
    return clone;
}

void usm_launch_free(usm_launch *launch)
{
    if (launch != NULL) {
        usm_kernel_release(launch->kernel);
        free(launch);
    }
}
