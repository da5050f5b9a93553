/*
 * Can a word be read at an address? Any number may come from Python as the handle of a driver's object, and
 * drivers look at what they are given.
 */
#ifndef USM_CORE_READABLE_H
#define USM_CORE_READABLE_H

#include <stdbool.h>

/* False for NULL and for addresses that no pointer to a word has. One system call, about 0.3 us. */
bool usm_is_readable(const void *address);

#endif
