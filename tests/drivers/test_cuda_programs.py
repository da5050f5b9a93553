"""Programs for CUDA: CUDA C++, PTX, machine code, and what portable programs become there."""

import ctypes
import importlib.util
import locale
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import usmpy

DEVICES = usmpy.get_devices("cuda")
pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("NVIDIA's compiler is no part of it"),
]
if not DEVICES:
    pytestmark.append(pytest.mark.skip(reason="no CUDA device, and no driver in software"))
DEVICE = DEVICES[0] if DEVICES else None
SOFTWARE = bool(DEVICES) and "software" in DEVICES[0].name
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path / "cache"))


def build(source, language="cuda", options=""):
    return usmpy.Program(source, device=DEVICE, language=language, options=options)


def array(values, dtype):
    return usmpy.asarray(np.asarray(values, dtype), device=DEVICE)


def run(kernel, space, *arguments):
    DEVICE.queue.submit(kernel, arguments, space).wait()


# CUDA C++.

SCALE = """
extern "C" __global__ void scale(const float *__restrict__ x, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i];
    }
}
"""


def test_a_name_of_local_memory_that_others_contain_is_not_theirs():
    """`t` is in the text of every kernel."""
    program = build(
        SCALE + 'extern "C" __global__ void f(int *x) { extern __shared__ int t[]; x[0] = t[0]; }'
    )
    assert program.scale.parameter_names == ("x", "y", "a", "n")
    assert program.f.parameters == ("int32*", "local void*")


def test_parameters_come_from_the_source():
    kernel = build(SCALE).scale
    assert kernel.parameters == ("const float32*", "float32*", "float32", "int32")
    assert kernel.parameter_names == ("x", "y", "a", "n")
    x, y = array(np.arange(1000), "f4"), array(np.zeros(1000), "f4")
    kernel[1000](x, y, 2.5, 1000).wait()
    np.testing.assert_array_equal(y.asnumpy(), 2.5 * np.arange(1000, dtype="f4"))
    with pytest.raises(TypeError, match=r"argument 1 \(y\) of scale: a USMArray of float64"):
        kernel[10](x, array([0.0], "f8"), 1.0, 10)
    with pytest.raises(OverflowError, match="does not fit"):
        kernel[10](x, y, 1.0, 2**31)


CPP = """
namespace ns { __global__ void fill(int *x, int v) { x[threadIdx.x] = v; } }
template <class T> __global__ void twice(T *x) { x[threadIdx.x] += x[threadIdx.x]; }
template __global__ void twice<float>(float *);
template __global__ void twice<int>(int *);
template <class T, int n> __global__ void plus(T *x) { x[threadIdx.x] += n; }
template __global__ void plus<short, -3>(short *);
__global__ void put(int *x, short v) { x[0] = v; }
__global__ void put(int *x, double v) { x[0] = 100; }
__global__ void lone(const double *x, double *y) { y[0] = x[0] + 1; }
extern "C" {
__global__ void plain(unsigned char *x) { x[0] = 7; }
}
"""


def test_kernels_by_their_names_in_cpp():
    program = build(CPP)
    names = {"ns::fill", "twice<float>", "twice<int>", "plus<short, -3>", "lone", "plain"}
    assert names < set(program.kernel_names)
    assert {n for n in program.kernel_names if n not in names} == {"_Z3putPis", "_Z3putPid"}
    x = array([1, 2, 3], "i4")
    program["ns::fill"][3](x, 5).wait()
    program["twice<int>"][3](x).wait()
    assert x.tolist() == [10, 10, 10]
    y = array([1, 2], "i2")
    program["plus<short, -3>"][2](y).wait()
    assert y.tolist() == [-2, -1]
    program["_Z3putPis"][1](x, 4).wait()
    assert x.tolist() == [4, 10, 10]
    assert program["lone"].parameters == ("const float64*", "float64*")
    assert program["_Z4lonePKdPd"].parameters == ("const float64*", "float64*")
    for missing in ("put", "twice", "fill", "ns", "plus<short,-3>"):
        with pytest.raises(KeyError):
            program[missing]


def test_a_template_s_parameters_can_be_said():
    kernel = build(CPP)["twice<float>"]
    assert kernel.parameters[0] in ("unknown[8]", "void*")  # as the compiler writes it for the device
    told = kernel.with_parameters(["float32* x"])
    x = array([1.5, 2.5], "f4")
    told[2](x).wait()
    assert x.tolist() == [3.0, 5.0]
    for words in (["int32"], ["local float32*"], ["bytes[4]"]):
        with pytest.raises(ValueError, match="the program says"):
            kernel.with_parameters(words)


