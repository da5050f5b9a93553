// The built-in functions of OpenCL C, in CUDA C++: what stands before a portable program. cuda_prelude.py puts
// the parts together, which begin with a line of their names, and makes the rest from tables.
// --- head
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long ptrdiff_t, intptr_t;
typedef unsigned long uintptr_t;
typedef __int128 usm_int128;
typedef unsigned __int128 usm_uint128;
struct usm_item { size_t n0, n1, n2; };
#define USM_F static inline
#define usm_inff() __int_as_float(0x7f800000)
#define usm_inf() __longlong_as_double(0x7ff0000000000000)
#define usm_nanf() __int_as_float(0x7fc00000)
#define USM_SHIFT(x, sign, n) ((x) sign ((n) & ((int)(8 * sizeof(+(x))) - 1)))
#define USM_SHIFT_ONCE(x, sign, n) \
    [](auto usm_s, auto usm_n) { return usm_s sign (usm_n & ((int)(8 * sizeof(usm_s)) - 1)); }(+(x), n)
#define __auto_type auto
template <class T> using usm_the = T;
template <class T> struct usm_referred { typedef T type; };
template <class T> struct usm_referred<T &> { typedef T type; };
template <class T> using usm_typeof = typename usm_referred<T>::type;
/* Of checked programs. */
#define usm_ck_wait(flags, line) (barrier(flags), 0)
template <class T> T usm_ck_rvalue(T);
// --- facts
template <class T> struct usm_number<const T> : usm_number<T> {};
template <class T> struct usm_number<volatile T> : usm_number<T> {};
template <class T> struct usm_number<const volatile T> : usm_number<T> {};
template <class T> struct usm_is_const { enum : unsigned { value = 0 }; };
template <class T> struct usm_is_const<const T> { enum : unsigned { value = 1 }; };
template <class T> struct usm_type {
    __device__ static constexpr unsigned word(bool) { return 2 | usm_number<T>::code << 16; }
};
template <class T> struct usm_type<T *> {
    __device__ static constexpr unsigned word(bool local)
    {
        return (local ? 3 : 1) | usm_is_const<T>::value << 8 | usm_number<T>::code << 16;
    }
};
template <class T> struct usm_type<T *__restrict__> : usm_type<T *> {};
template <int skip, unsigned long long local, class F> struct usm_list;
template <unsigned long long local, class... A> struct usm_list<0, local, void(A...)> {
    unsigned words[sizeof...(A) + 1];
};
template <int i, unsigned long long local> __device__ constexpr void usm_fill(unsigned *) {}
template <int i, unsigned long long local, class T, class... A>
__device__ constexpr void usm_fill(unsigned *words)
{
    words[i] = usm_type<T>::word(i < 64 && (local >> (i & 63) & 1));
    usm_fill<i + 1, local, A...>(words);
}
template <unsigned long long local, class... A>
__device__ constexpr usm_list<0, local, void(A...)> usm_words(void (*)(A...))
{
    usm_list<0, local, void(A...)> list = {};
    usm_fill<0, local, A...>(list.words);
    return list;
}
template <unsigned long long local, class I, class... A>
__device__ constexpr usm_list<0, local, void(A...)> usm_words_behind(void (*)(I, A...))
{
    usm_list<0, local, void(A...)> list = {};
    usm_fill<0, local, A...>(list.words);
    return list;
}
// --- half
/* Half precision, rounded after each operation. */
struct half {
    ushort usm_bits;
    half() = default;
    explicit constexpr half(ushort bits, int) : usm_bits(bits) {}
    template <class T> half(T x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(usm_bits) : "f"((float)x)); }
    half(double x);
    operator float() const
    {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(usm_bits));
        return x;
    }
    half &operator+=(float y) { return *this = (float)*this + y; }
    half &operator-=(float y) { return *this = (float)*this - y; }
    half &operator*=(float y) { return *this = (float)*this * y; }
    half &operator/=(float y) { return *this = (float)*this / y; }
    half &operator++() { return *this = (float)*this + 1; }
    half &operator--() { return *this = (float)*this - 1; }
};
/* By way of a float whose last bit remembers what was cut off. */
inline half::half(double x)
{
    float near = (float)x;
    uint bits = __float_as_uint(near);
    if ((double)near != x && x == x && (bits & 0x7fffffff) != 0x7f800000) {
        bits = (((double)near > x) == (x > 0) ? bits - 1 : bits) | 1;
    }
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(usm_bits) : "f"(__uint_as_float(bits)));
}
template <class T> struct usm_to_float { typedef T type; };
template <> struct usm_to_float<half> { typedef float type; };
/* With integers it stays half, with wider numbers it becomes one of these. */
#define USM_HALF_WITH(op, other, result) \
    USM_F result operator op(half x, other y) { return (float)x op (usm_to_float<result>::type)y; } \
    USM_F result operator op(other x, half y) { return (usm_to_float<result>::type)x op (float)y; }
