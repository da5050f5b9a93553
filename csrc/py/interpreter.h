/*
 * The Python interpreters of the process that have imported usmpy: the main one and sub-interpreters, each
 * with a state, a list of deferred releases and an end of its own. Devices, contexts, queues, memory and
 * everything else of the core belong to the process.
 */
#ifndef USMPY_INTERPRETER_H
#define USMPY_INTERPRETER_H

#include "module.h"

#include "core/base/deferred.h"

/* Records are never freed: an allocation may outlive the interpreter that its memory was imported in. */
typedef struct usmpy_interpreter {
    usm_deferred_list *list;
    int64_t id;                     /* CPython's, which is never used again; 0: the main interpreter */
    PyInterpreterState *python;     /* of a sub-interpreter; valid until the list is closed */
    _Atomic(usmpy_state *) state;   /* of the module that it loaded last; NULL: none */
    _Atomic bool ended;             /* no function of it is submitted any more */
    _Atomic bool closed;            /* no thread state is made any more */
    PyThreadState *reserve;         /* of no thread (usmpy_thread_reserve) */
    usm_deferred_list own_list;     /* of a sub-interpreter */
    struct usmpy_interpreter *next; /* older */
} usmpy_interpreter;

/* The record of the calling thread's interpreter, made with its first import. NULL with MemoryError. */
usmpy_interpreter *usmpy_interpreter_enter(void);

/* The record of a list. */
usmpy_interpreter *usmpy_interpreter_of(usm_deferred_list *list);

/* The record of the interpreter that the calling thread runs in. GIL held, usmpy imported there. */
usmpy_interpreter *usmpy_interpreter_here(void);

/*
 * Whether the calling thread has a thread state and the GIL. (PyGILState_Check answers yes on any thread once
 * there has been a sub-interpreter.)
 */
bool usmpy_is_attached(void);

/* Whether an object of this list's interpreter may be released by the calling thread, which has a GIL. */
static inline bool usmpy_is_here(usm_deferred_list *list)
{
    return USM_LIKELY(!usm_deferred_has_many()) || usm_deferred_here() == list;
}

/* Refuses functions of every interpreter from now on. */
void usmpy_interpreters_set_ended(void);

#endif