LOCAL = """
extern "C" __global__ void reverse(int *x)
{
    extern __shared__ int t[];
    __shared__ int own[16];
    own[threadIdx.x & 15] = 0;
    t[threadIdx.x] = x[threadIdx.x] + own[threadIdx.x & 15];
    __syncthreads();
    x[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
}
"""


def test_local_memory_of_the_launch_is_the_last_argument():
    kernel = build(LOCAL).reverse
    assert kernel.parameters == ("int32*", "local void*")
    x = array(np.arange(64), "i4")
    for nbytes in (256, 60 * 1024, 70 * 1024):
        if nbytes + 64 > DEVICE.local_mem_size:
            continue
        kernel[usmpy.NdRange(64, 64)](x, usmpy.LocalMemory(nbytes)).wait()
    again = build(kernel.program.binary, "native").reverse
    assert again.parameters == kernel.parameters
    again[usmpy.NdRange(64, 64)](x, usmpy.LocalMemory(256)).wait()
    assert sorted(x.tolist()) == list(range(64))
    for unsized in (kernel, again):
        with pytest.raises(ValueError, match=r"LocalMemory needs NdRange\(global, local\)"):
            unsized[64](x, usmpy.LocalMemory(256))
    with pytest.raises(ValueError, match="bytes of LocalMemory"):
        kernel[usmpy.NdRange(64, 64)](x, usmpy.LocalMemory(DEVICE.local_mem_size + 1))
    with pytest.raises((ValueError, usmpy.UsmError), match=r"reverse was given .* beside 64 of its own"):
        kernel[usmpy.NdRange(64, 64)](x, usmpy.LocalMemory(DEVICE.local_mem_size)).wait()


def test_ranges_of_cuda_kernels_are_rounded_up_to_whole_blocks():
    source = 'extern "C" __global__ void count(unsigned *n) { atomicAdd(n, 1u); }'
    kernel = build(source).count
    n = array([0], "u4")
    kernel[1000](n).wait()
    assert 1000 <= n.tolist()[0] < 2048
    n = array([0], "u4")
    kernel[usmpy.NdRange(96, 32)](n).wait()
    assert n.tolist() == [96]


@pytest.mark.parametrize(
    ("space", "match"),
    [
        (usmpy.Range(1, 1, 70_000_000), r"range\[2\] of count makes \d+ work-groups"),
        (
            usmpy.Range(256, 70_000),
            r"range\[1\] of count makes 70000 work-groups of 1; CUDA launches up to 65535",
        ),
        (usmpy.NdRange((1, 1, 128), (1, 1, 128)), r"local_range\[2\] of count is 128; .* up to 64"),
        (usmpy.NdRange(4096, 2048), "more work-items than count allows"),
    ],
)
def test_limits_of_cuda_have_names(space, match):
    kernel = build('extern "C" __global__ void count(unsigned *n) { atomicAdd(n, 1u); }').count
    with pytest.raises((ValueError, usmpy.UsmError), match=match):
        kernel[space](array([0], "u4")).wait()


def test_messages_are_of_the_user_s_lines_and_of_nothing_else():
    source = "\n\n" + SCALE + "\n__global__ void bad(float *x)\n{\n    x[0] = nothing_here;\n}\n"
    with pytest.raises(usmpy.BuildError) as caught:
        build(source)
    assert '<source>:14: error: identifier "nothing_here" is undefined' in caught.value.log
    assert "usm_" not in caught.value.log
    assert caught.value.backend == "cuda"


@pytest.mark.parametrize(
    "source",
    [
        '#define KERNEL __global__\nextern "C" KERNEL void f(int *x) { x[0] = 1; }',
        'extern "C" __global__ void f(int *x) { x[0] = 1; } // __global__ void g(',
        'namespace a { enum { b }; }\nextern "C" __global__ void f(int *x) { x[0] = "}{"[0] == \'}\'; }',
        'extern "C" __global__ void __launch_bounds__(64) f(int *x) { x[0] = 1; }',
        'extern "C" __launch_bounds__(64) __global__ void f(int *x) { x[0] = 1; }',
        'struct f { }; extern "C" __global__ void f(int *x) { x[0] = 1; }',
        'extern "C" __global__ void f(int *x);\nextern "C" __global__ void f(int *y) { y[0] = 1; }',
        '#if 0\n__global__ void g(int x) {}\n#endif\nextern "C" __global__ void f(int *x) { x[0] = 1; }',
    ],
)
def test_sources_that_are_hard_to_read_are_built_all_the_same(source):
    x = array([0], "i4")
    build(source).f[1](x).wait()
    assert x.tolist() == [1]


