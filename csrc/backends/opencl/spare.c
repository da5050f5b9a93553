/*
 * Driver's queues for another life. Intel's runtime never ends the release of an out-of-order queue whose
 * last command is on its way out: the thread that ran the command then waits for itself. So these queues are
 * not released while their context lives.
 */
#include "opencl.h"

#include "core/base/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Far longer than a thread of the driver takes from its last callback to its next command. */
#define SETTLE_NS 20000000

struct usm_opencl_spare {
    usm_opencl_spare *next;
    cl_command_queue id;
    cl_context context;
    cl_device_id device;
    bool profiling;
    bool shared; /* others may know it: held until the context ends, and never given out */
    usm_priority priority;
    int64_t put_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists; a leaf, held for a few steps */

cl_command_queue usm_opencl_spare_take(const usm_queue *queue, cl_context context)
{
    usm_opencl_context *native = usm_opencl_context_of(queue->context);
    cl_command_queue id = NULL;
    if (queue->in_order) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    for (usm_opencl_spare **at = &native->spare; *at != NULL; at = &(*at)->next) {
        usm_opencl_spare *spare = *at;
        if (!spare->shared && spare->context == context &&
            spare->device == usm_opencl_device_of(queue->device)->id &&
            spare->profiling == queue->profiling && spare->priority == queue->priority) {
            id = spare->id;
            *at = spare->next;
            free(spare);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return id;
}

bool usm_opencl_spare_put(const usm_queue *queue)
{
    usm_opencl_context *native = usm_opencl_context_of(queue->context);
    usm_opencl_spare *spare = queue->in_order ? NULL : usm_malloc(sizeof *spare);
    if (spare == NULL) {
        return false;
    }
    *spare = (usm_opencl_spare){
        .id = usm_opencl_queue_of(queue)->id,
        .context = usm_opencl_queue_of(queue)->context,
        .device = usm_opencl_device_of(queue->device)->id,
        .profiling = queue->profiling,
        .shared = usm_queue_is_shared(queue),
        .priority = queue->priority,
        .put_ns = usm_clock_ns(),
    };
    pthread_mutex_lock(&lock);
    for (const usm_opencl_spare *other = native->spare; other != NULL; other = other->next) {
        if (other->id == spare->id) { /* adopted more than once: one count is enough */
            pthread_mutex_unlock(&lock);
            free(spare);
            return false;
        }
    }
    spare->next = native->spare;
    native->spare = spare;
    pthread_mutex_unlock(&lock);
    return true;
}

void usm_opencl_spares_free(usm_opencl_context *context)
{
    for (usm_opencl_spare *spare = context->spare, *next; spare != NULL; spare = next) {
        int64_t young = spare->put_ns + SETTLE_NS - usm_clock_ns();
        next = spare->next;
        if (young > 0) {
            nanosleep(&(struct timespec){.tv_nsec = young}, NULL);
        }
        context->platform->api->clReleaseCommandQueue(spare->id);
        free(spare);
    }
}

void usm_opencl_spares_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
