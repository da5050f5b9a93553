"""The built-in kernels on CUDA: every cast, and memory that is not aligned."""

import functools
import struct

import numpy as np
import pytest
from libraries import need

import usmpy
from usmpy import _core

need("ml_dtypes")

DEVICES = usmpy.get_devices("cuda")
pytestmark = [pytest.mark.leaves_objects("queues of devices are cached")]
if not DEVICES:
    pytestmark.append(pytest.mark.skip(reason="no CUDA device, and no driver in software"))
DEVICE = DEVICES[0] if DEVICES else None

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16"]
TYPES += ["float32", "float64", "bfloat16", "complex64", "complex128"]
CORNERS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.5, 127.5, -128.5, 255.5, 256.0, 32767.5, 65504.0, 65519.9]
CORNERS += [65520.0, 65535.5, 2.0**31, -(2.0**31), 2.0**32, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e-7]
CORNERS += [6e-8, 3e-8, 6.1e-5, 1e38, 1e300, -1e39, np.inf, -np.inf, np.nan, 2.0**24 + 1, 1.00390625, 3.4e38]


def cast(x, target):
    result = usmpy.empty(x.shape, dtype=target, device=x.device)
    usmpy.copyto(result, x, casting="unsafe")
    return result


def check_same(one, other):
    """Bit for bit, but for the payload of a NaN."""
    assert one.dtype == other.dtype
    if one.dtype.kind == "c":
        one, other = (x.view(f"f{x.dtype.itemsize // 2}") for x in (one, other))
    bits = f"u{one.dtype.itemsize}"
    same = (one.view(bits) == other.view(bits)) | ((one != one) & (other != other))
    assert same.all(), (one[~same][:4], other[~same][:4])


@pytest.mark.parametrize("source", TYPES)
def test_casts_are_the_host_s(source):
    host = usmpy.Device("host:cpu:0")
    values = np.array([*CORNERS, *np.random.default_rng(4).normal(0, 1000, 90)])
    x = cast(usmpy.asarray(values, device=host), source)
    y = x.to_device(DEVICE)
    for target in TYPES:
        check_same(cast(x, target).asnumpy(), cast(y, target).asnumpy())


# Arrays are aligned to their elements, but strides of imported ones need not be: the kernels for that are run
# as any program is.


@functools.cache
def ptx(*names):
    """The kernel named last, in a program of these parts."""
    source = b"".join(_core._kernel_sources()[1][name] for name in names)
    return usmpy.Program(source.decode(), device=DEVICE, language="ptx")[names[-1]]


def axes(shape, dst, src):
    rows = [[*row, *[fill] * (8 - len(row))] for row, fill in ((shape, 1), (dst, 0), (src, 0))]
    return struct.pack("24q", *rows[0], *rows[1], *rows[2])


@pytest.mark.parametrize(
    ("target", "source"), [("float64", "int16"), ("int8", "complex128"), ("int32", "float16")]
)
@pytest.mark.parametrize("offset", [1, 2, 3, 8])
def test_casts_of_memory_that_is_not_aligned(target, source, offset):
    kernel = ptx(f"cast {target} {source}", "usm_cast_unaligned")
    values = np.arange(-10, 25).reshape(5, 7).astype(source)
    src, dst = np.zeros(2000, "u1"), usmpy.zeros(2000, dtype="uint8", device=DEVICE)
    src[offset : offset + values.nbytes] = np.frombuffer(values.tobytes(), "u1")
    size, own = values.dtype.itemsize, np.dtype(target).itemsize
    given = axes((7, 5), (own + 1, 9 * own), (size, 7 * size))
    kernel[64](dst[offset:], usmpy.asarray(src, device=DEVICE)[offset:], given).wait()
    out = dst.asnumpy()[offset:]
    for i in range(5):
        for j in range(7):
            at = j * (own + 1) + 9 * i * own
            assert out[at : at + own].tobytes() == values.real[i, j].astype(target).tobytes()


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_fills_of_memory_that_is_not_aligned(size, offset):
    dst, pattern = usmpy.zeros(500, dtype="uint8", device=DEVICE), bytes(range(1, 17))
    given = pattern[:size] + bytes(16 - size)
    ptx("usm_fill_any")[64](dst[offset:], given, size, 7 * size).wait()
    out = dst.asnumpy()
    assert out[offset : offset + 7 * size].tobytes() == pattern[:size] * 7
    assert not out[:offset].any()
    assert not out[offset + 7 * size :].any()
