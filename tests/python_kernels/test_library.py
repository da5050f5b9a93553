"""Functions of math that kernels in Python have: the values of Python, compiled and in the interpreter."""

import itertools
import linecache
import math
import sys

import numpy as np
import pytest
from python_kernels.written import functions

import usmpy

WHOLE = [0, 1, 2, 3, 7, 12, 20]
REALS = [0.0, -0.0, 0.1, -3.7, 1.0, 2.0, 1024.0, 1e-300, 1e300, 0.5, math.inf, -math.inf]
NEAR = [(1.0, 1.0 + 1e-10), (1.0, 1.0 + 1e-8)]
PAIRS = list(itertools.product(WHOLE, WHOLE))
CASES = {
    "lcm": ("math.lcm(a, b)", PAIRS),
    "gcd": ("math.gcd(a, b)", PAIRS),
    "comb": ("math.comb(a, b)", PAIRS),
    "perm": ("math.perm(a, b)", [(a, b) for a, b in PAIRS if a < 20]),
    "factorial": ("math.factorial(a)", [(a, 0) for a in WHOLE]),
    "isqrt": ("math.isqrt(a)", [(a, 0) for a in (*WHOLE, 24, 25, 26, 10**15, 2**62, 2**63 - 1)]),
    "isclose": (
        "math.isclose(a, b)",
        [*itertools.product(REALS, REALS), (1.0, 1.0 + 1e-10), (1.0, 1.0 + 1e-8)],
    ),
    "isclose by name": ("math.isclose(a, b, abs_tol=1.0)", itertools.product(REALS[:6], REALS[:6])),
    "modf": ("math.modf(a)[0]", [(a, 0.0) for a in REALS]),
    "modf, whole": ("math.modf(a)[1]", [(a, 0.0) for a in REALS]),
    "frexp": ("math.frexp(a)[0]", [(a, 0.0) for a in REALS]),
    "frexp, exponent": ("math.frexp(a)[1]", [(a, 0.0) for a in REALS]),
    "ulp": ("math.ulp(a)", [(a, 0.0) for a in (*REALS, sys.float_info.max)]),
    "ldexp": ("math.ldexp(a, int(b))", itertools.product(REALS[:7], (0.0, 3.0, -5.0))),
    "dist": ("math.dist((a, 1.0), (b, 3.0))", itertools.product(REALS[:7], REALS[:7])),
    "log": ("math.log(a, b)", itertools.product((0.1, 3.0, 1024.0), (2, 10.0))),
    "hypot": ("math.hypot(a, b, 2.0)", itertools.product(REALS[:7], REALS[:7])),
    "sum": ("sum((a, b, 1))", PAIRS),
    "prod": ("math.prod((a, b, 3))", PAIRS),
    "fsum": ("math.fsum((a, b))", itertools.product(REALS[:7], REALS[:7])),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    text, values = CASES[name]
    values = [(a, b) for a, b in values]
    wanted = [eval(text, {"math": math, "a": a, "b": b}) for a, b in values]
    whole = isinstance(values[0][0], int)
    kernel = functions(
        f"def f(x, z):\n    i = get_global_id(0)\n    a, b = x[i, 0], x[i, 1]\n    z[i] = {text}\n", math=math
    )
    x = usmpy.asarray(np.array(values, "int64" if whole else "float64"), device="host")
    for launch in (usmpy.kernel(kernel["f"]), usmpy.kernel(kernel["f"]).python):
        z = usmpy.zeros(len(values), dtype=np.asarray(wanted).dtype.name, device="host")
        launch[len(values)](x, z).wait()
        np.testing.assert_allclose(z.asnumpy(), wanted, 1e-14)


def test_a_source_that_has_changed_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "changed_kernels.py"
    path.write_text("def one(x):\n    x[0] = 1\n\ndef other(x):\n    x[0] = one(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import changed_kernels

    path.write_text("def one(x):\n    x[0] = 2\n\n\ndef other(x):\n    x[0] = one(x)\n")
    linecache.checkcache(str(path))
    for function in (changed_kernels.one, changed_kernels.other):
        with pytest.raises(usmpy.BuildError, match="the file has changed"):
            usmpy.kernel(function)
    del sys.modules["changed_kernels"]
