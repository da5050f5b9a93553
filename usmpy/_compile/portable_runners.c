// What runs a box of the index space, in GNU C. The parts begin with a line of their names; $name and ${name} are
// fields that Python fills.
// --- promise
#ifdef __clang__
#define USM_PROMISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define USM_PROMISE _Pragma("GCC ivdep")
#endif
// --- head
__attribute__(($how))
static int $name(const void *const *usm_a, const size_t *usm_g,
    const size_t *usm_l, const size_t *usm_lo, const size_t *usm_hi)
{
    const size_t usm_gn0 = usm_g[0], usm_gn1 = usm_g[1], usm_gn2 = usm_g[2];
    const size_t usm_ln0 = usm_l[0], usm_ln1 = usm_l[1], usm_ln2 = usm_l[2];
    char *usm_memory = (void *)0;
    (void)usm_a, (void)usm_ln0, (void)usm_ln1, (void)usm_ln2;
// --- local memory
    usm_memory = __builtin_malloc(127 + $sizes);
    if (!usm_memory) {
        return 1;
    }
    char *$next = usm_memory + (-(size_t)usm_memory & 127);
// --- items
    for (size_t usm_k = usm_lo[2]; usm_k < usm_hi[2]; usm_k++)
    for (size_t usm_j = usm_lo[1]; usm_j < usm_hi[1]; usm_j++) {
        size_t usm_from = usm_lo[0], usm_to = usm_hi[0];
// --- groups
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++)
    for (size_t usm_l2 = 0, usm_k = usm_w2 * usm_ln2; usm_l2 < usm_ln2 && usm_k < usm_gn2; usm_l2++, usm_k++)
    for (size_t usm_l1 = 0, usm_j = usm_w1 * usm_ln1; usm_l1 < usm_ln1 && usm_j < usm_gn1; usm_l1++, usm_j++)
    {
        size_t usm_from = usm_w0 * usm_ln0, usm_to = usm_from + usm_ln0;
        usm_to = usm_to < usm_gn0 ? usm_to : usm_gn0;
// --- loops
__attribute__((noinline, cold))
static void usm_far_$name(struct usm_item usm_item$taken)
{
    $name(usm_item$values);
}
$head$range        if (usm_to <= 0x7fffffff) {
            int usm_b = (int)usm_from, usm_e = (int)usm_to;
            if (usm_b < 0) {
                __builtin_unreachable();
            }
            $promise
            for (int usm_i = usm_b; usm_i < usm_e; usm_i++) {
                $name((struct usm_item){
                    (size_t)usm_i, usm_j, usm_k, $in_group,
                    usm_gn0, usm_gn1, usm_gn2, usm_ln0, usm_ln1, usm_ln2, (void *)0 }$values);
            }
        } else {
            size_t usm_b = usm_from;
            for (size_t usm_i = usm_b; usm_i < usm_to; usm_i++) {
                usm_far_$name((struct usm_item){
                    (size_t)usm_i, usm_j, usm_k, $in_group,
                    usm_gn0, usm_gn1, usm_gn2, usm_ln0, usm_ln1, usm_ln2, (void *)0 }$values);
            }
        }
    }
    __builtin_free(usm_memory);
    return 0;
}
// --- fibers
struct usm_frame_$name {
    size_t w0, w1, w2, gn0, gn1, gn2, ln0, ln1, ln2, n0, n1;
$members};
__attribute__(($how))
static void usm_item_$name(void *usm_frame, size_t usm_i, struct usm_fibers *usm_fibers)
{
    const struct usm_frame_$name *usm_f = usm_frame;
    size_t usm_l0 = usm_i % usm_f->n0, usm_l1 = usm_i / usm_f->n0 % usm_f->n1;
    size_t usm_l2 = usm_i / usm_f->n0 / usm_f->n1;
    $name((struct usm_item){
        usm_f->w0 * usm_f->ln0 + usm_l0, usm_f->w1 * usm_f->ln1 + usm_l1, usm_f->w2 * usm_f->ln2 + usm_l2,
        usm_l0, usm_l1, usm_l2, usm_f->w0, usm_f->w1, usm_f->w2, usm_f->gn0, usm_f->gn1, usm_f->gn2,
        usm_f->ln0, usm_f->ln1, usm_f->ln2, usm_fibers }$given);
}
$head    struct usm_fibers usm_fibers;
    if (usm_fibers_make(&usm_fibers, usm_ln0 * usm_ln1 * usm_ln2)) {
        __builtin_free(usm_memory);
        return 1;
    }
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++) {
        size_t usm_n0 = usm_gn0 - usm_w0 * usm_ln0, usm_n1 = usm_gn1 - usm_w1 * usm_ln1;
        size_t usm_n2 = usm_gn2 - usm_w2 * usm_ln2;
        usm_n0 = usm_n0 < usm_ln0 ? usm_n0 : usm_ln0;
        usm_n1 = usm_n1 < usm_ln1 ? usm_n1 : usm_ln1;
        usm_n2 = usm_n2 < usm_ln2 ? usm_n2 : usm_ln2;
        struct usm_frame_$name usm_frame = { usm_w0, usm_w1, usm_w2, usm_gn0, usm_gn1, usm_gn2,
            usm_ln0, usm_ln1, usm_ln2, usm_n0, usm_n1$kept };
        usm_fibers.run = usm_item_$name;
        usm_fibers.frame = &usm_frame;
        usm_group(&usm_fibers, usm_n0 * usm_n1 * usm_n2);
    }
    usm_fibers_free(&usm_fibers);
    __builtin_free(usm_memory);
    return 0;
}
// --- phases
$far
#undef USM_ITEMS
#undef USM_ITEMS_END
#define USM_ITEMS \
    for (size_t usm_l2 = 0, usm_row = 0; usm_l2 < usm_n2; usm_l2++) \
    for (size_t usm_l1 = 0; usm_l1 < usm_n1; usm_l1++, usm_row += usm_n0) { \
        int usm_start = (int)usm_row - usm_b; \
        $promise \
        for (int usm_i = usm_b; usm_i < usm_e; usm_i++) { \
            const int usm_li = usm_start + usm_i; \
            const struct usm_item usm_item = { \
                (size_t)usm_i, usm_w1 * usm_ln1 + usm_l1, usm_w2 * usm_ln2 + usm_l2, \
                (size_t)(usm_i - usm_b), usm_l1, usm_l2, usm_w0, usm_w1, usm_w2, \
                usm_gn0, usm_gn1, usm_gn2, usm_ln0, usm_ln1, usm_ln2, (void *)0 }; \
            (void)usm_li, (void)usm_item;
#define USM_ITEMS_END } }
$head$types    if (usm_gn0 > 0x7fffffff || usm_ln0 * usm_ln1 * usm_ln2 > 0xffffff) {
        __builtin_free(usm_memory);
        return usm_far_$name(usm_a, usm_g, usm_l, usm_lo, usm_hi);
    }
    const size_t usm_n = usm_ln0 * usm_ln1 * usm_ln2;
    char *usm_places = __builtin_malloc(64$sizes);
    if (!usm_places) {
        __builtin_free(usm_memory);
        return 1;
    }
    char *usm_next = usm_places + (-(size_t)usm_places & 63);
$places    (void)usm_next;
    $hoisted
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++) {
        size_t usm_n0 = usm_gn0 - usm_w0 * usm_ln0, usm_n1 = usm_gn1 - usm_w1 * usm_ln1;
        size_t usm_n2 = usm_gn2 - usm_w2 * usm_ln2;
        usm_n0 = usm_n0 < usm_ln0 ? usm_n0 : usm_ln0;
        usm_n1 = usm_n1 < usm_ln1 ? usm_n1 : usm_ln1;
        usm_n2 = usm_n2 < usm_ln2 ? usm_n2 : usm_ln2;
        const int usm_b = (int)(usm_w0 * usm_ln0), usm_e = usm_b + (int)usm_n0;
        int usm_taken = 0;
        if (usm_b < 0) {
            __builtin_unreachable();
        }
        (void)usm_taken;
        $cleared
        {
$names$body
        }
    }
    __builtin_free(usm_places);
    __builtin_free(usm_memory);
    return 0;
}
// --- plain
static int usm_run_$name(const void *const *usm_a, const __SIZE_TYPE__ *usm_g, const __SIZE_TYPE__ *usm_l,
                   const __SIZE_TYPE__ *usm_lo, const __SIZE_TYPE__ *usm_hi)
{
    __SIZE_TYPE__ usm_k, usm_j, usm_row;
    (void)usm_a;
    (void)usm_l;
    for (usm_k = usm_lo[2]; usm_k < usm_hi[2]; usm_k++) {
        for (usm_j = usm_lo[1]; usm_j < usm_hi[1]; usm_j++) {
            usm_row = (usm_k * usm_g[1] + usm_j) * usm_g[0];
            $name(usm_row + usm_lo[0], usm_row + usm_hi[0]$values);
        }
    }
    return 0;
}