#define USM_HALF_OPERATOR(op) \
    USM_F half operator op(half x, half y) { return (float)x op (float)y; } \
    USM_HALF_WITH(op, int, half) \
    USM_HALF_WITH(op, uint, half) \
    USM_HALF_WITH(op, long, half) \
    USM_HALF_WITH(op, ulong, half) \
    USM_HALF_WITH(op, float, float) \
    USM_HALF_WITH(op, double, double)
USM_HALF_OPERATOR(+)
USM_HALF_OPERATOR(-)
USM_HALF_OPERATOR(*)
USM_HALF_OPERATOR(/)
USM_F half operator-(half x) { return half((ushort)(x.usm_bits ^ 0x8000), 0); }
USM_F half operator+(half x) { return x; }
template <> struct usm_number<half> { enum : unsigned { code = 10 }; };
// --- traits
template <bool b, class A, class B> struct usm_choose { typedef A type; };
template <class A, class B> struct usm_choose<false, A, B> { typedef B type; };
template <class A, class B> struct usm_is_same { enum : bool { value = false }; };
template <class A> struct usm_is_same<A, A> { enum : bool { value = true }; };
template <class T, class... A> constexpr bool usm_is_any = (usm_is_same<T, A>::value || ...);
template <class T> struct usm_is_real { enum : bool { value = false }; };
template <> struct usm_is_real<float> { enum : bool { value = true }; };
template <> struct usm_is_real<double> { enum : bool { value = true }; };
template <> struct usm_is_real<half> { enum : bool { value = true }; };
template <class T> struct usm_to_real { typedef double type; };
template <> struct usm_to_real<float> { typedef float type; };
template <> struct usm_to_real<half> { typedef half type; };
template <class A, class B> struct usm_pair_of { typedef decltype(true ? A() : B()) type; };
template <class B> struct usm_pair_of<half, B> { typedef half type; };
template <class A> struct usm_pair_of<A, half> { typedef half type; };
template <> struct usm_pair_of<bool, bool> { typedef int type; };
template <> struct usm_pair_of<half, half> { typedef half type; };
template <> struct usm_pair_of<half, float> { typedef float type; };
template <> struct usm_pair_of<float, half> { typedef float type; };
template <> struct usm_pair_of<half, double> { typedef double type; };
template <> struct usm_pair_of<double, half> { typedef double type; };
/* In C, enumerators are integers. */
template <class A, bool = __is_enum(A)> struct usm_plain_of { typedef A type; };
template <class A> struct usm_plain_of<A, true> { typedef decltype(+A()) type; };
template <class A> using usm_plain = typename usm_plain_of<A>::type;
template <class A, class B = A, class C = A> struct usm_common {
    typedef typename usm_pair_of<typename usm_pair_of<usm_plain<A>, usm_plain<B>>::type, usm_plain<C>>::type type;
};
template <class A, class B = A, class C = A> using usm_real =
    typename usm_to_real<typename usm_common<A, B, C>::type>::type;
