/* Rows, each sorted by one thread: few elements by insertion, others by radix, by digits that differ. */
#include "portable.h"

#include "sort.h"

#include "kernels/src/sort_key.h"

#include <stdbool.h>
#include <string.h>

#define INSERTED 40

#define SIZE 1
#define TYPE uint8_t
#define KEY usm_sort_key_1
#include "sort_rows.inc"

#define SIZE 2
#define TYPE uint16_t
#define KEY usm_sort_key_2
#include "sort_rows.inc"

#define SIZE 4
#define TYPE uint32_t
#define KEY usm_sort_key_4
#include "sort_rows.inc"

#define SIZE 8
#define TYPE uint64_t
#define KEY usm_sort_key_8
#include "sort_rows.inc"

/* Elements of one byte, each of which is equal to itself alone: as many as there are of each. */
static void count_bytes(uint8_t *values, const uint8_t *src, const usm_sort *s)
{
    uint32_t counts[4][256] = {{0}}; /* in turn, since equal neighbours would wait for each other */
    uint8_t of_key[256];
    for (int64_t i = 0; i < s->n; i++) {
        counts[i % 4][src[i]]++;
    }
    for (int i = 0; i < 256; i++) {
        of_key[usm_sort_key_1((uint8_t)i, &s->order)] = (uint8_t)i;
    }
    for (int key = 0; key < 256; key++) {
        uint8_t x = of_key[key];
        uint32_t n = counts[0][x] + counts[1][x] + counts[2][x] + counts[3][x];
        memset(values, x, n);
        values += n;
    }
}

void usm_cpu_sort(int size, char *values, int64_t *indices, const char *src, char *spare, uint32_t *places,
                  const usm_sort *s, size_t lo, size_t hi)
{
    if (size == 1 && !s->indices && s->n > USM_CPU_SORT_FEW) {
        for (size_t i = lo; i < hi; i++) {
            count_bytes((uint8_t *)values + (int64_t)i * s->n, (const uint8_t *)src + (int64_t)i * s->n, s);
        }
        return;
    }
    (size == 1   ? sort_1
     : size == 2 ? sort_2
     : size == 4 ? sort_4
                 : sort_8)(values, indices, src, spare, places, s, lo, hi);
}
