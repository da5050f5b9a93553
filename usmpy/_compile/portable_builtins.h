// The built-in functions of the portable language on the host, in GNU C. portable_builtins.py puts the parts
// together, which begin with a line of their names. Arguments are evaluated once, and appear once in what a
// macro becomes, so that nesting stays small.
//
// A part without a # is a table. It has lines "name: value" or "type name: value", which blanks continue. There,
// x, y and z are the arguments, T is their type, and functions are those of T. Other letters are variables; all
// letters get names that no program has. Names in capitals stand for their values.
// --- core
#undef linux
#undef unix
#undef i386
#define usm_inff() __builtin_inff()
#define usm_inf() __builtin_inf()
#define usm_nanf() __builtin_nanf("")
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Bool bool;
#ifdef __FLT16_MAX__
typedef _Float16 half;
#define USM_HALF(x) _Float16 : (x),
#define USM_IS_HALF(x) USM_IS(x, _Float16)
#else
#define USM_HALF(x)
#define USM_IS_HALF(x) 0
#endif
#define USM_IS_DOUBLE(x) USM_IS(x, double)
struct usm_item {
    size_t g0, g1, g2, l0, l1, l2, w0, w1, w2, gn0, gn1, gn2, ln0, ln1, ln2;
    struct usm_fibers *fibers;
};
#define USM_REAL(x) __typeof__(_Generic((x), float : 0.0f, USM_HALF((_Float16)0) default : 0.0))
#define USM_UNSIGNED(x) __typeof__(_Generic((x), char : (uchar)0, uchar : (uchar)0, short : (ushort)0, \
    ushort : (ushort)0, int : 0u, uint : 0u, default : 0ul))
#define USM_WIDE(x) __typeof__(_Generic((x), uint : 0ul, long : (__int128)0, ulong : (unsigned __int128)0, \
    default : 0l))
#define USM_BITS(x) ((int)(8 * sizeof(x)))
#define USM_SHIFT(x, sign, n) ((x) sign ((n) & (USM_BITS(+(x)) - 1)))
#define USM_SHIFT_ONCE(x, sign, n) ({ __auto_type usm_s = +(x); usm_s sign ((n) & (USM_BITS(usm_s) - 1)); })
#define USM_SIGNED(type) ((type)-1 < (type)1)
#define USM_MOST(type) ((type)(USM_SIGNED(type) ? ((~0ull >> 1) >> (64 - 8 * sizeof(type))) : ~0ull))
#define USM_LEAST(type) ((type)(USM_SIGNED(type) ? ((~0ull << 63) >> 0) >> (64 - 8 * sizeof(type)) : 0))
// --- bounds
#define USM_ABOVE(x, type) _Generic((x), float : (x) >= 2.0f * (float)(USM_MOST(type) / 2 + 1), \
    double : (x) >= 2.0 * (double)(USM_MOST(type) / 2 + 1), \
    ulong : (ulong)(x) > (ulong)USM_MOST(type), \
    default : (x) > 0 && (ulong)(x) > (ulong)USM_MOST(type))
#define USM_BELOW(x, type) _Generic((x), float : (x) < (float)USM_LEAST(type), \
    double : (x) < (double)USM_LEAST(type), \
    ulong : 0, default : (x) < 0 && (!USM_SIGNED(type) || (long)(x) < (long)USM_LEAST(type)))
// --- places
#define get_global_id(d) usm_pick((d), usm_item.g0, usm_item.g1, usm_item.g2, 0)
#define get_local_id(d) usm_pick((d), usm_item.l0, usm_item.l1, usm_item.l2, 0)
#define get_group_id(d) usm_pick((d), usm_item.w0, usm_item.w1, usm_item.w2, 0)
#define get_global_size(d) usm_pick((d), usm_item.gn0, usm_item.gn1, usm_item.gn2, 1)
#define get_local_size(d) usm_pick((d), usm_item.ln0, usm_item.ln1, usm_item.ln2, 1)
#define get_enqueued_local_size(d) usm_pick((d), usm_item.ln0, usm_item.ln1, usm_item.ln2, 1)
#define get_num_groups(d) usm_pick((d), usm_groups(usm_item.gn0, usm_item.ln0), \
    usm_groups(usm_item.gn1, usm_item.ln1), usm_groups(usm_item.gn2, usm_item.ln2), 1)
