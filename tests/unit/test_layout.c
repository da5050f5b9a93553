/* Shapes and strides against slow definitions of the same things. */
#include "check.h"
#include "support.h"

#include "core/layout/layout.h"

#include <limits.h>

#define BIG ((int64_t)1 << 40)

static void size_of_shapes(void)
{
    usm_error error;
    int64_t size = -1;
    CHECK_OK(usm_layout_size(0, NULL, 8, &size, &error));
    CHECK_EQ(size, 1);
    CHECK_OK(usm_layout_size(3, (int64_t[]){2, 3, 4}, 8, &size, &error));
    CHECK_EQ(size, 24);
    CHECK_OK(usm_layout_size(2, (int64_t[]){0, 5}, 8, &size, &error));
    CHECK_EQ(size, 0);
    CHECK_OK(usm_layout_size(1, (int64_t[]){INT64_MAX}, 1, &size, &error));
    CHECK_EQ(size, INT64_MAX);
    CHECK_OK(usm_layout_size(1, (int64_t[]){INT64_MAX / 8}, 8, &size, &error));

    CHECK_EQ(usm_layout_size(1, (int64_t[]){INT64_MAX / 8 + 1}, 8, &size, &error), USM_VALUE);
    CHECK_EQ(usm_layout_size(2, (int64_t[]){BIG, BIG}, 1, &size, &error), USM_VALUE);
    CHECK(strstr(error.text, "1099511627776") != NULL);
    /* A length of 0 does not excuse the others. */
    CHECK_EQ(usm_layout_size(3, (int64_t[]){0, BIG, BIG}, 1, &size, &error), USM_VALUE);
    CHECK_EQ(usm_layout_size(2, (int64_t[]){2, -1}, 1, &size, &error), USM_VALUE);
    CHECK(strstr(error.text, "shape[1] is -1") != NULL);
    CHECK_EQ(usm_layout_size(2, (int64_t[]){0, -1}, 1, &size, &error), USM_VALUE);
    CHECK_EQ(usm_layout_size(2, (int64_t[]){BIG, BIG}, 1, &size, NULL), USM_VALUE);
}

static void compact_strides(void)
{
    int64_t strides[3];
    usm_layout_compact(3, (int64_t[]){2, 3, 4}, 'C', strides);
    CHECK(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
    usm_layout_compact(3, (int64_t[]){2, 3, 4}, 'F', strides);
    CHECK(strides[0] == 1 && strides[1] == 2 && strides[2] == 6);
    usm_layout_compact(3, (int64_t[]){2, 0, 4}, 'C', strides);
    CHECK(strides[0] == 4 && strides[1] == 4 && strides[2] == 1);
}

typedef struct random_layout {
    int ndim;
    int64_t shape[6], strides[6];
    int64_t size;
} random_layout;

/* Beside a length of 0 the others may have any product; their strides are never used. */
static void strides_of_huge_empty_arrays(void)
{
    const int64_t shape[] = {0, INT64_MAX, 3, INT64_MAX};
    int64_t strides[4];
    usm_layout_compact(4, shape, 'C', strides);
    CHECK(strides[3] == 1 && strides[2] == INT64_MAX && strides[1] == INT64_MAX);
    usm_layout_compact(4, shape, 'F', strides);
    CHECK(strides[1] == 1 && strides[2] == INT64_MAX && strides[3] == INT64_MAX);
    CHECK_EQ(usm_layout_normalize(4, shape, strides), USM_C_CONTIGUOUS | USM_F_CONTIGUOUS);
}

/* Lengths from `least` to 3; strides from -4 to 8, or compact ones in either order with the axes permuted. */
static random_layout make(uint64_t *seed, int least)
{
    random_layout layout = {.ndim = (int)random_below(seed, 5), .size = 1};
    for (int i = 0; i < layout.ndim; i++) {
        layout.shape[i] = least + (int64_t)random_below(seed, (uint64_t)(4 - least));
        layout.strides[i] = (int64_t)random_below(seed, 13) - 4;
        layout.size *= layout.shape[i];
    }
    uint64_t kind = random_below(seed, 4);
    if (kind > 0) {
        usm_layout_compact(layout.ndim, layout.shape, kind == 1 ? 'F' : 'C', layout.strides);
    }
    if (kind == 3 && layout.ndim > 1) {
        int a = (int)random_below(seed, (uint64_t)layout.ndim),
            b = (int)random_below(seed, (uint64_t)layout.ndim);
        int64_t length = layout.shape[a], stride = layout.strides[a];
        layout.shape[a] = layout.shape[b];
        layout.strides[a] = layout.strides[b];
        layout.shape[b] = length;
        layout.strides[b] = stride;
    }
    return layout;
}

/* Offset, in elements, of the element with this number in row-major order. */
static int64_t offset(int ndim, const int64_t *shape, const int64_t *strides, int64_t number)
{
    int64_t at = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        at += number % shape[i] * strides[i];
        number /= shape[i];
    }
    return at;
}

