"""Checked kernels: the first index, division or barrier that is wrong ends the launch with KernelError."""

from __future__ import annotations

import itertools
import pickle
import threading

import checked_kernels
import pytest

import usmpy

pytestmark = pytest.mark.leaves_objects("queues of devices are cached")
CASES = list(checked_kernels.cases())
PARTS = 4  # programs
BEYOND = (8, -1, 9, 2**31 - 1, -(2**31))


def failure(event):
    """The KernelError of a launch, without its traceback; None if it went well."""
    try:
        event.wait()
    except usmpy.KernelError as error:
        return error.with_traceback(None)
    return None


def ints(queue, *values):
    return usmpy.asarray(values, dtype="int32", queue=queue)


@pytest.mark.parametrize("part", range(PARTS))
def test_each_way_to_memory(queue, part, built_soon):
    cases = CASES[part::PARTS]
    source = checked_kernels.source(cases)
    program = usmpy.Program(source, device=queue, check=True, **built_soon)
    first = source.count("\n") - len(cases) + 1
    wrong = []
    for k, case in enumerate(cases):
        for i in (0, 7, *(BEYOND[(k + j) % len(BEYOND)] for j in range(2))):
            x, out = ints(queue, *range(10, 18)), ints(queue, -1)
            error = failure(program[f"k{k}"][usmpy.NdRange(1, 1)](x, out, i, usmpy.LocalMemory(32)))
            if 0 <= i < 8:
                seen, expected = (error, out.tolist()), (None, [case.value(10 + i)])
            else:
                seen = error and (error.argument, error.axis, error.reason, error.work_item, error.kernel)
                expected = (case.argument, case.axis, "index", (0,), f"k{k}")
                if error is not None and error.argument is not None:
                    seen, expected = (*seen, error.extent), (*expected, case.n)
                    if abs(i) < 100:
                        seen, expected = (*seen, error.index), (*expected, i)
                if error is not None and "helper" not in case.name and "parameter" not in case.name:
                    seen, expected = (*seen, error.lineno), (*expected, first + k)
                seen, expected = (seen, x.tolist()), (expected, list(range(10, 18)))
            if seen != expected:
                wrong.append((case.name, case.body, i, seen, expected))
    assert not wrong, "\n".join(map(str, wrong[:20])) + f"\n{len(wrong)} wrong"


def test_division_by_zero(queue, built_soon):
    types = {"char": "int8", "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64"}
    types |= {"ulong": "uint64", "float": "float32"}
    kernels = [
        f"kernel void {type}_{k}(global {type} *x, {other} d) {{ {use} }}\n"
        for type, other in itertools.product(types, ("int", "ulong"))
        for k, use in enumerate(
            ("x[0] = x[0] / d;", "x[0] /= d;", f"{type} n = x[0]; n /= d; x[0] = n;")
            + (("x[0] = 1 + x[0] % d;", "x[0] %= d;") if type != "float" else ())
        )
    ]
    kernels = [line.replace("_", f"_{k}_", 1) for k, line in enumerate(kernels)]
    program = usmpy.Program("".join(kernels), device=queue, check=True, **built_soon)
    for k, line in enumerate(kernels):
        name = line.split("(")[0].split()[-1]
        type = name.split("_")[0]
        for divisor in (3, 0):
            x = usmpy.asarray([100], dtype=types[type], queue=queue)
            error = failure(program[name][1](x, divisor))
            if divisor == 0 and type != "float":
                assert error is not None, line
                assert (error.reason, error.lineno, error.argument) == ("division", k + 1, None)
            else:
                assert error is None, line
                quotient = 100 / 3 if type == "float" else 1 if "%=" in line else 2 if "%" in line else 33
                assert x.tolist() == [pytest.approx(quotient) if divisor else float("inf")], line


def test_the_smallest_integer_divided_by_minus_one(queue, built_soon):
    source = "kernel void f(global int *x, int d) { x[0] = x[1] / d; x[1] = x[1] % d; }"
    x = ints(queue, 0, -(2**31))
    assert failure(usmpy.Program(source, device=queue, check=True, **built_soon).f[1](x, -1)) is None
    assert x.tolist() == [-(2**31), 0]


