/* Records of traces (core/trace/trace.h) that csrc/py makes: arrays that are exported and imported. */
#ifndef USMPY_TRACE_H
#define USMPY_TRACE_H

#include "py/arrays/array.h"

#include "core/trace/trace.h"

static inline void usmpy_trace_passing(int what, usmpy_array *array, const char *name)
{
    if (USM_UNLIKELY(usm_trace_is_on())) {
        usm_view view = usmpy_view(array);
        usm_trace_passing(what, &view, name);
    }
}

/* The array is exported by the protocol `name`. */
static inline void usmpy_trace_export(usmpy_array *array, const char *name)
{
    usmpy_trace_passing(USM_TRACE_EXPORT, array, name);
}

/* The array is new, and was imported by the protocol `name`. */
static inline void usmpy_trace_import(usmpy_array *array, const char *name)
{
    usmpy_trace_passing(USM_TRACE_IMPORT, array, name);
}

#endif
