"""usmpy.numba: Python functions as kernels of the host device."""

import gc
import inspect
import os
import pathlib
import subprocess
import sys
import threading
import weakref

import libraries
import numpy as np
import pytest

import usmpy
import usmpy.numba
from usmpy.numba import get_global_id, get_global_size, kernel

numba = libraries.need("numba")

HOST = usmpy.Device("host:cpu:0")
PATIENCE = 60

# Compiled kernels live as long as the functions below: the first call of each leaves some objects.
pytestmark = pytest.mark.leaves_objects("the kernels of this module keep what was compiled")


@kernel
def add(a, b, c):
    i = get_global_id(0)
    c[i] = a[i] + b[i]


@kernel
def put(out, value):
    out[get_global_id(0)] = value


@kernel
def ids(out):
    i, j, k = get_global_id(0), get_global_id(1), get_global_id(2)
    out[i + get_global_size(0) * (j + get_global_size(1) * k)] = 10000 * i + 100 * j + k


def arrays(n, dtype="float32"):
    return [usmpy.arange(n, dtype=dtype, device=HOST) for _ in range(3)]


@pytest.mark.parametrize("n", [1, 7, 100_003])
def test_a_sum(n):
    a, b, c = arrays(n)
    event = add[usmpy.Range(n)](a, b, c)
    assert isinstance(event, usmpy.Event)
    event.wait(PATIENCE)
    assert (c.asnumpy() == 2 * np.arange(n, dtype="float32")).all()


@pytest.mark.parametrize("space", [0, usmpy.Range(0), usmpy.Range(3, 0)], ids=repr)
def test_a_space_without_work_items_runs_nothing(space):
    (a, _, c), nothing = arrays(3), usmpy.zeros(0, dtype="float32", device=HOST)
    ran = []
    add[space, HOST.queue.host_task(ran.append, 1)](a, a, c).wait(PATIENCE)
    add[space](nothing, nothing, nothing).wait(PATIENCE)
    assert ran == [1]
    assert c.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (3, 1, 2)], ids=repr)
@pytest.mark.parametrize("make", [lambda s: usmpy.Range(*s), usmpy.Range])
def test_ids_of_all_dimensions(shape, make):
    out = usmpy.zeros(int(np.prod(shape)), dtype="int64", device=HOST)
    ids[make(shape)](out).wait(PATIENCE)
    i, j, k = np.indices(shape + (1,) * (3 - len(shape)))
    assert out.tolist() == (10000 * i + 100 * j + k).ravel(order="F").tolist()


def test_sizes_and_functions_that_ask():
    @numba.njit
    def helper():
        return get_global_id(0) + 10 * get_global_size(0) + 100 * get_global_size(2) + 1000 * get_global_id(7)

    @kernel
    def ask(out):
        out[get_global_id(0)] = helper()

    out = usmpy.zeros(3, dtype="int64", device=HOST)
    ask[3](out).wait(PATIENCE)
    assert out.tolist() == [130, 131, 132]


def test_arrays_have_their_shape_and_order():
    @kernel
    def describe(x, y, out):
        out[0] = x.shape[0] + 10 * x.shape[1]
        out[1] = x[1, 2]
        out[2] = y[1, 2]
        out[3] = y.size

    x = usmpy.reshape(usmpy.arange(12, dtype="int32", device=HOST), (3, 4))
    out = usmpy.zeros(4, dtype="int64", device=HOST)
    describe[1](x, usmpy.reshape(x, (4, 3)).T, out).wait(PATIENCE)
    assert out.tolist() == [43, 6, 7, 12]


def test_no_dimensions_and_no_elements():
    @kernel
    def total(x, y, out):
        out[0] = x[()] + y.size

    out = usmpy.zeros(1, device=HOST)
    x = usmpy.full((), 3, dtype="float64", device=HOST)
    total[1](x, usmpy.zeros((0, 3), device=HOST), out).wait(PATIENCE)
    assert out.tolist() == [3]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(3, "int64"), (2.5, "float64"), (True, "bool"), (np.float32(0.5), "float32"), (np.int8(-3), "int8")],
)
def test_numbers(value, dtype):
    out = usmpy.zeros(2, dtype=dtype, device=HOST)
    put[2](out, value).wait(PATIENCE)
    assert out.tolist() == [value] * 2


@pytest.mark.parametrize("dtype", ["bool", "uint16", "complex64", "complex128"])
def test_elements_of_other_types(dtype):
    @kernel
    def copy(x, y):
        y[get_global_id(0)] = x[get_global_id(0)]

    x = usmpy.ones(3, dtype=dtype, device=HOST)
    y = usmpy.zeros(3, dtype=dtype, device=HOST)
    copy[3](x, y).wait(PATIENCE)
    assert y.tolist() == x.tolist()


def test_each_set_of_types_is_compiled_once():
    def body(x):
        x[get_global_id(0)] += 1

    k = kernel(body)
    x, y = usmpy.zeros(3, dtype="int32", device=HOST), usmpy.zeros(3, device=HOST)
    for _ in range(3):
        k[3](x)
        k[3](y)
    assert x.tolist() == y.tolist() == [3, 3, 3]
    assert len(k._compiled) == 2
    assert k.__name__ == "body"


def test_a_function_of_numba_s():
    k = kernel(numba.njit(add._function))
    a, b, c = arrays(4)
    k[4](a, b, c).wait(PATIENCE)
    assert c.tolist() == [0, 2, 4, 6]


