#include "detach.h"

#include <stddef.h>

static void *(*detach_hook)(void);
static void (*attach_hook)(void *held);
static bool (*poll_hook)(void *held);

void usm_detach_set(void *(*detach)(void), void (*attach)(void *held), bool (*poll)(void *held))
{
    detach_hook = detach;
    attach_hook = attach;
    poll_hook = poll;
}

void *usm_detach(void)
{
    return detach_hook != NULL ? detach_hook() : NULL;
}

void usm_attach(void *held)
{
    if (held != NULL) {
        attach_hook(held);
    }
}

bool usm_detach_poll(void *argument)
{
    return *(void **)argument != NULL && poll_hook(argument);
}
