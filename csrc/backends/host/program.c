/*
 * Programs for the host: shared objects that the system's compiler made of portable or C sources
 * (usmpy/_compile), functions in memory, and the built-in kernels of the extension.
 */
#include "host.h"

#include "core/base/heap.h"
#include "cpu/kernel.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Names are in the library, which stays open: only the array is ours. */
static bool list_kernels(usm_program *base, const struct usmpy_kernels *kernels)
{
    base->kernels = usm_malloc((kernels->n + 1) * sizeof *base->kernels);
    for (uint32_t i = 0; base->kernels != NULL && i <= kernels->n; i++) {
        base->kernels[i] = i < kernels->n ? (char *)kernels->entries[i].name : NULL;
    }
    return base->kernels != NULL;
}

/*
 * RTLD_LOCAL: kernels of two programs may have the same name. The version guards against objects in the cache
 * on disk that another version of usmpy made.
 */
static usm_status open_library(usm_program *base, usm_host_program *native, const char *path,
                               usm_error *error)
{
    native->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (native->library == NULL) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "", "the kernels in %s cannot be loaded: %s",
                                path, dlerror());
    }
    native->kernels = dlsym(native->library, "usmpy_kernels");
    if (native->kernels == NULL || native->kernels->version != USMPY_KERNELS_VERSION) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "",
                                "%s has no kernels of version %d; it was not made by this usmpy", path,
                                USMPY_KERNELS_VERSION);
    }
    return list_kernels(base, native->kernels) ? USM_OK : usm_error_memory(error, 64, "a list of kernels");
}

/* The compiler has run before, in Python, so there is no log here. */
usm_status usm_host_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error)
{
    usm_status status;
    (void)log;
    usm_host_program *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a program");
    }
    switch (source->language) {
        case USM_LANGUAGE_LIBRARY:
            status = open_library(base, native, source->data, error);
            break;
        case USM_LANGUAGE_BUILTIN:
            base->any_place = true;
            status = USM_OK;
            break;
        case USM_LANGUAGE_POINTER:
            status = usm_host_pointer_keep(native, source->data, error);
            base->any_place = true;
            break;
        default:
            status = usm_error_set(error, USM_VALUE, "the host device takes portable and C programs");
    }
    if (status != USM_OK) {
        if (native->library != NULL) {
            dlclose(native->library);
        }
        free(native);
        return status;
    }
    base->native = native;
    return USM_OK;
}

void usm_host_program_destroy(usm_program *base)
{
    usm_host_program *native = base->native;
    if (native->library != NULL) {
        dlclose(native->library);
    }
    free(native->described.parameters);
    free(native);
}