def test_a_task_waits_for_its_dependencies_and_is_skipped_after_a_failure():
    queue = usmpy.Queue(HOST)
    gate = threading.Event()
    first = queue.host_task(gate.wait, PATIENCE)
    out = usmpy.zeros(2, dtype="int64", device=HOST)
    event = put[usmpy.Range(2), [first]](out, 5)
    assert event.status == "submitted"
    gate.set()
    event.wait(PATIENCE)
    assert out.tolist() == [5, 5]
    failed = queue.host_task(int, "no number")
    event = put[2, [failed]](out, 6)
    with pytest.raises(usmpy.UsmError, match="not run"):
        event.wait(PATIENCE)
    assert out.tolist() == [5, 5]
    with pytest.raises(ValueError):
        queue.wait()
    with pytest.raises(usmpy.UsmError):
        HOST.queue.wait()


def test_arguments_and_code_stay_until_the_end():
    def body(x, n):
        for _ in range(n):
            x[0] = np.uint32(x[0] * np.uint32(1664525) + np.uint32(1013904223))

    k = kernel(body)
    x = usmpy.ones(1, dtype="uint32", device=HOST)
    gate = threading.Event()
    first = usmpy.Queue(HOST).host_task(gate.wait, PATIENCE)
    event = k[1, [first]](x, 10_000_000)
    code = weakref.ref(k._compiled.popitem()[1])
    del k, body
    gc.collect()
    assert code() is None  # what the launch holds is the code alone
    gate.set()
    event.wait(PATIENCE)
    assert x.tolist() != [1]


def test_read_only_arrays():
    there = np.ones(3, "float32")
    there.flags.writeable = False
    x = usmpy.from_dlpack(there)
    y, z = usmpy.ones(3, dtype="float32", device=HOST), usmpy.zeros(3, dtype="float32", device=HOST)
    add[3](x, y, z).wait(PATIENCE)
    assert z.tolist() == [2, 2, 2]
    with pytest.raises(usmpy.BuildError, match="readonly"):
        add[3](y, z, x)


def test_sources_that_do_not_compile():
    @kernel
    def wrong(x):
        x[0] = no_such_name  # noqa: F821

    with pytest.raises(usmpy.BuildError, match=r"Numba does not compile .*wrong") as caught:
        wrong[1](usmpy.zeros(1, device=HOST))
    assert "no_such_name" in caught.value.log
    assert caught.value.backend == "host"


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (lambda x: (x, "1"), TypeError, "argument 1 of put: a str was given"),
        (lambda x: (x, 1j), TypeError, "argument 1 of put: a complex was given"),
        (lambda x: (x, 2**63), OverflowError, "value|a1"),
        (lambda x: (x[::2], 1), BufferError, "not contiguous"),
        (lambda x: (usmpy.astype(x, "float16"), 1), TypeError, "USMArray of float16"),
        (lambda x: (x, usmpy.zeros(1, queue=usmpy.Queue(HOST))), usmpy.ExecutionPlacementError, "to_device"),
        (lambda x: (1, 1), usmpy.BuildError, "getitem|setitem"),
    ],
)
def test_wrong_arguments(arguments, error, match):
    x = usmpy.zeros(4, dtype="int64", device=HOST)

    @kernel
    def take(x, y):
        pass

    k = take if error is usmpy.ExecutionPlacementError else put
    with pytest.raises(error, match=match):
        k[2](*arguments(x))
    assert x.tolist() == [0] * 4


def test_arguments_by_name():
    x = usmpy.zeros(2, dtype="int32", device=HOST)
    names = list(inspect.signature(put).parameters)
    put[2](x, **{names[1]: 7}).wait(PATIENCE)
    assert x.tolist() == [7, 7]
    put[2](**dict(zip(reversed(names), (8, x), strict=True))).wait(PATIENCE)
    assert x.tolist() == [8, 8]
    with pytest.raises(TypeError, match=r"put\(.*\): got an unexpected keyword argument 'nothing'"):
        put[2](x, 1, nothing=1)
    with pytest.raises(TypeError, match=r"put\(.*\): missing a required argument"):
        put[2](**{names[1]: 1})


def test_wrong_ranges_and_calls():
    with pytest.raises(ValueError, match="work-groups"):
        put[usmpy.NdRange(4, 2)]
    with pytest.raises(ValueError):
        put[-1]
    with pytest.raises(TypeError, match=r"put\[4, 3\] has two meanings: .*Range\(4, 3\).*NdRange\(12, 3\)"):
        put[4, 3]
    for key in ((1, 1, 1, 1), (4,), [4, 3], ((2, 2), (3, 3)), (4, (3,)), "4", 4.0, None, ((4, 3), [])):
        with pytest.raises(TypeError, match=r"two meanings|put\[range, events\]"):
            put[key]
    with pytest.raises(TypeError, match=r"needs a range in brackets: \w+\[range\]"):
        put(1, 2)
    with pytest.raises(TypeError):
        kernel(3)
    with pytest.raises(RuntimeError, match="outside of a kernel"):
        get_global_id(0)
    with pytest.raises(RuntimeError, match="outside of a kernel"):
        get_global_size(0)
    assert repr(put) == "<usmpy.numba.Kernel put>"


def run(code, **environment):
    root = pathlib.Path(usmpy.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(root), **environment},
    )


def test_numba_is_imported_at_the_first_launch_alone():
    code = """
import sys, usmpy, usmpy.numba
assert "numba" not in sys.modules
@usmpy.numba.kernel
def f(x): pass
sys.modules["numba"] = None
try:
    f[1](usmpy.zeros(1))
except ImportError as error:
    print(error)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "pip install numba" in done.stdout


def test_an_exception_in_a_kernel_is_printed_and_goes_no_further():
    code = """
import usmpy
from usmpy.numba import kernel
@kernel
def f(x):
    x[0] = 1
    raise ValueError("mine")
x = usmpy.zeros(1, device="host")
f[1](x).wait(60)
print(x.tolist())
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1.0]\n"
    assert "mine" in done.stderr
