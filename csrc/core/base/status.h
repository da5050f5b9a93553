/* Status codes of the core and of every backend. */
#ifndef USM_CORE_STATUS_H
#define USM_CORE_STATUS_H

/* One code a cause; csrc/py/errors.c is the only place that turns them into exceptions. */
typedef enum usm_status {
    USM_OK = 0,
    USM_MEMORY,      /* host or device memory ran out                      -> MemoryError */
    USM_VALUE,       /* an argument has the right type and a wrong value   -> ValueError */
    USM_TYPE,        /* an argument has a type that the operation refuses  -> TypeError */
    USM_INDEX,       /* an index or axis is out of range                   -> IndexError */
    USM_BUFFER,      /* memory that cannot be exchanged as asked           -> BufferError */
    USM_PLACEMENT,   /* operands live on different queues                  -> ExecutionPlacementError */
    USM_UNAVAILABLE, /* no library or no driver on this machine: not a fault  -> BackendUnavailable */
    USM_NOT_FOUND,   /* well-formed selector, no such device               -> DeviceNotFound */
    USM_DRIVER,      /* the driver refused a call                          -> UsmError */
    USM_BUILD,       /* the source of a program is at fault                -> BuildError */
    USM_FAILED,      /* asynchronous work failed; usm_error.failure says how */
    USM_TIMEOUT,     /* a wait ran out                                     -> TimeoutError */
    USM_INTERRUPTED, /* the waiter's poll callback asked to stop; nothing is wrong with the work */
    USM_DEADLOCK,    /* a task would have waited for itself                -> UsmError */
    USM_FORKED,      /* a driver backend was used before fork()            -> RuntimeError */
    USM_LATER,       /* no error, of queue_submit alone: the driver cannot take the command yet */
    USM_ON_HOST,     /* no error, of queue_submit alone: the command is for a thread of the queue */
} usm_status;

/*
 * Ownership of pointers in signatures, for readers and grep; they compile to nothing.
 *   USM_GIVES  the caller owns one count of what comes out
 *   USM_TAKES  the callee consumes the caller's count, also when it fails, unless its comment differs
 *   USM_KEEPS  the callee takes a count of its own where it needs one; the caller keeps its own
 */
#define USM_GIVES
#define USM_TAKES
#define USM_KEEPS

#if defined(__GNUC__)
#define USM_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define USM_LIKELY(x) __builtin_expect(!!(x), 1)
#define USM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define USM_PRINTF(text, first)
#define USM_LIKELY(x) (x)
#define USM_UNLIKELY(x) (x)
#endif

#endif