MANY = """\
#line 70 "other.cl"
kernel void f(global const int *x, global int *y, int n) {
    int i = get_global_id(0) + get_global_size(0) * get_global_id(1);

    y[i] =
        x[i + n];
}
kernel void alone(void) { int a[2]; a[get_global_id(0) + 1] = 1; }
"""


PLAIN = "kernel void f(global int *x) { x[0] = 1; }"


def test_what_the_error_tells(queue):
    program = usmpy.Program(MANY, device=queue, check=True)
    assert program.check
    assert program.f.parameter_names == ("x", "y", "n")
    assert program.f.parameters == ("const int32*", "int32*", "int32")
    x, y = ints(queue, *range(6)), ints(queue, *range(6))
    with pytest.raises(usmpy.KernelError) as caught:
        program.f[usmpy.Range(3, 2)](x, y, n=1).wait()
    error = caught.value
    assert (error.kernel, error.argument, error.index, error.axis, error.extent) == ("f", "x", 6, 0, 6)
    assert (error.work_item, error.filename, error.lineno) == ((2, 1), "other.cl", 74)
    assert (error.backend, error.code, error.reason) == (queue.backend, 0, "index")
    text = "f, line 74 of other.cl: index 6 is outside of x, which has 6 elements, in work-item (2, 1)"
    assert str(error) == text
    assert y.tolist() == [1, 2, 3, 4, 5, 0]  # a read outside is 0, and the work-item goes on
    assert failure(program.f[usmpy.Range(3, 2)](x, y, 0)) is None
    assert failure(program.f[0](x, y, 9)) is None
    assert failure(queue.submit(program.alone, (), 1)) is None
    assert failure(queue.submit(program.alone, (), 2)).argument == "a"
    with pytest.raises(TypeError, match=r"f takes 3 arguments \(x, y, n\), 2 were given"):
        program.f[3](x, y)
    with pytest.raises(usmpy.ExecutionPlacementError):
        program.alone[2]()


def test_what_depends_on_a_launch_that_failed_is_skipped(queue):
    program = usmpy.Program(MANY, device=queue, check=True)
    x, y, other = ints(queue, *range(6)), ints(queue, *range(6)), ints(queue, *range(6))
    gate = threading.Event()
    held = queue.host_task(lambda _: gate.wait(60), x)
    failed, after = program.f[6](x, y, 1), program.f[6](y, other, 0)
    apart = program.f[6](x, other, 0)  # only reads what the first one read
    gate.set()
    held.wait()
    assert isinstance(failure(failed), usmpy.KernelError)
    with pytest.raises(usmpy.UsmError, match="did not run") as caught:
        after.wait()
    assert not isinstance(caught.value, usmpy.KernelError)
    with pytest.raises(usmpy.UsmError):
        apart.wait()  # it writes what the skipped one would have written
    with pytest.raises(usmpy.UsmError):
        queue.wait()


def test_of_many_failures_one_is_told(queue):
    source = "kernel void f(global int *x) { x[get_global_id(0) - 5] = 7; x[1 / (x[0] - x[0])] = 1; }"
    x = ints(queue, *range(1000))
    error = failure(usmpy.Program(source, device=queue, check=True).f[2000](x))
    wrong = error.work_item[0] - 5 in (error.index, None) and not 0 <= error.index < 1000
    assert wrong if error.reason == "index" else error.reason == "division"
    assert x.tolist()[1:995] == [7] * 994


def test_null_and_empty_arguments(queue):
    program = usmpy.Program(MANY, device=queue, check=True)
    y = ints(queue, 5)
    for x in (None, ints(queue)):
        error = failure(queue.submit(program.f, (x, y, 0), 1))
        assert (error.argument, error.index, error.extent) == ("x", 0, 0)


BARRIER = """
kernel void f(global int *x, int n) {
    int i = get_local_id(0);
    for (int k = 0; k < (%s); k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[get_global_id(0)] = i;
}
"""


@pytest.mark.only_on("host")
@pytest.mark.parametrize(
    "count", ["i < n", "i >= n", "i", "1 + (i == n)"], ids=["the first", "the last", "more", "one more"]
)
def test_a_barrier_that_not_all_reach(queue, count):
    program = usmpy.Program(BARRIER % count, device=queue, check=True)
    x = ints(queue, *range(12))
    error = failure(program.f[usmpy.NdRange(12, 4)](x, 2))
    assert (error.reason, error.lineno, error.argument) == ("barrier", 5, None)


