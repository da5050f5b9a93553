"""The PTX interpreter on what NVRTC makes of CUDA C++: control, memory, blocks."""

from __future__ import annotations

import ctypes

import cuda_calls
import numpy as np
import pytest
from cuda_calls import pointer, ptx, size_t, u64
from cuda_sources import C_TYPES, FLOATS, N, computed, every, same, sample

pytestmark = pytest.mark.skipif(
    cuda_calls.nvrtc_library() is None, reason="no NVRTC: the package nvidia-cuda-nvrtc-cu12 has it"
)


# Comparisons and control.


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", *FLOATS])
def test_comparisons(driver, dtype):
    a, b = sample(dtype), sample(dtype, 1)
    b[::3] = a[::3]
    if "float" in dtype:
        a[::7] = np.nan
    source = every(
        "(a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5 | "
        "(!(a < b)) << 6 | (!(a >= b)) << 7 | (a < b && b > 1 || a == 2) << 8",
        "int32",
        dtype,
        dtype,
    )
    tests = [
        a == b,
        a != b,
        a < b,
        a <= b,
        a > b,
        a >= b,
        ~(a < b),
        ~(a >= b),
        ((a < b) & (b > 1)) | (a == 2),
    ]
    expected = sum(test.astype("int32") << i for i, test in enumerate(tests))
    same(computed(driver, source, np.zeros(N, "int32"), a, b), expected)


def test_a_switch_becomes_a_table(driver):
    cases = "".join(f'case {i}: asm volatile(""); r = a * {3 * i + 1} + {i * i}; break; ' for i in range(20))
    source = f"__device__ int f(int a, int b) {{ int r = -1; switch (b) {{ {cases} }} return r; }}"
    a, b = sample("int32"), np.arange(N, dtype="int32") % 23
    got = computed(driver, every("f(a, b)", "int32", "int32", "int32", before=source), a.copy(), a, b)
    expected = np.where(b < 20, a * (3 * b + 1) + b * b, -1).astype("int32")
    same(got, expected)


