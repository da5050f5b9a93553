"""The built-in device kernels in OpenCL C, on every OpenCL device found, against the host backend."""

import platform
import runpy
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from dtypes import NUMBERS
from libraries import REQUIRED, need

import usmpy
from usmpy import _core

cl = need("pyopencl")

from opencl_device import NO_FP64, Device, find_devices  # noqa: E402

pytestmark = [
    pytest.mark.not_sanitized("the drivers' compilers are no part of it"),
    pytest.mark.filterwarnings(
        "ignore::pyopencl.CompilerWarning"
    ),  # Intel's compiler reports vectorised loops
]

DEVICES = find_devices()

FP64 = {"float64", "complex128"}

EDGES = [0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.0, -1.0, 1.5, 2.5, 1 / 3, 127.9, 128, -128.0, -128.9, -129.0]
EDGES += [
    255.9,
    256,
    32767.5,
    -32768.9,
    65503.9,
    65519.9,
    65520,
    65535.9,
    1e-8,
    2.98e-8,
    6e-5,
    3.4e38,
    3.39e38,
]
EDGES += [16777217.0, 2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**32, 2.0**53 + 1, 2.0**63, -(2.0**63), 2.0**64]
EDGES += [9.3e18, 1.8446744073709550e19, 1.1e-40, 1e-45, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan]
EDGES += [
    1 + 2.0**-8,
    1 + 2.0**-9,
    1 + 2.0**-11,
    1 + 2.0**-24,
    1 + 2.0**-11 + 2.0**-40,
    1 + 2.0**-8 + 2.0**-50,
]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


