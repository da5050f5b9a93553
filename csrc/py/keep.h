/*
 * Keeps: Python objects and buffers that a task, a queue, a context or an allocation holds. A thread that has
 * the GIL releases them.
 */
#ifndef USMPY_KEEP_H
#define USMPY_KEEP_H

#include "module.h"

#include "core/tasks/event.h"

/* Each adds a keep at the front of *list; 0, or -1 with MemoryError. GIL held. */
int usmpy_keep_object(usm_keep **list, USM_KEEPS PyObject *object);
/* Takes over a filled view (view->obj is not NULL), also on failure. */
int usmpy_keep_buffer(usm_keep **list, USM_TAKES Py_buffer *view);
/* Whether both hold the same object; false for buffers. */
bool usmpy_keep_is_same(const usm_keep *a, const usm_keep *b);
/* The object of a keep, borrowed; NULL for a buffer, and for an object of another interpreter. GIL held. */
PyObject *usmpy_keep_get(const usm_keep *keep);
/* Releases a list that no task, queue or context took over. GIL held; a pending exception stays. */
void usmpy_keep_drop(USM_TAKES usm_keep *list);
/*
 * The deleter of an allocation whose owner is one keep: releases it now if the calling thread has the GIL,
 * else on a thread that has. Any thread, any lock.
 */
void usmpy_keep_release(USM_TAKES void *keep);

#endif
