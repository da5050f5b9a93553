/* Driver libraries: opened at run time on first use, functions from a list. */
#ifndef USM_CORE_LIBRARY_H
#define USM_CORE_LIBRARY_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* One function of a table: where its pointer goes, and whether the library is of use without it. */
typedef struct usm_symbol {
    const char *name;
    size_t offset;
    bool required;
} usm_symbol;

/*
 * A folder that is searched after the system's own: <prefix>/lib of the Python environment, where packages of
 * the index put drivers. Set once, before the first backend starts; copied.
 */
void usm_library_set_prefix(const char *prefix);

/*
 * Opens the first of `names` (NULL-ended; a name without '/' is searched as dlopen does, then in the prefix;
 * one with '*' is a pattern for files of the prefix, for packages that put libraries beside their modules)
 * and fills `table`; functions that are not required are NULL where the library lacks them. *handle stays
 * open for the life of the process: drivers do not survive being unloaded. USM_UNAVAILABLE with what was
 * tried where there is none, USM_DRIVER where the library lacks a required function.
 */
usm_status usm_library_open(const char *const *names, const usm_symbol *symbols, size_t n_symbols,
                            void *table, void **handle, usm_error *error);
/* The same for one library in the prefix alone. USM_UNAVAILABLE where the file does not exist. */
usm_status usm_library_open_in_prefix(const char *name, const usm_symbol *symbols, size_t n_symbols,
                                      void *table, void **handle, usm_error *error);

/*
 * The first library that somebody has loaded into this process already whose file begins with `stem`, such as
 * "libsycl.so"; nothing is loaded. Fills `table` as usm_library_open does. USM_UNAVAILABLE where there is
 * none.
 */
usm_status usm_library_find_loaded(const char *stem, const usm_symbol *symbols, size_t n_symbols, void *table,
                                   usm_error *error);

/* A function of one library, which stays open; NULL where there is no such library, or no such function. */
void *usm_library_function(const char *path, const char *name);

#endif
