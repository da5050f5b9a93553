/*
 * Layout arithmetic. Small layouts are compared with loops over their elements: a plan and its units touch
 * exactly the bytes that the naive loop touches, in the same pairs; a reshape and a broadcast reach the same
 * elements; views that share bytes are found to overlap. Spans of any layout are compared with 128-bit
 * numbers.
 */
#include "fuzz.h"

#include "core/layout/dtype.h"
#include "core/layout/strided.h"

enum { AXES = 5, MOST = 256, MOST_BYTES = MOST * 16 };

typedef struct small {
    int ndim;
    int64_t shape[AXES], strides[AXES];
} small;

typedef struct pair {
    int64_t dst, src;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->dst != y->dst ? (x->dst > y->dst) - (x->dst < y->dst) : (x->src > y->src) - (x->src < y->src);
}

/* At most MOST elements. */
static void take_shape(input *input, small *out)
{
    int64_t size = 1;
    out->ndim = (int)take_below(input, AXES + 1);
    for (int i = 0; i < out->ndim; i++) {
        out->shape[i] = take_below(input, 8);
        out->shape[i] = out->shape[i] * size <= MOST ? out->shape[i] : 1;
        size *= out->shape[i] > 0 ? out->shape[i] : 1;
    }
}

/* Compact strides in some order of the axes, some of them changed. */
static void take_strides(input *input, small *out)
{
    usm_layout_compact(out->ndim, out->shape, take_below(input, 2) == 0 ? 'C' : 'F', out->strides);
    for (int i = 0; i < out->ndim; i++) {
        unsigned change = take_below(input, 6);
        out->strides[i] = change == 0   ? 0
                          : change == 1 ? -out->strides[i]
                          : change == 2 ? (int8_t)take(input, 1)
                          : change == 3 ? out->strides[i] * 2
                                        : out->strides[i];
    }
}

static int64_t size_of(int ndim, const int64_t *shape)
{
    int64_t size = 1;
    for (int i = 0; i < ndim; i++) {
        size *= shape[i];
    }
    return size;
}

/* The place of the k-th element in row-major order. */
static int64_t place_of(int ndim, const int64_t *shape, const int64_t *strides, int64_t k)
{
    int64_t at = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        at += k % shape[i] * strides[i];
        k /= shape[i];
    }
    return at;
}

static void check_pairs(pair *got, pair *wanted, int64_t n)
{
    qsort(got, (size_t)n, sizeof *got, compare_pairs);
    qsort(wanted, (size_t)n, sizeof *wanted, compare_pairs);
    for (int64_t i = 0; i < n; i++) {
        HOLDS(got[i].dst == wanted[i].dst && got[i].src == wanted[i].src);
    }
}

static void check_plan(input *input)
{
    static pair got[MOST], wanted[MOST];
    small dst, src;
    take_shape(input, &dst);
    src = dst;
    take_strides(input, &dst);
    take_strides(input, &src);
    usm_dtype types[2] = {(usm_dtype)take_below(input, USM_COMPUTED_DTYPES),
                          (usm_dtype)take_below(input, USM_COMPUTED_DTYPES)};
    int64_t n = size_of(dst.ndim, dst.shape), dst_size = usm_dtype_table[types[0]].itemsize,
            src_size = usm_dtype_table[types[1]].itemsize;
    if (n == 0) {
        return; /* the shape of a plan has no 0 */
    }
    const usm_view to = {NULL, (char *)4096, types[0], dst.ndim, dst.shape, dst.strides},
                   from = {NULL, (char *)8192, types[1], src.ndim, src.shape, src.strides};
    usm_plan plan, again;
    usm_copy_plan(&plan, &to, &from);
    const usm_strided *strided = &plan.strided;
    HOLDS(strided->ndim >= 1 && usm_strided_count(strided) == (size_t)n);
    for (int i = 0; i < strided->ndim; i++) {
        HOLDS(strided->shape[i] > 1 || (strided->ndim == 1 && n == 1));
        HOLDS(strided->dst_strides[i] >= 0 &&
              (i == 0 || strided->dst_strides[i] <= strided->dst_strides[i - 1]));
    }
    for (int64_t k = 0; k < n; k++) {
        wanted[k] = (pair){4096 + place_of(dst.ndim, dst.shape, dst.strides, k) * dst_size,
                           8192 + place_of(src.ndim, src.shape, src.strides, k) * src_size};
        got[k] =
            (pair){(intptr_t)strided->dst + place_of(strided->ndim, strided->shape, strided->dst_strides, k),
                   (intptr_t)strided->src + place_of(strided->ndim, strided->shape, strided->src_strides, k)};
    }
    check_pairs(got, wanted, n);
    if (usm_strided_is_block(strided)) {
        for (int64_t k = 0; k < n; k++) {
            HOLDS(got[k].dst - got[0].dst == k * dst_size && got[k].src - got[0].src == k * dst_size);
        }
    }
    usm_strided *clone = usm_strided_clone(strided);
    HOLDS(clone != NULL);
    usm_strided_plan(&again, clone); /* a plan is its own plan */
    HOLDS(again.strided.ndim == strided->ndim && again.strided.dst == strided->dst &&
          again.strided.src == strided->src);
    free(clone);
}

