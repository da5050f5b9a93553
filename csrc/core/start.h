/* The start of the core: the one place that knows every folder of it. */
#ifndef USM_CORE_START_H
#define USM_CORE_START_H

/* Prepares the locks, the parts of places and the fork handlers, once a process. Everything else needs it. */
void usm_core_start(void);

#endif
