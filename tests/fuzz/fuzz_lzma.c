/*
 * The LZMA decoder, which is only given intact streams: the input lists literals, matches and repeated
 * matches, an encoder makes the stream of them, and the decoder must give the bytes that they stand for, as
 * many as are asked for and no more.
 */
#include "fuzz.h"

#include "core/base/lzma.h"

enum {
    MOST = 1 << 13,
    STATES = 12,
    LENGTHS = 2 + 8 + 8 + 256,
};

/* The models, by the names of 7-Zip's lzma-specification.txt. */
typedef struct models {
    uint16_t is_match[STATES], is_rep[STATES], is_rep_g0[STATES], is_rep_g1[STATES], is_rep_g2[STATES],
        is_rep0_long[STATES], slot[4][64], special[128], align[16], length[2][LENGTHS],
        literal[1 << USM_LZMA_LC][0x300];
} models;

/* The range encoder: `low` has a carry that may still go into the bytes before. */
typedef struct encoder {
    models models;
    uint8_t *out;
    size_t n;
    uint64_t low;
    uint32_t range;
} encoder;

static void shift(encoder *e)
{
    if (e->low >= UINT64_C(1) << 32) {
        size_t at = e->n;
        while (++e->out[--at] == 0) { /* the first byte of a stream is 0: a carry ends there */
        }
        e->low &= UINT32_MAX;
    }
    e->out[e->n++] = (uint8_t)(e->low >> 24);
    e->low = (e->low & 0xffffff) << 8;
}

static void put_bit(encoder *e, uint16_t *probability, unsigned bit)
{
    uint32_t bound = (e->range >> 11) * *probability;
    if (bit == 0) {
        e->range = bound;
        *probability = (uint16_t)(*probability + ((2048 - *probability) >> 5));
    } else {
        e->low += bound;
        e->range -= bound;
        *probability = (uint16_t)(*probability - (*probability >> 5));
    }
    for (; e->range < UINT32_C(1) << 24; e->range <<= 8) {
        shift(e);
    }
}

static void put_tree(encoder *e, uint16_t *tree, unsigned bits, unsigned value, bool reversed)
{
    unsigned node = 1;
    for (unsigned i = 0; i < bits; i++) {
        unsigned bit = value >> (reversed ? i : bits - 1 - i) & 1;
        put_bit(e, &tree[node], bit);
        node = node << 1 | bit;
    }
}

static void put_length(encoder *e, uint16_t *model, unsigned length)
{
    put_bit(e, &model[0], length >= 10);
    if (length < 10) {
        put_tree(e, model + 2, 3, length - 2, false);
        return;
    }
    put_bit(e, &model[1], length >= 18);
    put_tree(e, model + (length < 18 ? 10 : 18), length < 18 ? 3 : 8, length - (length < 18 ? 10 : 18),
             false);
}

static void put_distance(encoder *e, unsigned distance, unsigned length)
{
    unsigned value = distance - 1, slot = value, bits = 0;
    if (value >= 4) {
        unsigned top = 31 - (unsigned)__builtin_clz(value);
        slot = top * 2 + (value >> (top - 1) & 1);
        bits = top - 1;
    }
    put_tree(e, e->models.slot[length < 6 ? length - 2 : 3], 6, slot, false);
    if (bits == 0) {
        return;
    }
    unsigned base = (2 | (slot & 1)) << bits, rest = value - base;
    if (slot < 14) {
        put_tree(e, e->models.special + base - slot, bits, rest, true);
        return;
    }
    for (unsigned i = bits; i > 4; i--) {
        e->range >>= 1;
        e->low += (rest >> (i - 1) & 1) != 0 ? e->range : 0;
        for (; e->range < UINT32_C(1) << 24; e->range <<= 8) {
            shift(e);
        }
    }
    put_tree(e, e->models.align, 4, rest & 15, true);
}

