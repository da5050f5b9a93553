/* What a task keeps alive on behalf of Python: objects and buffers, let go of by a thread that
 * holds the GIL. */
#ifndef USMPY_KEEP_H
#define USMPY_KEEP_H

#include "module.h"

#include "core/tasks/event.h"

/* Each adds a keep in front of *list; 0, or -1 with MemoryError. */
int usmpy_keep_object(usm_keep **list, USM_KEEPS PyObject *object);
/* Takes over a filled view (view->obj is not NULL), also when it fails. */
int usmpy_keep_buffer(usm_keep **list, USM_TAKES Py_buffer *view);
/* Do both hold the same object? */
bool usmpy_keep_is_same(const usm_keep *a, const usm_keep *b);
/* The object that a keep holds, borrowed; NULL for a buffer. */
PyObject *usmpy_keep_get(const usm_keep *keep);
/* For a list that no task took over. */
void usmpy_keep_drop(usm_keep *list);

#endif
