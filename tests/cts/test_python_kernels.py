"""Kernels in Python against CPython and NumPy: random ones, names, complex numbers, checked indices."""

import itertools

import pytest
from python_kernels import random_kernels
from python_kernels.written import functions

import usmpy
from usmpy.kernel_api import get_global_id

pytestmark = pytest.mark.not_sanitized("each case builds a program: test_python_launches.py has the C code")


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_random_kernels(device, queue, seed):
    if not device.has_fp64:
        pytest.skip("the device lacks double precision")
    random_kernels.check(seed, queue)


WORDS = """
new template this operator and_eq throw thread_local free malloc nan nanf sincos sinpi clock64 umax va_start
erfcinvf lrint float2 threadIdx private kernel main double printf barrier sqrt sinf usm_x _t size_t größe
"""
NAMES = [*WORDS.split(), "long_" * 400]


@pytest.mark.parametrize("name", NAMES)
def test_names(device, name):
    text = f"def {name}(x, v):\n    x[get_global_id(0)] = v\n"
    kernel = usmpy.kernel(functions(text)[name])
    x = usmpy.zeros(4, dtype="int32", device=device)
    kernel[4](x, 3).wait()
    assert x.tolist() == [3] * 4


@pytest.mark.parametrize(
    "expression",
    [
        " and ".join(f"v != {k}" for k in range(300, 700)),
        "v < 8 and " + " and ".join(f"x[v] != {k}" for k in range(1, 400)),
        f"{tuple(range(400))}[v] == v",
    ],
)
def test_long_expressions(device, expression):
    kernel = usmpy.kernel(functions(f"def long(x, v):\n    x[0] = {expression}\n")["long"])
    x = usmpy.zeros(8, dtype="int32", device=device)
    kernel[1](x, 3).wait()
    assert x[0] == 1


np = pytest.importorskip("numpy")