/* Which bytes meet which, moved unit by unit. */
static void check_units(input *input)
{
    static pair got[MOST_BYTES], wanted[MOST_BYTES];
    usm_axis axes[AXES + 1];
    small dst, src;
    int size = 1 << take_below(input, 5), n_operands = 2 + (int)take_below(input, 2);
    take_shape(input, &dst);
    src = dst;
    take_strides(input, &dst);
    take_strides(input, &src);
    /* Memory that is not aligned to the elements has strides in bytes. */
    int64_t step = take_below(input, 4) == 0 ? 1 : size;
    uint64_t address[2] = {take_below(input, 16), take_below(input, 16)};
    int n = 0;
    int64_t count = 1, n_bytes = 0;
    for (int i = 0; i < dst.ndim; i++) {
        if (dst.shape[i] != 1) {
            axes[n++] = (usm_axis){
                dst.shape[i], {dst.strides[i] * step, src.strides[i] * step, n_operands > 2 ? i % 2 : 0}};
        }
        count *= dst.shape[i];
    }
    if (count == 0) {
        return;
    }
    if (n == 0) {
        axes[n++] = (usm_axis){1, {size, size}};
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t at[2] = {0, 0}, rest = k;
        for (int i = 0; i < n; i++) {
            at[0] += rest % axes[i].length * axes[i].strides[0];
            at[1] += rest % axes[i].length * axes[i].strides[1];
            rest /= axes[i].length;
        }
        for (int byte = 0; byte < size; byte++) {
            wanted[n_bytes++] = (pair){at[0] + byte, at[1] + byte};
        }
    }
    int kept = usm_axes_merge(axes, n, n_operands);
    HOLDS(kept >= 1 && kept <= n);
    for (int i = 0; i < kept / 2; i++) { /* from the fastest to the slowest */
        usm_axis moving = axes[i];
        axes[i] = axes[kept - 1 - i];
        axes[kept - 1 - i] = moving;
    }
    int unit = usm_axes_choose_unit(axes, &kept, n_operands, address[0] | address[1], size);
    HOLDS(unit >= 1 && unit <= 16 && kept <= AXES + 1 && kept <= n + 1);
    int64_t units = 1, got_bytes = 0;
    for (int i = 0; i < kept; i++) {
        units *= axes[i].length;
        HOLDS(axes[i].strides[0] % (unit < 8 ? unit : 8) == 0 &&
              axes[i].strides[1] % (unit < 8 ? unit : 8) == 0);
    }
    HOLDS(address[0] % (uint64_t)(unit < 8 ? unit : 8) == 0 && units * unit == n_bytes);
    for (int64_t k = 0; k < units; k++) {
        int64_t at[2] = {0, 0}, rest = k;
        for (int i = 0; i < kept; i++) {
            at[0] += rest % axes[i].length * axes[i].strides[0];
            at[1] += rest % axes[i].length * axes[i].strides[1];
            rest /= axes[i].length;
        }
        for (int byte = 0; byte < unit; byte++) {
            got[got_bytes++] = (pair){at[0] + byte, at[1] + byte};
        }
    }
    check_pairs(got, wanted, n_bytes);
}