/* The same with the first axis running fastest. */
static int64_t offset_f(int ndim, const int64_t *shape, const int64_t *strides, int64_t number)
{
    int64_t at = 0;
    for (int i = 0; i < ndim; i++) {
        at += number % shape[i] * strides[i];
        number /= shape[i];
    }
    return at;
}

static void normalised_strides_and_contiguity(void)
{
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        CHECK_STEP(round, seed);
        random_layout layout = make(&seed, 0);
        bool is_c = true, is_f = true;
        for (int64_t n = 0; n < layout.size; n++) {
            is_c = is_c && offset(layout.ndim, layout.shape, layout.strides, n) == n;
            is_f = is_f && offset_f(layout.ndim, layout.shape, layout.strides, n) == n;
        }
        int64_t stored[6], shown[6];
        memcpy(stored, layout.strides, sizeof stored);
        unsigned flags = usm_layout_normalize(layout.ndim, layout.shape, stored);
        CHECK_EQ((flags & USM_C_CONTIGUOUS) != 0, is_c);
        CHECK_EQ((flags & USM_F_CONTIGUOUS) != 0, is_f);
        for (int64_t n = 0; n < layout.size; n++) {
            CHECK_EQ(offset(layout.ndim, layout.shape, stored, n),
                     offset(layout.ndim, layout.shape, layout.strides, n));
        }
        usm_layout_shown_strides(layout.ndim, layout.shape, layout.strides, shown);
        int64_t compact[6];
        usm_layout_compact(layout.ndim, layout.shape, 'C', compact);
        for (int i = 0; i < layout.ndim; i++) {
            if (layout.shape[i] == 1) {
                CHECK_EQ(stored[i], 1);
            } else if (layout.size == 0) {
                CHECK_EQ(stored[i], compact[i]);
            }
            bool free = layout.size == 0 || layout.shape[i] == 1;
            CHECK_EQ(shown[i], free ? compact[i] : layout.strides[i]);
        }
    }
}

static void spans(void)
{
    uint64_t seed = 2;
    for (int round = 0; round < 20000; round++) {
        CHECK_STEP(round, seed);
        random_layout layout = make(&seed, 0);
        int64_t low = 0, high = 0, got_low, got_high;
        for (int64_t n = 0; n < layout.size; n++) {
            int64_t at = offset(layout.ndim, layout.shape, layout.strides, n);
            low = at * 4 < low ? at * 4 : low;
            high = at * 4 + 4 > high ? at * 4 + 4 : high;
        }
        CHECK(usm_layout_span(layout.ndim, layout.shape, layout.strides, 4, &got_low, &got_high));
        CHECK_EQ(got_low, low);
        CHECK_EQ(got_high, high);
    }
}

static void spans_that_do_not_fit(void)
{
    int64_t low, high;
    CHECK(!usm_layout_span(1, (int64_t[]){BIG}, (int64_t[]){BIG}, 1, &low, &high));
    CHECK(!usm_layout_span(2, (int64_t[]){3, 3}, (int64_t[]){INT64_MAX / 2, 1}, 1, &low, &high));
    CHECK(!usm_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MAX}, 1, &low, &high));
    CHECK(!usm_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MIN}, 2, &low, &high));
    CHECK(usm_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MAX - 1}, 1, &low, &high));
    CHECK_EQ(high, INT64_MAX);
    CHECK(usm_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MIN}, 1, &low, &high));
    CHECK_EQ(low, INT64_MIN);
    CHECK_EQ(high, 1);
}

