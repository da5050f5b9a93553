// What stands in front of portable programs for drivers; portable_front.py puts the parts together, which begin
// with a line of their names, and makes the rest from tables.
//
// "same" is of the host, too. USM_ONE: the type of x if all have it; else that of the sum, as for bool, which is
// int. "fence" is for atomics of OpenCL C 2 by those of OpenCL C 1, which all drivers have; the orders are fences
// around them. Intel's mad_sat is wrong for int, uint and long. _Generic of NVIDIA's compiler takes `default` for
// every number.
// --- common
#ifdef cl_khr_fp16
#define USM_HALF(x) half : (x),
#define USM_IS_HALF(x) USM_IS(x, half)
#define USM_HALF_OR(x, other) __builtin_choose_expr(USM_IS((x) + 0, half), x, other)
#else
#define USM_HALF(x)
#define USM_IS_HALF(x) 0
#define USM_HALF_OR(x, other) other
#endif
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#define USM_REAL(x) \
    __typeof__(__builtin_choose_expr(USM_IS((x) + 0, float), 0.0f, USM_HALF_OR(x, (double)0)))
#define USM_IS_DOUBLE(x) USM_IS(x, double)
#else
#define USM_IS_DOUBLE(x) 0
#define USM_REAL(x) __typeof__(USM_HALF_OR(x, 0.0f))
#endif
// --- same
#define USM_SAME(x, y) __builtin_types_compatible_p(__typeof__(x), __typeof__(y))
#define USM_IS(x, type) USM_SAME(((void)0, x), type)
#define USM_ONE(same, x, sum) __typeof__(__builtin_choose_expr((same) > USM_SAME(x, bool), x, sum))
// --- fence
#define USM_ORDER(order, ...) (order)
#if defined(__opencl_c_atomic_order_seq_cst) && defined(__opencl_c_atomic_scope_device) || \
    defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 200 && __OPENCL_C_VERSION__ < 300
__attribute__((overloadable)) void usm_fence(void)
{
    const int all = CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE;
    atomic_work_item_fence(all, memory_order_seq_cst, memory_scope_device);
}
#else
__attribute__((overloadable)) void usm_fence(void) { mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE); }
#endif
// --- nextafter of half
({ union { half usm_f; short usm_i; } usm_a = { (half)usm_x }, usm_b = { (half)usm_y };
    half usm_f = usm_a.usm_f, usm_g = usm_b.usm_f;
    usm_a.usm_i = usm_f != usm_f ? usm_a.usm_i : usm_f == usm_g || usm_g != usm_g ? usm_b.usm_i :
    usm_f == 0 ? usm_b.usm_i & (short)0x8000 | 1 : usm_a.usm_i + ((usm_f < usm_g) == (usm_f > 0) ? 1 : -1);
    usm_a.usm_f; })
// --- mad_sat
_Generic(usm_x, int : convert_int_sat((long)usm_x * usm_y + usm_z),
    uint : convert_uint_sat((ulong)usm_x * usm_y + usm_z), long : ({
    ulong usm_l = (ulong)usm_x * (ulong)usm_y, usm_s = usm_l + (ulong)usm_z;
    long usm_h = mul_hi((long)usm_x, (long)usm_y) + (usm_s < usm_l) - (usm_z < 0);
    usm_h == (long)usm_s >> 63 ? (long)usm_s : usm_h < 0 ? LONG_MIN : LONG_MAX; }),
    default : usm_mad_sat(usm_x, usm_y, usm_z))