def test_options_and_headers(tmp_path):
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 3\n")
    source = '#include "value.h"\nextern "C" __global__ void f(int *x) { x[0] = VALUE * N; }'
    x = array([0], "i4")
    for value, options in ((3, f"-I {tmp_path} -D N=2"), (5, f"-I{tmp_path} -DN=2 --use_fast_math")):
        header.write_text(f"#define VALUE {value}\n")
        build(source, options=options).f[1](x).wait()
        assert x.tolist() == [2 * value]
    # A header that changed is seen, though the source and the options did not.
    header.write_text("#define VALUE 11\n")
    build(source, options=options).f[1](x).wait()
    assert x.tolist() == [22]


# PTX.

PTX = """
.version 7.0
.target sm_52
.address_size 64
// .entry in_a_comment(.param .u64 x)
/* .entry another(
   .param .u64 x) */
.visible .entry put(.param .u64 .ptr .global .align 4 x, .param .u32 v, .param .s16 s, .param .f32 f)
.reqntid 2, 1, 1
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [x];
    ld.param.u32 %v, [v];
    st.global.u32 [%a], %v;
    ret;
}
.entry wide(
    .param .u64 x,
    .param .u64 v,
    .param .align 8 .b8 s[24]
)
{
    .reg .u64 %a, %v;
    ld.param.u64 %a, [x];
    ld.param.u64 %v, [v];
    st.global.u64 [%a], %v;
    ld.param.u64 %v, [s+16];
    st.global.u64 [%a+8], %v;
    ret;
}
"""


def test_parameter_types_read_from_ptx():
    program = build(PTX, "ptx")
    assert program.kernel_names == ["put", "wide"]
    assert program.put.parameters == ("void*", "unknown[4]", "int16", "float32")
    assert program.wide.parameters == ("unknown[8]", "unknown[8]", "bytes[24]")
    x = array([0, 0], "i4")
    program.put[2](x, -2, 1, 1.0).wait()
    assert x.tolist() == [-2, 0]
    with pytest.raises(ValueError, match=r"put requires work-groups of \(2, 1, 1\)"):
        program.put[3](x, 1, 1, 1.0)


def test_a_program_of_ptx_can_be_kept():
    again = build(build(PTX, "ptx").binary, "native")
    assert again.kernel_names == ["put", "wide"]
    assert again.put.parameters == ("void*", "unknown[4]", "int16", "float32")
    x = array([0, 0], "i4")
    again.put[2](x, -2, 1, 1.0).wait()
    assert x.tolist() == [-2, 0]


@pytest.mark.parametrize(
    ("value", "bits"),
    [(2**32 - 1, 2**32 - 1), (-(2**31), 2**31), (True, 1), (np.float32(1), 0x3F800000), (np.uint32(7), 7)],
)
def test_scalars_by_width_are_signed_or_unsigned(value, bits):
    x = array([0, 0], "u4")
    build(PTX, "ptx").put[2](x, value, 1, 1.0).wait()
    assert x.tolist()[0] == bits


def test_scalars_that_the_width_does_not_hold():
    program = build(PTX, "ptx")
    x, y = array([0, 0], "i4"), array([0, 0], "i8")
    for value in (2**32, -(2**31) - 1, 2**70):
        with pytest.raises(OverflowError, match="32 bits"):
            program.put[2](x, value, 1, 1.0)
    for value in (1.0, np.float64(1), b"abc", x, None, usmpy.LocalMemory(4)):
        with pytest.raises((TypeError, ValueError)):
            program.put[2](x, value, 1, 1.0)
    for value, stored in ((2**64 - 1, -1), (-(2**63), -(2**63)), (None, 0)):
        program.wide[1](y, value, struct.pack("QQQ", 1, 2, 3)).wait()
        assert y.tolist() == [stored, 3]
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="64 bits"):
            program.wide[1](y, value, bytes(24))
    with pytest.raises(ValueError, match="23 bytes were given"):
        program.wide[1](y, 1, bytes(23))