static void check_overlap(input *input)
{
    static uint8_t bytes[1 << 17];
    const int64_t middle = 1 << 16;
    small dst, src;
    take_shape(input, &dst);
    src = dst;
    take_strides(input, &dst);
    take_strides(input, &src);
    usm_dtype types[2] = {(usm_dtype)take_below(input, USM_COMPUTED_DTYPES),
                          (usm_dtype)take_below(input, USM_COMPUTED_DTYPES)};
    int64_t apart = (int16_t)take(input, 2), n = size_of(dst.ndim, dst.shape);
    const usm_view to = {NULL, (char *)bytes + middle, types[0], dst.ndim, dst.shape, dst.strides},
                   from = {NULL, (char *)bytes + middle + apart, types[1], src.ndim, src.shape, src.strides};
    if (usm_views_overlap(&to, &from)) {
        return; /* it may say so of layouts that lie in the gaps of each other */
    }
    static int64_t starts[2][MOST];
    bool same = apart == 0 && usm_dtype_table[types[0]].itemsize == usm_dtype_table[types[1]].itemsize;
    for (int64_t k = 0; k < n; k++) {
        starts[0][k] = place_of(dst.ndim, dst.shape, dst.strides, k) * usm_dtype_table[types[0]].itemsize;
        starts[1][k] =
            apart + place_of(src.ndim, src.shape, src.strides, k) * usm_dtype_table[types[1]].itemsize;
        same = same && starts[0][k] == starts[1][k];
    }
    for (int64_t i = 0; i < n && !same; i++) {
        for (int64_t k = 0; k < n; k++) {
            HOLDS(starts[0][i] + usm_dtype_table[types[0]].itemsize <= starts[1][k] ||
                  starts[1][k] + usm_dtype_table[types[1]].itemsize <= starts[0][i]);
        }
    }
}

static void check_reshape(input *input)
{
    small old, new;
    take_shape(input, &old);
    take_strides(input, &old);
    int64_t n = size_of(old.ndim, old.shape), left = n;
    new.ndim = (int)take_below(input, AXES) + 1;
    for (int i = 0; i < new.ndim; i++) { /* the last axis takes what is left */
        int64_t length = 1 + take_below(input, 8);
        new.shape[i] = i == new.ndim - 1 ? left : left % length == 0 ? length : 1;
        left /= new.shape[i] > 0 ? new.shape[i] : 1;
    }
    if (size_of(new.ndim, new.shape) != n) {
        return;
    }
    bool done = usm_layout_reshape(old.ndim, old.shape, old.strides, new.ndim, new.shape, new.strides);
    if (n == 0) {
        HOLDS(done);
        return;
    }
    /* The only strides that could do, by where the first elements of each axis lie. */
    int64_t wanted[AXES], step = 1;
    bool possible = true;
    for (int i = new.ndim - 1; i >= 0; i--) {
        wanted[i] = new.shape[i] > 1 ? place_of(old.ndim, old.shape, old.strides, step) : 1;
        step *= new.shape[i];
        HOLDS(!done || new.shape[i] == 1 || new.strides[i] == wanted[i]);
    }
    for (int64_t k = 0; k < n; k++) {
        possible = possible &&
                   place_of(old.ndim, old.shape, old.strides, k) == place_of(new.ndim, new.shape, wanted, k);
    }
    HOLDS(done == possible);
}

static void check_broadcast(input *input)
{
    small from, to;
    take_shape(input, &from);
    take_strides(input, &from);
    take_shape(input, &to);
    int lead = to.ndim - from.ndim;
    for (int i = 0; i < from.ndim && lead >= 0; i++) { /* most of them fit */
        to.shape[i + lead] =
            from.shape[i] == 1 || take_below(input, 8) == 0 ? to.shape[i + lead] : from.shape[i];
    }
    if (size_of(to.ndim, to.shape) > MOST) {
        return;
    }
    bool fits = lead >= 0;
    for (int i = 0; i < from.ndim && fits; i++) {
        fits = from.shape[i] == 1 || from.shape[i] == to.shape[i + lead];
    }
    HOLDS(usm_layout_broadcast(from.ndim, from.shape, from.strides, to.ndim, to.shape, to.strides) == fits);
    for (int64_t k = 0; fits && k < size_of(to.ndim, to.shape); k++) {
        int64_t rest = k, at = 0;
        for (int i = to.ndim - 1; i >= 0; i--) {
            if (i >= lead && from.shape[i - lead] != 1) {
                at += rest % to.shape[i] * from.strides[i - lead];
            }
            rest /= to.shape[i];
        }
        int64_t got = place_of(to.ndim, to.shape, to.strides, k), extra = 0;
        for (int i = 0; i < from.ndim; i++) { /* equal lengths of 1 keep their stride, which is never used */
            extra += from.shape[i] == 1 && to.shape[i + lead] != 1 ? to.strides[i + lead] : 0;
        }
        HOLDS(extra == 0 && got == at);
    }
}

