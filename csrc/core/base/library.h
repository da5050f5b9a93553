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
 * Folders that are searched after the system's own: <prefix>/lib of the Python environment and of the folders
 * that it imports packages from, where packages of the index put drivers. Added once, before the first
 * backend starts; copied. A prefix that was added before, and more than USM_LIBRARY_PREFIXES, are left out.
 */
#define USM_LIBRARY_PREFIXES 6
void usm_library_add_prefix(const char *prefix, size_t length);

/* Room for the path of a library, as the dynamic linker has it. */
#define USM_LIBRARY_PATH 640

/* Is the library that was opened complete? False, with the reason in `why`, and the next one is tried. */
typedef bool (*usm_library_accept)(void *handle, const char *path, char *why, size_t size);

/*
 * Opens the first of `names` (NULL-ended; a name without '/' is searched as dlopen does, then in the
 * prefixes; one with '*' is a pattern for files of the prefixes, for packages that put libraries beside their
 * modules) that `accept` (NULL: any) accepts, and fills `table`; functions that are not required are NULL
 * where the library lacks them. `path` (USM_LIBRARY_PATH bytes, or NULL) is set to its file. It stays open
 * for the life of the process: drivers do not survive being unloaded. USM_UNAVAILABLE with what was tried
 * where there is none, USM_DRIVER where the library lacks a required function.
 */
usm_status usm_library_open(const char *const *names, usm_library_accept accept, const usm_symbol *symbols,
                            size_t n_symbols, void *table, char *path, usm_error *error);
/*
 * The same for one library in the prefixes alone. USM_UNAVAILABLE where there is no such file, USM_DRIVER
 * where none opens.
 */
usm_status usm_library_open_in_prefix(const char *name, const usm_symbol *symbols, size_t n_symbols,
                                      void *table, char *path, usm_error *error);

/* Lines for diagnose(): which libraries a backend has opened, and which did not open. */
typedef struct usm_library_report {
    char text[2048];
} usm_library_report;

/* Adds "what: text" unless the report has that line; what no longer fits is left out. */
void usm_library_note(usm_library_report *report, const char *what, const char *text);
/* The same with the file that a function is in; nothing for NULL. */
void usm_library_note_function(usm_library_report *report, const char *what, const void *function);
/* The same with every library of the process whose file begins with `stem`, but those that the report has. */
void usm_library_note_loaded(usm_library_report *report, const char *what, const char *stem);

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