def samples(name):
    """Values at the edges of every type that can hold them, and random bits."""
    dtype = numpy_dtype(name)
    random = np.random.default_rng(3)
    if dtype.kind == "b":
        return random.integers(0, 2, 300).astype(bool)
    bits = random.integers(0, 256, 200 * dtype.itemsize, dtype=np.uint8).view(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        powers = [(1 << k) + d for k in range(64) for d in (-1, 0, 1)]
        # Near half way between two bfloat16: a first rounding to double would land on the middle.
        powers += [0x1010000000000001, 0x1030000000000001, 0x102FFFFFFFFFFFFF, 0x8080000000000001]
        near = [v for p in powers for v in (p, -p) if info.min <= v <= info.max]
        return np.concatenate([np.array(near, dtype), bits])
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            whole = np.empty(len(EDGES), "complex128")
            whole.real, whole.imag = EDGES, EDGES[::-1]
            zeros = np.array([0, -0.0, 1e-45j, 1j * np.nan, np.nan])
            return np.concatenate([whole, zeros]).astype(dtype)
        return np.concatenate([np.array(EDGES).astype(dtype), bits])


def on_host(array, name):
    """The cast by the host backend."""
    if array.dtype == ml_dtypes.bfloat16:  # NumPy's DLPack has no name for it
        source = _core._reinterpret(usmpy.asarray(array.view("uint16")), "bfloat16")
    else:
        source = usmpy.asarray(array)
    result = usmpy.empty(source.shape, dtype=name)
    usmpy.copyto(result, source, casting="unsafe")
    return result.asnumpy()


def check_same(got, wanted):
    """Bit for bit, but for the sign and payload of a NaN."""
    if got.dtype.kind == "c":
        part = "float32" if got.dtype.itemsize == 8 else "float64"
        got, wanted = got.view(part), wanted.view(part)
    bits = f"uint{8 * got.dtype.itemsize}"
    same = got.view(bits) == wanted.view(bits)
    if got.dtype.kind in "fV":
        same |= np.isnan(got) & np.isnan(wanted)
    wrong = np.flatnonzero(~same)
    assert not wrong.size, [(i, got[i], wanted[i]) for i in wrong[:5]]


@pytest.fixture(scope="module", params=DEVICES, ids=lambda device: device.platform.name)
def device(request):
    return Device(request.param)


@pytest.mark.made_if(REQUIRED, reason="other environments may lack them")
def test_the_drivers_of_the_test_environment_are_found():
    names = " ".join(device.platform.name for device in DEVICES)
    assert "Intel" in names or platform.machine() != "x86_64"
    assert "Portable Computing Language" in names


def test_the_extension_holds_every_source():
    tools = Path(__file__).resolve().parents[2] / "csrc" / "kernels" / "tools"
    embed = runpy.run_path(str(tools / "embed.py"))
    texts, ptx, spirv = _core._kernel_sources()
    assert {"cast", "fill", "sequence", "strided"} <= set(texts)
    assert not [name for name, text in texts.items() if b"#include" in text or b"/*" in text]
    assert [texts, ptx, spirv] == embed["embedded"]()


# Building takes the time. Each compiler builds a seventh of the pairs, Intel's another one than others, most
# of them without its optimiser: each type meets two others on both sides. test_casts.py of tests/cts has all.


def is_intel(device):
    return "Intel" in device.device.platform.name


def takes(device, dst, src):
    return (NUMBERS.index(dst) + NUMBERS.index(src) + is_intel(device)) % 7 == 0


def pair_options(device, dst, src):
    optimised = (NUMBERS.index(dst) + NUMBERS.index(src)) % 3 == 0
    return ("-cl-opt-disable",) if is_intel(device) and not optimised else ()


@pytest.mark.parametrize("src", NUMBERS)
def test_casts_agree_with_the_host_backend(device, src):
    if src in FP64 and not device.fp64:
        pytest.skip("the device has no fp64")
    targets = [name for name in NUMBERS if name != src and (device.fp64 or name not in FP64)]
    targets = [name for name in targets if takes(device, name, src)]
    device.build_all(
        ("cast", "-DUSM_SERIAL", f"-DUSM_DST={dst}", f"-DUSM_SRC={src}", *pair_options(device, dst, src))
        for dst in targets
    )
    values = samples(src)
    source = device.put(values)
    # Two axes, with gaps and the other way round.
    half = values.size // 2
    gaps = device.put(np.repeat(values[: 2 * half].reshape(2, half), 3, axis=1)[:, ::-1])[:, ::-1][:, ::3]
    for dst in targets:
        options = pair_options(device, dst, src)
        wanted = on_host(values, dst)
        to = device.put(np.full(values.shape, 77).astype(numpy_dtype(dst)))
        assert device.copy(to, source, (dst, src), options=options) == 0
        check_same(to, wanted)
        wide = device.put(np.full((2, half * 2), 77).astype(numpy_dtype(dst)))
        device.copy(wide[:, ::2], gaps, (dst, src), options=options)
        check_same(wide[:, ::2].ravel(), wanted[: 2 * half])
        assert (wide[:, 1::2].astype("complex128") == np.array(77).astype(wide.dtype)).all()


# As on a GPU: neighbouring work-items take neighbouring elements.
GPU_PAIRS = [("float16", "float64"), ("uint8", "float32"), ("bfloat16", "uint64"), ("complex64", "int16")]


@pytest.mark.parametrize(("dst", "src"), GPU_PAIRS)
def test_casts_as_built_for_gpus(device, dst, src):
    if {dst, src} & FP64 and not device.fp64:
        pytest.skip("the device has no fp64")
    values = samples(src)
    to = device.put(np.zeros(values.shape, numpy_dtype(dst)))
    device.copy(to, device.put(values), (dst, src), serial=False)
    check_same(to, on_host(values, dst))


@pytest.mark.parametrize(
    ("dst", "src"),
    [
        ("float16", "uint64"),
        ("bfloat16", "int64"),
        ("int64", "float32"),
        ("uint8", "complex64"),
        ("bool", "float16"),
    ],
)
def test_casts_without_fp64(device, dst, src):
    values = samples(src)
    to = device.put(np.zeros(values.shape, numpy_dtype(dst)))
    device.copy(to, device.put(values), (dst, src), options=(NO_FP64,))
    check_same(to, on_host(values, dst))


@pytest.mark.parametrize(("dst", "src"), [("float32", "int16"), ("complex64", "float16"), ("int64", "int32")])
def test_casts_of_memory_that_is_not_aligned(device, dst, src):
    values = samples(src)
    source, to = (
        device.empty(values.nbytes + 1)[1:],
        device.empty(values.size * numpy_dtype(dst).itemsize + 1)[1:],
    )
    source[:] = values.view("uint8")
    to = to.view(numpy_dtype(dst))
    device.copy(to, source.view(values.dtype), (dst, src))
    check_same(to.copy(), on_host(values, dst))


def test_a_cast_in_place(device):
    values = samples("float32")
    memory = device.put(values)
    device.copy(memory.view("int32"), memory, ("int32", "float32"))
    check_same(memory.view("int32"), on_host(values, "int32"))


def test_a_type_that_needs_fp64_is_refused_without_it(device):
    with pytest.raises(cl.RuntimeError, match="usm_mem_float64"):
        device.build("cast", NO_FP64, "-DUSM_DST=float64", "-DUSM_SRC=int8")


MOVED = {1: "uint8", 2: "float16", 4: "float32", 8: "int64", 16: "complex128"}


def random_layout(random, memory, shape, repeats):
    """A view of memory of this shape: axes in any order, with gaps, turned round, or read again and again."""
    order, strides, reach, low = random.permutation(len(shape)), [0] * len(shape), 1, 0
    plain = random.integers(3) == 0
    if plain:
        order = np.arange(len(shape))[::-1]
    for axis in order:
        if repeats and not plain and random.integers(5) == 0:
            continue
        strides[axis] = reach
        reach *= shape[axis] + (0 if plain else random.integers(2))
        if not plain and random.integers(4) == 0:
            strides[axis] = -strides[axis]
            low += strides[axis] * (shape[axis] - 1)
    start = -low + random.integers(3)
    assert start + reach <= memory.size
    return np.lib.stride_tricks.as_strided(
        memory[start:], shape, [stride * memory.itemsize for stride in strides]
    )


@pytest.mark.parametrize("serial", [True, False], ids=["processor", "gpu"])
@pytest.mark.parametrize("size", MOVED)
def test_strided_copies_of_random_layouts(device, size, serial):
    random = np.random.default_rng(size)
    sizes, calls = set(), set()
    room = 1 << 15
    source = device.put(random.integers(0, 256, room * size, dtype=np.uint8)).view(MOVED[size])
    memory = device.empty(room * size).view(MOVED[size])
    bits = [array.view("uint8") for array in (memory, source)]
    for k in range(40 if serial else 20):  # PoCL builds for each size of groups anew
        ndim = random.integers(0, 6) if k % 10 else random.integers(9, 12)
        most = {0: 1, 1: 900, 2: 60, 3: 14, 4: 7, 5: 4}.get(ndim, 1)
        shape = tuple(random.integers(1, most + 1, ndim)) if most > 1 else (2,) * ndim
        shape = tuple(int(length) for length in shape)
        if ndim > 8:  # gaps would double the room with each axis
            to, frm = memory[: 2**ndim].reshape(shape), source[: 2**ndim].reshape(shape).T
        else:
            to, frm = (random_layout(random, m, shape, m is source) for m in (memory, source))
        bits[0][:] = 0x5A
        wanted = bits[0].copy()
        view = np.lib.stride_tricks.as_strided(
            wanted[to.ctypes.data - memory.ctypes.data :].view(MOVED[size]), shape, to.strides
        )
        view[...] = frm
        names = (MOVED[size], MOVED[size])
        calls.add(len(device.launches(to, frm, names, serial)[2]))
        sizes.add(device.copy(to, frm, names, serial))
        assert (bits[0] == wanted).all(), (shape, to.strides, frm.strides)
    assert size in sizes
    assert max(calls) > 1


def test_elements_that_are_not_aligned_to_their_size(device):
    random = np.random.default_rng(5)
    for name, shift in [("int16", 1), ("float32", 2), ("complex64", 4), ("complex128", 4), ("float64", 1)]:
        size = np.dtype(name).itemsize
        values = random.integers(0, 256, 40 * size, dtype=np.uint8)
        source, memory = device.empty(40 * size + shift)[shift:], device.empty(40 * size + shift)[shift:]
        source[:], memory[:] = values, 0
        to, frm = memory.view(name)[:20], source.view(name)[::-2]
        assert device.copy(to, frm, (name, name)) < size
        assert to.tobytes() == values.view(name)[::-2].tobytes()


RANGES = [((1, 1, 1), (1, 1, 1)), ((3, 2, 5), None), ((128, 1, 4), (32, 1, 1)), ((7, 64, 1), (1, 4, 1))]


@pytest.mark.parametrize("serial", [True, False], ids=["processor", "gpu"])
@pytest.mark.parametrize("ranges", RANGES, ids=lambda ranges: str(ranges[0]))
def test_any_range_covers_all_elements(device, serial, ranges):
    source = device.put(np.arange(5 * 7 * 40 * 3, dtype="int32").reshape(5, 7, 40, 3))
    for axes in [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)]:
        frm = source.transpose(axes)[:, ::-1, :, ::2]
        to = device.put(np.full(frm.shape, -1, "int32"))
        device.copy(to, frm, ("int32", "int32"), serial, ranges)
        assert (to == frm).all()


