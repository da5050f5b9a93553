#include "host.h"
#include "stream.h"

#include <stdint.h>
#include <string.h>

#define LARGE USM_HOST_LARGE
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
    usm_host_stream(all->dst + from, all->src + from, n);
    usm_host_stream_end();
}

static void fill_piece(void *context, unsigned i)
{
    const block *all = context;
    size_t from = i * PIECE, n = all->nbytes - from < PIECE ? all->nbytes - from : PIECE;
    char *dst = all->dst + from; /* PIECE is a multiple of the pattern */
    size_t lines = n / USM_HOST_LINE * USM_HOST_LINE;
    if (usm_host_stream_pattern(dst, all->pattern, lines)) {
        fill(dst + lines, all->pattern, n - lines);
        usm_host_stream_end();
    } else {
        fill(dst, all->pattern, n);
    }
}

static unsigned pieces(size_t nbytes)
{
    return (unsigned)((nbytes + PIECE - 1) / PIECE);
}

static void execute_copy(char *dst, const char *src, size_t nbytes, unsigned width)
{
    if (nbytes == 0) {
        return; /* memmove and its like may not be given NULL even then */
    }
    if (nbytes < LARGE || (dst < src + nbytes && src < dst + nbytes)) {
        memmove(dst, src, nbytes);
        return;
    }
    block all = {.dst = dst, .src = src, .nbytes = nbytes};
    usm_host_parallel(width, pieces(nbytes), nbytes, copy_piece, &all);
}

static void execute_fill(char *dst, const unsigned char *pattern, size_t size, size_t nbytes, unsigned width)
{
    unsigned char repeated[PATTERN_BYTES];
    if (nbytes == 0) {
        return;
    }
    if (size == 1 && nbytes < LARGE) {
        memset(dst, pattern[0], nbytes);
        return;
    }
    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        repeated[i] = pattern[i % size];
    }
    if (nbytes < LARGE) {
        fill(dst, repeated, nbytes);
        return;
    }
    block all = {.dst = dst, .nbytes = nbytes, .pattern = repeated};
    usm_host_parallel(width, pieces(nbytes), nbytes, fill_piece, &all);
}

void usm_host_block(const usm_command *command, unsigned width)
{
    if (command->kind == USM_COMMAND_COPY) {
        execute_copy(command->as.copy.dst, command->as.copy.src, command->as.copy.nbytes, width);
    } else {
        execute_fill(command->as.fill.dst, command->as.fill.pattern, command->as.fill.pattern_size,
                     command->as.fill.nbytes, width);
    }
}

size_t usm_host_command_cost(const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return command->as.copy.nbytes;
        case USM_COMMAND_FILL:
            return command->as.fill.nbytes;
        case USM_COMMAND_STRIDED: {
            const usm_strided *plan = command->as.strided;
            size_t cost = 2 * (size_t)usm_dtype_table[plan->dst_dtype].itemsize; /* slower than plain bytes */
            for (int i = 0; i < plan->ndim; i++) {
                cost *= (size_t)plan->shape[i];
            }
            return cost;
        }
        case USM_COMMAND_SEQUENCE:
            return 8 * (size_t)command->as.sequence.count;
        case USM_COMMAND_LAUNCH:
            return command->as.launch->cost;
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
        case USM_COMMAND_PREFETCH:
        case USM_COMMAND_HOST:
            break;
    }
    return 0;
}

usm_status usm_host_execute(const usm_command *command, unsigned width, usm_error *error)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
        case USM_COMMAND_FILL:
            usm_host_block(command, width);
            break;
        case USM_COMMAND_STRIDED:
            usm_host_strided(command->as.strided, width);
            break;
        case USM_COMMAND_SEQUENCE:
            usm_host_sequence(&command->as.sequence);
            break;
        case USM_COMMAND_HOST:
            return command->as.host.run(command->as.host.argument, error);
        case USM_COMMAND_LAUNCH:
            return usm_host_launch(command->as.launch, width, error);
        case USM_COMMAND_PREFETCH: /* it is here already */
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
            break;
    }
    return USM_OK;
}