def divide(x, y, results):
    i = get_global_id(0)
    results[i, 0] = x[i] / y[i]
    results[i, 1] = 1 / y[i]
    results[i, 2] = y[i] ** -1
    results[i, 3] = x[i] / y[i].real if y[i].real != 0 else 0
    results[i, 4] = usmpy.sqrt(y[i])


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_divisions_of_complex_numbers(device, name):
    if name == "complex128" and not device.has_fp64:
        pytest.skip("the device lacks double precision")
    far = 30 if name == "complex64" else 300
    parts = [0, 1, -2.5, 10.0**far, 10.0**-far, 10.0 ** (far // 2 + 5), -(10.0 ** -(far // 2 + 5))]
    y = np.array([complex(*pair) for pair in itertools.product(parts, parts)][1:], name)
    x = np.full(len(y), 0.5 - 2j, name)
    with np.errstate(all="ignore"):
        real = np.where(y.real != 0, x / np.where(y.real != 0, y.real, 1), 0)
        expected = np.stack([x / y, 1 / y, 1 / y, real, np.sqrt(y)], axis=1)
    results = usmpy.zeros(expected.shape, dtype=name, device=device)
    kernel = usmpy.kernel(divide)
    kernel[len(y)](usmpy.asarray(x, device=device), usmpy.asarray(y, device=device), results).wait()
    near = np.finfo(name).eps * 8
    size = np.where(np.isfinite(expected), np.maximum(np.abs(expected), np.finfo(name).tiny), 1)
    np.testing.assert_allclose(results.asnumpy() / size, expected / size, near, near)


def test_zeros_and_infinities(device):
    values = np.array([0, complex(0, np.inf), complex(-1, -np.inf)], "complex64")
    results = usmpy.zeros((3, 5), dtype="complex64", device=device)
    ones = usmpy.ones(3, dtype="complex64", device=device)
    usmpy.kernel(divide)[3](ones, usmpy.asarray(values, device=device), results).wait()
    with np.errstate(all="ignore"):
        expected = np.stack([np.ones(3, "complex64") / values, np.sqrt(values)], axis=1)
    np.testing.assert_array_equal(results.asnumpy()[:, [0, 4]], expected)


# Of each base: statements that make it, an element of it, the name, the axis and the extent in the error, and
# what is added to the index in it.
BASES = {
    "argument": ("", "x[i]", "x", 0, 8, 0),
    "strided": ("", "s[i]", "s", 0, 8, 0),
    "first axis": ("", "m[i, 1]", "m", 0, 8, 0),
    "second axis": ("", "m[1, i]", "m", 1, 8, 0),
    "row": ("row = m[2]", "row[i]", "m", 0, 8, 0),
    "row of an index": ("row = m[i]", "row[1]", "m", 0, 8, 0),
    "local argument": ("t[get_local_id(0)] = 0", "t[i]", "t", 0, 8, 0),
    "local array": ("a = local_array((2, 8), usmpy.int32)", "a[1, i]", "the local array", 1, 8, 0),
    "private array": ("a = private_array(8, 'int32')", "a[i]", "the private array", 0, 8, 0),
    "computed": ("", "x[2 * i - i]", "x", 0, 8, 0),
}
USES = {
    "read": "out[0] = {e}",
    "in a sum": "out[0] = 1 + {e} * 2",
    "write": "{e} = 5",
    "add": "{e} += 5",
    "in a condition": "if i == 100 or {e} > 3: out[0] = 1",
    "in a loop": "while {e} > 100: break",
    "in a choice": "out[0] = {e} if i != 100 else 3",
    "bound of a range": "for k in range({e}): out[0] = k",
    "in a tuple": "k, j = 1, {e}",
    "atomic": "atomic_add({p}, {n}, 1)",
    "in a helper": "out[0] = helper({p}, {n})",
    "written in a helper": "store({p}, {n})",
}
HELPERS = """
def helper(p, k):
    return p[k] + 1

def store(p, k):
    p[k] = 7
"""


def made(base, use):
    before, element = BASES[base][:2]
    array, _, index = element[:-1].partition("[")
    index = f"({index})" if "," in index else index
    lines = [before, USES[use].format(e=element, p=array, n=index)]
    if use.endswith("helper"):
        lines[1] = USES[use].format(p=array, n=index)
    body = "\n".join(f"    {line}" for line in lines if line)
    return functions(f"{HELPERS}\ndef kernel(x, s, m, t, out, i):\n{body}\n    barrier()\n    out[1] = 9\n")[
        "kernel"
    ]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("base", BASES)
def test_indices(device, base, use):
    if base == "private array" and use == "atomic":
        pytest.skip("atomics of private arrays are refused")
    queue = usmpy.Queue(device)  # a failed launch is the queue's
    kernel = usmpy.kernel(made(base, use), check=True)
    x = usmpy.zeros(8, dtype="int32", device=queue)
    spread = usmpy.zeros(16, dtype="int32", device=queue)
    m = usmpy.zeros((8, 8), dtype="int32", device=queue)
    for i in (0, 7, 8, -1, -9, 2**40):
        out = usmpy.zeros(2, dtype="int32", device=queue)
        arguments = (x, spread[::2], m, usmpy.LocalMemory(8, "int32"), out, i)
        event = kernel[usmpy.NdRange(1, 1)](*arguments)
        if 0 <= i < 8:
            event.wait()
            assert out[1] == 9
            continue
        with pytest.raises(usmpy.KernelError) as caught:
            event.wait()
        _, _, name, axis, extent, more = BASES[base]
        error = caught.value
        if use.endswith("helper") and base != "row of an index":
            name = "p"
        found = (error.kernel, error.reason, error.argument, error.index, error.axis, error.extent)
        assert found[0].startswith("kernel")
        assert found[1:] == ("index", name, i + more, axis, extent)
        assert error.work_item == (0,)
        assert error.filename == kernel.__wrapped__.__code__.co_filename


def test_indices_of_tuples(device):
    queue = usmpy.Queue(device)
    kernel = functions("def f(x, i):\n    t = (10, 20, 30)\n    x[0] = t[i]\n    x[1] = x.shape[i - i]\n")[
        "f"
    ]
    x = usmpy.zeros(2, dtype="int32", device=queue)
    usmpy.kernel(kernel, check=True)[1](x, 2).wait()
    assert x.tolist() == [30, 2]
    for i in (3, -1):
        with pytest.raises(
            usmpy.KernelError, match=f"index {i} is outside of the tuple, which has 3 elements"
        ):
            usmpy.kernel(kernel, check=True)[1](x, i).wait()


@pytest.mark.parametrize("sign", ["//", "%"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64"])
def test_divisions(device, sign, dtype):
    queue = usmpy.Queue(device)
    kernel = functions(f"def divide(x, y):\n    i = get_global_id(0)\n    y[i] = y[i] {sign} x[i]\n")[
        "divide"
    ]
    x = usmpy.asarray([1, 2, 0, 4], dtype=dtype, device=queue)
    y = usmpy.full(4, 9, dtype=dtype, device=queue)
    usmpy.kernel(kernel)[4](x, y).wait()
    expected = [9, 4, 0, 2] if sign == "//" else [0, 1, 0, 1]
    assert y.tolist() == expected
    y[...] = 9
    with pytest.raises(usmpy.KernelError) as caught:
        usmpy.kernel(kernel, check=True)[4](x, y).wait()
    assert (caught.value.reason, caught.value.lineno, caught.value.work_item) == ("division", 3, (2,))


def test_assertions(device):
    text = 'def f(x):\n    i = get_global_id(0)\n    assert x[i] > 1, "small"\n    assert x[i] < 5\n'
    kernel = functions(text)["f"]
    for value, line, words in ((1, 3, ": small"), (5, 4, "")):
        x = usmpy.full(3, value, dtype="int32", device=usmpy.Queue(device))
        usmpy.kernel(kernel)[3](x).wait()
        x[...] = value
        with pytest.raises(
            usmpy.KernelError, match=rf"line {line} of .*: the assertion failed{words}, in"
        ) as caught:
            usmpy.kernel(kernel, check=True)[3](x).wait()
        assert caught.value.reason == "assertion"


@pytest.mark.only_on("host")
def test_barriers_that_not_all_reach(device):
    queue = usmpy.Queue(device)
    kernel = functions("def f(x):\n    if get_local_id(0) < 2:\n        barrier()\n    x[0] = 1\n")["f"]
    with pytest.raises(usmpy.KernelError, match="not all work-items"):
        usmpy.kernel(kernel, check=True)[usmpy.NdRange(4, 4)](usmpy.zeros(1, device=queue)).wait()


def test_what_follows_is_skipped(device):
    queue = usmpy.Queue(device)
    shift = functions("def f(x, y):\n    i = get_global_id(0)\n    y[i] = x[i + 1]\n")["f"]
    x, y = usmpy.ones((2, 4), dtype="float32", device=queue)
    z = usmpy.zeros(4, dtype="float32", device=queue)
    usmpy.kernel(shift, check=True)[4](x, y)
    copied = queue.memcpy(z, y)
    with pytest.raises(usmpy.UsmError, match="did not run"):
        copied.wait()
