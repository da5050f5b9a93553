#include "task_state.h"

#ifdef USM_TESTING
#include <stdio.h>
#include <stdlib.h>

#define USM_TASK_STATE(name, meaning) #name,
static const char *const names[] = {USM_TASK_STATES(USM_TASK_STATE)};

#define USM_TASK_TRANSITION(from, to, by, guard, when) {USM_TASK_##from, USM_TASK_##to},
static const struct {
    usm_task_state from, to;
} transitions[] = {USM_TASK_TRANSITIONS(USM_TASK_TRANSITION)};

void usm_task_state_check(usm_task_state from, usm_task_state to)
{
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++) {
        if (transitions[i].from == from && transitions[i].to == to) {
            return;
        }
    }
    fprintf(stderr, "usmpy: a task went from %s to %s\n", names[from], names[to]);
    abort();
}
#endif