def test_loops_that_end_at_different_times(driver):
    a = sample("uint32") % 1000 + 1
    source = """__device__ unsigned f(unsigned n) {
        unsigned r = 0;
        while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; r++; }
        return r;
    }"""

    def steps(n):
        r = 0
        while n != 1:
            n, r = (3 * n + 1 if n & 1 else n // 2), r + 1
        return r

    got = computed(driver, every("f(a)", "uint32", "uint32", before=source), a.copy(), a)
    assert got.tolist() == [steps(int(x)) for x in a]


def test_functions_call_functions(driver):
    source = """
    struct pair { double first; int second[5]; };
    __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    __device__ __noinline__ pair both(pair p, int n) {
        p.first += n; p.second[n % 5] += fibonacci(n); return p;
    }
    __device__ int twice(int x) { return 2 * x; }
    __device__ int thrice(int x) { return 3 * x; }
    __device__ int (*table[2])(int) = {twice, thrice};
    extern "C" __global__ void k(double *out) {
        int i = threadIdx.x;
        pair p = {0.5, {1, 2, 3, 4, 5}};
        p = both(p, i % 12);
        out[i] = p.first + 1000 * p.second[i % 12 % 5] + 1e6 * table[i & 1](i);
    }"""
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    got = computed(driver, source, np.zeros(64), grid=1, block=64)
    expected = [
        0.5 + i % 12 + 1000 * (i % 12 % 5 + 1 + fibonacci[i % 12]) + 1e6 * (3 if i & 1 else 2) * i
        for i in range(64)
    ]
    assert got.tolist() == expected


# Memory.


def test_arrays_of_a_thread(driver):
    source = """extern "C" __global__ void k(int *out, const int *in) {
        int own[32], i = threadIdx.x;
        for (int j = 0; j < 32; j++) own[j] = in[j] + i;
        for (int j = 0; j < 64; j++) own[own[j & 31] & 31] += j;
        int sum = 0;
        for (int j = 0; j < 32; j++) sum = sum * 31 + own[j];
        out[i] = sum;
    }"""
    values = np.arange(32, dtype="int32") * 7 % 50

    def one(i):
        own = [int(v) + i for v in values]
        for j in range(64):
            own[own[j & 31] & 31] += j
        total = 0
        for v in own:
            total = (total * 31 + v) & 0xFFFFFFFF
        return total

    got = computed(driver, source, np.zeros(40, "int32"), values, grid=1, block=40)
    assert got.view("uint32").tolist() == [one(i) for i in range(40)]


def test_vectors_structures_and_small_types(driver):
    source = """
    struct mixed { char a; short b; float c; double d; unsigned char e[3]; };
    extern "C" __global__ void k(double *out, mixed m, const float4 *x, const ushort2 *y, const double2 *z) {
        int i = threadIdx.x;
        float4 f = x[i]; ushort2 t = y[i]; double2 p = z[i];
        out[i] = m.a + m.b + m.c + m.d + m.e[2];
        out[i] += f.x + 10 * f.y + 100 * f.z + 1000 * f.w + t.x - t.y + p.x * p.y;
    }"""
    layout = np.dtype([("a", "i1"), ("b", "i2"), ("c", "f4"), ("d", "f8"), ("e", "u1", 3)], align=True)
    mixed = np.zeros((), layout)
    mixed["a"], mixed["b"], mixed["c"], mixed["d"], mixed["e"] = -3, -300, 1.5, 2.25, (1, 2, 200)
    four = np.arange(128, dtype="float32").reshape(32, 4)
    two = np.arange(64, dtype="uint16").reshape(32, 2) * 3
    pair = np.arange(64, dtype="float64").reshape(32, 2)
    got = computed(driver, source, np.zeros(32), mixed, four, two, pair, grid=1, block=32)
    expected = (
        -3
        - 300
        + 1.5
        + 2.25
        + 200
        + four @ [1, 10, 100, 1000]
        + two[:, 0].astype("f8")
        - two[:, 1]
        + pair.prod(1)
    )
    np.testing.assert_array_equal(got, expected)


def test_variables_of_modules(driver):
    source = """
    __constant__ int table[4] = {10, 20, 30, 40};
    __device__ double scale = 2.5;
    __device__ const char *words[2] = {"ab", "xyz"};
    __constant__ float later[2];
    extern "C" __global__ void k(double *out) {
        int i = threadIdx.x;
        out[i] = table[i & 3] * scale + words[i & 1][i % 2 + 1] + later[i & 1];
    }"""
    module = driver.load(ptx(source))
    address, size = u64(), size_t()
    driver.call("cuModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), module, b"later")
    assert size.value == 8
    later = np.array([100, 200], "float32")
    driver.call("cuMemcpyHtoD", address, pointer(later.ctypes.data), size_t(8))
    assert driver.code("cuModuleGetGlobal", None, None, module, b"nothing") == 500
    out = driver.put(np.zeros(8))
    driver.launch(driver.kernel(module, "k"), 1, 8, out)
    expected = [(10, 20, 30, 40)[i & 3] * 2.5 + (b"b", b"z")[i & 1][0] + later[i & 1] for i in range(8)]
    assert driver.get(out, 8, "float64").tolist() == expected
    driver.call("cuMemFree", out)
    driver.call("cuModuleUnload", module)


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_atomic_sums(driver, dtype):
    c = C_TYPES[dtype]
    add = f"atomicAdd(&out[threadIdx.x % 3], ({c})(blockIdx.x + 1));"
    source = f'extern "C" __global__ void k({c} *out) {{ {add} }}'
    got = computed(driver, source, np.zeros(3, dtype), grid=100, block=96)
    assert got.tolist() == [100 * 101 // 2 * 32] * 3


def test_atomic_operations(driver):
    source = """extern "C" __global__ void k(unsigned *out, int *old) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        atomicMin(&out[0], 1000u - i); atomicMax(&out[1], (unsigned)i); atomicOr(&out[2], 1u << i % 32);
        atomicAnd(&out[3], ~(1u << i % 16)); atomicXor(&out[4], (unsigned)i); atomicInc(&out[5], 6u);
        atomicDec(&out[6], 6u); atomicExch(&out[7], 9u); atomicMin((int *)&out[8], -i);
        old[atomicAdd(&out[9], 1u)] = 1;
        unsigned seen = out[10], expected;
        do { expected = seen; seen = atomicCAS(&out[10], expected, expected + 2); } while (seen != expected);
    }"""
    start = np.zeros(11, "uint32")
    start[[0, 3]] = 2**32 - 1
    n = 500
    old = np.zeros(n, "int32")
    got = computed(driver, source, start, old, grid=5, block=100)
    xor = 0
    for i in range(n):
        xor ^= i
    dec = 0
    for _ in range(n):
        dec = 6 if dec == 0 or dec > 6 else dec - 1
    expected = [1000 - n + 1, n - 1, 2**32 - 1, 0xFFFF0000, xor, n % 7, dec, 9, 2**32 - n + 1, n, 2 * n]
    assert got.tolist() == expected


# Blocks.


def test_sizes_and_places(driver):
    source = """extern "C" __global__ void k(int *out) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
        int at = (z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x;
        out[at] = x + 100 * y + 10000 * z + 1000000 * (threadIdx.x + threadIdx.y * blockDim.x) / 32;
    }"""
    got = computed(driver, source, np.zeros((6, 10, 12), "int32"), grid=(3, 2, 3), block=(4, 5, 2))
    z, y, x = np.indices((6, 10, 12))
    np.testing.assert_array_equal(got, x + 100 * y + 10000 * z + 1000000 * (x % 4 + y % 5 * 4) // 32)


def test_barriers_and_shared_memory(driver):
    source = """extern "C" __global__ void k(double *out, const double *in) {
        __shared__ double s[256];
        extern __shared__ int d[];
        int t = threadIdx.x;
        s[t] = in[blockIdx.x * 256 + t];
        d[t] = t;
        __syncthreads();
        for (int half = 128; half > 0; half /= 2) {
            if (t < half) { s[t] += s[t + half]; d[t] += d[t + half]; }
            __syncthreads();
        }
        if (t == 0) out[blockIdx.x] = s[0] + d[0];
    }"""
    values = np.arange(256 * 20, dtype="float64")
    got = computed(driver, source, np.zeros(20), values, grid=20, block=256, shared=1024)
    np.testing.assert_array_equal(got, values.reshape(20, 256).sum(1) + 255 * 128)


def test_barriers_that_count(driver):
    source = """extern "C" __global__ void k(int *out) {
        int t = threadIdx.x;
        if (t >= 90) return;
        int odd = __syncthreads_count(t & 1);
        int some = __syncthreads_or(t == 5), all = __syncthreads_and(t < 80);
        out[t] = odd + 100 * (some != 0) + 1000 * (all != 0);
    }"""
    got = computed(driver, source, np.zeros(90, "int32"), grid=1, block=100)
    assert got.tolist() == [145] * 90


def test_threads_of_a_warp_exchange(driver):
    source = """extern "C" __global__ void k(int *out) {
        int t = threadIdx.x, v = t * t, all = ~0;
        int r = __shfl_sync(all, v, 3) + __shfl_up_sync(all, v, 2) * 2 + __shfl_xor_sync(all, v, 5) * 3 +
                __shfl_down_sync(all, v, 1, 8) * 5;
        r += __any_sync(all, t == 40) * 7 + __all_sync(all, t < 32) * 11;
        r += __popc(__ballot_sync(all, t % 3 == 0)) * 13;
        if (t % 32 < 10) r += __reduce_add_sync(0x3ff, (unsigned)t) * 17 + (__activemask() >> t % 32 & 1);
        out[t] = r;
    }"""

    def one(t):
        base, lane = t - t % 32, t % 32

        def value(i):
            return (base + i) ** 2

        r = value(3) + 2 * value(lane - 2 if lane >= 2 else lane) + 3 * value(lane ^ 5)
        r += 5 * value(lane + 1 if lane % 8 < 7 else lane)
        r += 7 * (base == 32) + 11 * (base == 0) + 13 * sum((base + i) % 3 == 0 for i in range(32))
        return r + (17 * sum(base + i for i in range(10)) + 1 if lane < 10 else 0)

    got = computed(driver, source, np.zeros(96, "int32"), grid=1, block=96)
    assert got.tolist() == [one(t) for t in range(96)]
