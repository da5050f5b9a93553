/*
 * _Notifier: wakes an asyncio loop when events have ended, by one eventfd a loop. A thread that ends an event
 * puts the waiter on a list and signals the descriptor; the loop sees it in its own thread and collects the
 * list. No event needs a thread, and the thread that ended it runs no Python.
 */
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"
#include "py/interpreter.h"

#include "core/base/deferred.h"
#include "core/base/heap.h"
#include "core/base/refcount.h"

#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Shared by the Python object and the waiters, which may outlive it. */
typedef struct channel {
    usm_refcount refs;
    int fd; /* an eventfd, which does not block */
    _Atomic bool closed;
    _Atomic(usm_deferred *) ended; /* waiters whose event has ended, newest first */
} channel;

typedef struct watch {
    usm_waiter waiter;
    usm_deferred deferred; /* link of the channel's list; run: release without notification */
    channel *channel;      /* one count */
    PyObject *object;      /* what collect() returns */
} watch;

typedef struct usmpy_notifier {
    PyObject_HEAD
    channel *channel;
} usmpy_notifier;

static void channel_release(channel *channel)
{
    if (usm_refcount_down(&channel->refs)) {
        close(channel->fd);
        free(channel);
    }
}

static watch *watch_of(usm_deferred *node)
{
    return (watch *)((char *)node - offsetof(watch, deferred));
}

/* GIL held. */
static void drop_watch(usm_deferred *node)
{
    watch *watch = watch_of(node);
    if (usmpy_is_here(node->home)) { /* else its interpreter has ended */
        Py_DECREF(watch->object);
    }
    channel_release(watch->channel);
    free(watch);
}

/* The loop is gone: the next thread with the GIL releases the watches on the list. */
static void abandon(channel *channel)
{
    usm_deferred *node = atomic_exchange(&channel->ended, NULL);
    while (node != NULL) {
        usm_deferred *next = node->next;
        usm_deferred_push(node);
        node = next;
    }
}

/* On any thread, without the GIL. */
static void on_end(usm_waiter *waiter, usm_event *Py_UNUSED(event))
{
    watch *watch = (struct watch *)waiter;
    channel *channel = watch->channel;
    usm_refcount_up(&channel->refs); /* the watch may be collected before this returns */
    usm_deferred *head = atomic_load(&channel->ended);
    do {
        watch->deferred.next = head;
    } while (!atomic_compare_exchange_weak(&channel->ended, &head, &watch->deferred));
    if (atomic_load(&channel->closed)) {
        abandon(channel);
    } else {
        (void)eventfd_write(channel->fd, 1); /* fails if the counter is full, and the loop awake anyway */
    }
    channel_release(channel);
}

static PyObject *notifier_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 0 || (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0)) {
        return PyErr_Format(PyExc_TypeError, "_Notifier() takes no arguments");
    }
    channel *channel = usm_calloc(1, sizeof *channel);
    if (channel == NULL) {
        return PyErr_NoMemory();
    }
    channel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (channel->fd < 0) {
        free(channel);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    usm_refcount_init(&channel->refs, 1);
    usmpy_notifier *self = (usmpy_notifier *)type->tp_alloc(type, 0);
    if (self == NULL) {
        channel_release(channel);
        return NULL;
    }
    self->channel = channel;
    return (PyObject *)self;
}

static void notifier_dealloc(PyObject *self)
{
    channel *channel = ((usmpy_notifier *)self)->channel;
    if (channel != NULL) {
        atomic_store(&channel->closed, true);
        abandon(channel);
        channel_release(channel);
    }
    usmpy_free_object(self);
}

static PyObject *notifier_fileno(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLong(((usmpy_notifier *)self)->channel->fd);
}

static PyObject *notifier_watch(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_state *state = usmpy_state_of(self);
    channel *channel = ((usmpy_notifier *)self)->channel;
    if (nargs != 2 || !Py_IS_TYPE(args[0], state->event_type)) {
        return PyErr_Format(PyExc_TypeError, "watch(event, object) takes an Event and an object");
    }
    watch *watch = usm_malloc(sizeof *watch);
    if (watch == NULL) {
        return PyErr_NoMemory();
    }
    watch->waiter.done = on_end;
    watch->deferred.run = drop_watch;
    watch->deferred.home = usm_deferred_here();
    watch->channel = channel;
    watch->object = Py_NewRef(args[1]);
    usm_refcount_up(&channel->refs);
    if (usm_event_notify(((usmpy_event *)args[0])->event, &watch->waiter)) {
        Py_RETURN_TRUE;
    }
    drop_watch(&watch->deferred);
    Py_RETURN_FALSE;
}

static PyObject *notifier_collect(PyObject *self, PyObject *Py_UNUSED(unused))
{
    channel *channel = ((usmpy_notifier *)self)->channel;
    eventfd_t n;
    (void)eventfd_read(channel->fd, &n); /* before the list is taken: later ends signal again */
    PyObject *list = PyList_New(0);
    usm_deferred *node = list == NULL ? NULL : atomic_exchange(&channel->ended, NULL);
    while (node != NULL) {
        usm_deferred *next = node->next;
        usmpy_append(&list, Py_NewRef(watch_of(node)->object));
        drop_watch(node);
        node = next;
    }
    if (list != NULL && PyList_Reverse(list) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef notifier_methods[] = {
    {"fileno", notifier_fileno, METH_NOARGS, USMPY_DOC__Notifier_fileno},
    {"watch", (PyCFunction)(void (*)(void))notifier_watch, METH_FASTCALL, USMPY_DOC__Notifier_watch},
    {"collect", notifier_collect, METH_NOARGS, USMPY_DOC__Notifier_collect},
    {0},
};

static PyType_Slot notifier_slots[] = {
    {Py_tp_doc, USMPY_DOC__Notifier},
    {Py_tp_new, notifier_new},
    {Py_tp_dealloc, notifier_dealloc},
    {Py_tp_methods, notifier_methods},
    {0, NULL},
};

USMPY_SPEC(notifier, "usmpy._core._Notifier", usmpy_notifier, 0)
