/* Keeps: Python objects and buffers that a task, a queue, a context or an allocation holds. */
#include "keep.h"

#include "errors.h"
#include "interpreter.h"
#include "lock.h"

#include "core/base/heap.h"

typedef struct object_keep {
    usm_keep keep;
    PyObject *object;
} object_keep;

typedef struct buffer_keep {
    usm_keep keep;
    Py_buffer view;
} buffer_keep;

static void drop_object(usm_deferred *node)
{
    object_keep *keep = (object_keep *)node;
    if (usmpy_is_here(node->home)) { /* else its interpreter has ended */
        Py_DECREF(keep->object);
    }
    free(keep);
}

static void drop_buffer(usm_deferred *node)
{
    buffer_keep *keep = (buffer_keep *)node;
    if (usmpy_is_here(node->home)) {
        PyBuffer_Release(&keep->view);
    }
    free(keep);
}

static void push(usm_keep **list, usm_keep *keep, void (*run)(usm_deferred *))
{
    keep->deferred.run = run;
    keep->deferred.home = usm_deferred_here();
    keep->next = *list;
    *list = keep;
}

int usmpy_keep_object(usm_keep **list, PyObject *object)
{
    object_keep *keep = usm_malloc(sizeof *keep);
    if (keep == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    keep->object = Py_NewRef(object);
    push(list, &keep->keep, drop_object);
    return 0;
}

int usmpy_keep_buffer(usm_keep **list, Py_buffer *view)
{
    buffer_keep *keep = usm_malloc(sizeof *keep);
    if (keep == NULL) {
        PyBuffer_Release(view);
        PyErr_NoMemory();
        return -1;
    }
    keep->view = *view; /* only its owner and the exporter's private field matter from here on */
    push(list, &keep->keep, drop_buffer);
    return 0;
}

bool usmpy_keep_is_same(const usm_keep *a, const usm_keep *b)
{
    return usmpy_keep_get(a) != NULL && usmpy_keep_get(a) == usmpy_keep_get(b);
}

PyObject *usmpy_keep_get(const usm_keep *keep)
{
    return keep->deferred.run == drop_object && usmpy_is_here(keep->deferred.home)
               ? ((const object_keep *)keep)->object
               : NULL;
}

void usmpy_keep_drop(usm_keep *list)
{
    PyObject *pending = usmpy_take_exception(); /* the last reference to an object may run Python code */
    while (list != NULL) {
        usm_keep *next = list->next;
        list->deferred.run(&list->deferred);
        list = next;
    }
    usmpy_restore_exception(pending);
}

void usmpy_keep_release(void *owner)
{
    usm_keep *keep = owner;
    if (usmpy_is_attached() && usmpy_is_here(keep->deferred.home) && !usmpy_is_finalizing()) {
        keep->deferred.run(&keep->deferred);
    } else {
        usm_deferred_push(&keep->deferred);
    }
}
