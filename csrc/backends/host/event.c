#include "host.h"

#include <stdlib.h>

void usm_host_event_destroy(usm_event *event)
{
    free(((usm_host_task *)event)->strided);
    usm_launch_free(((usm_host_task *)event)->launch);
}