/* Whatever its strides are, and wherever the length of 0 stands. */
static void an_empty_layout_spans_nothing(void)
{
    int64_t low = 1, high = 1;
    CHECK(usm_layout_span(2, (int64_t[]){0, BIG}, (int64_t[]){1, BIG}, 8, &low, &high));
    CHECK(low == 0 && high == 0);
    low = high = 1;
    CHECK(usm_layout_span(2, (int64_t[]){BIG, 0}, (int64_t[]){BIG, 1}, 8, &low, &high));
    CHECK(low == 0 && high == 0);
}

/* Numbers from all over, most of them near the ends of what there is. */
static uint64_t edge(uint64_t *seed)
{
    static const uint64_t ends[] = {0,          INT64_MAX,         (uint64_t)INT64_MAX + 1,
                                    UINT64_MAX, UINT64_C(1) << 62, 4096};
    uint64_t end = ends[random_below(seed, sizeof ends / sizeof ends[0])];
    return end + random_below(seed, 9) - 4;
}

static void spans_in_the_address_space_and_in_blocks(void)
{
    uint64_t seed = 5;
    long within = 0, addressable = 0;
    for (int round = 0; round < 1000000; round++) {
        CHECK_STEP(round, seed);
        const char *first = (const char *)(uintptr_t)edge(&seed),
                   *base = (const char *)(uintptr_t)edge(&seed);
        int64_t low = -(int64_t)(edge(&seed) >> 1), high = (int64_t)(edge(&seed) >> 1);
        size_t size = edge(&seed);
        __int128 at = (__int128)(uintptr_t)first, from = (__int128)(uintptr_t)base;
        bool fits = at + low >= 0 && at + high <= UINTPTR_MAX && (__int128)high - low <= INT64_MAX;
        bool inside = fits && at + low >= from && at + high <= from + (__int128)size;
        CHECK_EQ(usm_span_is_addressable(first, low, high), fits);
        CHECK_EQ(usm_span_is_within(first, low, high, base, size), inside);
        addressable += fits;
        within += inside;
    }
    CHECK(addressable > 1000 && within > 100);
    CHECK(!usm_span_is_addressable((void *)4096, INT64_MIN, 1));
    CHECK(!usm_span_is_within((void *)4096, INT64_MIN, 1, NULL, SIZE_MAX));
}

/* A shape of the same size, with axes of length 1 strewn in. */
static int shape_of_size(uint64_t *seed, int64_t size, int64_t *shape)
{
    int ndim = 0;
    for (int i = 0; i < 5; i++) {
        int64_t length = 1 + (int64_t)random_below(seed, 6);
        if (size % length == 0) {
            shape[ndim++] = length;
            size /= length;
        }
    }
    shape[ndim++] = size;
    return ndim;
}

/*
 * The strides of a reshape are determined by where one step along each axis leads; whether they are strides
 * at all is seen by looking at every element.
 */
static bool slow_reshape(const random_layout *old, int ndim, const int64_t *shape, int64_t *strides)
{
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = shape[i] > 1 ? offset(old->ndim, old->shape, old->strides, step) : 0;
        step *= shape[i];
    }
    for (int64_t n = 0; n < old->size; n++) {
        if (offset(ndim, shape, strides, n) != offset(old->ndim, old->shape, old->strides, n)) {
            return false;
        }
    }
    return true;
}