@pytest.mark.parametrize("serial", [True, False], ids=["processor", "gpu"])
@pytest.mark.parametrize("size", MOVED)
def test_fills(device, size, serial):
    program = device.build("fill", *["-DUSM_SERIAL"] * serial)
    pattern = bytes(range(1, size + 1))
    for n in (1, 2, 63, 1000):
        memory = device.empty((n + 1) * size)
        memory[:] = 0
        for ranges in [((1,), None), ((n,), None), ((64,), (64,)), ((3,), (1,))]:
            device.run(program, f"usm_fill_{size}", ranges, memory, pattern, np.uint64(n))
            assert memory.tobytes() == pattern * n + bytes(size)


@pytest.mark.parametrize("serial", [True, False], ids=["processor", "gpu"])
@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64"])
def test_sequences_of_integers(device, name, serial):
    program = device.build("sequence", *["-DUSM_SERIAL"] * serial)
    signed = name.removeprefix("u")
    for start, step, n in [(0, 1, 100), (-7, 3, 20), (100, -50, 5)]:
        to = device.put(np.zeros(n, name))
        arguments = [np.uint64(value % 2**64) for value in (start, step)]
        device.run(program, f"usm_sequence_{name}", ((16,), None), to, *arguments, np.uint64(n))
        wanted = usmpy.arange(start, start + n * step, step, dtype="int64").astype(signed).asnumpy()
        assert (to.view(signed) == wanted).all()
    to = device.put(np.zeros(9, "uint64"))  # wraps
    if name == "uint64":
        device.run(program, "usm_sequence_uint64", ((1,), None), to, *np.uint64([2**64 - 3, 2, 9]))
        assert to.tolist() == [(2**64 - 3 + 2 * i) % 2**64 for i in range(9)]


