#include "thread.h"

#include <pthread.h>

/*
 * A thread state is linked into the interpreter's list under a lock of CPython's, without the GIL. CPython
 * before 3.12 meets that lock in the child of a fork before it renews it: a fork at that moment would hang
 * the child. So no fork happens at that moment. (Unlinking holds the GIL, which the forking thread has.)
 * Nothing is locked and no Python runs under this lock.
 *
 * Later CPythons take their lock themselves before they call fork(), which would then wait here for a
 * thread that waits for theirs: for them there is nothing to do, and a lock would hang both.
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

void usmpy_thread_start(void)
{
    pthread_once(&started, start);
}
#else
static void lock_birth(void)
{
}

static void unlock_birth(void)
{
}

void usmpy_thread_start(void)
{
}
#endif

PyThreadState *usmpy_thread_attach(void)
{
    lock_birth();
    PyThreadState *thread = PyThreadState_New(PyInterpreterState_Main());
    unlock_birth();
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
