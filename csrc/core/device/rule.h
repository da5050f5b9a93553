/*
 * The rule of backend.h: an entry that may block is called without the GIL and without a lock of the core.
 * Every call of an entry is USM_CALL(table, entry)(arguments). In builds for tests it ends the process, with
 * the entry's name, what is held and a stack, where the rule is broken; in others it is table->entry alone.
 */
#ifndef USM_CORE_RULE_H
#define USM_CORE_RULE_H

#include "backend.h"

#ifdef USM_TESTING
#define USM_CHECK_RULE(may_block, entry) \
    (USM_BLOCKS_OF_##entry != USM_BLOCKS_NEVER && (may_block) ? usm_rule_check(#entry) : (void)0)
#else
#define USM_CHECK_RULE(may_block, entry) ((void)0)
#endif

#define USM_CALL(table, entry) USM_CALL_IF(true, table, entry)
/* For an entry that, as its comment says, blocks only if `may_block`. */
#define USM_CALL_IF(may_block, table, entry) (USM_CHECK_RULE(may_block, entry), (table)->entry)

/* This process is the child of one that used the driver: no entry but `handle` is called. */
static inline bool usm_is_forked(const usm_backend *backend)
{
    return USM_UNLIKELY(backend->fork_guard != NULL &&
                        atomic_load_explicit(&backend->fork_guard->forked, memory_order_acquire));
}

/* The call, or in such a child USM_FORKED, with what to do about it. */
#define USM_UNLESS_FORKED(backend, error, call) \
    (usm_is_forked(backend) ? usm_refuse_after_fork(backend, error) : (call))
usm_status usm_refuse_after_fork(const usm_backend *backend, usm_error *error);

#ifdef USM_TESTING
/* Once, before other threads are here: whether the calling thread is attached to an interpreter. */
void usm_rule_set(bool (*is_attached)(void));
void usm_rule_check(const char *entry); /* for USM_CALL only */

/* The words of backend.h, in its order. */
enum {
    USM_BLOCKS_NEVER,
    USM_BLOCKS_DRIVER,
    USM_BLOCKS_WORK,
    USM_BLOCKS_OF_start = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_device_partition = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_context_create = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_context_destroy = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_context_close = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_memory_allocate = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_memory_free = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_memory_trim = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_memory_query = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_memory_connection = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_memory_connect = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_queue_create = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_queue_destroy = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_queue_run_now = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_queue_submit = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_queue_run = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_event_poll = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_event_wait = USM_BLOCKS_WORK,
    USM_BLOCKS_OF_event_destroy = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_program_build = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_program_destroy = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_program_binary = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_kernel_create = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_kernel_destroy = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_fork = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_create = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_signal = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_open = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_make_writable = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_wait = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_close = USM_BLOCKS_DRIVER,
    USM_BLOCKS_OF_handle = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_inspect = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_count = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_admit = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_stream_inspect = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_stream_id = USM_BLOCKS_NEVER,
    USM_BLOCKS_OF_synchronize = USM_BLOCKS_WORK
};
#endif

#endif