def test_barriers_that_all_reach(queue):
    program = usmpy.Program(BARRIER % "n", device=queue, check=True)
    x = ints(queue, *range(12))
    for n in (0, 1, 3):
        assert failure(program.f[usmpy.NdRange(12, 4)](x, n)) is None
    assert x.tolist() == [0, 1, 2, 3] * 3


def test_programs_that_are_checked(queue, monkeypatch):
    monkeypatch.setenv("USMPY_CHECK", "1")
    program = usmpy.Program(MANY, device=queue)
    assert program.check
    assert not usmpy.Program(PLAIN, device=queue, check=False).check
    with pytest.raises(usmpy.UsmError, match="check=False"):
        _ = program.binary
    copy = pickle.loads(pickle.dumps(program))
    monkeypatch.setenv("USMPY_CHECK", "0")
    assert copy.check
    assert not usmpy.Program(PLAIN, device=queue).check
    again = program.f.with_parameters(("const int32* x", "int32* y", "int32 n"))
    x, y = ints(queue, 1, 2), ints(queue, 0, 0)
    assert failure(again[2](x, y, 1)).index == 2
    with pytest.raises(TypeError, match="check"):
        usmpy.Program(MANY, device=queue, check=1)


def test_helpers_are_checked_by_the_environment(queue, monkeypatch):
    monkeypatch.setenv("USMPY_CHECK", "1")
    twice = usmpy.ElementwiseKernel("T x, raw T table", "T y", "y = 2 * table[x]")
    x = ints(queue, 0, 1, 2)
    assert twice(x, ints(queue, 5, 6, 7)).tolist() == [10, 12, 14]
    y = usmpy.empty_like(x)
    twice(x, ints(queue, 5, 6), out=y)
    with pytest.raises(usmpy.KernelError) as caught:
        queue.wait()
    assert (caught.value.index, caught.value.extent) == (2, 2)
    total = usmpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    assert total(x).tolist() == 3


def test_programs_that_do_not_build(queue):
    for source, line, word in (
        ("kernel void f(global int *x) {\n    x[0] = ;\n}", 2, ""),
        ("kernel void f(global int *x) {\n    x[0] = y;\n}", 2, "y"),
        ("kernel void f(global int *x) {\n    x[1.5] = 1;\n}", 2, ""),
        ("kernel void f(global int *x) {\n    x[0] = sinf(1.0f);\n}", 2, "sinf"),
        (f"kernel void f(global int *x) {'{' * 130} x[0] = 1; {'}' * 130}", 0, "cannot be checked"),
    ):
        with pytest.raises(usmpy.BuildError) as caught:
            usmpy.Program(source, device=queue, check=True)
        said = str(caught.value)
        assert word in said
        assert not line or any(f"{mark}{line}" in said for mark in (":", "(", "at line ")), said


def test_kernels_that_are_called(queue):
    source = """
    kernel void inner(global int *x, int i);
    __attribute__((work_group_size_hint(4, 1, 1)))
    kernel void outer(global int *x, global int *y, int i) { inner(y, i); inner(x, i); }
    kernel void inner(global int *x, int i)
    {
        x[i] = 3;
    }
    kernel void last(void) { }
    kernel void whole(global int *x) { last(); outer(x + 1, x, get_global_id(0)); }
    """
    program = usmpy.Program(source, device=queue, check=True)
    x, y = ints(queue, 1, 2, 3, 4), ints(queue, 1, 2)
    assert failure(program.inner[1](x, 3)) is None
    assert failure(program.outer[1](x, y, 1)) is None
    assert (x.tolist(), y.tolist()) == ([1, 3, 3, 3], [1, 3])
    assert failure(program.whole[3](x)) is None
    for launch, argument, index in (
        (lambda: program.inner[1](y, 2), "x", 2),
        (lambda: program.outer[1](x, y, 2), "y", 2),
        (lambda: program.whole[4](x), "x", 4),
    ):
        error = failure(launch())
        assert (error.argument, error.index, error.lineno) == (argument, index, 7)
