/* Creates and deletes thread states for threads that Python did not start. */
#include "thread.h"

#include <pthread.h>

/*
 * CPython links a thread state into the interpreter's list under a lock of its own, without the GIL. Before
 * version 3.12 the child of a fork uses that lock before it renews it: a fork at that moment would hang the
 * child. This lock excludes such a fork; nothing is locked and no Python code runs under it. (A thread state
 * is unlinked under the GIL, which the forking thread holds.)
 *
 * Later versions take their lock themselves before they call fork(). A lock here would deadlock with theirs.
 */
#if PY_VERSION_HEX < 0x030C0000
static pthread_mutex_t birth = PTHREAD_MUTEX_INITIALIZER;

static void lock_birth(void)
{
    pthread_mutex_lock(&birth);
}

static void unlock_birth(void)
{
    pthread_mutex_unlock(&birth);
}

/* PyThreadState_New crashes there without memory for a state, so what it will take is asked for first. */
static PyThreadState *new_state(PyInterpreterState *python)
{
    lock_birth();
    void *room = PyMem_RawMalloc(2 * sizeof(PyThreadState));
    PyMem_RawFree(room);
    PyThreadState *thread = room == NULL ? NULL : PyThreadState_New(python);
    unlock_birth();
    return thread;
}
#else
#define new_state PyThreadState_New
#endif

void usmpy_thread_start(void)
{
#if PY_VERSION_HEX < 0x030C0000
    pthread_atfork(lock_birth, unlock_birth, unlock_birth);
#endif
}

PyThreadState *usmpy_thread_attach(usmpy_interpreter *interpreter)
{
    if (atomic_load(&interpreter->closed)) {
        return NULL;
    }
    PyThreadState *thread = new_state(interpreter->id == 0 ? PyInterpreterState_Main() : interpreter->python);
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    }
    return thread;
}

void usmpy_thread_detach(PyThreadState *thread)
{
    PyThreadState_Clear(thread);
    PyThreadState_DeleteCurrent();
}

int usmpy_thread_reserve(usmpy_interpreter *interpreter)
{
#if PY_VERSION_HEX >= 0x030D0000
    if (interpreter->id != 0 && interpreter->reserve == NULL && !atomic_load(&interpreter->closed)) {
        interpreter->reserve = PyThreadState_New(interpreter->python);
        if (interpreter->reserve == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
#else
    (void)interpreter;
#endif
    return 0;
}

void usmpy_thread_close(usmpy_interpreter *interpreter)
{
    atomic_store(&interpreter->closed, true);
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter->python);
    while (thread != NULL && thread != interpreter->reserve) {
        thread = PyThreadState_Next(thread);
    }
    /* The end of the main interpreter deletes it, and may use its memory for the state that runs this. */
    if (thread != NULL && thread != PyThreadState_Get()) {
        PyThreadState_Clear(thread);
        PyThreadState_Delete(thread);
    }
    interpreter->reserve = NULL;
}
