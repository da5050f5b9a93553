#include "library.h"

#include "sync.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* As patterns for glob(); only added to, under the lock of registries. */
static char folders[USM_LIBRARY_PREFIXES][480];
static _Atomic size_t n_folders;

void usm_library_add_prefix(const char *prefix, size_t length)
{
    char own[sizeof folders[0]];
    size_t used = 0;
    for (size_t i = 0; i < length && used + sizeof "\\x/lib" <= sizeof own; i++) {
        if (strchr("*?[\\", prefix[i]) != NULL) {
            own[used++] = '\\';
        }
        own[used++] = prefix[i];
    }
    if (length == 0 || used + sizeof "\\x/lib" > sizeof own) {
        return;
    }
    memcpy(own + used, "/lib", sizeof "/lib");
    usm_registry_lock();
    size_t i = 0, n = atomic_load(&n_folders);
    while (i < n && strcmp(folders[i], own) != 0) {
        i++;
    }
    if (i == n && n < USM_LIBRARY_PREFIXES) {
        strcpy(folders[n], own);
        atomic_store(&n_folders, n + 1);
    }
    usm_registry_unlock();
}

/* A search: which library is good enough, which one was, and why the others were not. */
typedef struct search {
    usm_library_accept accept;
    void *handle;
    char path[USM_LIBRARY_PATH];
    char tried[560];
} search;

static void add_reason(search *search, const char *reason)
{
    size_t used = strlen(search->tried);
    snprintf(search->tried + used, sizeof search->tried - used, "%s%s", used > 0 ? "; " : "", reason);
}

static void find_path(void *handle, const char *name, char *path)
{
    struct link_map *map;
    bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
    snprintf(path, USM_LIBRARY_PATH, "%s", known ? map->l_name : name);
}

/* Local symbols: two drivers of one interface must not see each other's. */
static bool open_one(search *search, const char *name)
{
    char why[USM_LIBRARY_PATH + 160];
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        add_reason(search, reason != NULL ? reason : name);
        return false;
    }
    find_path(handle, name, search->path);
    if (search->accept != NULL && !search->accept(handle, search->path, why, sizeof why)) {
        add_reason(search, why);
        dlclose(handle);
        return false;
    }
    search->handle = handle;
    return true;
}

/* The files of the prefixes that the pattern means, the first one that opens; a name is a pattern as well. */
static bool open_in_prefixes(search *search, const char *pattern, bool *exists)
{
    for (size_t k = 0; k < atomic_load(&n_folders); k++) {
        char path[USM_LIBRARY_PATH];
        glob_t found;
        if (snprintf(path, sizeof path, "%s/%s", folders[k], pattern) >= (int)sizeof path ||
            glob(path, 0, NULL, &found) != 0) {
            continue;
        }
        *exists = true;
        bool open = false;
        for (size_t i = 0; i < found.gl_pathc && !open; i++) {
            open = open_one(search, found.gl_pathv[i]);
        }
        globfree(&found);
        if (open) {
            return true;
        }
    }
    return false;
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

static usm_status finish(const search *search, const usm_symbol *symbols, size_t n_symbols, void *table,
                         char *path, usm_error *error)
{
    if (path != NULL) {
        memcpy(path, search->path, sizeof search->path);
    }
    return resolve(search->handle, search->path, symbols, n_symbols, table, error);
}

usm_status usm_library_open(const char *const *names, usm_library_accept accept, const usm_symbol *symbols,
                            size_t n_symbols, void *table, char *path, usm_error *error)
{
    search search = {.accept = accept};
    bool open = false, exists;
    for (size_t i = 0; names[i] != NULL && !open; i++) {
        open = strchr(names[i], '*') != NULL ? open_in_prefixes(&search, names[i], &exists)
                                             : open_one(&search, names[i]);
    }
    for (size_t i = 0; names[i] != NULL && !open; i++) {
        open = strpbrk(names[i], "*/") == NULL && open_in_prefixes(&search, names[i], &exists);
    }
    return open ? finish(&search, symbols, n_symbols, table, path, error)
                : usm_error_set(error, USM_UNAVAILABLE, "%s", search.tried);
}

usm_status usm_library_open_in_prefix(const char *name, const usm_symbol *symbols, size_t n_symbols,
                                      void *table, char *path, usm_error *error)
{
    search search = {0};
    bool exists = false;
    if (open_in_prefixes(&search, name, &exists)) {
        return finish(&search, symbols, n_symbols, table, path, error);
    }
    return exists ? usm_error_set(error, USM_DRIVER, "%s", search.tried)
                  : usm_error_set(error, USM_UNAVAILABLE, "there is no %s in %s", name, folders[0]);
}

void usm_library_note(usm_library_report *report, const char *what, const char *text)
{
    char line[sizeof(search) + 32];
    size_t used = strlen(report->text);
    int length = snprintf(line, sizeof line, "%s: %s\n", what, text);
    if (length < (int)sizeof line && used + (size_t)length < sizeof report->text &&
        strstr(report->text, line) == NULL) {
        memcpy(report->text + used, line, (size_t)length + 1);
    }
}

void usm_library_note_function(usm_library_report *report, const char *what, const void *function)
{
    Dl_info info;
    if (function != NULL && dladdr(function, &info) != 0 && info.dli_fname != NULL) {
        usm_library_note(report, what, info.dli_fname);
    }
}

static bool begins_with(const struct dl_phdr_info *info, const char *stem)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *file = slash != NULL ? slash + 1 : info->dlpi_name;
    return strncmp(file, stem, strlen(stem)) == 0;
}

typedef struct noted {
    usm_library_report *report;
    const char *what, *stem;
} noted;

static int note_one(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    const noted *noted = argument;
    if (begins_with(info, noted->stem) && strstr(noted->report->text, info->dlpi_name) == NULL) {
        usm_library_note(noted->report, noted->what, info->dlpi_name);
    }
    return 0;
}

void usm_library_note_loaded(usm_library_report *report, const char *what, const char *stem)
{
    noted noted = {report, what, stem};
    dl_iterate_phdr(note_one, &noted);
}

typedef struct loaded {
    const char *stem;
    char path[USM_LIBRARY_PATH];
} loaded;

static int is_wanted(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    loaded *wanted = argument;
    if (!begins_with(info, wanted->stem) || strlen(info->dlpi_name) >= sizeof wanted->path) {
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
