/* The raw C loops that copies and fills of the host backend are measured against: all processors, no library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { MAX_THREADS = 256 };

typedef struct part {
    uint32_t *to;
    const uint32_t *from; /* NULL: fill */
    uint32_t value;
    size_t n;
} part;

static void *run(void *argument)
{
    part *p = argument;
    if (p->from != NULL) {
        memcpy(p->to, p->from, p->n * sizeof *p->to);
    } else {
        for (size_t i = 0; i < p->n; i++) {
            p->to[i] = p->value;
        }
    }
    return NULL;
}

static void spread(part whole, int threads)
{
    pthread_t ids[MAX_THREADS];
    part parts[MAX_THREADS];
    size_t begin = 0;
    for (int i = 0; i < threads; i++) {
        size_t end = whole.n / (size_t)threads * (size_t)(i + 1);
        end = i == threads - 1 ? whole.n : end;
        parts[i] = (part){whole.to + begin, whole.from ? whole.from + begin : NULL, whole.value, end - begin};
        begin = end;
        if (i == threads - 1 || pthread_create(&ids[i], NULL, run, &parts[i]) != 0) {
            run(&parts[i]);
            ids[i] = pthread_self();
        }
    }
    for (int i = 0; i < threads; i++) {
        if (!pthread_equal(ids[i], pthread_self())) {
            pthread_join(ids[i], NULL);
        }
    }
}

/* Elements of 4 bytes; threads at most 256. */
void raw_copy(uint32_t *to, const uint32_t *from, size_t n, int threads)
{
    spread((part){.to = to, .from = from, .n = n}, threads);
}

void raw_fill(uint32_t *to, uint32_t value, size_t n, int threads)
{
    spread((part){.to = to, .value = value, .n = n}, threads);
}
