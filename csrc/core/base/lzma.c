/* The range decoder of LZMA, and the loop over its literals and matches. */
#include "lzma.h"

#include <stdbool.h>

enum {
    STATES = 12,
    /* A model of lengths: two choices, and a tree for each of three ranges. */
    LOW = 2,
    MID = LOW + 8,
    HIGH = MID + 8,
    LENGTHS = HIGH + 256,
    /* Where each model begins in the array of all probabilities. */
    IS_MATCH = 0,
    IS_REP = IS_MATCH + STATES,
    IS_REP_G0 = IS_REP + STATES,
    IS_REP_G1 = IS_REP_G0 + STATES,
    IS_REP_G2 = IS_REP_G1 + STATES,
    IS_REP0_LONG = IS_REP_G2 + STATES,
    POS_SLOT = IS_REP0_LONG + STATES,
    POS_SPECIAL = POS_SLOT + 4 * 64,
    POS_ALIGN = POS_SPECIAL + 115,
    LEN = POS_ALIGN + 16,
    REP_LEN = LEN + LENGTHS,
    LITERAL = REP_LEN + LENGTHS,
    PROBABILITIES = LITERAL + (0x300 << USM_LZMA_LC),
};

typedef struct decoder {
    const uint8_t *in;
    uint32_t range, code;
    uint16_t probabilities[PROBABILITIES]; /* of a 0, in 2048ths */
} decoder;

static void normalize(decoder *d)
{
    if (d->range < UINT32_C(1) << 24) {
        d->range <<= 8;
        d->code = d->code << 8 | *d->in++;
    }
}

static unsigned read_bit(decoder *d, unsigned model)
{
    uint16_t *probability = &d->probabilities[model];
    normalize(d);
    uint32_t bound = (d->range >> 11) * *probability;
    if (d->code < bound) {
        d->range = bound;
        *probability = (uint16_t)(*probability + ((2048 - *probability) >> 5));
        return 0;
    }
    d->range -= bound;
    d->code -= bound;
    *probability = (uint16_t)(*probability - (*probability >> 5));
    return 1;
}

/* Bits that are as likely 0 as 1. */
static unsigned read_direct(decoder *d, unsigned bits)
{
    unsigned value = 0;
    for (unsigned i = 0; i < bits; i++) {
        normalize(d);
        d->range >>= 1;
        unsigned bit = d->code >= d->range;
        d->code -= bit ? d->range : 0;
        value = value << 1 | bit;
    }
    return value;
}

/* `reversed`: the value's lowest bit comes first. */
static unsigned read_tree(decoder *d, unsigned model, unsigned bits, bool reversed)
{
    unsigned node = 1, value = 0;
    for (unsigned i = 0; i < bits; i++) {
        unsigned bit = read_bit(d, model + node);
        node = node << 1 | bit;
        value |= bit << (reversed ? i : bits - 1 - i);
    }
    return value;
}

/* `match`: behind a match, the byte at the last distance, which is a part of the context; else -1. */
static uint8_t read_literal(decoder *d, unsigned model, int match)
{
    unsigned symbol = 1;
    while (match >= 0 && symbol < 0x100) {
        unsigned expected = (unsigned)match >> 7 & 1;
        unsigned bit = read_bit(d, model + ((1 + expected) << 8) + symbol);
        symbol = symbol << 1 | bit;
        match = bit == expected ? match << 1 : -1;
    }
    while (symbol < 0x100) {
        symbol = symbol << 1 | read_bit(d, model + symbol);
    }
    return (uint8_t)symbol;
}

static unsigned read_length(decoder *d, unsigned model)
{
    if (read_bit(d, model) == 0) {
        return 2 + read_tree(d, model + LOW, 3, false);
    }
    return read_bit(d, model + 1) == 0 ? 10 + read_tree(d, model + MID, 3, false)
                                       : 18 + read_tree(d, model + HIGH, 8, false);
}

static size_t read_distance(decoder *d, unsigned length)
{
    unsigned slot = read_tree(d, POS_SLOT + 64 * (length < 6 ? length - 2 : 3), 6, false);
    if (slot < 4) {
        return slot + 1;
    }
    unsigned bits = (slot >> 1) - 1, base = (2 | (slot & 1)) << bits;
    if (slot < 14) {
        return base + read_tree(d, POS_SPECIAL + base - slot, bits, true) + 1;
    }
    base += read_direct(d, bits - 4) << 4;
    return base + read_tree(d, POS_ALIGN, 4, true) + 1;
}

void usm_lzma_decode(const uint8_t *stream, uint8_t *out, size_t size)
{
    decoder d = {.in = stream + 1, .range = UINT32_MAX}; /* the first byte is always 0 */
    size_t distances[4] = {1, 1, 1, 1};                  /* of the last matches, the latest first */
    unsigned state = 0;                                  /* below 7: behind a literal */
    for (unsigned i = 0; i < PROBABILITIES; i++) {
        d.probabilities[i] = 1024;
    }
    for (int i = 0; i < 4; i++) {
        d.code = d.code << 8 | *d.in++;
    }
    for (size_t at = 0; at < size;) {
        if (read_bit(&d, IS_MATCH + state) == 0) {
            unsigned context = at > 0 ? out[at - 1] >> (8 - USM_LZMA_LC) : 0;
            out[at] = read_literal(&d, LITERAL + 0x300 * context, state < 7 ? -1 : out[at - distances[0]]);
            at++;
            state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
            continue;
        }
        unsigned length, latest = 3;
        size_t distance = 0;
        if (read_bit(&d, IS_REP + state) == 0) {
            length = read_length(&d, LEN);
            distance = read_distance(&d, length);
            state = state < 7 ? 7 : 10;
        } else {
            bool shortest = false;
            if (read_bit(&d, IS_REP_G0 + state) == 0) {
                latest = 0;
                shortest = read_bit(&d, IS_REP0_LONG + state) == 0;
            } else {
                latest = read_bit(&d, IS_REP_G1 + state) == 0 ? 1 : 2 + read_bit(&d, IS_REP_G2 + state);
            }
            distance = distances[latest];
            length = shortest ? 1 : read_length(&d, REP_LEN);
            state = state >= 7 ? 11 : shortest ? 9 : 8;
        }
        for (; latest > 0; latest--) {
            distances[latest] = distances[latest - 1];
        }
        distances[0] = distance;
        for (; length > 0 && at < size; length--, at++) {
            out[at] = out[at - distance];
        }
    }
}
