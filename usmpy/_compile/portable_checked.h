/* In front of a checked program (portable_checked.py): what looks at an index, and keeps the first failure of
   the launch. A launch's record, in words of 8 bytes: 0 whether there is a failure, 1 to 9 what it is, 10 to
   41 a name and a file, from 42 on two for each argument: where it begins and ends, from its pointer. */
struct usm_ck {
    global long *record;
    ulong *arguments; /* beginnings and ends */
    int n;
    long item[3];
};
__attribute__((noinline)) static void usm_ck_fail(struct usm_ck *usm_ck, int usm_ck_kind, int usm_ck_argument,
                                                  int usm_ck_axis, long usm_ck_index, long usm_ck_extent,
                                                  int usm_ck_line, constant char *usm_ck_where)
{
    global long *usm_ck_r = usm_ck->record;
    if (atomic_cmpxchg((volatile global int *)usm_ck_r, 0, 1) != 0) {
        return;
    }
    usm_ck_r[1] = usm_ck_kind;
    usm_ck_r[2] = usm_ck_argument;
    usm_ck_r[3] = usm_ck_axis;
    usm_ck_r[4] = usm_ck_index;
    usm_ck_r[5] = usm_ck_extent;
    usm_ck_r[6] = usm_ck_line;
    for (int usm_ck_d = 0; usm_ck_d < 3; usm_ck_d++) {
        usm_ck_r[7 + usm_ck_d] = usm_ck->item[usm_ck_d];
    }
    for (int usm_ck_k = 0; usm_ck_k < 255 && usm_ck_where[usm_ck_k]; usm_ck_k++) {
        ((global char *)(usm_ck_r + 10))[usm_ck_k] = usm_ck_where[usm_ck_k];
    }
}
static inline bool usm_ck_holds(ulong usm_ck_lo, ulong usm_ck_hi, ulong usm_ck_p, ulong usm_ck_size)
{
    return usm_ck_lo <= usm_ck_p && usm_ck_p <= usm_ck_hi && usm_ck_size <= usm_ck_hi - usm_ck_p;
}
/* Whether element i from the pointer at p, of that size, is within [lo, hi). hi < lo: within any argument;
   from 0 to the largest number: unknown memory, which is not checked. Arguments are searched on failure. */
__attribute__((noinline)) static int usm_ck_at(struct usm_ck *usm_ck, ulong usm_ck_lo, ulong usm_ck_hi,
                                               ulong usm_ck_p, ulong usm_ck_size, long usm_ck_i,
                                               int usm_ck_line, constant char *usm_ck_where)
{
    const long usm_ck_most = 1l << 40;
    bool usm_ck_near = -usm_ck_most < usm_ck_i && usm_ck_i < usm_ck_most;
    ulong usm_ck_from = usm_ck_p + (usm_ck_near ? usm_ck_i : 0) * (long)usm_ck_size;
    if ((usm_ck_lo == 0 && usm_ck_hi == ~0ul) ||
        (usm_ck_near && usm_ck_holds(usm_ck_lo, usm_ck_hi, usm_ck_from, usm_ck_size))) {
        return 1;
    }
    int usm_ck_argument = -1;
    for (int usm_ck_k = usm_ck->n - 1; usm_ck_k >= 0; usm_ck_k--) {
        ulong usm_ck_first = usm_ck->arguments[2 * usm_ck_k];
        ulong usm_ck_last = usm_ck->arguments[2 * usm_ck_k + 1];
        if (usm_ck_hi < usm_ck_lo && usm_ck_near &&
            usm_ck_holds(usm_ck_first, usm_ck_last, usm_ck_from, usm_ck_size)) {
            return 1;
        }
        if (usm_ck_first == usm_ck_lo && usm_ck_last == usm_ck_hi) {
            usm_ck_argument = usm_ck_k;
        }
    }
    if (usm_ck_hi < usm_ck_lo) {
        usm_ck_fail(usm_ck, 1, -2, 0, usm_ck_i, -1, usm_ck_line, usm_ck_where);
        return 0;
    }
    long usm_ck_before = (long)(usm_ck_p - usm_ck_lo), usm_ck_bytes = (long)usm_ck_size;
    usm_ck_before = (usm_ck_before - (usm_ck_before < 0 ? usm_ck_bytes - 1 : 0)) / usm_ck_bytes;
    usm_ck_fail(usm_ck, 1, usm_ck_argument, 0, usm_ck_before + usm_ck_i,
                (long)((usm_ck_hi - usm_ck_lo) / usm_ck_size), usm_ck_line, usm_ck_where);
    return 0;
}
/* Whether i is an index of an array of n elements. */
static inline int usm_ck_in(struct usm_ck *usm_ck, long usm_ck_i, ulong usm_ck_n, int usm_ck_axis,
                            int usm_ck_line, constant char *usm_ck_where)
{
    if ((ulong)usm_ck_i < usm_ck_n) {
        return 1;
    }
    usm_ck_fail(usm_ck, 1, -1, usm_ck_axis, usm_ck_i, (long)usm_ck_n, usm_ck_line, usm_ck_where);
    return 0;
}
static inline ulong usm_ck_either(ulong usm_ck_p, ulong usm_ck_lo, ulong usm_ck_hi, ulong usm_ck_this,
                                  ulong usm_ck_other)
{
    return usm_ck_lo <= usm_ck_p && usm_ck_p < usm_ck_hi ? usm_ck_this : usm_ck_other;
}