@pytest.mark.parametrize("serial", [True, False], ids=["processor", "gpu"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_sequences_of_floating_point_numbers(device, name, serial):
    if not device.fp64:
        pytest.skip("the device has no fp64")
    program = device.build("sequence", *["-DUSM_SERIAL"] * serial)
    for start, stop, n in [(0.1, 7.3, 1000), (1 / 3, -1e10, 77), (5.0, 5.5, 2), (-0.0, 0.0, 1)]:
        to = device.put(np.zeros(n, name))
        step = (stop - start) / max(n - 1, 1)
        device.run(
            program, f"usm_sequence_{name}", ((16,), None), to, *np.float64([start, step, stop]), np.uint64(n)
        )
        wanted = start + np.arange(n) * step
        wanted[-1] = stop
        check_same(to, wanted.astype(name))
        if n > 1:
            check_same(to, usmpy.linspace(start, stop, n, dtype=name).asnumpy())


def test_sequences_of_float32_without_fp64(device):
    program = device.build("sequence", NO_FP64)
    to = device.put(np.zeros(50, "float32"))
    arguments = np.float32([0.5, 0.25, 100])
    device.run(program, "usm_sequence_float32", ((16,), None), to, *arguments, np.uint64(50))
    assert to.tolist() == [0.5 + 0.25 * i for i in range(49)] + [100]
