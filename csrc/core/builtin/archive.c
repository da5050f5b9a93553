/*
 * Restores the sources of the built-in kernels from what embed.py made of them: the numbers in them, such as
 * those of registers, are kept apart from all else, each as the difference from the last number in the same
 * place of a line or an instruction.
 */
#include "archive.h"

#include "core/base/heap.h"
#include "core/base/lzma.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Stands in a text for a number. */
#define NUMBER 1

typedef struct reader {
    const uint8_t *bytes, *numbers;
} reader;

/* Seven bits a byte, the lowest first. */
static uint32_t read_varint(const uint8_t **at)
{
    uint32_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) {
            return value;
        }
    }
}

/* The number at a place where the last one was *last. */
static uint32_t read_number(reader *in, uint32_t *last)
{
    uint32_t difference = read_varint(&in->numbers); /* the sign is its lowest bit */
    return *last += difference >> 1 ^ (0 - (difference & 1));
}

/* A number's place: which number of the line it is, and the character before it. Returns the end. */
static char *restore_text(reader *in, char *out)
{
    uint32_t last[16][128];
    unsigned n = 0;
    memset(last, 0, sizeof last);
    for (char byte; (byte = (char)*in->bytes++) != 0;) {
        if (byte == NUMBER) {
            out += sprintf(out, "%u", (unsigned)read_number(in, &last[n++ % 16][out[-1] & 127]));
            continue;
        }
        *out++ = byte;
        if (byte == '{') { /* functions are often alike */
            memset(last, 0, sizeof last);
        }
        n = byte == '\n' ? 0 : n;
    }
    *out = 0;
    return out;
}

/* An operand's place: the opcode, and which operand it is (SPIR-V specification, 2.3). Returns the end. */
static char *restore_words(reader *in, char *out)
{
    uint32_t last[512][16], *word = (uint32_t *)(void *)out;
    memset(last, 0, sizeof last);
    for (int i = 0; i < 5; i++) {
        *word++ = read_varint(&in->numbers);
    }
    for (uint32_t opcode; (opcode = read_varint(&in->bytes)) != 0;) {
        uint32_t count = read_varint(&in->bytes);
        *word++ = count << 16 | opcode;
        for (uint32_t i = 1; i < count; i++) {
            *word++ = read_number(in, &last[opcode % 512][i % 16]);
        }
    }
    return (char *)word;
}

static size_t with_padding(const usm_kernel_source *source)
{
    return (sizeof *source + source->size + sizeof(uint32_t)) / sizeof(uint32_t) * sizeof(uint32_t);
}

/* NULL if memory ran out. */
static usm_kernel_source *restore(usm_kernel_form form)
{
    const usm_kernel_archive *archive = &usm_kernel_archives[form];
    uint8_t *decoded = usm_malloc(archive->size);
    usm_kernel_source *first = decoded == NULL ? NULL : usm_malloc(archive->restored), *at = first;
    if (first != NULL) {
        usm_lzma_decode(archive->stream, decoded, archive->size);
        reader in = {decoded, decoded + archive->numbers_at};
        for (size_t length; (length = strlen((const char *)in.bytes)) > 0;) {
            memset(at->name, 0, sizeof at->name);
            memcpy(at->name, in.bytes, length);
            in.bytes += length + 1;
            char *end = form == USM_KERNEL_SPIRV ? restore_words(&in, at->data) : restore_text(&in, at->data);
            at->size = (uint32_t)(end - at->data);
            at = (usm_kernel_source *)(void *)((char *)at + with_padding(at));
        }
        at->size = 0;
    }
    free(decoded);
    return first;
}

const usm_kernel_source *usm_kernel_sources(usm_kernel_form form)
{
    static _Atomic(usm_kernel_source *) restored[USM_KERNEL_FORMS];
    usm_kernel_source *known = atomic_load_explicit(&restored[form], memory_order_acquire);
    usm_kernel_source *ours = known == NULL ? restore(form) : NULL;
    if (ours == NULL || atomic_compare_exchange_strong_explicit(&restored[form], &known, ours,
                                                                memory_order_acq_rel, memory_order_acquire)) {
        return ours != NULL ? ours : known;
    }
    free(ours); /* another thread was first */
    return known;
}

const usm_kernel_source *usm_kernel_source_next(const usm_kernel_source *source)
{
    source = (const usm_kernel_source *)(const void *)((const char *)source + with_padding(source));
    return source->size > 0 ? source : NULL;
}

const usm_kernel_source *usm_kernel_source_named(const usm_kernel_source *source, const char *name)
{
    while (source != NULL && strcmp(source->name, name) != 0) {
        source = usm_kernel_source_next(source);
    }
    return source;
}