@pytest.mark.parametrize(
    "source", ["", "no PTX", PTX.replace("st.global.u32", "frobnicate.u32"), PTX[: len(PTX) // 2]]
)
def test_ptx_that_is_none(source):
    with pytest.raises(usmpy.BuildError) as caught:
        build(source, "ptx")
    assert caught.value.log.strip()


# Machine code.


def nvrtc():
    """The library that usmpy has opened."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "libnvrtc.so" in line:
            return ctypes.CDLL(line.split()[-1])
    raise AssertionError("libnvrtc is not open")


def cubin(source, target):
    build(SCALE)
    library, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), None, 0, None, None) == 0
    assert library.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(f"-arch={target}".encode())) == 0
    assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
    data = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetCUBIN(program, data) == 0
    return data.raw


def with_name(data, offset):
    """The cubin, with another offset of its first section's name."""
    at = struct.unpack_from("<Q", data, 40)[0]
    return data[:at] + struct.pack("<I", offset) + data[at + 4 :]


def test_incomplete_machine_code_never_reaches_the_driver():
    data = cubin(SCALE, "sm_90")
    for size in [*range(0, 100), *range(100, len(data), 97), len(data) - 1]:
        with pytest.raises(usmpy.BuildError, match="is refused: it is"):
            build(data[:size], "native")
    for change in (
        b"\0" * 64,
        b"\x7fELF" + b"\2\1" + bytes(58),
        struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 999),
        with_name(data, 0x7000000),
        with_name(data, 0xFFFFFFFF),
    ):
        with pytest.raises(usmpy.BuildError, match="is refused: it is"):
            build(change, "native")
    with pytest.raises(usmpy.BuildError, match="PTX is language 'ptx'"):
        build(PTX.encode() + b"\0", "native")


@pytest.mark.skipif(SOFTWARE, reason="there is no NVIDIA GPU: the driver in software interprets PTX alone")
def test_a_cubin_of_another_compiler():
    build(SCALE)
    library, n = nvrtc(), ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(n))
    archs = (ctypes.c_int * n.value)()
    library.nvrtcGetSupportedArchs(archs)
    for arch in sorted(archs, reverse=True):
        try:
            program = build(cubin(SCALE, f"sm_{arch}"), "native")
            break
        except usmpy.BuildError:
            continue
    assert program.kernel_names == ["scale"]
    assert program.scale.parameters == ("unknown[8]", "unknown[8]", "unknown[4]", "unknown[4]")
    x, y = array([1, 2], "f4"), array([0, 0], "f4")
    program.scale[2](x, y, np.float32(3), 2).wait()
    assert y.tolist() == [3, 6]
    told = program.scale.with_parameters(["const float32* x", "float32* y", "float32 a", "int32 n"])
    told[2](x, y, 4.0, 2).wait()
    assert y.tolist() == [4, 8]


# Portable programs.

COUNT = """
kernel void count(global uint *n, global ulong *size)
{
    atomic_inc(n);
    if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0) {
        for (uint d = 0; d < 3; d++) {
            size[d] = get_global_size(d);
        }
    }
}
kernel void grouped(global uint *n, global ulong *size)
{
    local uint mine;
    if (get_local_linear_id() == 0) mine = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_linear_id() == 0) {
        atomic_add(n, mine);
        if (mine != get_local_size(0) * get_local_size(1) * get_local_size(2)) atomic_add(n, 1000000);
        for (uint d = 0; d < 3; d++) size[d] = get_global_size(d);
    }
}
"""


@pytest.mark.parametrize("name", ["count", "grouped"])
@pytest.mark.parametrize("space", [(1,), (1009,), (33, 17), (7, 5, 3), (1, 1, 67), (3, 300)])
def test_portable_kernels_see_exactly_the_range(name, space):
    n, size = array([0], "u4"), array([0, 0, 0], "u8")
    run(build(COUNT, "portable")[name], usmpy.Range(*space), n, size)
    assert n.tolist() == [np.prod(space)]
    assert size.tolist() == [*space, *[1] * (3 - len(space))]


def test_several_local_parameters_do_not_overlap():
    source = """
    kernel void f(local char *a, global int *x, local double *b, int n, local int *c)
    {
        int i = get_local_id(0);
        a[i] = i;
        b[i] = 2 * i;
        c[i] = 3 * i;
        barrier(CLK_LOCAL_MEM_FENCE);
        int j = n - 1 - i;
        x[get_global_id(0)] = a[j] + (int)b[j] + c[j];
    }
    """
    program = build(source, "portable")
    assert program.f.parameters == ("local int8*", "int32*", "local float64*", "int32", "local int32*")
    for kernel in (program.f, build(program.binary, "native").f):
        x = array(np.zeros(26), "i4")
        parts = [usmpy.LocalMemory(13 * size) for size in (1, 8, 4)]
        kernel[usmpy.NdRange(26, 13)](parts[0], x, parts[1], 13, parts[2]).wait()
        assert x.tolist() == [6 * (12 - i) for i in range(13)] * 2


