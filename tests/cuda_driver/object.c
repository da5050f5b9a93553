/* Handles: every object that users may name, in one table that never forgets. */
#include "sim.h"

#define BUCKETS 65536
#define OVERHEAD 16 /* of an allocation */

static sim_object *buckets[BUCKETS];
static sim_object *kinds[SIM_KINDS]; /* those that are alive, and some that were */
static unsigned long long n_bytes;

static size_t bucket_of(const void *handle)
{
    return ((uintptr_t)handle >> 4) * 2654435761u % BUCKETS;
}

void *sim_new(sim_kind kind, size_t size)
{
    sim_object *object = calloc(1, size);
    if (object == NULL) {
        abort();
    }
    object->kind = kind;
    object->alive = true;
    size_t bucket = bucket_of(object);
    object->next = buckets[bucket];
    buckets[bucket] = object;
    object->peer = kinds[kind];
    kinds[kind] = object;
    n_bytes += size + OVERHEAD;
    return object;
}

void *sim_find(sim_kind kind, const void *handle)
{
    static const char *const names[] = {
        "?",        "context", "stream",           "event",       "memory pool", "module",
        "function", "graph",   "executable graph", "user object", "allocation"};
    for (sim_object *object = buckets[bucket_of(handle)]; object != NULL; object = object->next) {
        if (object == handle && object->kind == kind) {
            if (object->alive) {
                return object;
            }
            sim_misused("%s %p was used after its end", names[kind], handle);
            return NULL;
        }
    }
    return NULL;
}

void sim_each(sim_kind kind, void (*f)(sim_object *object, void *data), void *data)
{
    for (sim_object **link = &kinds[kind]; *link != NULL;) {
        sim_object *object = *link;
        if (object->alive) {
            f(object, data);
            link = &object->peer;
        } else {
            *link = object->peer;
        }
    }
}

static void count_one(sim_object *object, void *data)
{
    (void)object;
    *(size_t *)data += 1;
}

size_t sim_count(sim_kind kind)
{
    size_t count = 0;
    sim_each(kind, count_one, &count);
    return count;
}

/* Bytes of all handles that there ever were. */
SIM_EXPORT unsigned long long cudasim_handles(void)
{
    sim_lock();
    unsigned long long bytes = n_bytes;
    sim_unlock(CUDA_SUCCESS);
    return bytes;
}
