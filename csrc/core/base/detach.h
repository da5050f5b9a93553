/*
 * Releases the lock of the language (the GIL), which the calling thread may hold, around the rare long call
 * in a function that is usually short, such as a driver's first build of a kernel.
 */
#ifndef USM_CORE_DETACH_H
#define USM_CORE_DETACH_H

/* Both set once, before other threads are here; what the first returns is for the second. */
void usm_detach_set(void *(*detach)(void), void (*attach)(void *held));

/* Around a long call, with no lock of the core held: usm_attach(held) on the same thread ends it. */
void *usm_detach(void);
void usm_attach(void *held);

#endif
