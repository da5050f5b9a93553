/* Restores the sources of the built-in kernels from what embed.py made of them. */
#include "archive.h"

#include "core/base/heap.h"
#include "core/base/lzma.h"

#include <stdatomic.h>
#include <string.h>

/* More than there are registers of a kind in any function, and ids in any module: embed.py sees to that. */
#define RECENT 8192

/* Numbers as they were last used, the latest first. */
typedef struct recent {
    uint32_t n;
    uint16_t numbers[RECENT];
} recent;

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

/* The number at a place from 1 on, which becomes the latest; 0 adds a new one. */
static uint32_t use(recent *known, uint32_t place, uint32_t added)
{
    uint32_t number = place == 0 ? added : known->numbers[place - 1];
    memmove(&known->numbers[1], &known->numbers[0],
            (place == 0 ? known->n++ : place - 1) * sizeof known->numbers[0]);
    known->numbers[0] = (uint16_t)number;
    return number;
}

static char *put_decimal(char *out, uint32_t number)
{
    char digits[10];
    int n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
    } while ((number /= 10) > 0);
    while (n > 0) {
        *out++ = digits[--n];
    }
    return out;
}

/* The registers and labels of PTX, of which each function has its own: NUMBERED of embed.py. */
static const char *const names[] = {NULL, "%p", "%rs", "%r", "%rd", "%f", "%fd", "$L"};
#define KINDS (sizeof names / sizeof names[0])

static void restore_text(const usm_kernel_source *source, char *out, recent *known)
{
    const uint8_t *data = source->data, *numbers = source->numbers;
    for (const char *end = out + source->size; out < end;) {
        uint8_t byte = *data++;
        if (byte < KINDS) {
            for (const char *name = names[byte]; *name != 0; name++) {
                *out++ = *name;
            }
            out = put_decimal(out, use(&known[byte], read_varint(&numbers), known[byte].n + 1));
            continue;
        }
        *out++ = (char)byte;
        if (byte == '\n' && out < end && *data == '{') {
            for (unsigned i = 0; i < KINDS; i++) {
                known[i].n = 0;
            }
        }
    }
}

static uint32_t read_id(const uint8_t **at, recent *known, uint32_t *greatest)
{
    uint32_t place = read_varint(at);
    if (place > 1) {
        return use(known, place - 1, 0);
    }
    uint32_t added = place == 0 ? *greatest + 1 : read_varint(at);
    *greatest = added > *greatest ? added : *greatest;
    return use(known, 0, added);
}

/* Instructions (SPIR-V specification, 2.3): literals are differences from the last one in the same place. */
static void restore_words(const usm_kernel_source *source, char *out, recent *known)
{
    uint32_t last[512][16], *word = (uint32_t *)(void *)out, *end = word + source->size / sizeof *word;
    const uint8_t *data = source->data, *numbers = source->numbers;
    uint32_t greatest = 0;
    memset(last, 0, sizeof last);
    for (int i = 0; i < 4; i++) {
        known[i].n = 0;
    }
    for (int i = 0; i < 5; i++) {
        *word++ = read_varint(&numbers);
    }
    while (word < end) {
        uint32_t opcode = read_varint(&data), count = read_varint(&data);
        *word++ = count << 16 | opcode;
        for (uint32_t i = 1; i < count; i++) {
            uint32_t place = i < 16 ? i : 14 + i % 2, kind = usm_spirv_kinds[opcode] >> 2 * place & 3;
            if (kind != 0) {
                *word++ = read_id(&numbers, &known[kind], &greatest);
            } else {
                uint32_t difference = read_varint(&numbers); /* the sign is its lowest bit */
                *word++ = last[opcode][place] += difference >> 1 ^ (0 - (difference & 1));
            }
        }
    }
}

char *usm_kernel_restore(const usm_kernel_source *const *sources, int n, size_t *size)
{
    *size = 0;
    for (int i = 0; i < n; i++) {
        *size += sources[i]->size;
    }
    char *restored = usm_malloc(*size + 1), *at = restored;
    recent *known = restored == NULL ? NULL : usm_malloc(KINDS * sizeof *known);
    if (known == NULL) {
        free(restored);
        return NULL;
    }
    for (int i = 0; i < n; at += sources[i++]->size) {
        if (sources[i]->form == USM_KERNEL_SPIRV) {
            restore_words(sources[i], at, known);
        } else {
            restore_text(sources[i], at, known);
        }
    }
    *at = 0;
    free(known);
    return restored;
}

/* NULL if memory ran out. */
static usm_kernel_source *decode(usm_kernel_form form)
{
    const usm_kernel_archive *archive = &usm_kernel_archives[form];
    size_t table = (archive->n + 1) * sizeof(usm_kernel_source);
    usm_kernel_source *first = usm_malloc(table + archive->size);
    if (first != NULL) {
        uint8_t *decoded = (uint8_t *)first + table;
        usm_lzma_decode(archive->stream, decoded, archive->size);
        const uint8_t *index = decoded, *data = decoded + archive->data_at,
                      *numbers = decoded + archive->numbers_at;
        for (uint32_t i = 0; i < archive->n; i++) {
            const char *name = (const char *)index;
            index += strlen(name) + 1;
            first[i] = (usm_kernel_source){name, data, numbers, read_varint(&index), form};
            data += read_varint(&index);
            numbers += read_varint(&index);
        }
        first[archive->n].name = NULL;
    }
    return first;
}

const usm_kernel_source *usm_kernel_sources(usm_kernel_form form)
{
    static _Atomic(usm_kernel_source *) decoded[USM_KERNEL_FORMS];
    usm_kernel_source *known = atomic_load_explicit(&decoded[form], memory_order_acquire);
    usm_kernel_source *ours = known == NULL ? decode(form) : NULL;
    if (ours == NULL || atomic_compare_exchange_strong_explicit(&decoded[form], &known, ours,
                                                                memory_order_acq_rel, memory_order_acquire)) {
        return ours != NULL ? ours : known;
    }
    free(ours); /* another thread was first */
    return known;
}

const usm_kernel_source *usm_kernel_source_named(const usm_kernel_source *source, const char *name)
{
    while (source->name != NULL && strcmp(source->name, name) != 0) {
        source++;
    }
    return source->name != NULL ? source : NULL;
}