@pytest.mark.parametrize(("pragma", "contracted"), [("", False), ("#pragma OPENCL FP_CONTRACT ON\n", True)])
def test_products_and_sums_are_not_contracted_unless_asked(pragma, contracted):
    source = pragma + "kernel void f(global const double *x, global double *y) { y[0] = x[0] * x[1] + x[2]; }"
    a, b = 1 + 2.0**-30, 1 - 2.0**-30
    y = array([0], "f8")
    build(source, "portable").f[1](array([a, b, -1.0], "f8"), y).wait()
    assert y.tolist() == [-(2.0**-60) if contracted else 0.0]


def test_half_precision_is_rounded_after_each_operation():
    source = """
    kernel void f(global const half *x, global half *y, half a)
    {
        size_t i = get_global_id(0);
        y[i] = x[i] * a + 1.5h;
        y[i] += 1;
        if (i == 0) y[i] = sqrt((half)2) + HALF_EPSILON * 2 / 3;
    }
    """
    x = np.random.default_rng(1).normal(0, 5, 100).astype("f2")
    y = array(np.zeros(100), "f2")
    kernel = build(source, "portable").f
    assert kernel.parameters == ("const float16*", "float16*", "float16")
    kernel[100](array(x, "f2"), y, 1.25).wait()
    expected = (x * np.float16(1.25) + np.float16(1.5)) + np.float16(1)
    expected[0] = np.sqrt(np.float16(2)) + np.float16(np.float16(2**-10) * np.float16(2)) / np.float16(3)
    np.testing.assert_array_equal(y.asnumpy(), expected)


def test_words_of_cpp_are_names():
    source = """
    typedef struct { int class; int new; } this;
    static int template(int or, this private_) { return or + private_.class * private_.new; }
    kernel void f(global int *operator, int and)
    {
        this not = { 2, 3 };
        struct { int x; } typename = { .x = 4 };
        operator[get_global_id(0)] = template(and, not) + typename.x + ((this){5, 6}).new;
    }
    """
    kernel = build(source, "portable").f
    assert kernel.parameter_names == ("operator", "and")
    x = array([0, 0], "i4")
    kernel[2](x, 10).wait()
    assert x.tolist() == [26, 26]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "kernel void f(global float4 *x) {}",
            "<source>:1:22: error: float4: the portable language has no vector",
        ),
        ("kernel void f(float *x) {}", "<source>:1:22: error: x: a pointer that a kernel is given is global"),
        ("\n#error no such device\n", "<source>:2: error: #error no such device"),
        ("#include <not_there.h>\n", "<source>:1:11: error: not_there.h: No such file"),
        ("#if 1\nkernel void f(int n) {}\n", "<source>:1: error: unterminated #if"),
        ("kernel void f(int n) {\n}\n}\n", "<source>:3:1: error: '}' closes nothing"),
        (
            "kernel void f(global int *x)\n{\n\n    x[0] = zz;\n}",
            '<source>:4: error: identifier "zz" is undefined',
        ),
        (
            "#define F(a, b) a\nkernel void f(int n) {\n F(1);\n}",
            "<source>:3:2: error: F takes 2 arguments, 1 were",
        ),
        (
            "kernel void f(global float *x)\n{\n    x[0] = sinf(x[0]);\n}",
            "<source>:3:12: error: sinf: not a built-in function",
        ),
    ],
)
def test_errors_in_portable_programs(source, message):
    with pytest.raises(usmpy.BuildError) as caught:
        build(source, "portable")
    assert message in caught.value.log
    assert "usm_" not in caught.value.log
    assert caught.value.log in str(caught.value)


@pytest.mark.parametrize("name", ["char", "uchar"])
def test_bits_of_a_bool(name):
    source = f"kernel void f(global char *x)\n{{\n    const bool b = x[0];\n    x[0] = as_{name}(b);\n}}"
    with pytest.raises(usmpy.BuildError, match=rf"(?s)is a bool; write \({name}\)\(x\).*line 4 of"):
        build(source, "portable")


def test_a_header_that_changed_is_seen(tmp_path):
    header = tmp_path / "value.h"
    source = '#include "value.h"\nkernel void f(global int *x) { x[0] = VALUE; }'
    x = array([0], "i4")
    for value in (1, 2):
        header.write_text(f"#define VALUE {value}\n")
        build(source, "portable", f"-I {tmp_path}").f[1](x).wait()
        assert x.tolist() == [value]


# The compiler itself.


