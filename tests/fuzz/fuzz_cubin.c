/*
 * Cubins and fatbins: any bytes, and ELF files whose numbers the input chooses. Of a file without a fault,
 * each name that is listed is the rest of a section's name in it.
 */
#include "fuzz.h"

#include "backends/cuda/program.h"

enum { HEADER = 64, SECTION = 64, SEGMENT = 56, MOST = 4096 };

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    memcpy(at, &value, bytes);
}

/* A file of sections, then segments, then text, with a few numbers that lie. */
static size_t build(input *input, uint8_t *file)
{
    unsigned sections = 1 + take_below(input, 6), segments = take_below(input, 3);
    size_t table = HEADER, more = table + sections * SECTION, text = more + segments * SEGMENT;
    size_t room = 16 + take_below(input, 200), size = text + room;
    memset(file, 0, size);
    memcpy(file,
           "\x7f"
           "ELF\x02\x01",
           6);
    put(file + 18, 190, 2);
    put(file + 32, more, 8);
    put(file + 40, table, 8);
    put(file + 54, SEGMENT, 2);
    put(file + 56, segments, 2);
    put(file + 58, SECTION, 2);
    put(file + 60, sections, 2);
    put(file + 62, take_below(input, sections), 2);
    for (unsigned i = 0; i < sections; i++) {
        uint8_t *section = file + table + i * SECTION;
        put(section, take_below(input, (unsigned)room), 4);
        put(section + 4, take_below(input, 4) == 0 ? 8 : 3, 4);
        put(section + 24, text, 8);
        put(section + 32, room, 8);
    }
    for (size_t i = text; i < size; i += 10) { /* names all over */
        uint8_t name[10] = ".text.";
        put(name + 6, take(input, 4), 4);
        memcpy(file + i, name, size - i < 10 ? size - i : 10);
    }
    for (unsigned lies = take_below(input, 4); lies > 0; lies--) {
        size_t at = (size_t)take(input, 2) % (size - 8);
        put(file + at, (uint64_t)take_hostile(input), 1u << take_below(input, 4));
    }
    return take_below(input, 8) == 0 ? (size_t)take(input, 2) % (size + 1) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t built[MOST];
    input input = {data, size};
    bool whole = take_below(&input, 4) != 0;
    size_t n = whole ? build(&input, built) : input.left;
    char *file = malloc(n > 0 ? n : 1); /* of its own, so that reads behind it are found */
    HOLDS(file != NULL);
    memcpy(file, whole ? built : input.at, n);
    const char *fault = usm_cuda_image_fault(file, n);
    HOLDS(fault == NULL || fault[0] != 0);
    if (fault == NULL && file[0] == 0x7f) {
        char **symbols = usm_cuda_cubin_symbols(file, n);
        HOLDS(symbols != NULL);
        for (size_t i = 0; symbols[i] != NULL; i++) {
            size_t length = strlen(symbols[i]) + 1;
            HOLDS(length > 1 && memmem(file, n, symbols[i], length) != NULL);
        }
        free(symbols);
    }
    free(file);
    return 0;
}
