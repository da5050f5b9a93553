/*
 * How an asyncio loop hears that events have ended: one pipe a loop. A thread that ends an event puts the
 * waiter on a list and writes a byte; the loop reads it in its own thread and collects the list. No thread an
 * event, and no Python on the thread that ended it.
 */
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"

#include "core/base/deferred.h"
#include "core/base/heap.h"
#include "core/base/refcount.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

/* Shared by the Python object and the waiters, which may outlive it. */
typedef struct channel {
    usm_refcount refs;
    int read_fd, write_fd;
    _Atomic bool closed;
    _Atomic(usm_deferred *) ended; /* waiters whose event has ended, newest first */
} channel;

typedef struct watch {
    usm_waiter waiter;
    usm_deferred deferred; /* link of the channel's list; run: drop without telling */
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
        close(channel->read_fd);
        close(channel->write_fd);
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
    Py_DECREF(watch->object);
    channel_release(watch->channel);
    free(watch);
}

/* The loop is gone: what is on the list is let go of by whoever holds the GIL next. */
static void abandon(channel *channel)
{
    usm_deferred *node = atomic_exchange(&channel->ended, NULL);
    while (node != NULL) {
        usm_deferred *next = node->next;
        usm_deferred_push(node);
        node = next;
    }
}

/* On any thread, without the GIL. The byte may be lost when the pipe is full: then the loop
 * is awake anyway. */
static void on_end(usm_waiter *waiter, usm_event *event)
{
    (void)event;
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
        while (write(channel->write_fd, "", 1) < 0 && errno == EINTR) {
        }
    }
    channel_release(channel);
}

static int open_pipe(channel *channel)
{
    int fds[2];
    if (pipe(fds) != 0) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
    }
    channel->read_fd = fds[0];
    channel->write_fd = fds[1];
    return 0;
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
    if (open_pipe(channel) < 0) {
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

static PyObject *notifier_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((usmpy_notifier *)self)->channel->read_fd);
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
    watch->channel = channel;
    watch->object = Py_NewRef(args[1]);
    usm_refcount_up(&channel->refs);
    if (usm_event_notify(((usmpy_event *)args[0])->event, &watch->waiter)) {
        Py_RETURN_TRUE;
    }
    drop_watch(&watch->deferred);
    Py_RETURN_FALSE;
}

static PyObject *notifier_collect(PyObject *self, PyObject *unused)
{
    (void)unused;
    channel *channel = ((usmpy_notifier *)self)->channel;
    char bytes[64];
    while (read(channel->read_fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
    PyObject *list = PyList_New(0);
    usm_deferred *node = list == NULL ? NULL : atomic_exchange(&channel->ended, NULL);
    while (node != NULL) {
        usm_deferred *next = node->next;
        if (list != NULL && PyList_Append(list, watch_of(node)->object) < 0) {
            Py_CLEAR(list);
        }
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

static PyType_Spec notifier_spec = {
    .name = "usmpy._core._Notifier",
    .basicsize = sizeof(usmpy_notifier),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = notifier_slots,
};

int usmpy_notifier_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &notifier_spec, &state->notifier_type);
}
