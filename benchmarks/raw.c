/* The C loops that copies and fills of the host backend are measured against: all processors, no library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { MAX_THREADS = 256 };

typedef struct part {
    uint32_t *to;
    const uint32_t *from; /* NULL: fill */
    uint32_t value;
    size_t n;
    size_t run, ahead; /* of a copy out of gaps: bytes of a run, and how far ahead memory is asked for */
} part;

/* A line past the caches, in as few pieces as the processor can. */
static inline void stream_line(char *to, const char *from)
{
#if defined(__AVX512F__)
    _mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
#elif defined(__AVX__)
    _mm256_stream_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
    _mm256_stream_si256((__m256i *)(to + 32), _mm256_loadu_si256((const __m256i *)(from + 32)));
#elif defined(__SSE2__)
    for (int i = 0; i < 64; i += 16) {
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    }
#else
    memcpy(to, from, 64);
#endif
}

static void run_gaps(const part *p)
{
    char *to = (char *)p->to;
    const char *from = (const char *)p->from;
    for (size_t i = 0; i < p->n * sizeof *p->to; i += p->run, from += 2 * p->run) {
        for (size_t k = 0; k < p->run; k += 64) {
            if (p->ahead != 0) {
                __builtin_prefetch((const char *)((uintptr_t)(from + k) + p->ahead), 0, 2);
            }
            stream_line(to + i + k, from + k);
        }
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

static void *run(void *argument)
{
    part *p = argument;
    if (p->run != 0) {
        run_gaps(p);
    } else if (p->from != NULL) {
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
        parts[i] = whole;
        parts[i].to += begin;
        parts[i].from = whole.from ? whole.from + begin * (whole.run != 0 ? 2 : 1) : NULL;
        parts[i].n = end - begin;
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

/*
 * Every other `run` bytes, a multiple of 64 by which n divides for each thread; `to` begins a line. `ahead`:
 * bytes, 0 where memory is not asked for ahead.
 */
void raw_copy_gaps(uint32_t *to, const uint32_t *from, size_t n, size_t run, size_t ahead, int threads)
{
    spread((part){.to = to, .from = from, .n = n, .run = run, .ahead = ahead}, threads);
}
