#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[480]; /* "" while none is set */

void usm_library_set_prefix(const char *prefix)
{
    if (strlen(prefix) + sizeof "/lib" <= sizeof folder) {
        snprintf(folder, sizeof folder, "%s/lib", prefix);
    }
}

/* Local symbols: two drivers of one interface must not see each other's. */
static void *open_one(const char *path, char *tried, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        size_t used = strlen(tried);
        snprintf(tried + used, size - used, "%s%s", used > 0 ? "; " : "", reason != NULL ? reason : path);
    }
    return handle;
}

static bool path_in_prefix(const char *name, char *path, size_t size)
{
    return folder[0] != '\0' && snprintf(path, size, "%s/%s", folder, name) < (int)size &&
           access(path, F_OK) == 0;
}

/* The files of the prefix that the pattern means, the first one that opens; NULL where there is none. */
static void *open_pattern(const char *pattern, char *tried, size_t size)
{
    char path[640];
    glob_t found;
    void *handle = NULL;
    if (folder[0] == '\0' || snprintf(path, sizeof path, "%s/%s", folder, pattern) >= (int)sizeof path ||
        glob(path, 0, NULL, &found) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < found.gl_pathc && handle == NULL; i++) {
        handle = open_one(found.gl_pathv[i], tried, size);
    }
    globfree(&found);
    return handle;
}

static usm_status resolve(void *handle, const char *name, const usm_symbol *symbols, size_t n_symbols,
                          void *table, usm_error *error)
{
    for (size_t i = 0; i < n_symbols; i++) {
        void *function = dlsym(handle, symbols[i].name);
        if (function == NULL && symbols[i].required) {
            return usm_error_set(error, USM_DRIVER,
                                 "%s has no function %s: it is too old, or not the library of this name",
                                 name, symbols[i].name);
        }
        memcpy((char *)table + symbols[i].offset, &function, sizeof function);
    }
    return USM_OK;
}

usm_status usm_library_open(const char *const *names, const usm_symbol *symbols, size_t n_symbols,
                            void *table, void **handle, usm_error *error)
{
    char tried[560] = "", path[640];
    *handle = NULL;
    const char *opened = NULL;
    for (size_t i = 0; names[i] != NULL && *handle == NULL; i++) {
        opened = names[i];
        *handle = strchr(opened, '*') != NULL ? open_pattern(opened, tried, sizeof tried)
                                              : open_one(opened, tried, sizeof tried);
    }
    for (size_t i = 0; names[i] != NULL && *handle == NULL; i++) {
        opened = names[i];
        if (path_in_prefix(names[i], path, sizeof path)) {
            *handle = open_one(path, tried, sizeof tried);
        }
    }
    if (*handle == NULL) {
        return usm_error_set(error, USM_UNAVAILABLE, "%s", tried);
    }
    return resolve(*handle, opened, symbols, n_symbols, table, error);
}

usm_status usm_library_open_in_prefix(const char *name, const usm_symbol *symbols, size_t n_symbols,
                                      void *table, void **handle, usm_error *error)
{
    char tried[560] = "", path[640];
    *handle = NULL;
    if (!path_in_prefix(name, path, sizeof path)) {
        return usm_error_set(error, USM_UNAVAILABLE, "there is no %s in %s", name, folder);
    }
    *handle = open_one(path, tried, sizeof tried);
    if (*handle == NULL) {
        return usm_error_set(error, USM_DRIVER, "%s", tried);
    }
    return resolve(*handle, path, symbols, n_symbols, table, error);
}

typedef struct loaded {
    const char *stem;
    char path[640];
} loaded;

static int is_wanted(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    loaded *wanted = argument;
    const char *slash = strrchr(info->dlpi_name, '/'), *file = slash != NULL ? slash + 1 : info->dlpi_name;
    if (strncmp(file, wanted->stem, strlen(wanted->stem)) != 0 ||
        strlen(info->dlpi_name) >= sizeof wanted->path) {
        return 0;
    }
    strcpy(wanted->path, info->dlpi_name);
    return 1;
}

usm_status usm_library_find_loaded(const char *stem, const usm_symbol *symbols, size_t n_symbols, void *table,
                                   usm_error *error)
{
    loaded wanted = {.stem = stem};
    void *handle = NULL;
    if (dl_iterate_phdr(is_wanted, &wanted) != 0) {
        handle = dlopen(wanted.path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    }
    if (handle == NULL) {
        return usm_error_set(error, USM_UNAVAILABLE, "no %s is loaded in this process", stem);
    }
    return resolve(handle, wanted.path, symbols, n_symbols, table, error);
}

void *usm_library_function(const char *path, const char *name)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? dlsym(handle, name) : NULL;
}
