"""explain_operation: it names what computes, and computes nothing."""

import os
import platform
import subprocess
import sys

import pytest

import usmpy


def by(*arguments):
    return usmpy.explain_operation(*arguments).splitlines()[1]


def on_host(queue):
    return queue.device.device_type == "cpu"


def test_the_types_are_those_of_the_result(queue):
    x = usmpy.ones(3, dtype="float16", queue=queue)
    text = usmpy.explain_operation(usmpy.exp, x)
    assert text.splitlines()[0] == "exp of float16, computed in float32, result in float16"
    i = usmpy.ones(3, dtype="int8", queue=queue)
    assert "of int8, computed in int64, result in int64" in usmpy.explain_operation("sum", i)
    assert "of int8, computed in int8, result in int64" in usmpy.explain_operation("argmax", i)
    assert "add of int8 and float32, computed in float32" in usmpy.explain_operation(
        "add", i, x.astype("float32")
    )
    assert "add of float16 and float16" in usmpy.explain_operation("add", x, 1)
    c = x.astype("complex64")
    assert "of complex64, computed in complex64, result in float32" in usmpy.explain_operation("abs", c)


FUNCTIONS = ["add", "sqrt", "negative", "sum", "max", "argmin", "cumulative_sum", "sort", "argsort", "exp"]
MODULES = ["operate.float32"] * 3 + ["accumulate"] * 3 + ["scan"] + ["sort"] * 2
MODULES += ["operate.exp_float32"]


@pytest.mark.parametrize(("name", "module"), list(zip(FUNCTIONS, MODULES, strict=True)))
def test_what_computes(name, module, queue):
    x = usmpy.ones(3, dtype="float32", queue=queue)
    found = by(name, x, x) if name == "add" else by(getattr(usmpy, name), x)
    if on_host(queue):
        assert found.startswith("by: loops of the host")
        assert ("," in found) == (module != "sort")
    else:
        assert found == f"by: built-in kernels of {module}"
    result = getattr(usmpy, name)(*([x, x] if name == "add" else [x]))
    assert str(result.dtype) in usmpy.explain_operation(name, *([x, x] if name == "add" else [x]))


def test_copies_and_truth_and_products(queue):
    i = usmpy.ones((2, 2), dtype="int32", queue=queue)
    assert by("floor", i) == "by: a copy"
    m = i.astype("bool")
    assert "computed in bool, result in bool" in usmpy.explain_operation("bitwise_and", m, m)
    assert usmpy.explain_operation("matmul", i, i) == usmpy.explain_matmul(i, i)


LIBRARY = """
import usmpy
x = usmpy.ones(3, device="host")
print(usmpy.explain_operation("exp", x).splitlines()[1])
print(usmpy.explain_operation("log10", x).splitlines()[1])
"""


@pytest.mark.not_sanitized("it runs another program")
def test_the_library_of_functions_is_named():
    def lines(library):
        environment = {**os.environ, "USMPY_MATH_LIBRARY": library}
        done = subprocess.run(
            [sys.executable, "-c", LIBRARY], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    exp, log10 = lines("none")
    assert exp.endswith("with scalar functions of the C library")
    assert log10 == exp
    if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc":
        exp, log10 = lines("")
        assert "with functions of " in exp
        assert "libmvec" in exp
        assert log10.endswith("with scalar functions of the C library")


def test_nothing_is_computed(queue):
    x = usmpy.ones(1000, dtype="float32", queue=queue)
    with usmpy.trace() as trace:
        for name in ("exp", "floor", "sum", "cumulative_sum", "sort"):
            usmpy.explain_operation(name, x)
        usmpy.explain_operation("add", x, x)
        assert len(trace.tasks) == 0
        usmpy.exp(x).wait()
    assert len(trace.tasks) == 1


def test_refused(queue):
    x = usmpy.ones(3, dtype="complex64", queue=queue)
    other = usmpy.ones(3, queue=usmpy.Queue(queue.device), dtype="complex64")
    stored = usmpy.empty(3, dtype=usmpy.float8_e5m2, queue=queue)
    for error, match, arguments in (
        (ValueError, "function is 'mean'", (usmpy.mean, x)),
        (TypeError, "function is an int; a function", (3, x)),
        (TypeError, "add takes 2 arrays", ("add", x)),
        (TypeError, "exp takes 1 array", ("exp", x, x)),
        (TypeError, r"sort\(\): x has dtype complex64", ("sort", x)),
        (TypeError, r"floor\(\) is not defined for dtype complex64", ("floor", x)),
        (TypeError, "float8_e5m2", ("sum", stored)),
        (TypeError, "x is a list", ("sum", [1])),
        (usmpy.ExecutionPlacementError, "^add: ", ("add", x, other)),
        (ValueError, "do not broadcast", ("add", x, usmpy.ones(4, dtype="complex64", queue=queue))),
    ):
        with pytest.raises(error, match=match):
            usmpy.explain_operation(*arguments)


@pytest.mark.parametrize(
    "name",
    ["sum", "prod", "max", "min", "argmax", "argmin", "cumulative_sum", "cumulative_prod", "sort", "argsort"],
)
def test_the_type_that_is_told_is_the_results(name, queue):
    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    for dtype in ("bool", *integers, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        try:
            x = usmpy.ones(3, dtype=dtype, queue=queue)
        except (TypeError, ValueError, usmpy.UsmError):  # the device has no such type
            continue
        try:
            found = getattr(usmpy, name)(x).dtype
        except TypeError:
            continue
        text = usmpy.explain_operation(name, x).splitlines()[0]
        assert text.endswith(f"result in {found}"), text
