/* Contiguous bytes: copies and fills, large ones past the caches and in pieces for several threads. */
#include "cpu.h"
#include "parallel.h"
#include "stream.h"

#include <stdint.h>
#include <string.h>

/* Pieces small enough that a busy processor does not hold up the others, large enough to stream. */
#define PIECE ((size_t)2 << 20)

typedef struct block {
    char *dst;
    const char *src; /* of a copy */
    size_t nbytes;
    const unsigned char *pattern; /* of a fill: PATTERN_BYTES of it */
} block;

#define PATTERN_BYTES 16

/* The pattern starts anew at dst. */
static void fill(char *dst, const unsigned char *pattern, size_t nbytes)
{
    size_t rest = nbytes % PATTERN_BYTES;
    uint64_t low, high;
    memcpy(&low, pattern, 8);
    memcpy(&high, pattern + 8, 8);
    for (size_t i = 0; i < nbytes - rest; i += PATTERN_BYTES) {
        memcpy(dst + i, &low, 8);
        memcpy(dst + i + 8, &high, 8);
    }
    memcpy(dst + nbytes - rest, pattern, rest);
}

static void copy_piece(void *context, unsigned i)
{
    const block *all = context;
    size_t from = i * PIECE, n = all->nbytes - from < PIECE ? all->nbytes - from : PIECE;
    usm_cpu_stream(all->dst + from, all->src + from, n);
    usm_cpu_stream_end();
}

static void fill_piece(void *context, unsigned i)
{
    const block *all = context;
    size_t from = i * PIECE, n = all->nbytes - from < PIECE ? all->nbytes - from : PIECE;
    char *dst = all->dst + from; /* PIECE is a multiple of the pattern */
    size_t lines = n / USM_CPU_LINE * USM_CPU_LINE;
    if (usm_cpu_stream_pattern(dst, all->pattern, lines)) {
        fill(dst + lines, all->pattern, n - lines);
        usm_cpu_stream_end();
    } else {
        fill(dst, all->pattern, n);
    }
}

static unsigned pieces(size_t nbytes)
{
    return (unsigned)((nbytes + PIECE - 1) / PIECE);
}

void usm_cpu_copy(char *dst, const char *src, size_t nbytes, unsigned width)
{
    if (nbytes == 0) {
        return; /* memmove and its like may not be given NULL even then */
    }
    if (nbytes < USM_CPU_LARGE || (dst < src + nbytes && src < dst + nbytes)) {
        memmove(dst, src, nbytes);
        return;
    }
    block all = {.dst = dst, .src = src, .nbytes = nbytes};
    usm_cpu_parallel(width, pieces(nbytes), nbytes, copy_piece, &all);
}

void usm_cpu_fill(char *dst, const void *pattern, size_t size, size_t nbytes, unsigned width)
{
    unsigned char repeated[PATTERN_BYTES];
    if (nbytes == 0) {
        return;
    }
    if (size == 1 && nbytes < USM_CPU_LARGE) {
        memset(dst, *(const unsigned char *)pattern, nbytes);
        return;
    }
    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        repeated[i] = ((const unsigned char *)pattern)[i % size];
    }
    if (nbytes < USM_CPU_LARGE) {
        fill(dst, repeated, nbytes);
        return;
    }
    block all = {.dst = dst, .nbytes = nbytes, .pattern = repeated};
    usm_cpu_parallel(width, pieces(nbytes), nbytes, fill_piece, &all);
}
