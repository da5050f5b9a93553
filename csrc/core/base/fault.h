/* Failures on demand, in builds for tests (USM_TESTING): implemented by csrc/backends/fault. */
#ifndef USM_CORE_FAULT_H
#define USM_CORE_FAULT_H

#include <stdbool.h>

/*
 * Makes the n-th call from now on (1 is the next) of an entry of the backend table fail, once; "heap" is the
 * core's own malloc. n = 0 disarms. False for a name that has no fault.
 */
bool usm_fault_arm(const char *entry, long n);
/* Calls of the entry since it was last armed. -1 for an unknown name. */
long usm_fault_calls(const char *entry);
/* The names, NULL-ended. */
extern const char *const usm_fault_entries[];

#endif
