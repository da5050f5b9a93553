"""Functions of whole vectors (libmvec) on the host: special values, and that neighbours change no result."""

import os
import subprocess
import sys

import numpy as np
import pytest
from accuracy import ROWS

import usmpy

FUNCTIONS = [name for name, row in ROWS.items() if row.costly and row.real]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e5, -1e22, np.inf, -np.inf, np.nan]
SPECIAL += [
    1e-40,
    -1e-40,
    1e-45,
    3.4028235e38,
    -3.4028235e38,
    88.8,
    -104.0,
    5e-324,
    -1e-310,
    1e308,
    710.0,
    -746.0,
]

PRINT = """
import sys, numpy as np, usmpy
values = np.array(eval(sys.argv[1], {"inf": np.inf, "nan": np.nan}))
for name in sys.argv[3:]:
    for dtype in ("float32", "float64"):
        with np.errstate(all="ignore"):
            x = values.astype(dtype)
        a, b = np.repeat(x, x.size), np.tile(x, x.size)
        function = getattr(usmpy, name)
        arrays = [usmpy.asarray(each, device=sys.argv[2]) for each in (a, b)]
        binary = name in ("pow", "atan2", "logaddexp", "nextafter")
        result = function(*arrays[: 1 + binary])
        sys.stdout.write(f"{name} {dtype} {result.asnumpy().astype('float64').tobytes().hex()}\\n")
"""


def results(library, names):
    """{(name, dtype): results for special values} of a process with this library."""
    command = [sys.executable, "-c", PRINT, repr([float(x) for x in SPECIAL]), "host", *names]
    environment = os.environ | {"USMPY_MATH_LIBRARY": library}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {(name, dtype): np.frombuffer(bytes.fromhex(text)) for name, dtype, text in rows}


@pytest.mark.not_sanitized("it runs another program")
def test_special_values_are_those_of_the_scalar_functions():
    vectors, scalars = results("", FUNCTIONS), results("none", FUNCTIONS)
    assert len(vectors) == 2 * len(FUNCTIONS)
    for (name, dtype), wanted in scalars.items():
        result, label = vectors[name, dtype], f"{name} {dtype}"
        plain = np.isfinite(wanted) & (wanted != 0)
        np.testing.assert_array_equal(result[~plain], wanted[~plain], label)
        np.testing.assert_array_equal(np.signbit(result[wanted == 0]), np.signbit(wanted[wanted == 0]), label)
        limits = np.finfo(dtype)
        step = np.maximum(np.abs(wanted[plain]), limits.tiny) * limits.eps
        assert (np.abs(result[plain] - wanted[plain]) <= (ROWS[name].ulps + 1) * step).all(), label


@pytest.mark.not_sanitized("it runs another program")
def test_a_library_that_is_not_there():
    """The scalar functions take its place."""
    one, other = results("/nowhere/libmvec.so", ["exp"]), results("none", ["exp"])
    assert all(one[key].tobytes() == other[key].tobytes() for key in other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_depends_on_its_element_alone(name, dtype):
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        x = np.concatenate([SPECIAL, rng.normal(0, 3, 200)]).astype(dtype)
    y, places = rng.permutation(x), rng.permutation(x.size)

    def compute(x, y):
        arrays = [usmpy.asarray(each, device="host") for each in (x, y)[: ROWS[name].inputs]]
        return getattr(usmpy, name)(*arrays).asnumpy()

    whole = compute(x, y)
    assert compute(x[places], y[places]).tobytes() == whole[places].tobytes()
    for n in (1, 3, 7, 17):
        assert compute(x[:n].copy(), y[:n].copy()).tobytes() == whole[:n].tobytes()


def test_powers_are_exact():
    for dtype, most in (("float32", 10), ("float64", 22)):
        powers = np.array([10.0**n for n in range(most)], dtype)
        x = usmpy.asarray(powers, device="host")
        assert usmpy.log10(x).asnumpy().tolist() == list(range(most))
        assert usmpy.log2(
            usmpy.asarray(np.exp2(np.arange(60, dtype=dtype)), device="host")
        ).asnumpy().tolist() == list(range(60))
        ten = usmpy.asarray(np.full(most, 10, dtype), device="host")
        assert (
            usmpy.pow(ten, usmpy.asarray(np.arange(most, dtype=dtype), device="host")).asnumpy().tolist()
            == powers.tolist()
        )