template <int bytes> struct usm_sized;
template <> struct usm_sized<1> { typedef uchar bits; };
template <> struct usm_sized<2> { typedef ushort bits; };
template <> struct usm_sized<4> { typedef uint bits; };
template <> struct usm_sized<8> { typedef ulong bits; };
template <class T> using usm_bits_of = typename usm_sized<sizeof(T)>::bits;
template <class T, class S, class U> using usm_by_sign = typename usm_choose<((T)-1 < (T)1), S, U>::type;
template <class T> using usm_wide = typename usm_choose<sizeof(T) == 8,
    usm_by_sign<T, usm_int128, usm_uint128>,
    typename usm_choose<sizeof(T) == 4, usm_by_sign<T, long, ulong>, long>::type>::type;
template <class T> USM_F T usm_smooth(T r)
{
    r = r < 0 ? 0 : r > 1 ? 1 : r;
    return r * r * (3 - 2 * r);
}
template <class T> constexpr bool usm_signed() { return (T)-1 < (T)1; }
template <class T> constexpr T usm_most()
{
    return (T)(usm_signed<T>() ? (~0ul >> 1) >> (64 - 8 * sizeof(T)) : ~0ul >> (64 - 8 * sizeof(T)));
}
template <class T> constexpr T usm_least() { return usm_signed<T>() ? (T)(-usm_most<T>() - 1) : (T)0; }
USM_F double usm_nextafter(double x, double y) { return nextafter(x, y); }
USM_F float usm_nextafter(float x, float y) { return nextafterf(x, y); }
USM_F half usm_nextafter(half x, half y)
{
    float f = x, g = y;
    if (f != f || g != g || f == g) {
        return f != f ? x : y;
    }
    return half((ushort)(f == 0 ? (y.usm_bits & 0x8000) | 1 : x.usm_bits + ((f < g) == (f > 0) ? 1 : -1)), 0);
}
// --- places
#define USM_PLACE(name, place, other) \
    USM_F size_t name(uint d) \
    { \
        return d == 0 ? place.x : d == 1 ? place.y : d == 2 ? place.z : other; \
    }
