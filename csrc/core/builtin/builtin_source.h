/* What built-in kernels are built of: source, SPIR-V or PTX, with what tells a compiler which cast it is. */
#ifndef USM_CORE_BUILTIN_SOURCE_H
#define USM_CORE_BUILTIN_SOURCE_H

#include "builtin.h"

typedef struct usm_builtin_source {
    usm_program_source program; /* borrows `options` and `joined` */
    char options[256];
    char *joined; /* a cast in PTX, which free() releases; else NULL */
} usm_builtin_source;

/* In the form that the backend of the place takes. The host's own have no source. Any thread, no lock. */
usm_status usm_builtin_source_find(const usm_place *place, const usm_builtin *builtin,
                                   USM_GIVES usm_builtin_source *source, usm_error *error);

/* The function of its program: of casts in PTX, one for each alignment. */
const char *usm_builtin_function(const usm_place *place, const usm_builtin *builtin);

#endif