#define get_work_dim() (usm_item.gn2 > 1 ? 3u : usm_item.gn1 > 1 ? 2u : 1u)
#define get_global_linear_id() ((usm_item.g2 * usm_item.gn1 + usm_item.g1) * usm_item.gn0 + usm_item.g0)
#define get_local_linear_id() ((usm_item.l2 * usm_item.ln1 + usm_item.l1) * usm_item.ln0 + usm_item.l0)
#define barrier(...) usm_barrier(usm_item.fibers)
#define work_group_barrier(...) usm_barrier(usm_item.fibers)
#define usm_ck_wait(flags, line) usm_barrier_at(usm_item.fibers, (line))
// --- pick
static inline size_t usm_pick(uint usm_d, size_t usm_a, size_t usm_b, size_t usm_c, size_t usm_other)
{
    return usm_d == 0 ? usm_a : usm_d == 1 ? usm_b : usm_d == 2 ? usm_c : usm_other;
}
static inline size_t usm_groups(size_t usm_g, size_t usm_l)
{
    return (usm_g + usm_l - 1) / usm_l;
}
// --- others
#define get_global_offset(d) usm_pick((d), 0, 0, 0, 0)
#define mem_fence(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define read_mem_fence(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define write_mem_fence(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define atomic_work_item_fence(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define prefetch(p, n) ((void)(p), (void)(n))
#define printf(...) __builtin_printf(__VA_ARGS__)
#define vload_half(i, p) ((float)(p)[i])
#define vstore_half(x, i, p) ((void)((p)[i] = (_Float16)(x)))
#define vstore_half_rte(x, i, p) ((void)((p)[i] = (_Float16)(x)))
// --- formulas
rsqrt: 1 / sqrt(x)
mad: x * y + z
mix: x + (y - x) * z
dot: x * y
step: y < x ? (T)0 : (T)1
sign: x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0
degrees: x * (T)57.295779513082320876798
radians: x * (T)0.017453292519943295769
acospi: acos(x) * (T)0.318309886183790671538
asinpi: asin(x) * (T)0.318309886183790671538
atanpi: atan(x) * (T)0.318309886183790671538
atan2pi: atan2(x, y) * (T)0.318309886183790671538
length: fabs(x)
distance: fabs(x - y)
normalize: x > 0 ? (T)1 : x < 0 ? (T)-1 : x
fast_length: fabs(x)
fast_distance: fabs(x - y)
fast_normalize: x > 0 ? (T)1 : x < 0 ? (T)-1 : x
maxmag: fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : x >= y || y != y ? x : y
minmag: fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : x <= y || y != y ? x : y
// NaN where y * log(x) is.
powr: x >= 0 && (y ? y - y == 0 || (x != 1 && y == y) : x > 0 && x - x == 0) ? pow(x, y) : 0 / (T)0
// --- tests
isnan: x != x
isfinite: x - x == 0
isinf: x == x && x - x != 0
isequal: x == y
isnotequal: x != y
isgreater: x > y
isgreaterequal: x >= y
isless: x < y
islessequal: x <= y
islessgreater: x < y || x > y
isordered: x == x && y == y
isunordered: x != x || y != y
// --- functions
int isnormal: __builtin_isnormal(x)
int ilogb: x != x ? 2147483647 : ilogb(x)
int signbit: __builtin_signbit(x) != 0
// Not those of libm, which are calls if NaN must be handled. The comparisons are quiet: GCC 14 does not
// vectorise a loop with one that may trap if a bound is constant.
fmax: __builtin_isgreaterequal(x, y) || y != y ? x : y
fmin: __builtin_islessequal(x, y) || y != y ? x : y
smoothstep: ({ T r = (z - x) / (y - x); r = __builtin_isless(r, (T)0) ? (T)0 :
    __builtin_isgreater(r, (T)1) ? (T)1 : r; r * r * (3 - 2 * r); })
// By the nearest multiple of a half, which is exact to take away. Large numbers are even. f: not half.
TURN: typedef __typeof__((T)0 + 0.0f) f; f w = fabs(x) < (f)0x1p60 ? x : x * 0, q = rint(w + w);
    f r = (w - q / 2) * (f)3.141592653589793238463; int k = (int)(q - 4 * floor(q / 4));
    f s = sin(r), c = cos(r);
sinpi: ({ TURN r == 0 && !(k & 1) ? copysign((T)0, x) : (k & 1 ? c : s) * (k & 2 ? -1 : 1); })
cospi: ({ TURN (k & 1 ? s : c) * (k == 1 || k == 2 ? -1 : 1) + (T)0; })
tanpi: ({ TURN r != 0 ? (k & 1 ? -c / s : s / c) : k & 1 ? (T)(2 - k) / 0 : copysign((T)0, k ? -x : x); })
// With the sign of x if n is odd, which may be an even float.
pown: ({ T p = pow(fabs(x), y); y & 1 ? copysign(p, x) : p; })
rootn: ({ T p = y ? pow(fabs(x), 1 / ((T)0 + 0.0f + y)) : 0 / (T)0;
    y & 1 ? copysign(p, x) : x < 0 ? 0 / (T)0 : p; })
