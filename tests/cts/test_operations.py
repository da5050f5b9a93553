"""Elementwise operations of the table csrc/kernels/operations.py, against NumPy."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import usmpy
from usmpy import _core

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "csrc/kernels/operations.py"))
ROWS = {row.name: row for row in TABLE["OPERATIONS"]}
NUMPY = {
    "round": "rint", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "atan2": "arctan2",
    "pow": "power", "bitwise_invert": "invert", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
REAL = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def values(dtype, seed):
    """Special values beside each other in all pairs, and random ones."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, 1, -1, 0.5, -2.5, np.nan, np.inf, -np.inf, info.max, info.min, info.tiny, 3, -7]
        rest = rng.standard_normal(500) * rng.choice([1e-3, 1, 30], 500)
    else:
        info = np.iinfo(dtype)
        special = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 7, 3, 2, 64, 31, 8, 63, 16]
        rest = rng.integers(0, 120, 500) * (1 if info.min == 0 else rng.choice([-1, 1], 500))
    special = np.array(special, dtype)
    a, b = np.repeat(special, special.size), np.tile(special, special.size)
    rest = rest.astype(dtype)
    return np.concatenate([a, rest]), np.concatenate([b, rest[::-1]])


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def expected(row, arguments):
    if row.name in ("conj", "real", "positive") or (row.name == "round" and arguments[0].dtype.kind in "iu"):
        return arguments[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if row.promotes and arguments[0].dtype.kind in "iu":
            real = {1: "float16", 2: "float32"}.get(arguments[0].itemsize, "float64")
            arguments = [x.astype(real) for x in arguments]
        return getattr(np, NUMPY.get(row.name, row.name))(*arguments)


def agree(row, result, wanted, arguments):
    result = result.asnumpy()
    assert result.dtype == wanted.dtype
    if wanted.dtype.kind != "f" or row.ulps == 0:
        np.testing.assert_array_equal(result, wanted)
        return
    assert (np.isnan(result) == np.isnan(wanted)).all()
    finite = np.isfinite(wanted) & np.isfinite(result)
    near = np.abs(result[finite].astype("f8") - wanted[finite].astype("f8"))
    step = np.spacing(np.abs(wanted[finite])).astype("f8")
    if row.name == "logaddexp":  # near 0 it cancels: the error is that of the larger argument
        step = np.maximum(step, np.spacing(np.abs(np.maximum(*arguments)[finite])).astype("f8"))
    assert (near <= (row.ulps + 1) * step).all(), (near / step).max()
    np.testing.assert_array_equal(result[~finite], wanted[~finite])


@pytest.mark.parametrize("dtype", INTEGERS + REAL)
@pytest.mark.parametrize("name", ROWS)
def test_numpys_results(name, dtype, queue):
    row = ROWS[name]
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")
    kind = {"f": "real", "i": "signed", "u": "unsigned"}[np.dtype(dtype).kind]
    a, b = values(dtype, 1)
    if name == "pow" and kind != "real":
        b = np.abs(b.astype("i8")).astype(dtype) % np.array(9, dtype)
    arguments = [a, b][: row.inputs]
    function = getattr(_core, name)
    if row.expression(kind) is None and not row.promotes:
        with pytest.raises(TypeError):
            function(*[put(x, queue) for x in arguments])
        return
    with np.errstate(all="ignore"):
        agree(row, function(*[put(x, queue) for x in arguments]), expected(row, arguments), arguments)