def test_without_the_compiler_an_error_says_what_to_install():
    code = f"""
import usmpy
device = usmpy.get_devices("cuda")[0]
for language in ("portable", "cuda"):
    try:
        usmpy.Program("" if language == "cuda" else "kernel void f() {{}}", device=device, language=language)
    except usmpy.BackendUnavailable as error:
        assert "pip install nvidia-cuda-nvrtc" in str(error), error
        assert "/nowhere/libnvrtc.so" in str(error), error
    else:
        raise AssertionError(language)
assert usmpy.Program({PTX!r}, device=device, language="ptx").kernel_names == ["put", "wide"]
x = usmpy.arange(5, dtype="float32", device=device)
assert x.astype("int16").tolist() == [0, 1, 2, 3, 4]
"""
    environment = {**os.environ, "USMPY_NVRTC_LIBRARY": "/nowhere/libnvrtc.so", "USMPY_CACHE": "0"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


# The library of CUDA 13.0's package, which PyTorch depends on, does not look beside itself for its functions.
BESIDE = """
import sys, usmpy
device = usmpy.get_devices("cuda")[0]
try:
    program = usmpy.Program("kernel void f(global float *x) { x[get_global_id(0)] = 2; }", device=device)
    x = usmpy.zeros(4, dtype="float32", device=device)
    program.f[4](x).wait()
    print(x.tolist())
    print({line.split()[-1] for line in open("/proc/self/maps") if "libnvrtc.so" in line})
except usmpy.UsmError as error:
    print(type(error).__name__, error)
"""


def packaged_nvrtc(version):
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations] if spec else []
    found = [path for folder in folders for path in folder.glob(f"*/lib/libnvrtc.so.{version}")]
    if not found:
        pytest.skip(f"NVIDIA's compiler has no package of CUDA {version} for this machine")
    return found[0]


def run_with_nvrtc(path):
    environment = {
        key: value for key, value in os.environ.items() if key not in ("CUDA_HOME", "LD_LIBRARY_PATH")
    }
    environment |= {
        "USMPY_NVRTC_LIBRARY": str(path),
        "USMPY_CACHE": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", BESIDE], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def builtins_of_the_system():
    """Whether the loader of a new process finds libnvrtc-builtins of CUDA 13 by its name alone."""
    code = """
import ctypes
for minor in range(10):
    try:
        ctypes.CDLL(f"libnvrtc-builtins.so.13.{minor}")
        print("found")
    except OSError:
        pass
"""
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "found" in done.stdout


@pytest.mark.parametrize("version", [12, 13])
def test_a_packaged_compiler_finds_its_built_in_functions_beside_it(version, tmp_path):
    path = packaged_nvrtc(version)
    for file in path.parent.glob("libnvrtc*.so.*"):  # the search that a RUNPATH adds ends in this folder
        (tmp_path / file.name).symlink_to(file)
    said = run_with_nvrtc(tmp_path / path.name)
    assert "[2.0, 2.0, 2.0, 2.0]" in said


def test_a_compiler_without_its_built_in_functions_is_not_taken(tmp_path):
    path = packaged_nvrtc(13)
    if builtins_of_the_system():
        pytest.skip("a toolkit's libnvrtc-builtins is in the search path of every compiler")
    alone = tmp_path / path.name
    alone.symlink_to(path)
    said = run_with_nvrtc(alone)
    assert said.startswith("BackendUnavailable ")
    assert re.search(rf"{re.escape(str(alone))} has no libnvrtc-builtins\.so\.13\.\d+ beside it", said)


FAILING = """
static const char log[] = "<source>(12): error: it said so of <source>(3) and <source>(4: or <source>(:";
const char *nvrtcGetErrorString(int code) { return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"; }
int nvrtcVersion(int *major, int *minor) { *major = 99; *minor = 1; return 0; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return 0; }
int nvrtcGetSupportedArchs(int *archs) { archs[0] = 50; return 0; }
int nvrtcCreateProgram(void **out) { *out = out; return 0; }
int nvrtcDestroyProgram(void **program) { return 0; }
int nvrtcCompileProgram(void *program) { return 7; }
int nvrtcGetPTXSize(void *program, unsigned long *size) { return 9; }
int nvrtcGetPTX(void *program, char *out) { return 9; }
int nvrtcGetCUBINSize(void *program, unsigned long *size) { return 9; }
int nvrtcGetCUBIN(void *program, char *out) { return 9; }
int nvrtcGetProgramLogSize(void *program, unsigned long *size) { *size = sizeof log; return 0; }
int nvrtcGetProgramLog(void *program, char *out) { __builtin_strcpy(out, log); return 0; }
"""


def test_the_compilers_output_is_in_the_error_for_every_code(tmp_path):
    source = tmp_path / "nvrtc.c"
    source.write_text(FAILING)
    names = ["libnvrtc.so.99", "libnvrtc-builtins.so.99.1"]
    for name in names:
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / name], check=True)
    said = run_with_nvrtc(tmp_path / names[0])
    assert said.startswith("BuildError the program does not build: ")
    # Lines are named as other compilers name them; other brackets stay.
    log = "<source>:12: error: it said so of <source>(3) and <source>(4: or <source>(:"
    assert log in said
    assert log + ":" not in said
    assert f"{tmp_path / names[0]} returned NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)" in said