ldexp: ldexp(x, y)
frexp: frexp(x, y)
modf: ({ T i = trunc(x); *y = i; T f = x - i == x - i ? x - i : x != x ? x : (T)0; copysign(f, x); })
fract: ({ T i = floor(x); *y = i; T f = x - i, m = (T)(sizeof(T) == 8 ? 0x1.fffffffffffffp-1 :
    sizeof(T) == 4 ? 0x1.fffffep-1 : 0x1.ffcp-1); x != x ? x : x - x != 0 ? (T)0 : f < m ? f : m; })
sincos: ({ *y = cos(x); sin(x); })
lgamma_r: _Generic(x, float : __builtin_lgammaf_r, USM_HALF(__builtin_lgammaf_r)
    default : __builtin_lgamma_r)(x, y)
remquo: remquo(x, y, z)
nextafter: _Generic(x, USM_HALF(NEXT_HALF) default : nextafter(x, y))
NANS: __typeof__(_Generic(x, ulong : 0.0, default : 0.0f))
NANS nan: ({ union { T i; NANS f; } u = { .f = __builtin_nanf("") }; u.i |= x; u.f; })
int any: x < 0
int all: x < 0
LESS: _Generic(x + y, float : __builtin_isless((float)x, (float)y),
    double : __builtin_isless((double)x, (double)y), default : x < y)
max: LESS ? y : x
min: _Generic(y + x, float : __builtin_isless((float)y, (float)x),
    double : __builtin_isless((double)y, (double)x), default : y < x) ? y : x
clamp: ({ T r = LESS ? y : x; _Generic(z + r, float : __builtin_isless((float)z, (float)r),
    double : __builtin_isless((double)z, (double)r), default : z < r) ? z : r; })
select: z ? y : x
bitselect: ({ union u { T v; __typeof__(_Generic(x, float : 0u, double : 0ul, USM_HALF((ushort)0)
    default : x)) i; } a = { x }, b = { y }, c = { z }; a.i = (a.i & ~c.i) | (b.i & c.i); a.v; })
WIDER: char : (short)0, uchar : (ushort)0, short : 0, ushort : 0u, int : 0l, default : 0ul
__typeof__(_Generic(x, WIDER)) upsample: ((ulong)x << USM_BITS(x)) | y
// --- integers
// u: the unsigned type.
USM_UNSIGNED(x) abs: x < 0 ? -(u)x : (u)x
USM_UNSIGNED(x) abs_diff: x < y ? -((u)x - (u)y) : (u)x - (u)y
NEAREST: x < 0 ? USM_LEAST(T) : USM_MOST(T)
add_sat: T r; __builtin_add_overflow(x, y, &r) ? (NEAREST) : r
sub_sat: T r; __builtin_sub_overflow(x, y, &r) ? (USM_SIGNED(T) ? (NEAREST) : (T)0) : r
hadd: (x & y) + ((x ^ y) >> 1)
rhadd: (x | y) - ((x ^ y) >> 1)
HIGH: (T)(((USM_WIDE(x))x * (USM_WIDE(x))y) >> USM_BITS(T))
mul_hi: HIGH
mad_hi: (u)HIGH + (u)z
mad_sat: T r; USM_WIDE(x) w; int o = __builtin_mul_overflow((USM_WIDE(x))x, (USM_WIDE(x))y, &w);
    o |= __builtin_add_overflow(w, z, &w); r = (T)w;
    o || r != w ? (w < 0 ? USM_LEAST(T) : USM_MOST(T)) : r
rotate: (u)((u)x << (y & (USM_BITS(T) - 1))) | (u)x >> (-y & (USM_BITS(T) - 1))
clz: (x ? __builtin_clzl((ulong)(u)x) - (64 - USM_BITS(T)) : USM_BITS(T))
ctz: x ? __builtin_ctzl((ulong)(u)x) : USM_BITS(T)
popcount: __builtin_popcountl((ulong)(u)x)
mul24: x * y
mad24: x * y + z
// --- conversions
// The + of the second one refuses pointers. Bounds of the last one are powers of two, or one less, which becomes
// the power where the type cannot hold it.
#define as_$type(x) ({ __auto_type usm_x = (x); $c usm_y; \
    _Static_assert(sizeof usm_x == sizeof usm_y, "as_$type: the argument has another size"); \
    _Static_assert(!__builtin_types_compatible_p(__typeof__(usm_x), bool), "$no_bool"); \
    __builtin_memcpy(&usm_y, &usm_x, sizeof usm_y); usm_y; })
