/* The ends of exports and imports of arrays, with their records in traces (core/trace/trace.h). */
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

/* The last step of an import by the protocol `name`: the array has its shape, strides and allocation. */
static inline usmpy_array *usmpy_array_imported(usmpy_array *array, void *data, USM_TAKES PyObject *queue,
                                                usm_dtype dtype, bool writable, const char *name)
{
    array->data = data;
    array->queue = queue;
    array->dtype = (uint8_t)dtype;
    array->flags = writable ? USMPY_WRITABLE : 0;
    usmpy_array_finish(array);
    usmpy_trace_passing(USM_TRACE_IMPORT, array, name);
    return array;
}

#endif
