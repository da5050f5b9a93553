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
#else
static void lock_birth(void)
{
}

static void unlock_birth(void)
{
}
#endif

void usmpy_thread_start(void)
{
#if PY_VERSION_HEX < 0x030C0000
    pthread_once(&started, start);
#endif
}

/*
 * A sub-interpreter must not end while another thread has a state of it: its end waits for those that are
 * counted, and refuses more. The main interpreter is not counted: threads that ask for its GIL while it
 * finalizes hang.
 */
static bool count_in(usmpy_interpreter *interpreter)
{
    if (interpreter->id == 0) {
        return true;
    }
    pthread_mutex_lock(&interpreter->lock);
    bool open = !interpreter->closed_to_threads;
    interpreter->attached += open;
    pthread_mutex_unlock(&interpreter->lock);
    return open;
}

static void count_out(usmpy_interpreter *interpreter)
{
    if (interpreter->id != 0) {
        pthread_mutex_lock(&interpreter->lock);
        interpreter->attached--;
        pthread_mutex_unlock(&interpreter->lock);
    }
}

/*
 * Before version 3.12, a thread that waits for the GIL asks the threads of its thread state's interpreter alone
 * to give it up: one with another state would wait for ever on a loop of the sub-interpreter. So the state that
 * waits is of that interpreter.
 */
PyThreadState *usmpy_thread_attach(usmpy_interpreter *interpreter)
{
    if (!count_in(interpreter)) {
        return NULL;
    }
    lock_birth();
    PyThreadState *thread =
        PyThreadState_New(interpreter->id == 0 ? PyInterpreterState_Main() : interpreter->python);
    unlock_birth();
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    } else {
        count_out(interpreter);
    }
    return thread;
}

void usmpy_thread_detach(usmpy_interpreter *interpreter, PyThreadState *thread)
{
    PyThreadState_Clear(thread);
    PyThreadState_DeleteCurrent();
    count_out(interpreter);
}

int usmpy_thread_reserve(usmpy_interpreter *interpreter)
{
#if PY_VERSION_HEX >= 0x030D0000
    if (interpreter->id != 0 && interpreter->reserve == NULL) {
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
    pthread_mutex_lock(&interpreter->lock);
    interpreter->closed_to_threads = true;
    pthread_mutex_unlock(&interpreter->lock);
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