static void put_literal(encoder *e, unsigned context, uint8_t byte, int match)
{
    uint16_t *model = e->models.literal[context];
    unsigned symbol = 1;
    for (int i = 7; i >= 0; i--) {
        unsigned bit = byte >> i & 1, expected = match < 0 ? 0 : (unsigned)match >> 7 & 1;
        put_bit(e, &model[symbol + (match < 0 ? 0 : (1 + expected) << 8)], bit);
        match = match >= 0 && bit == expected ? match << 1 & 0xff : -1;
        symbol = symbol << 1 | bit;
    }
}

/* One literal or match that the input chooses; at most `left` bytes. */
static size_t step(encoder *e, input *input, uint8_t *plain, size_t at, unsigned *state, size_t distances[4],
                   size_t left)
{
    unsigned form = at == 0 ? 0 : take_below(input, 8);
    put_bit(e, &e->models.is_match[*state], form >= 3);
    if (form < 3) {
        uint8_t byte = (uint8_t)take(input, 1);
        put_literal(e, at > 0 ? plain[at - 1] >> (8 - USM_LZMA_LC) : 0, byte,
                    *state < 7 ? -1 : plain[at - distances[0]]);
        plain[at] = byte;
        *state = *state < 4 ? 0 : *state < 10 ? *state - 3 : *state - 6;
        return 1;
    }
    size_t length = 2 + take(input, 1) % 272, distance;
    length = length < left ? length : left > 1 ? left : 2;
    unsigned which = form - 4; /* of the last distances */
    bool repeat = form > 3 && which < 4 && distances[which] <= at;
    put_bit(e, &e->models.is_rep[*state], repeat);
    if (!repeat) {
        distance = 1 + take(input, 2) % at;
        put_length(e, e->models.length[0], (unsigned)length);
        put_distance(e, (unsigned)distance, (unsigned)length);
        which = 3;
        *state = *state < 7 ? 7 : 10;
    } else {
        bool shortest = which == 0 && take_below(input, 2) != 0;
        distance = distances[which];
        put_bit(e, &e->models.is_rep_g0[*state], which > 0);
        if (which == 0) {
            put_bit(e, &e->models.is_rep0_long[*state], !shortest);
        } else {
            put_bit(e, &e->models.is_rep_g1[*state], which > 1);
            if (which > 1) {
                put_bit(e, &e->models.is_rep_g2[*state], which > 2);
            }
        }
        length = shortest ? 1 : length;
        if (!shortest) {
            put_length(e, e->models.length[1], (unsigned)length);
        }
        *state = *state >= 7 ? 11 : shortest ? 9 : 8;
    }
    memmove(&distances[1], &distances[0], which * sizeof *distances);
    distances[0] = distance;
    for (size_t i = 0; i < length; i++) {
        plain[at + i] = plain[at + i - distance];
    }
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t plain[MOST + 512], stream[4 * MOST];
    static encoder e;
    input input = {data, size};
    size_t distances[4] = {1, 1, 1, 1}, n = 0, asked = (size_t)take(&input, 2);
    unsigned state = 0;
    e = (encoder){.out = stream, .range = UINT32_MAX};
    uint16_t *all = (uint16_t *)&e.models;
    for (size_t i = 0; i < sizeof e.models / sizeof *all; i++) {
        all[i] = 1024;
    }
    e.out[e.n++] = 0;
    while (input.left > 0 && n < MOST) {
        n += step(&e, &input, plain, n, &state, distances, MOST - n);
    }
    for (int i = 0; i < 5; i++) {
        shift(&e);
    }
    uint8_t *given = malloc(e.n); /* of its own, so that reads behind it are found */
    size_t wanted = n > 0 && asked % 4 == 0 ? asked % n : n;
    uint8_t *out = malloc(wanted > 0 ? wanted : 1);
    HOLDS(given != NULL && out != NULL);
    memcpy(given, stream, e.n);
    usm_lzma_decode(given, out, wanted);
    HOLDS(memcmp(out, plain, wanted) == 0);
    free(given);
    free(out);
    return 0;
}
