/* fork(): the host backend goes on in the child, drivers refuse; nobody hangs on a lock of a lost thread. */
#ifndef USM_CORE_FORK_H
#define USM_CORE_FORK_H

/* Installs the fork handlers. Once a process. */
void usm_fork_start(void);

#endif
