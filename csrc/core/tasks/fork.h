/* fork(): the host backend goes on in the child, drivers refuse; nobody hangs on a lock of a lost thread. */
#ifndef USM_CORE_FORK_H
#define USM_CORE_FORK_H

/* Prepares the locks and installs the fork handlers, once a process. Everything else needs it. */
void usm_core_start(void);

#endif