def test_the_compiler_leaves_the_locale_of_the_thread_alone():
    before = locale.nl_langinfo(locale.CODESET)
    build('extern "C" __global__ void own(int *x) { x[0] = 77; }')
    assert locale.nl_langinfo(locale.CODESET) == before


def test_a_module_of_many_kernels():
    head = ".version 7.8\n.target sm_80\n.address_size 64\n"
    names = [f"kernel_{'x' * (i % 50)}{i}" for i in range(300)]
    program = build(head + "".join(f".visible .entry {name}()\n{{\n\tret;\n}}\n" for name in names), "ptx")
    assert program.kernel_names == names
    last = program[names[-1]]
    DEVICE.queue.submit(last, (), usmpy.Range(3)).wait()


# A compiler that works but for one function, which returns 9 in place of success.
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"Version": 9}, "BackendUnavailable .* does not tell its version"),
        ({"GetNumSupportedArchs": 9}, r"UsmError nvrtcGetNumSupportedArchs of .* returned NVRTC_\w+ \(9\)"),
        ({"GetSupportedArchs": 9}, r"UsmError nvrtcGetSupportedArchs of .* returned NVRTC_\w+ \(9\)"),
        ({"oldest": 150}, r"BackendUnavailable .* this libnvrtc knows devices from 15\.0 on"),
        ({"CreateProgram": 9}, r"UsmError nvrtcCreateProgram of .* returned NVRTC_\w+ \(9\)"),
        ({"CompileProgram": 1}, r"MemoryError nvrtcCompileProgram of .* returned NVRTC_\w+ \(1\)"),
        ({"CompileProgram": 6, "GetProgramLogSize": 9}, r"BuildError the program does not build: .* \(6\)"),
        ({"GetPTXSize": 9}, r"UsmError nvrtcGetPTX of .* returned NVRTC_\w+ \(9\)"),
        ({"GetPTX": 9, "size": 5}, r"UsmError nvrtcGetPTX of .* returned NVRTC_\w+ \(9\)"),
        ({}, "UsmError libnvrtc gave neither machine code nor PTX"),
    ],
)
def test_failures_of_the_compiler_itself_name_the_function(changes, words, tmp_path):
    text = FAILING.replace("archs[0] = 50", f"archs[0] = {changes.get('oldest', 50)}")
    size = changes.get("size", 0)
    text = re.sub(r"(nvrtcGet(PTX|CUBIN)Size\(.*) return 9;", rf"\1 *size = {size}; return 0;", text)
    text = re.sub(r"return [79];", "return 0;", text)
    for name, code in changes.items():
        text = re.sub(rf"(nvrtc{name}\(.*) return 0;", rf"\1 return {code};", text)
    library = make_nvrtc(text, tmp_path / "libnvrtc.so.99")
    assert re.match(words, built_by_nvrtc(USMPY_NVRTC_LIBRARY=library), re.DOTALL)


def make_nvrtc(text, path):
    source = path.parent / "nvrtc.c"
    source.write_text(text)
    for built in (path, path.parent / "libnvrtc-builtins.so.99.1"):
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", built], check=True)
    return path


