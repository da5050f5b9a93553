#include "spare.h"

#include <pthread.h>
#include <stdlib.h>

/* Sanitizers find more when every record is a block of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(USM_TESTING)
#define LIMIT 0
#else
#define LIMIT 16
#endif

typedef struct spares {
    usm_alloc *first;
    int count;
    bool registered; /* for the destructor at the thread's end */
} spares;

/* initial-exec: one instruction instead of a call. Its few bytes fit into what loaders keep free for that. */
static _Thread_local spares spare __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop_all(void *unused)
{
    (void)unused;
    while (spare.first != NULL) {
        usm_alloc *next = spare.first->link.next_free;
        free(spare.first);
        spare.first = next;
    }
    spare.count = LIMIT; /* what other destructors of this thread give back is freed at once */
}

static void make_key(void)
{
    pthread_key_create(&key, drop_all);
}

usm_alloc *usm_spare_pop(void)
{
    usm_alloc *alloc = spare.first;
    if (alloc != NULL) {
        spare.first = alloc->link.next_free;
        spare.count--;
    }
    return alloc;
}

bool usm_spare_push(usm_alloc *alloc)
{
    if (spare.count >= LIMIT) {
        return false;
    }
    if (USM_UNLIKELY(!spare.registered)) {
        pthread_once(&once, make_key);
        pthread_setspecific(key, &spare);
        spare.registered = true;
    }
    alloc->link.next_free = spare.first;
    spare.first = alloc;
    spare.count++;
    return true;
}
