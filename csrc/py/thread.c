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
static pthread_once_t started = PTHREAD_ONCE_INIT;

static void lock_birth(void)
{
    pthread_mutex_lock(&birth);
}

static void unlock_birth(void)
{
    pthread_mutex_unlock(&birth);
}

static void start(void)
{
    pthread_atfork(lock_birth, unlock_birth, unlock_birth);
}
#endif

void usmpy_thread_start(void)
{
#if PY_VERSION_HEX < 0x030C0000
    pthread_once(&started, start);
#endif
}

PyThreadState *usmpy_thread_attach(void)
{
#if PY_VERSION_HEX < 0x030C0000
    lock_birth();
    PyThreadState *thread = PyThreadState_New(PyInterpreterState_Main());
    unlock_birth();
#else
    PyThreadState *thread = PyThreadState_New(PyInterpreterState_Main());
#endif
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