USM_PLACE(get_local_id, threadIdx, 0)
USM_PLACE(get_local_size, blockDim, 1)
USM_F size_t get_enqueued_local_size(uint d) { return get_local_size(d); }
USM_PLACE(get_group_id, blockIdx, 0)
USM_PLACE(get_num_groups, gridDim, 1)
USM_F size_t get_global_id(uint d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
USM_F size_t get_global_offset(uint) { return 0; }
USM_F size_t get_local_linear_id()
{
    return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
USM_F size_t usm_global_size(const usm_item &item, uint d)
{
    return d == 0 ? item.n0 : d == 1 ? item.n1 : d == 2 ? item.n2 : 1;
}
USM_F size_t usm_global_linear_id(const usm_item &item)
{
    return (get_global_id(2) * item.n1 + get_global_id(1)) * item.n0 + get_global_id(0);
}
USM_F uint usm_work_dim(const usm_item &item) { return item.n2 > 1 ? 3 : item.n1 > 1 ? 2 : 1; }
#define get_global_size(d) usm_global_size(usm_item, d)
#define get_global_linear_id() usm_global_linear_id(usm_item)
#define get_work_dim() usm_work_dim(usm_item)
USM_F void barrier(int) { __syncthreads(); }
USM_F void barrier(int, int) { __syncthreads(); }
USM_F void work_group_barrier(int) { __syncthreads(); }
USM_F void work_group_barrier(int, int) { __syncthreads(); }
USM_F void mem_fence(int) { __threadfence(); }
USM_F void read_mem_fence(int) { __threadfence(); }
USM_F void write_mem_fence(int) { __threadfence(); }
USM_F void atomic_work_item_fence(int, int, int) { __threadfence(); }
template <class T> USM_F void prefetch(const T *, size_t) {}
struct usm_local_pointer {
    char *at;
    template <class T> operator T *() const { return (T *)at; }
};
// --- mixed
/* The last argument is an integer, or a pointer. usm_w: at least a float. */
#define USM_INTEGER(name, type) \
    static_assert(!usm_is_real<type>::value, #name ": the last argument is an integer; write (int)(n)")
#define USM_WITH_INTEGER(name, how) \
    template <class A, class N> USM_F usm_real<A> name(A a, N m) \
    { \
        USM_INTEGER(name, N); \
        typedef usm_real<usm_real<A>, float> usm_w; \
        usm_w x = (usm_real<A>)a; \
        int n = (int)(m | 0); \
        return how; \
    }
template <class T> USM_F T usm_odd(T x, int n, T power, T even) { return n & 1 ? copysign(power, x) : even; }
USM_WITH_INTEGER(pown, usm_odd(x, n, pow(fabs(x), (usm_w)n), pow(fabs(x), (usm_w)n)))
USM_WITH_INTEGER(rootn, n ? usm_odd(x, n, pow(fabs(x), 1 / (usm_w)n), pow(x, 1 / (usm_w)n)) : 0 / (usm_w)0)
USM_WITH_INTEGER(ldexp, ::ldexp(x, n))
#define USM_WITH_POINTER(name, to, word) \
    template <class A, class P> USM_F usm_real<A> name(A a, P *p) \
    { \
        typedef usm_real<A> T; \
        static_assert(usm_is_same<P, to>::value, #name ": the last argument is a pointer to " word); \
        return usm_##name((T)a, p); \
    }
template <class T> USM_F T usm_frexp(T x, int *p) { return sizeof x == 8 ? ::frexp(x, p) : ::frexpf(x, p); }
template <class T> USM_F T usm_modf(T x, T *p)
{
    T whole = trunc(x), rest = x - whole == x - whole ? x - whole : x != x ? x : (T)0;
    *p = whole;
    return copysign(rest, x);
}
template <class T> USM_F T usm_fract(T x, T *p)
{
    T whole = floor(x), rest = x - whole;
    T most = sizeof(T) == 8 ? (T)0x1.fffffffffffffp-1 : sizeof(T) == 4 ? (T)0x1.fffffep-1 : (T)0x1.ffcp-1;
    *p = whole;
    return x != x ? x : x - x != 0 ? (T)0 : rest < most ? rest : most;
}
template <class T> USM_F T usm_sincos(T x, T *p)
{
    *p = cos(x);
    return sin(x);
}
template <class T> USM_F T usm_lgamma_r(T x, int *sign)
{
    T low = floor(x);
    *sign = x < 0 && low != x && fmod(low, (T)2) != 0 ? -1 : 1;
    return lgamma(x);
}
USM_WITH_POINTER(frexp, int, "int")
USM_WITH_POINTER(lgamma_r, int, "int")
USM_WITH_POINTER(modf, T, "the type of the first one")
USM_WITH_POINTER(fract, T, "the type of the first one")
USM_WITH_POINTER(sincos, T, "the type of the first one")
template <class A, class B, class P> USM_F usm_real<A, B> remquo(A a, B b, P *p)
{
    static_assert(usm_is_same<P, int>::value, "remquo: the last argument is a pointer to int");
    usm_real<usm_real<A, B>, float> x = (usm_real<A, B>)a, y = (usm_real<A, B>)b;
    return sizeof x == 8 ? ::remquo(x, y, p) : ::remquof(x, y, p);
}
USM_F float usm_nan(uint bits) { return __uint_as_float(bits | 0x7fc00000); }
USM_F double usm_nan(ulong bits) { return __longlong_as_double(bits | 0x7ff8000000000000); }
// --- integers
template <class T> USM_F int usm_any(T x) { return x < 0; }
template <class T> USM_F int usm_all(T x) { return x < 0; }
template <class T> USM_F T usm_max(T x, T y) { return x < y ? y : x; }
template <class T> USM_F T usm_min(T x, T y) { return y < x ? y : x; }
template <class A, class B> USM_F typename usm_common<A, B>::type max(A x, B y)
{
    return usm_max<typename usm_common<A, B>::type>(x, y);
}
template <class A, class B> USM_F typename usm_common<A, B>::type min(A x, B y)
{
    return usm_min<typename usm_common<A, B>::type>(x, y);
}
template <class A, class B, class C> USM_F typename usm_common<A, B, C>::type clamp(A x, B y, C z)
{
    typedef typename usm_common<A, B, C>::type T;
    return usm_min<T>(usm_max<T>(x, y), z);
}
template <class A, class B, class C> USM_F typename usm_common<A>::type select(A x, B y, C z)
{
    static_assert(usm_is_same<usm_plain<A>, usm_plain<B>>::value, "select: the first two arguments have one type; write a cast");
    USM_INTEGER(select, C);
    return (z | 0) ? y : x;
}
template <class T> USM_F T usm_from_bits(usm_bits_of<T> bits)
{
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
template <class T> USM_F usm_bits_of<T> usm_to_bits(T x)
{
    usm_bits_of<T> bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
}
template <class T> USM_F T usm_bitselect(T x, T y, T z)
{
    usm_bits_of<T> a = usm_to_bits(x), b = usm_to_bits(y), c = usm_to_bits(z);
    return usm_from_bits<T>((a & ~c) | (b & c));
}
template <class T> USM_F usm_bits_of<T> usm_abs(T x)
{
    typedef usm_bits_of<T> U;
    return x < 0 ? (U)(0 - (U)x) : (U)x;
}
template <class T> USM_F usm_bits_of<T> usm_abs_diff(T x, T y)
{
    typedef usm_bits_of<T> U;
    return x < y ? (U)((U)y - (U)x) : (U)((U)x - (U)y);
}
template <class T> USM_F T usm_clip(usm_int128 x)
{
    usm_int128 most = usm_most<T>(), least = usm_least<T>();
    return x > most ? usm_most<T>() : x < least ? usm_least<T>() : (T)x;
}
template <class T> USM_F T usm_add_sat(T x, T y) { return usm_clip<T>((usm_int128)x + y); }
template <class T> USM_F T usm_sub_sat(T x, T y) { return usm_clip<T>((usm_int128)x - y); }
template <class T> USM_F T usm_hadd(T x, T y) { return (T)((x & y) + ((x ^ y) >> 1)); }
template <class T> USM_F T usm_rhadd(T x, T y) { return (T)((x | y) - ((x ^ y) >> 1)); }
template <class T> USM_F T usm_mul_hi(T x, T y)
{
    return (T)(((usm_wide<T>)x * (usm_wide<T>)y) >> (8 * sizeof(T)));
}
template <class T> USM_F T usm_mad_hi(T x, T y, T z)
{
    return (T)((usm_bits_of<T>)usm_mul_hi(x, y) + (usm_bits_of<T>)z);
}
template <class T> USM_F T usm_mad_sat(T x, T y, T z)
{
    usm_wide<T> product = (usm_wide<T>)x * (usm_wide<T>)y, sum = product + (usm_wide<T>)z;
    if (!usm_signed<T>() && sum < product) {
        return usm_most<T>();
    }
    return sum > (usm_wide<T>)usm_most<T>()                         ? usm_most<T>()
           : usm_signed<T>() && sum < (usm_wide<T>)usm_least<T>() ? usm_least<T>()
                                                                    : (T)sum;
}
template <class A, class B> USM_F typename usm_common<A>::type rotate(A a, B b)
{
    USM_INTEGER(rotate, B);
    typename usm_common<A>::type x = a | 0;
    typedef usm_bits_of<decltype(x)> U;
    int n = (int)(b | 0) & (8 * (int)sizeof x - 1);
    return (decltype(x))(U)((U)((U)x << n) | (U)((U)x >> (-n & (8 * (int)sizeof x - 1))));
}
template <class T> USM_F T usm_clz(T x)
{
    return (T)(__clzll((long long)(ulong)(usm_bits_of<T>)x) - (64 - 8 * (int)sizeof(T)));
}
template <class T> USM_F T usm_ctz(T x)
{
    return (T)(x ? __ffsll((long long)(ulong)(usm_bits_of<T>)x) - 1 : 8 * (int)sizeof(T));
}
template <class T> USM_F T usm_popcount(T x) { return (T)__popcll((ulong)(usm_bits_of<T>)x); }
template <class T> USM_F T usm_mul24(T x, T y) { return x * y; }
template <class T> USM_F T usm_mad24(T x, T y, T z) { return x * y + z; }
#define USM_UPSAMPLE(narrow, low, wide) \
    USM_F wide usm_upsample(narrow x, low y) { return (wide)((ulong)x << 8 * sizeof(narrow) | y); }
USM_UPSAMPLE(char, uchar, short)
USM_UPSAMPLE(uchar, uchar, ushort)
USM_UPSAMPLE(short, ushort, int)
USM_UPSAMPLE(ushort, ushort, uint)
USM_UPSAMPLE(int, uint, long)
USM_UPSAMPLE(uint, uint, ulong)
// --- conversions
enum usm_rounding { usm_rtz, usm_rte, usm_rtp, usm_rtn };
template <usm_rounding mode, class X> USM_F X usm_round(X x)
{
    return mode == usm_rtz ? trunc(x) : mode == usm_rte ? rint(x) : mode == usm_rtp ? ceil(x) : floor(x);
}
template <class T, usm_rounding mode, class X> USM_F T usm_convert(X x)
{
    if constexpr (usm_is_real<X>::value) {
        return (T)usm_round<mode>(x);
    } else {
        return (T)(x | 0);
    }
}
/* Bounds are powers of two, or one less, which becomes the power where the type cannot hold it. */
template <class T, usm_rounding mode, class X> USM_F T usm_convert_sat(X x)
{
    if constexpr (usm_is_real<X>::value) {
        typename usm_pair_of<X, float>::type y = usm_round<mode>(x);
        decltype(y) beyond = (decltype(y))2 * (decltype(y))(usm_most<T>() / 2 + 1);
        decltype(y) least = (decltype(y))usm_least<T>();
        return y != y ? (T)0 : y >= beyond ? usm_most<T>() : y < least ? usm_least<T>() : (T)y;
    } else {
        return usm_clip<T>((usm_int128)(x | 0));
    }
}
// --- atomics
typedef int atomic_int, atomic_flag;
typedef uint atomic_uint;
typedef long atomic_long, atomic_ptrdiff_t, atomic_intptr_t;
typedef ulong atomic_ulong, atomic_size_t, atomic_uintptr_t;
typedef float atomic_float;
typedef double atomic_double;
enum memory_order {
    memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
    memory_order_seq_cst
};
enum memory_scope {
    memory_scope_work_item, memory_scope_sub_group, memory_scope_work_group, memory_scope_device,
    memory_scope_all_svm_devices, memory_scope_all_devices
};
/* As CUDA's functions know them. */
template <int bytes> struct usm_word;
template <> struct usm_word<4> { typedef unsigned int type; };
template <> struct usm_word<8> { typedef unsigned long long type; };
template <class T> using usm_whole =
    typename usm_choose<sizeof(T) == 4, usm_by_sign<T, int, uint>,
    usm_by_sign<T, long long, usm_word<8>::type>>::type;
template <class T> using usm_word_of = typename usm_word<sizeof(T)>::type;
template <class T> USM_F usm_word_of<T> usm_to_word(T x) { return (usm_word_of<T>)usm_to_bits(x); }
template <class T> USM_F T usm_from_word(usm_word_of<T> x) { return usm_from_bits<T>((usm_bits_of<T>)x); }
template <class T> USM_F T usm_xchg(volatile T *p, T v)
{
    return usm_from_word<T>(::atomicExch((usm_word_of<T> *)p, usm_to_word(v)));
}
template <class T> USM_F T usm_cmpxchg(volatile T *p, T c, T v)
{
    return usm_from_word<T>(::atomicCAS((usm_word_of<T> *)p, usm_to_word(c), usm_to_word(v)));
}
template <class T, class F> USM_F T usm_update(volatile T *p, T v, F f)
{
    T old = *p, seen;
    while (usm_to_bits(seen = usm_cmpxchg(p, old, f(old, v))) != usm_to_bits(old)) {
        old = seen;
    }
    return old;
}
#define USM_SUM(name, sign) \
    template <class T> USM_F T usm_##name(volatile T *p, T v) \
    { \
        if constexpr (usm_is_real<T>::value) { \
            return usm_update(p, v, [](T a, T b) { return a sign b; }); \
        } else { \
            return (T)::atomicAdd((usm_word_of<T> *)p, 0 sign (usm_word_of<T>)v); \
        } \
    }
USM_SUM(add, +)
USM_SUM(sub, -)
template <class T> USM_F T usm_inc(volatile T *p) { return usm_add(p, (T)1); }
template <class T> USM_F T usm_dec(volatile T *p) { return usm_sub(p, (T)1); }
#define USM_BITWISE(name, function) \
    template <class T> USM_F T usm_##name(volatile T *p, T v) \
    { \
        return (T)::function((usm_word_of<T> *)p, (usm_word_of<T>)v); \
    }
USM_BITWISE(and, atomicAnd)
USM_BITWISE(or, atomicOr)
USM_BITWISE(xor, atomicXor)
#define USM_EXTREME(name, function, sign) \
    template <class T> USM_F T usm_##name(volatile T *p, T v) \
    { \
        if constexpr (usm_is_real<T>::value) { \
            return usm_update(p, v, [](T a, T b) { return b sign a ? b : a; }); \
        } else { \
            return (T)::function((usm_whole<T> *)p, (usm_whole<T>)v); \
        } \
    }
USM_EXTREME(min, atomicMin, <)
USM_EXTREME(max, atomicMax, >)
/* Of OpenCL 2: ordered, unless that is not asked for. */
struct usm_ordered {
    bool fence;
    usm_ordered(int order) : fence(order != memory_order_relaxed) { enter(); }
    ~usm_ordered() { enter(); }
    void enter() const
    {
        if (fence) {
            __threadfence();
        }
    }
};
// --- complex
struct complex64 { float real, imag; };
struct complex128 { double real, imag; };
template <> struct usm_number<complex64> { enum : unsigned { code = 14 }; };
template <> struct usm_number<complex128> { enum : unsigned { code = 15 }; };
template <class T> struct usm_parts {
    typedef T part;
    enum : bool { is = false };
};
template <> struct usm_parts<complex64> {
    typedef float part;
    enum : bool { is = true };
};
template <> struct usm_parts<complex128> {
    typedef double part;
    enum : bool { is = true };
};
template <class T> using usm_promoted = decltype(+typename usm_parts<T>::part());
template <bool b, class T> struct usm_if {};
template <class T> struct usm_if<true, T> { typedef T type; };
/* T, if A and B are numbers, of which one is complex. */
template <class A, class B, class T> using usm_if_complex = typename usm_if<
    (usm_parts<A>::is || usm_parts<B>::is) &&
        usm_is_any<usm_promoted<A>, int, uint, long, ulong, long long, float, double, half> &&
        usm_is_any<usm_promoted<B>, int, uint, long, ulong, long long, float, double, half>, T>::type;
template <class A, class B> using usm_part = decltype(0.0f + usm_promoted<A>() + usm_promoted<B>());
template <class A, class B> using usm_complex =
    typename usm_choose<sizeof(usm_part<A, B>) == 8, complex128, complex64>::type;
template <class R, class T> USM_F R usm_re(T x)
{
    if constexpr (usm_parts<T>::is) {
        return (R)x.real;
    } else {
        return (R)x;
    }
}
template <class R, class T> USM_F R usm_im(T x)
{
    if constexpr (usm_parts<T>::is) {
        return (R)x.imag;
    } else {
        return 0;
    }
}
#define USM_C_OPERATOR(op, result, value) \
    template <class A, class B> USM_F usm_if_complex<A, B, result> operator op(A x, B y) \
    { \
        typedef usm_part<A, B> R; \
        constexpr bool is_a = usm_parts<A>::is, is_b = usm_parts<B>::is; \
        const R a = usm_re<R>(x), b = usm_im<R>(x), c = usm_re<R>(y), d = usm_im<R>(y); \
        (void)is_a, (void)is_b, (void)b, (void)d; \
        value; \
    }
#define USM_C_RESULT(re, im) return usm_complex<A, B>{re, im}
#define USM_C_EITHER(both, first, second) (is_a && is_b ? both : is_a ? first : second)
#define USM_COMMA ,
USM_C_OPERATOR(+, usm_complex<A USM_COMMA B>, USM_C_RESULT(a + c, USM_C_EITHER(b + d, b, d)))
USM_C_OPERATOR(-, usm_complex<A USM_COMMA B>, USM_C_RESULT(a - c, USM_C_EITHER(b - d, b, -d)))
USM_C_OPERATOR(*, usm_complex<A USM_COMMA B>, USM_C_RESULT(is_a && is_b ? a * c - b * d : a * c,
                                                           USM_C_EITHER(a * d + b * c, b * c, a * d)))
USM_C_OPERATOR(/, usm_complex<A USM_COMMA B>, const R n = c * c + d * d; USM_C_RESULT(
    !is_b ? a / c : (is_a ? a * c + b * d : a * c) / n, !is_b ? b / c : (is_a ? b * c - a * d : -(a * d)) / n))
USM_C_OPERATOR(==, int, return a == c && b == d)
USM_C_OPERATOR(!=, int, return a != c || b != d)
#define USM_C_TYPE(type, part, f) \
    template <class T> USM_F type usm_to_##type(T x) { return {usm_re<part>(x), usm_im<part>(x)}; } \
    template <class A, class B> USM_F type usm_make_##type(A x, B y) { return {(part)x, (part)y}; } \
    template <class T> USM_F type &operator+=(type &x, T y) { return x = usm_to_##type(x + y); } \
    template <class T> USM_F type &operator-=(type &x, T y) { return x = usm_to_##type(x - y); } \
    template <class T> USM_F type &operator*=(type &x, T y) { return x = usm_to_##type(x * y); } \
    template <class T> USM_F type &operator/=(type &x, T y) { return x = usm_to_##type(x / y); } \
    USM_F type operator-(type x) { return {-x.real, -x.imag}; } \
    USM_F type operator+(type x) { return x; } \
    USM_F type usm_c_conj(type x) { return {x.real, -x.imag}; } \
    USM_F part usm_c_real(type x) { return x.real; } \
    USM_F part usm_c_imag(type x) { return x.imag; } \
    USM_F part usm_c_abs(type x) { return ::hypot##f(x.real, x.imag); } \
    USM_F type usm_c_exp(type x) \
    { \
        const part e = ::exp##f(x.real); \
        return {e * ::cos##f(x.imag), e * ::sin##f(x.imag)}; \
    }
USM_C_TYPE(complex64, float, f)
USM_C_TYPE(complex128, double, )
template <class T> USM_F auto usm_c_conj(T x) { return +x; }
template <class T> USM_F auto usm_c_real(T x) { return +x; }
template <class T> USM_F auto usm_c_imag(T x) { return decltype(+x)(0); }
template <class T> USM_F auto usm_c_abs(T x) { return abs(x); }
template <class T> USM_F auto usm_c_exp(T x) { return exp(x); }
