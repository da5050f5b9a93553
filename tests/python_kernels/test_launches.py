"""Launches of kernels in Python that are rare: from threads at once, and with rare arguments."""

import ctypes
import enum
import functools
import subprocess
import sys
import threading

import pytest
from python_kernels.written import functions

import usmpy
from usmpy.kernel_api import get_global_id

np = pytest.importorskip("numpy")
AT_ONCE = """
import threading
import usmpy
from usmpy.kernel_api import get_global_id

@usmpy.kernel
def add(x, v):
    i = get_global_id(0)
    x[i] += v

def launch(x):
    ready.wait()
    for _ in range(5):
        add[4](x, 1).wait()

ready = threading.Barrier(8)
arrays = [usmpy.zeros(4, dtype=("int32", "float32")[k % 2], queue=usmpy.Queue("host")) for k in range(8)]
threads = [threading.Thread(target=launch, args=(x,)) for x in arrays]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(x.tolist() == [5] * 4 for x in arrays)
print(len(add.specialisations))
"""


@pytest.mark.parametrize("kept", ["0", "1"])
def test_first_launches_at_once(tmp_path, kept):
    """Each type is built once, also by the process that makes its temporary folder meanwhile."""
    import os

    path = tmp_path / "at_once.py"
    path.write_text(AT_ONCE)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "USMPY_CACHE": kept}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_functions_are_known_to_all_threads_at_once(monkeypatch):
    from usmpy._python_kernels import functions as known

    monkeypatch.setattr(known, "_KNOWN", {})
    ready, found = threading.Barrier(8), []

    def look():
        ready.wait()
        found.append(known.find(print))

    threads = [threading.Thread(target=look) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert found == ["print"] * 8


def put(x, v):
    x[0] = v


SCALARS = [ctypes.c_int16(-3), ctypes.c_double(1.5), np.longdouble(1.5), np.clongdouble(1.5), np.array(3)]


@pytest.mark.parametrize("value", [*SCALARS, np.array(1.5, "float32")])
def test_scalars_do_not_depend_on_earlier_launches(value):
    fresh, other = usmpy.kernel(put), usmpy.kernel(put)
    for name in ("int16", "float32", "float64", "complex128"):
        other[1](usmpy.zeros(1, dtype="complex128", device="host"), np.dtype(name).type(1)).wait()
    results = []
    for kernel in (fresh, other, fresh.python):
        x = usmpy.zeros(1, dtype="complex128", device="host")
        kernel[1](x, value).wait()
        results.append(x.tolist())
    assert results == [[complex(getattr(value, "value", value))]] * 3


class Mode(enum.Enum):
    FAST = 2
    HALF = 0.5


class Level(enum.IntEnum):
    LOW = 7


def test_members_of_enums():
    def members(x):
        x[0] = Mode.FAST.value + Mode.HALF.value + Level.LOW.value + Level.LOW + Mode.FAST

    kernel = usmpy.kernel(members)
    for run in (kernel, kernel.python):
        x = usmpy.zeros(1, dtype="float64", device="host")
        run[1](x).wait()
        assert x.tolist() == [18.5]
        with pytest.raises(TypeError):
            (usmpy.kernel(put) if run is kernel else usmpy.kernel(put).python)[1](x, Mode.FAST)
    with pytest.raises(TypeError, match="pass its value"):
        usmpy.kernel(put)[1](x, Mode.FAST)


def test_functions_without_a_module():
    kernel = usmpy.kernel(functions("def two(v):\n    return v * 2\n\ndef k(x):\n    x[0] = two(4)\n")["k"])
    x = usmpy.zeros(1, dtype="int32", device="host")
    kernel.python[1](x).wait()
    assert x.tolist() == [8]


def decorated(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@decorated
def replaced(x):
    x[get_global_id(0)] = 1


def empty(x):
    x[0] = len(nothing())


def nothing():
    return ()


def far(x):
    for i in range(2**63 - 8, 2**63 - 1, 5):
        x[0] = i


def reals(x, n=2.0):
    for i in range(n):
        x[i] = 1


def test_the_interpreter_refuses_what_launches_refuse():
    x = usmpy.zeros(4, dtype="int64", device="host")
    kernel = usmpy.kernel(reals)
    for run, error in ((kernel, usmpy.BuildError), (kernel.python, TypeError)):
        with pytest.raises(error, match="integers are allowed"):
            run[1](x)
        with pytest.raises(TypeError):
            run[True](x, 2)
        run[1, []](x, 2).wait()


REFUSED = [(replaced, "a decorator has replaced"), (empty, "empty tuple"), (far, "beyond int64")]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_refused(function, message):
    with pytest.raises(usmpy.BuildError, match=message):
        usmpy.kernel(function)[1](usmpy.zeros(1, dtype="int64", device="host"))


@pytest.mark.parametrize("words", ["one | two", "x" * 1000, "\\u6f22" * 200, "", "100 % and \\0"])
def test_texts_of_assertions(words):
    text = f"def k(x):\n    assert x[0] > 0, '{words}'\n"
    kernel = usmpy.kernel(functions(text)["k"], check=True)
    with pytest.raises(usmpy.KernelError) as caught:
        kernel[1](usmpy.zeros(1, dtype="int32", queue=usmpy.Queue("host"))).wait()
    assert caught.value.filename.startswith("<text ")
    assert caught.value.lineno == 2
    shown = words.replace("\\u6f22", "\u6f22").replace("\\0", " ")[:50]
    assert shown in str(caught.value)
