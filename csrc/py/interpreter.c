/* The records of the interpreters that have imported usmpy, and who may release objects of which. */
#include "interpreter.h"

#include "errors.h"

#include "core/base/heap.h"

#include <stddef.h>

static usmpy_interpreter main_record = {.list = &usm_deferred_main};
static _Atomic(usmpy_interpreter *) records = &main_record; /* newest first, only added to */
static _Thread_local usmpy_interpreter *last;               /* what this thread found last */

bool usmpy_is_attached(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked() != NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    return _PyThreadState_UncheckedGet() != NULL;
#else
    PyThreadState *current = _PyThreadState_UncheckedGet(); /* the one that holds the GIL, of any thread */
    return current != NULL && current == PyGILState_GetThisThreadState();
#endif
}

static int64_t current_id(void)
{
    return PyInterpreterState_GetID(PyInterpreterState_Get());
}

static usmpy_interpreter *find(int64_t id)
{
    if (id == 0) {
        return &main_record;
    }
    usmpy_interpreter *at = last;
    if (at == NULL || at->id != id) {
        at = atomic_load_explicit(&records, memory_order_acquire);
        while (at != NULL && at->id != id) {
            at = at->next;
        }
        last = at;
    }
    return at;
}

usmpy_interpreter *usmpy_interpreter_of(usm_deferred_list *list)
{
    return list == NULL || list == &usm_deferred_main
               ? &main_record
               : (usmpy_interpreter *)((char *)list - offsetof(usmpy_interpreter, own_list));
}

usmpy_interpreter *usmpy_interpreter_here(void)
{
    usmpy_interpreter *found = usm_deferred_has_many() ? find(current_id()) : NULL;
    return found != NULL ? found : &main_record;
}

/* The hooks of the core: any thread, any lock. */
static usm_deferred_list *list_here(bool attached)
{
    return attached || usmpy_is_attached() ? usmpy_interpreter_here()->list : &usm_deferred_main;
}

static usm_deferred_fate fate_of(usm_deferred_list *list)
{
    const usmpy_interpreter *owner = usmpy_interpreter_of(list);
    bool here = usmpy_is_attached() ? current_id() == owner->id : owner->id == 0;
    return here ? USM_RELEASE_NOW : usm_deferred_is_closed(list) ? USM_RELEASE_NEVER : USM_RELEASE_LATER;
}

/* Runs when the interpreter clears its dict, after its modules: the last moment for its objects. */
static void close_record(PyObject *capsule)
{
    usmpy_interpreter *own = PyCapsule_GetPointer(capsule, "usmpy._core._interpreter");
    PyObject *pending = usmpy_take_exception();
    atomic_store(&own->ended, true);
    atomic_store(&own->state, NULL);
    usm_deferred_close(own->list);
    usmpy_restore_exception(pending);
}

/* Makes the interpreter close the record at its end. 0 or -1. */
static int close_at_end(usmpy_interpreter *own)
{
    PyObject *dict = PyInterpreterState_GetDict(own->python); /* borrowed */
    PyObject *capsule = dict == NULL ? NULL : PyCapsule_New(own, "usmpy._core._interpreter", close_record);
    int status = capsule == NULL ? -1 : PyDict_SetItemString(dict, "usmpy._core", capsule);
    Py_XDECREF(capsule);
    if (status < 0 && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return status;
}

usmpy_interpreter *usmpy_interpreter_enter(void)
{
    int64_t id = current_id();
    usmpy_interpreter *own = find(id);
    if (own != NULL) {
        return own;
    }
    own = usm_calloc(1, sizeof *own);
    if (own == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    own->list = &own->own_list;
    own->id = id;
    own->python = PyInterpreterState_Get();
    if (close_at_end(own) < 0) {
        free(own);
        return NULL;
    }
    own->next = atomic_load(&records);
    while (!atomic_compare_exchange_weak(&records, &own->next, own)) {
    }
    usm_deferred_set_interpreters(list_here, fate_of);
    return own;
}

void usmpy_interpreters_set_ended(void)
{
    for (usmpy_interpreter *at = atomic_load(&records); at != NULL; at = at->next) {
        atomic_store(&at->ended, true);
    }
}
