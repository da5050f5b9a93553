#include "spare.h"

#include "core/base/freelist.h"

#include <pthread.h>
#include <stdlib.h>

/* Sanitizers find more when every record is a block of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(USM_TESTING)
#define LIMIT 0
#else
#define LIMIT 16
#endif

typedef struct spares {
    usm_freelist records;
    bool registered; /* for the destructor at the thread's end */
} spares;

/* initial-exec: one instruction instead of a call. Its few bytes fit into what loaders keep free for that. */
static _Thread_local spares spare __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop_all(void *unused)
{
    (void)unused;
    for (void *record; (record = usm_freelist_pop(&spare.records)) != NULL;) {
        free(record);
    }
    spare.records.n = LIMIT; /* what other destructors of this thread give back is freed at once */
}

static void make_key(void)
{
    pthread_key_create(&key, drop_all);
}

usm_alloc *usm_spare_pop(void)
{
    return usm_freelist_pop(&spare.records);
}

bool usm_spare_push(usm_alloc *alloc)
{
    if (spare.records.n >= LIMIT) {
        return false;
    }
    if (USM_UNLIKELY(!spare.registered)) {
        pthread_once(&once, make_key);
        pthread_setspecific(key, &spare);
        spare.registered = true;
    }
    usm_freelist_push(&spare.records, alloc);
    return true;
}