#define convert_$type$mode(x) (($c)+(x))
#define convert_$type$mode(x) ({ __auto_type usm_x = (x); ($c)_Generic(usm_x, \
    float : __builtin_${round}f((float)usm_x), double : __builtin_$round((double)usm_x), \
    USM_HALF(__builtin_${round}f((float)usm_x)) default : usm_x); })
#define convert_${type}_sat$mode(x) ({ __auto_type usm_x = (x); typedef $c usm_t; \
    __auto_type usm_y = _Generic(usm_x, float : __builtin_${round}f((float)usm_x), \
    double : __builtin_$round((double)usm_x), \
    USM_HALF(__builtin_${round}f((float)usm_x)) default : usm_x); \
    (usm_t)(usm_y != usm_y ? (usm_t)0 : USM_ABOVE(usm_y, usm_t) ? USM_MOST(usm_t) : \
    USM_BELOW(usm_y, usm_t) ? USM_LEAST(usm_t) : (usm_t)usm_y); })
// --- atomics
typedef int atomic_int, atomic_flag;
typedef uint atomic_uint;
typedef long atomic_long;
typedef ulong atomic_ulong;
typedef float atomic_float;
typedef double atomic_double;
typedef size_t atomic_size_t;
typedef ptrdiff_t atomic_ptrdiff_t;
typedef intptr_t atomic_intptr_t;
typedef uintptr_t atomic_uintptr_t;
typedef enum {
    memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;
typedef enum {
    memory_scope_work_item, memory_scope_sub_group, memory_scope_work_group, memory_scope_device,
    memory_scope_all_svm_devices, memory_scope_all_devices
} memory_scope;
/* The type without volatile, also of floats. */
#define USM_PLAIN(p) __typeof__(_Generic(*(p), int : 0, uint : 0u, long : 0l, ulong : 0ul, \
    float : 0.0f, double : 0.0))
#define USM_LOAD(p) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_old; \
    __atomic_load(usm_p, &usm_old, __ATOMIC_SEQ_CST); usm_old; })
#define USM_EXCHANGE(p, v) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_v = (v), usm_old; \
    __atomic_exchange(usm_p, &usm_v, &usm_old, __ATOMIC_SEQ_CST); usm_old; })
#define USM_FETCH(p, v, value) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_v = (v), usm_old, usm_new; \
    __atomic_load(usm_p, &usm_old, __ATOMIC_RELAXED); \
    do { usm_new = (value); } while (!__atomic_compare_exchange(usm_p, &usm_old, &usm_new, 0, \
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); usm_old; })
// --- atomics of OpenCL 1
// All are sequentially consistent, whatever order is asked for.
add: __atomic_fetch_add(x, y, __ATOMIC_SEQ_CST)
sub: __atomic_fetch_sub(x, y, __ATOMIC_SEQ_CST)
and: __atomic_fetch_and(x, y, __ATOMIC_SEQ_CST)
or: __atomic_fetch_or(x, y, __ATOMIC_SEQ_CST)
xor: __atomic_fetch_xor(x, y, __ATOMIC_SEQ_CST)
inc: __atomic_fetch_add(x, 1, __ATOMIC_SEQ_CST)
dec: __atomic_fetch_sub(x, 1, __ATOMIC_SEQ_CST)
xchg: USM_EXCHANGE(x, y)
min: USM_FETCH(x, y, v < usm_old ? v : usm_old)
max: USM_FETCH(x, y, usm_old < v ? v : usm_old)
cmpxchg: ({ __atomic_compare_exchange_n(x, &y, z, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); y; })
// --- atomics of OpenCL 2
void init: (*x = y)
load: USM_LOAD(x)
void store: USM_EXCHANGE(x, y)
exchange: USM_EXCHANGE(x, y)
bool flag_test_and_set: __atomic_exchange_n(x, 1, __ATOMIC_SEQ_CST)
void flag_clear: __atomic_store_n(x, 0, __ATOMIC_SEQ_CST)
bool compare_exchange_strong: __atomic_compare_exchange(x, y, &z, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
bool compare_exchange_weak: __atomic_compare_exchange(x, y, &z, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
fetch_add: USM_FETCH(x, y, usm_old + v)
fetch_sub: USM_FETCH(x, y, usm_old - v)
fetch_or: __atomic_fetch_or(x, y, __ATOMIC_SEQ_CST)
fetch_xor: __atomic_fetch_xor(x, y, __ATOMIC_SEQ_CST)
fetch_and: __atomic_fetch_and(x, y, __ATOMIC_SEQ_CST)
fetch_min: USM_FETCH(x, y, v < usm_old ? v : usm_old)
fetch_max: USM_FETCH(x, y, usm_old < v ? v : usm_old)
