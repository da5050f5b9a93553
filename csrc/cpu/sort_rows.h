/* sort.c for elements of one size: included once for each SIZE, with TYPE and KEY. */
#define NAME_TEXT(name, size) name##_##size
#define NAME_OF(name, size) NAME_TEXT(name, size)
#define NAME(name) NAME_OF(name, SIZE)
#define ROW NAME(row)

/* A row, and memory beside it. */
typedef struct ROW {
    const TYPE *src;
    int64_t n;
    TYPE *values; /* of the result, or of both buffers, where indices are asked for */
    TYPE *spare;
    int64_t *indices; /* NULL: the values are asked for */
    uint32_t *places[2];
    usm_sort_order order;
} ROW;

/* Few elements: each goes to its place among those before it. */
static void NAME(insert)(const ROW *row)
{
    TYPE keys[INSERTED];
    uint8_t from[INSERTED];
    for (int64_t i = 0; i < row->n; i++) {
        TYPE key = KEY(row->src[i], &row->order);
        int64_t to = i;
        for (; to > 0 && keys[to - 1] > key; to--) {
            keys[to] = keys[to - 1];
            from[to] = from[to - 1];
        }
        keys[to] = key;
        from[to] = (uint8_t)i;
    }
    for (int64_t i = 0; i < row->n; i++) {
        if (row->indices != NULL) {
            row->indices[i] = from[i];
        } else {
            row->values[i] = row->src[from[i]];
        }
    }
}

/* One pass: `at` says where each bucket begins. `last`: into the row's indices alone. */
static inline __attribute__((always_inline)) void NAME(move)(const ROW *row, TYPE *to, const TYPE *from,
                                                             uint32_t *to_places, const uint32_t *places,
                                                             uint32_t *at, int shift, bool indices,
                                                             bool first, bool last)
{
    const usm_sort_order order = row->order;
    for (int64_t i = 0; i < row->n; i++) {
        TYPE x = from[i];
        uint32_t k = at[(uint8_t)(KEY(x, &order) >> shift)]++;
        if (!indices) {
            to[k] = x;
            continue;
        }
        uint32_t place = first ? (uint32_t)i : places[i];
        if (last) {
            row->indices[k] = place;
        } else {
            to[k] = x;
            to_places[k] = place;
        }
    }
}

/* How many elements each bucket of each digit has, then the digits that divide the elements: their number. */
static int NAME(count)(const ROW *row, uint32_t (*counts)[USM_SORT_BUCKETS], int *digits)
{
    const usm_sort_order order = row->order;
    int n = 0;
    memset(counts, 0, sizeof *counts * SIZE);
    for (int64_t i = 0; i < row->n; i++) {
        TYPE key = KEY(row->src[i], &order);
        for (int d = 0; d < SIZE; d++) {
            counts[d][(uint8_t)(key >> 8 * d)]++;
        }
    }
    TYPE some = KEY(row->src[0], &order);
    for (int d = 0; d < SIZE; d++) {
        if (counts[d][(uint8_t)(some >> 8 * d)] != row->n) {
            digits[n++] = d;
        }
    }
    return n;
}

static void NAME(radix)(const ROW *row)
{
    uint32_t counts[SIZE][USM_SORT_BUCKETS];
    int digits[SIZE], n = NAME(count)(row, counts, digits);
    const TYPE *from = row->src;
    for (int k = 0; k < n; k++) {
        uint32_t *at = counts[digits[k]], sum = 0;
        int shift = 8 * digits[k];
        bool last = k == n - 1;
        TYPE *to = (n - 1 - k) % 2 == 0 ? row->values : row->spare;
        uint32_t *to_places = row->places[k % 2], *places = row->places[(k + 1) % 2];
        for (int b = 0; b < USM_SORT_BUCKETS; b++) {
            uint32_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        if (row->indices == NULL) {
            NAME(move)(row, to, from, NULL, NULL, at, shift, false, false, false);
        } else if (k == 0 && !last) {
            NAME(move)(row, to, from, to_places, NULL, at, shift, true, true, false);
        } else if (k == 0) {
            NAME(move)(row, NULL, from, NULL, NULL, at, shift, true, true, true);
        } else if (last) {
            NAME(move)(row, NULL, from, NULL, places, at, shift, true, false, true);
        } else {
            NAME(move)(row, to, from, to_places, places, at, shift, true, false, false);
        }
        from = to;
    }
    if (n == 0 && row->indices == NULL) {
        memcpy(row->values, row->src, (size_t)row->n * SIZE);
    }
    for (int64_t i = 0; n == 0 && row->indices != NULL && i < row->n; i++) {
        row->indices[i] = i;
    }
}

static void NAME(sort)(char *values, int64_t *indices, const char *src, char *spare, uint32_t *places,
                       const usm_sort *s, size_t lo, size_t hi)
{
    TYPE few[2 * USM_CPU_SORT_FEW];
    uint32_t few_places[2 * USM_CPU_SORT_FEW];
    bool small = s->n <= USM_CPU_SORT_FEW;
    for (int64_t i = (int64_t)lo; i < (int64_t)hi; i++) {
        ROW row = {.src = (const TYPE *)src + i * s->n, .n = s->n, .order = s->order};
        TYPE *own = small ? few : (TYPE *)spare + i * s->n * (s->indices ? 2 : 1);
        uint32_t *own_places = small ? few_places : places + i * s->n * 2;
        row.spare = own;
        row.values = s->indices ? own + s->n : (TYPE *)values + i * s->n;
        if (s->indices) {
            row.indices = indices + i * s->n;
            row.places[0] = own_places;
            row.places[1] = own_places + s->n;
        }
        if (s->n <= INSERTED) {
            NAME(insert)(&row);
        } else {
            NAME(radix)(&row);
        }
    }
}

#undef NAME_TEXT
#undef NAME_OF
#undef NAME
#undef ROW
#undef SIZE
#undef TYPE
#undef KEY
