/*
 * Queues of the driver that no usm_queue uses any more. Intel's runtime never ends the release of an out-of-
 * order queue whose last command is just ending: the thread that ran the command then waits for itself. Such
 * queues are therefore kept until their context is destroyed, and given out again.
 */
#include "opencl.h"

#include "core/base/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/*
 * How old a queue must be before it is released, in nanoseconds: far longer than a thread of the driver takes
 * from the end of one command to the next.
 */
#define SETTLE_NS 20000000

/* One queue in the list of its context, with the properties that the next user must ask for. */
struct usm_opencl_cached_queue {
    usm_opencl_cached_queue *next;
    cl_command_queue id;
    cl_context context;
    cl_device_id device;
    bool profiling;
    bool shared; /* others may know it: held until the context ends, and never given out */
    usm_priority priority;
    int64_t put_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists; a leaf, held for a few steps */

cl_command_queue usm_opencl_queue_cache_take(const usm_queue *queue, cl_context context)
{
    usm_opencl_context *native = usm_opencl_context_of(queue->context);
    cl_command_queue id = NULL;
    if (queue->in_order) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    for (usm_opencl_cached_queue **at = &native->cached; *at != NULL; at = &(*at)->next) {
        usm_opencl_cached_queue *kept = *at;
        if (!kept->shared && kept->context == context &&
            kept->device == usm_opencl_device_of(queue->device)->id && kept->profiling == queue->profiling &&
            kept->priority == queue->priority) {
            id = kept->id;
            *at = kept->next;
            free(kept);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return id;
}

/*
 * False also where memory ran out: the queue is then released, with the small risk that is described above.
 */
bool usm_opencl_queue_cache_put(const usm_queue *queue)
{
    usm_opencl_context *native = usm_opencl_context_of(queue->context);
    usm_opencl_cached_queue *kept = queue->in_order ? NULL : usm_malloc(sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    *kept = (usm_opencl_cached_queue){
        .id = usm_opencl_queue_of(queue)->id,
        .context = usm_opencl_queue_of(queue)->context,
        .device = usm_opencl_device_of(queue->device)->id,
        .profiling = queue->profiling,
        .shared = usm_queue_is_shared(queue),
        .priority = queue->priority,
        .put_ns = usm_clock_ns(),
    };
    pthread_mutex_lock(&lock);
    for (const usm_opencl_cached_queue *other = native->cached; other != NULL; other = other->next) {
        if (other->id == kept->id) { /* adopted more than once: one count is enough */
            pthread_mutex_unlock(&lock);
            free(kept);
            return false;
        }
    }
    kept->next = native->cached;
    native->cached = kept;
    pthread_mutex_unlock(&lock);
    return true;
}

/* The context is being destroyed, so no other thread uses the list. */
void usm_opencl_queue_cache_free(usm_opencl_context *context)
{
    for (usm_opencl_cached_queue *kept = context->cached, *next; kept != NULL; kept = next) {
        int64_t young = kept->put_ns + SETTLE_NS - usm_clock_ns();
        next = kept->next;
        if (young > 0) {
            nanosleep(&(struct timespec){.tv_nsec = young}, NULL);
        }
        context->platform->api->clReleaseCommandQueue(kept->id);
        free(kept);
    }
}

void usm_opencl_queue_cache_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