def built_by_nvrtc(**variables):
    """What a process says that builds a program with only these variables of libraries."""
    others = ("CUDA_HOME", "LD_LIBRARY_PATH", "USMPY_NVRTC_LIBRARY")
    own = {name: value for name, value in os.environ.items() if name not in others}
    own |= {name: str(value) for name, value in variables.items()}
    own |= {"USMPY_CACHE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    code = BESIDE.replace("usmpy.UsmError", "(usmpy.UsmError, MemoryError)")
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", [12, 13])
def test_the_compiler_of_cuda_home_comes_before_those_of_packages(version, tmp_path):
    if not SOFTWARE:
        pytest.skip("NVIDIA's driver may be of either version")
    if builtins_of_the_system():
        pytest.skip("a toolkit's libraries come before it")
    (tmp_path / "lib64").mkdir()
    library = make_nvrtc(FAILING, tmp_path / "lib64" / f"libnvrtc.so.{version}")
    said = built_by_nvrtc(CUDA_HOME=tmp_path, CUDASIM_VERSION=f"{version}000")
    assert f"{library} returned" in said


# PTX and machine code that compilers seldom write.

HEAD = ".version 7.0\n.target sm_52\n.address_size 64\n"
BODY = "{\n    ret;\n}\n"


def test_names_of_kernels_that_are_not_read_stay_as_they_are():
    """Of templates of other types, and what only begins like a mangled name."""
    names = ["_Z1fI3fooEvPi", "_Z1gILi3EEvPi", "_Z1hILiEEvPi", "_Z99k"]
    text = HEAD + "".join(f".visible .entry {name}(.param .u64 x)\n{BODY}" for name in names)
    assert build(text, "ptx").kernel_names == ["_Z1fI3fooEvPi", "g<3>", "_Z1hILiEEvPi", "_Z99k"]


def test_words_that_only_begin_like_directives():
    text = HEAD + '.file 1 "lib.entrypoint.externs.cu"\n' + f".visible .entry f(.param .u64 x)\n{BODY}"
    assert build(text, "ptx").kernel_names == ["f"]


def test_external_names_of_ptx_are_no_local_memory():
    text = HEAD + ".extern .shared .align 4 .b8 t[16];\n.extern .shared .align 4 .b8 u[];\n"
    text += f".visible .entry f(.param .u64 x)\n{BODY}"
    assert build(text, "ptx").f.parameters == ("unknown[8]",)


def test_a_text_without_its_closing_quote():
    try:
        program = build(HEAD + f'.visible .entry f(.param .u64 x)\n{BODY}.file 1 "lib.cu', "ptx")
    except usmpy.BuildError:
        return  # of NVIDIA's driver; the one in software reads no file names
    assert program.kernel_names == ["f"]


@pytest.mark.parametrize(("n", "allowed"), [(60, True), (1024, True), (1025, False)])
def test_kernels_of_many_parameters(n, allowed):
    """usmpy reads up to 1024; launches of more than 48 keep their lists elsewhere."""
    parameters = ",\n".join([".param .u64 x", *(f".param .u16 p{i}" for i in range(n - 1))])
    last = f"""{{
    .reg .u64 %a;
    .reg .u16 %v;
    ld.param.u64 %a, [x];
    ld.param.u16 %v, [p{n - 2}];
    st.global.u16 [%a], %v;
    ret;
}}
"""
    program = build(HEAD + f".visible .entry f({parameters})\n{last}", "ptx")
    if not allowed:
        with pytest.raises(usmpy.BuildError, match="more than 1024 parameters"):
            _ = program.f
        return
    x = array([0], "u2")
    program.f[1](x, *range(n - 1)).wait()
    assert x.tolist() == [n - 2]


def with_field(data, offset, layout, value):
    """The cubin with another number at the offset."""
    size = struct.calcsize(layout)
    return data[:offset] + struct.pack(layout, value) + data[offset + size :]


def test_machine_code_whose_parts_are_outside_of_it_never_reaches_the_driver():
    data = cubin(SCALE, "sm_90")
    segments, sections = struct.unpack_from("<QQ", data, 32)
    damaged = [
        with_field(data, 54, "<H", 55),  # the size of a segment's header
        with_field(data, 58, "<H", 1),  # the size of a section's header
        with_field(data, 60, "<H", 0),  # no sections
        with_field(data, 62, "<H", 500),  # the section with the names
        with_field(data, sections + 64 + 24, "<Q", len(data)),  # where a section begins
        with_field(data, segments + 8, "<Q", len(data)),  # where a segment begins
    ]
    for change in damaged:
        with pytest.raises(usmpy.BuildError, match="is refused: it is"):
            build(change, "native")


def test_machine_code_of_another_processor_is_refused_by_the_driver():
    with pytest.raises(usmpy.BuildError) as caught:
        build(cubin(SCALE, "sm_120"), "native")
    assert "is refused" not in str(caught.value)
    assert "CUDA_ERROR_" in str(caught.value)


def test_a_compiler_that_knows_no_device(tmp_path):
    source = tmp_path / "nvrtc.c"
    for number, words in (("0", "nvrtcGetNumSupportedArchs"), ("257", "nvrtcGetNumSupportedArchs")):
        source.write_text(FAILING.replace("*n = 1", f"*n = {number}"))
        names = ["libnvrtc.so.99", "libnvrtc-builtins.so.99.1"]
        for name in names:
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / name], check=True)
        assert f"{words} of {tmp_path / names[0]} returned" in run_with_nvrtc(tmp_path / names[0])
