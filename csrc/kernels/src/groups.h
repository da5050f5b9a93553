/* One group of a scan (kernels/abi/scan.h), n elements that are `step` apart: included once for each type. */
static inline T S(join)(T x, T y, long op)
{
    return op == USM_SUM ? USM_SUM_OF(x, y) : USM_PRODUCT_OF(x, y);
}

static inline T S(total)(global const T *x, long n, long step, long op)
{
    T total = x[0];
    for (long k = 1; k < n; k++) {
        total = S(join)(total, x[k * step], op);
    }
    return total;
}

static inline void S(scan_group)(global T *to, global const T *x, T before, long n, long step, long op,
                                 long exclusive)
{
    T sum = op == USM_SUM ? USM_ZERO : USM_UNIT;
    for (long k = 0; k < n; k++) {
        T next = S(join)(sum, x[k * step], op);
        to[k * step] = S(join)(before, exclusive ? sum : next, op);
        sum = next;
    }
}
