/*
 * arange and linspace: out[i] = start + i * step for 0 <= i < n, computed from i rather than by adding up, so that
 * the error does not grow. Integers wrap. The last element of a linspace is given, since start + (n - 1) * step may
 * miss it by a rounding.
 */
#define USM_INTEGER_SEQUENCE(name, type)                                                                   \
    kernel void usm_sequence_##name(global type *out, ulong start, ulong step)                             \
    {                                                                                                      \
        size_t i = get_global_id(0);                                                                       \
        out[i] = (type)(start + i * step);                                                                 \
    }

USM_INTEGER_SEQUENCE(uint8, uchar)
USM_INTEGER_SEQUENCE(uint16, ushort)
USM_INTEGER_SEQUENCE(uint32, uint)
USM_INTEGER_SEQUENCE(uint64, ulong)

#define USM_REAL_SEQUENCE(name, type, wide)                                                                \
    kernel void usm_sequence_##name(global type *out, wide start, wide step, wide last, ulong n)           \
    {                                                                                                      \
        size_t i = get_global_id(0);                                                                       \
        out[i] = (type)(i + 1 == n ? last : start + (wide)i * step);                                       \
    }

#ifdef USM_HAS_FP64
USM_REAL_SEQUENCE(float32, float, double)
USM_REAL_SEQUENCE(float64, double, double)
#else
USM_REAL_SEQUENCE(float32, float, float)
#endif