static void reshapes(void)
{
    uint64_t seed = 3;
    int possible = 0;
    for (int round = 0; round < 40000; round++) {
        CHECK_STEP(round, seed);
        random_layout old = make(&seed, 1);
        int64_t shape[6], wanted[6], got[6];
        int ndim = shape_of_size(&seed, old.size, shape);
        bool can = slow_reshape(&old, ndim, shape, wanted);
        CHECK_EQ(usm_layout_reshape(old.ndim, old.shape, old.strides, ndim, shape, got), can);
        for (int i = 0; i < ndim && can; i++) {
            CHECK(shape[i] == 1 || got[i] == wanted[i]);
        }
        possible += can;
    }
    CHECK(possible > 1000 && possible < 39000);

    int64_t got[3];
    CHECK(usm_layout_reshape(2, (int64_t[]){0, 4}, (int64_t[]){7, 9}, 3, (int64_t[]){2, 0, 3}, got));
    CHECK(got[0] == 3 && got[1] == 3 && got[2] == 1);
    CHECK(usm_layout_reshape(0, NULL, NULL, 2, (int64_t[]){1, 1}, got));
    CHECK(got[0] == 1 && got[1] == 1);
    CHECK(usm_layout_reshape(2, (int64_t[]){1, 1}, (int64_t[]){5, 6}, 0, NULL, got));
}

static void broadcasts(void)
{
    int64_t got[3];
    CHECK(usm_layout_broadcast(1, (int64_t[]){3}, (int64_t[]){5}, 2, (int64_t[]){4, 3}, got));
    CHECK(got[0] == 0 && got[1] == 5);
    CHECK(usm_layout_broadcast(2, (int64_t[]){4, 1}, (int64_t[]){7, 9}, 3, (int64_t[]){2, 4, 3}, got));
    CHECK(got[0] == 0 && got[1] == 7 && got[2] == 0);
    CHECK(usm_layout_broadcast(0, NULL, NULL, 2, (int64_t[]){4, 3}, got));
    CHECK(got[0] == 0 && got[1] == 0);
    CHECK(usm_layout_broadcast(1, (int64_t[]){1}, (int64_t[]){5}, 1, (int64_t[]){0}, got));
    CHECK_EQ(got[0], 0);
    CHECK(!usm_layout_broadcast(1, (int64_t[]){3}, (int64_t[]){1}, 1, (int64_t[]){4}, got));
    CHECK(!usm_layout_broadcast(1, (int64_t[]){3}, (int64_t[]){1}, 1, (int64_t[]){1}, got));
    CHECK(!usm_layout_broadcast(2, (int64_t[]){1, 3}, (int64_t[]){1, 1}, 1, (int64_t[]){3}, got));
    CHECK(!usm_layout_broadcast(1, (int64_t[]){2}, (int64_t[]){1}, 2, (int64_t[]){2, 0}, got));

    CHECK(usm_layout_repeats(2, (int64_t[]){2, 2}, (int64_t[]){0, 1}));
    CHECK(!usm_layout_repeats(2, (int64_t[]){1, 2}, (int64_t[]){0, 1}));
}

static void texts(void)
{
    char text[32];
    CHECK(strcmp(usm_layout_text(0, NULL, text, sizeof text), "()") == 0);
    CHECK(strcmp(usm_layout_text(1, (int64_t[]){3}, text, sizeof text), "(3,)") == 0);
    CHECK(strcmp(usm_layout_text(2, (int64_t[]){3, -4}, text, sizeof text), "(3, -4)") == 0);
    int64_t many[USM_MAX_NDIM];
    for (int i = 0; i < USM_MAX_NDIM; i++) {
        many[i] = INT64_MIN;
    }
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, '#', sizeof text);
        usm_layout_text(USM_MAX_NDIM, many, text, size);
        CHECK(memchr(text, '\0', size) != NULL);
        CHECK_EQ(text[size], '#');
    }
}

int main(void)
{
    watchdog(600);
    RUN(size_of_shapes);
    RUN(compact_strides);
    RUN(strides_of_huge_empty_arrays);
    RUN(normalised_strides_and_contiguity);
    RUN(spans);
    RUN(spans_that_do_not_fit);
    RUN(spans_in_the_address_space_and_in_blocks);
    RUN(an_empty_layout_spans_nothing);
    RUN(reshapes);
    RUN(broadcasts);
    RUN(texts);
    return 0;
}
