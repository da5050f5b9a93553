/* Creates and deletes thread states for threads that Python did not start. */
#include "thread.h"

#include <pthread.h>
#include <time.h>

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
#endif

void usmpy_thread_start(void)
{
#if PY_VERSION_HEX < 0x030C0000
    pthread_atfork(lock_birth, unlock_birth, unlock_birth);
#endif
}

#if PY_VERSION_HEX < 0x030C0000
/* PyThreadState_New crashes there without memory for a state, so what it will take is asked for first. */
static PyThreadState *new_state(PyInterpreterState *python)
{
    void *room = PyMem_RawMalloc(2 * sizeof(PyThreadState));
    PyMem_RawFree(room);
    return room == NULL ? NULL : PyThreadState_New(python);
}
#endif

/*
 * Before version 3.12, _xxsubinterpreters checks that a sub-interpreter has one thread state, and runs or
 * ends it with the newest one, under the GIL alone: one that was added in between without the GIL would run
 * on two threads. So a state of a sub-interpreter is added under the GIL, which a state of the main
 * interpreter takes. PyGILState_Ensure uses the state that a thread gets while it has none: that is the
 * second one here. If that one cannot be made, the first remains.
 */
PyThreadState *usmpy_thread_attach(usmpy_interpreter *interpreter)
{
    if (atomic_load(&interpreter->closed)) {
        return NULL;
    }
#if PY_VERSION_HEX < 0x030C0000
    lock_birth();
    PyThreadState *thread = new_state(PyInterpreterState_Main());
    unlock_birth();
    if (thread == NULL) {
        return NULL;
    }
    PyEval_RestoreThread(thread);
    for (int i = 0; i < 2 && interpreter->id != 0; i++) {
        PyThreadState *next = new_state(interpreter->python);
        if (next != NULL) {
            PyThreadState_Swap(next);
            PyThreadState_Clear(thread);
            PyThreadState_Delete(thread);
            thread = next;
        } else if (i == 0) {
            PyThreadState_Clear(thread);
            PyThreadState_DeleteCurrent();
            return NULL;
        }
    }
#else
    PyThreadState *thread =
        PyThreadState_New(interpreter->id == 0 ? PyInterpreterState_Main() : interpreter->python);
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    }
#endif
    return thread;
}

void usmpy_thread_detach(PyThreadState *thread)
{
    PyThreadState_Clear(thread);
    PyThreadState_DeleteCurrent();
}

void usmpy_thread_yield(void)
{
#if PY_VERSION_HEX < 0x030C0000
    if (usm_deferred_has_many() && usmpy_interpreter_here()->id != 0) {
        Py_BEGIN_ALLOW_THREADS
            nanosleep(&(struct timespec){.tv_nsec = 20000},
                      NULL); /* a thread that waits needs time to wake up */
        Py_END_ALLOW_THREADS
    }
#endif
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
