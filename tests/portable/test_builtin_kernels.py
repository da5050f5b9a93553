"""The kernels that ship with usmpy are programs of the portable language, too."""

import numpy as np
import pytest
from host_kernels import build

from usmpy import _core

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

SOURCES = {name: source.decode() for name, source in _core._kernel_sources()[0].items()}
MODES = ["-DUSM_HAS_FP64", "-DUSM_HAS_FP64 -DUSM_SERIAL", ""]


def axes(n, dst_step, src_step):
    """usm_kernel_axes of one axis."""
    shape, dst, src = np.ones(8, "i8"), np.zeros(8, "i8"), np.zeros(8, "i8")
    shape[0], dst[0], src[0] = n, dst_step, src_step
    return np.concatenate([shape, dst, src]).tobytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 37, 1000])
def test_fills_and_sequences(mode, size):
    fill, sequence = (build(SOURCES[name], options=mode) for name in ("fill", "sequence"))
    out = np.zeros(700, "u2")
    fill.usm_fill_2(size, out, 513, 700, boxes=min(size, 3))
    assert (out == 513).all()
    real = np.zeros(700, "f4")
    sequence.usm_sequence_float32(size, real, 0.5, 0.25, -7.0, 700)
    np.testing.assert_array_equal(real[:-1], np.arange(699) * 0.25 + 0.5)
    assert real[-1] == -7
    whole = np.zeros(700, "i8")
    sequence.usm_sequence_uint64(size, whole, 5, 2**64 - 3, 700)
    np.testing.assert_array_equal(whole, 5 - 3 * np.arange(700))


@pytest.mark.parametrize("mode", MODES)
def test_strided_copies(mode):
    library = build(SOURCES["strided"], options=mode)
    src, dst = np.arange(600, dtype="i4"), np.zeros(200, "i4")
    library.usm_strided_4(64, dst, src, axes(200, 4, 12))
    np.testing.assert_array_equal(dst, src[::3])


@pytest.mark.parametrize(
    ("to", "frm", "mode"),
    [("float16", "float32", MODES[0]), ("int8", "float32", MODES[1]), ("bool", "int64", MODES[2])],
)
def test_casts(to, frm, mode):
    library = build(SOURCES["cast"], options=f"{mode} -DUSM_DST={to} -DUSM_SRC={frm}")
    src = np.linspace(-100, 100, 401).astype(frm)
    dst = np.zeros(401, to)
    library.usm_cast(64, dst, src, axes(401, dst.itemsize, src.itemsize))
    np.testing.assert_array_equal(dst, src.astype(to))