static void check_normalize(input *input)
{
    small view, own;
    char text[300];
    take_shape(input, &view);
    take_strides(input, &view);
    own = view;
    unsigned flags = usm_layout_normalize(own.ndim, own.shape, own.strides);
    int64_t n = size_of(own.ndim, own.shape), size, shown[AXES];
    bool by_row = true, by_column = true;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = place_of(view.ndim, view.shape, view.strides, k), column = 0, rest = k;
        int64_t steps[AXES];
        usm_layout_compact(view.ndim, view.shape, 'F', steps);
        for (int i = view.ndim - 1; i >= 0; i--) {
            column += rest % view.shape[i] * steps[i];
            rest /= view.shape[i];
        }
        HOLDS(place_of(own.ndim, own.shape, own.strides, k) == at);
        by_row = by_row && at == k;
        by_column = by_column && at == column;
    }
    HOLDS(((flags & USM_C_CONTIGUOUS) != 0) == by_row && ((flags & USM_F_CONTIGUOUS) != 0) == by_column);
    const usm_view seen = {NULL, NULL, USM_INT8, own.ndim, own.shape, own.strides};
    HOLDS(n == 0 || (usm_view_is_row_major(&seen, &size) == by_row && (!by_row || size == n)));
    HOLDS(n == 0 || usm_view_order(&seen) == flags);
    usm_layout_shown_strides(own.ndim, own.shape, own.strides, shown);
    for (int i = 0; i < own.ndim; i++) {
        HOLDS(n == 0 || own.shape[i] < 2 || shown[i] == view.strides[i]);
    }
    size_t room = 1 + take_below(input, 200);
    HOLDS(strlen(usm_layout_text(own.ndim, own.strides, text, room)) < room);
}

/* Sizes and spans of any numbers at all. */
static void check_span(input *input)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], low, high, size;
    int ndim = (int)take_below(input, take_below(input, 8) == 0 ? USM_MAX_NDIM + 1 : 5);
    int itemsize = 1 << take_below(input, 5);
    __int128 first = 0, last = itemsize, count = 1;
    const __int128 most = INT64_MAX, far = (__int128)1 << 100; /* no span reaches as far */
    bool negative = false, empty = false, wide = false;
    usm_error error;
    for (int i = 0; i < ndim; i++) {
        shape[i] = take_hostile(input);
        strides[i] = take_hostile(input);
        negative = negative || shape[i] < 0;
        empty = empty || shape[i] == 0;
        wide = wide || (shape[i] > 0 && count > most / shape[i]);
        count *= wide || shape[i] <= 0 ? 1 : shape[i];
    }
    wide = wide || count * itemsize > most;
    usm_status status = usm_layout_size(ndim, shape, itemsize, &size, &error);
    HOLDS((status == USM_OK) == (!negative && !wide));
    HOLDS(status != USM_OK || size == (empty ? 0 : (int64_t)count));
    if (negative) {
        return; /* the callers have refused it */
    }
    for (int i = 0; i < ndim; i++) {
        __int128 reach = (__int128)(shape[i] - 1) * strides[i];
        first += reach < 0 ? (reach < -far ? -far : reach) : 0;
        last += reach > 0 ? (reach > far ? far : reach) : 0;
    }
    bool spans = usm_layout_span(ndim, shape, strides, itemsize, &low, &high);
    if (empty) {
        HOLDS(spans && low == 0 && high == 0);
        return;
    }
    last -= itemsize;
    first *= itemsize;
    last = last * itemsize + itemsize;
    HOLDS(spans == (first >= INT64_MIN && last <= most));
    if (!spans) {
        return;
    }
    HOLDS(low == (int64_t)first && high == (int64_t)last);
    uint64_t at = (uint64_t)take_hostile(input), base = (uint64_t)take_hostile(input),
             room = (uint64_t)take_hostile(input);
    const __int128 end = (__int128)1 << 64;
    bool addressable = (__int128)at + low >= 0 && (__int128)at + high < end && (__int128)high - low <= most;
    HOLDS(usm_span_is_addressable((void *)at, low, high) == addressable);
    bool within = addressable && (__int128)at + low >= base && (__int128)at + high <= (__int128)base + room;
    HOLDS(usm_span_is_within((void *)at, low, high, (void *)base, room) == within);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(input *) = {check_plan,      check_units,     check_overlap, check_reshape,
                                              check_broadcast, check_normalize, check_span};
    input input = {data, size};
    checks[take_below(&input, sizeof checks / sizeof *checks)](&input);
    return 0;
}
