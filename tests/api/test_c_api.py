"""The C API: its table, function by function, and the two example extensions."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import math
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import weakref

import c_api
import libraries
import pytest
from c_api import READ, READ_WRITE, WRITE, Info, accesses
from producers import Producer, Tensor

import usmpy
from usmpy import _failure

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "c_api"
FLOAT32 = c_api.DType(2, 32)


@pytest.fixture
def api():
    return c_api.table()


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def task(api, queue, run, *pairs, depends=(), release=None):
    """queue_submit of a Python function without arguments; what it returns is the code."""
    function = c_api.FUNCTION(lambda argument, message, size: run(message, size) or 0)
    given = c_api.RELEASE(lambda argument: release()) if release is not None else None
    event = api.queue_submit(
        queue,
        function,
        None,
        ctypes.cast(given, ctypes.c_void_p) if given else None,
        *accesses(*pairs),
        *c_api.events(*depends),
    )
    return event, (function, given)  # both must outlive the task


# -- the header and the examples -------------------------------------------------------------------


@pytest.mark.not_sanitized("it runs a compiler")
@pytest.mark.parametrize(
    "command",
    [["cc", "-std=c99"], ["cc", "-std=c11"], ["c++", "-std=c++11"], ["c++", "-std=c++20"]],
    ids=lambda command: command[1],
)
def test_the_header_compiles_alone(tmp_path, command):
    source = tmp_path / f"alone{'.c' if command[0] == 'cc' else '.cpp'}"
    source.write_text("#include <usmpy.h>\nconst UsmpyApi *get(void);\n"
                      "const UsmpyApi *get(void) { return UsmpyApi_Import(); }\n")  # fmt: skip
    include = [f"-I{usmpy.get_include()}", f"-isystem{sysconfig.get_path('include')}"]
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]
    done = subprocess.run([*command, *strict, *include, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def build(folder, name, module, monkeypatch):
    """The extension of an example, built by its own setup.py in a copy."""
    shutil.copytree(EXAMPLES / name, folder / name)
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("CFLAGS", "-O0")  # the optimiser takes most of the time
    done = subprocess.run(command, cwd=folder / name, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (folder / name).glob(f"{module}.*.so")
    spec = importlib.util.spec_from_file_location(module, path)
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    return extension


@pytest.mark.not_sanitized("it runs a compiler, whose module knows nothing of sanitizers")
def test_the_example_in_c(tmp_path, monkeypatch, queue):
    axpy = build(tmp_path, "axpy", "axpy", monkeypatch).axpy
    x = usmpy.arange(5, dtype="float32", queue=queue)
    y = usmpy.ones(5, dtype="float32", queue=queue)
    gate = threading.Event()
    queue.host_task(gate.wait, 60)
    event = axpy(2.0, x, y)
    del x
    gc.collect()
    assert not event.done
    gate.set()
    event.wait()
    assert y.tolist() == [1, 3, 5, 7, 9]
    failed = axpy(math.nan, y, y)
    with pytest.raises(usmpy.UsmError, match="a is not a number"):
        failed.wait()
    with pytest.raises(ValueError, match="equal sizes"):
        axpy(1.0, y, usmpy.ones(4, dtype="float32", queue=queue))
    with pytest.raises(ValueError, match="float32"):
        axpy(1.0, y, usmpy.ones(5, dtype="float64", queue=queue))
    with pytest.raises(TypeError, match="a list; a USMArray is allowed"):
        axpy(1.0, [1.0], y)
    read_only = usmpy.broadcast_to(usmpy.ones(1, dtype="float32", queue=queue), (1,))
    assert axpy(1.0, read_only, usmpy.ones(1, dtype="float32", queue=queue)).wait() is None


@pytest.mark.release("the compiler takes long for pybind11's headers")
@pytest.mark.not_sanitized("it runs a compiler, whose module knows nothing of sanitizers")
def test_the_example_in_cplusplus(tmp_path, monkeypatch, queue):
    libraries.need("pybind11")
    mean = build(tmp_path, "statistics", "statistics_of_arrays", monkeypatch).mean
    x = usmpy.arange(101, dtype="float64", queue=queue)
    result = mean(x)
    del x
    assert (result.shape, result.dtype, result.queue) == ((), usmpy.float64, queue)
    assert float(result) == 50.0
    with pytest.raises(ValueError, match="not empty"):
        mean(usmpy.empty(0, dtype="float64", queue=queue))


# -- the table -------------------------------------------------------------------------------------


def test_the_table_says_its_version(api):
    assert (api.major, api.minor, api.size) == (1, 0, ctypes.sizeof(c_api.Table))
    header = (pathlib.Path(usmpy.get_include()) / "usmpy.h").read_text()
    declared = [
        line.split("(*")[1].split(")")[0]
        for line in header.splitlines()
        if line.startswith("    ") and "(*" in line
    ]
    assert declared == [name for name, *_ in c_api.FUNCTIONS]


def test_properties_of_an_array(api, queue):
    x = usmpy.permute_dims(usmpy.zeros((2, 3, 4), dtype="int16", queue=queue, usm_type="shared"), (2, 0, 1))
    info = Info()
    assert api.array_info(x, info) == 0
    assert info.data == x.data_ptr
    assert (tuple(info.shape[:3]), tuple(info.strides[:3])) == (x.shape, x.strides)
    assert (info.size, info.ndim, info.dtype.code, info.dtype.bits) == (24, 3, 0, 16)
    assert (info.device_type, info.device_id) == x.__dlpack_device__()
    assert (info.kind, info.writable, info.c_contiguous, info.host_reads) == (c_api.SHARED, 1, 0, 1)
    assert api.array_queue(x) is x.queue
    assert api.queue_backend(queue) == b"host"
    assert api.queue_native(queue) is None


def test_checks_take_anything(api, queue):
    event = queue.barrier()
    for object in (None, 3, usmpy.zeros(1, queue=queue), queue, event, usmpy.USMArray):
        assert api.array_check(object) == isinstance(object, usmpy.USMArray)
        assert api.queue_check(object) == isinstance(object, usmpy.Queue)
        assert api.event_check(object) == isinstance(object, usmpy.Event)


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("array_info", (Info(),), "a USMArray"),
        ("array_queue", (), "a USMArray"),
        ("array_wait", (READ,), "a USMArray"),
        ("memory_hold", (), "a USMArray"),
        ("queue_backend", (), "a Queue"),
        ("queue_native", (), "a Queue"),
        ("queue_begin", (None, 0), "a Queue"),
        ("queue_end", (None, 0), "a Queue"),
        ("queue_wait", (-1.0,), "a Queue"),
        ("event_done", (), "an Event"),
        ("event_wait", (-1.0,), "an Event"),
    ],
)
def test_other_objects_are_a_type_error(api, name, arguments, wanted):
    with pytest.raises(TypeError, match=f"the argument is a dict; {wanted} is allowed"):
        getattr(api, name)({}, *arguments)


def test_new_memory(api, queue):
    shape = (ctypes.c_int64 * 2)(3, 4)
    x = api.array_empty(2, shape, FLOAT32, c_api.HOST, id(queue))
    assert (x.shape, x.dtype, x.usm_type, x.queue) == ((3, 4), usmpy.float32, "host", queue)
    assert api.array_empty(0, None, FLOAT32, c_api.DEVICE, None).queue is usmpy.empty(()).queue
    for ndim, lengths, dtype, kind, error in (
        (-1, shape, FLOAT32, 0, ValueError),
        (65, shape, FLOAT32, 0, ValueError),
        (1, (ctypes.c_int64 * 1)(-1), FLOAT32, 0, ValueError),
        (2, shape, c_api.DType(2, 31), 0, TypeError),
        (2, shape, FLOAT32, 3, ValueError),
        (2, shape, FLOAT32, -1, ValueError),
    ):
        with pytest.raises(error):
            api.array_empty(ndim, lengths, dtype, kind, id(queue))
    with pytest.raises((MemoryError, ValueError)):
        api.array_empty(1, (ctypes.c_int64 * 1)(2**62), FLOAT32, 0, id(queue))


def test_memory_outlives_its_array(api, queue):
    deleted = []
    owner = type("Owner", (), {})()
    content = (ctypes.c_float * 4)(1, 2, 3, 4)
    x = usmpy.USMArray.from_pointer(ctypes.addressof(content), 4, "float32", queue=queue, owner=owner)
    weakref.finalize(owner, deleted.append, 1)
    memory = api.memory_hold(x)
    del x, owner
    gc.collect()
    assert not deleted
    thread = threading.Thread(target=api.memory_release, args=(memory,))
    thread.start()
    thread.join()
    usmpy.zeros(1, queue=queue).wait()
    assert deleted == [1]


def test_an_error_stays_while_memory_is_released(api, queue):
    """Only the main thread drains by itself: in others the release is pending when a submission fails."""
    tensor = Tensor()
    memory = api.memory_hold(usmpy.from_dlpack(Producer(tensor.capsule)))
    y = usmpy.zeros(1, queue=queue)
    raised = []

    def fail():
        api.memory_release(memory)
        with pytest.raises(TypeError, match="accesses") as error:
            task(api, queue, lambda *_: None, (y, 0))
        raised.append(error)
        usmpy.zeros(1, queue=queue).wait()

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert raised
    assert tensor.deleted == 1


def test_a_task_runs_in_order_and_releases_its_arguments(api, queue):
    x = usmpy.zeros(1, dtype="int32", queue=queue)
    seen, released, gate = [], [], threading.Event()
    first = queue.host_task(gate.wait, 60)
    event, held = task(api, queue, lambda *_: seen.append(x.data_ptr), (x, READ_WRITE), depends=[first],
                       release=lambda: released.append(1))  # fmt: skip
    assert not api.event_done(event)
    with pytest.raises(TimeoutError):
        api.event_wait(event, 0.01)
    with pytest.raises(TimeoutError):
        api.queue_wait(queue, 0.01)
    assert not seen
    gate.set()
    assert api.event_wait(event, 30.0) == 0
    assert api.event_done(event)
    assert api.queue_wait(queue, -1.0) == 0
    assert (seen, released) == ([x.data_ptr], [1])
    del held


def test_a_task_is_ordered_by_memory_across_queues(api, queue):
    x = usmpy.zeros(1, dtype="int32", queue=queue)
    other, gate = usmpy.Queue("host"), threading.Event()
    other.host_task(lambda a: gate.wait(60), x)
    event, held = task(api, queue, lambda *_: 0, (x, WRITE))
    assert not event.done
    gate.set()
    event.wait()
    assert api.array_wait(x, READ_WRITE) == 0
    del held


def test_the_exception_of_a_task_is_its_error(api, queue):
    def fail(message, size):
        ctypes.memmove(message, b"seven is no number\0", 19)
        assert size >= 256
        return 7

    event, held = task(api, queue, fail)
    with pytest.raises(usmpy.UsmError, match="seven is no number") as info:
        api.event_wait(event, -1.0)
    assert info.value.code == 7
    silent, held_too = task(api, queue, lambda *_: 1)
    with pytest.raises(usmpy.UsmError, match="a function of an extension failed"):
        silent.wait()
    with pytest.raises(usmpy.UsmError):
        queue.wait()
    del held, held_too


def test_a_skipped_task_releases_its_references(api, queue):
    ran, released = [], []

    def fail():
        raise OSError("no")

    gate = threading.Event()
    failed = queue.host_task(lambda: (gate.wait(60), fail()))
    event, held = task(
        api, queue, lambda *_: ran.append(1), depends=[failed], release=lambda: released.append(1)
    )
    gate.set()
    with pytest.raises(usmpy.UsmError, match="not run"):
        event.wait()
    with pytest.raises(OSError, match="no"):
        queue.wait()
    gc.collect()
    usmpy.zeros(1, queue=queue).wait()  # releases objects that wait for the GIL
    assert (ran, released) == ([], [1])
    del held


def test_a_refused_task_is_the_callers(api, queue):
    released = []
    x = usmpy.broadcast_to(usmpy.zeros(1, queue=queue), (3,))
    for pairs, depends, error in (
        ([(x, WRITE)], (), ValueError),
        ([(x, 0)], (), TypeError),
        ([({}, READ)], (), TypeError),
        ([], [queue], TypeError),
        ([(x, READ)] * 20 + [(None, READ)], (), TypeError),
    ):
        with pytest.raises(error):
            task(api, queue, lambda *_: 0, *pairs, depends=depends, release=lambda: released.append(1))
    assert not released


def test_many_accesses_and_events(api, queue):
    arrays = [usmpy.zeros(1, dtype="int32", queue=queue) for _ in range(20)]
    gates = [usmpy.Queue("host").host_task(lambda: None) for _ in range(20)]
    event, held = task(api, queue, lambda *_: 0, *[(x, READ_WRITE) for x in arrays], depends=gates)
    event.wait()
    del held


def test_the_host_has_no_native_queue(api, queue):
    for name in ("queue_begin", "queue_end"):
        with pytest.raises(ValueError, match="a queue of the host backend has no native queue"):
            getattr(api, name)(queue, *accesses())


def test_a_wait_has_a_mode(api, queue):
    x = usmpy.zeros(1, queue=queue)
    with pytest.raises(ValueError, match="mode is 0; one of UsmpyMode is allowed"):
        api.array_wait(x, 0)
    assert api.array_wait(x, READ) == 0


def test_a_timeout_is_a_number(api, queue):
    with pytest.raises(ValueError, match="NaN"):
        api.queue_wait(queue, math.nan)
    assert api.queue_wait(queue, math.inf) == 0


def test_a_task_needs_a_queue(api):
    for thing in (None, 1, usmpy.Device("host")):
        with pytest.raises(TypeError, match="Queue"):
            task(api, thing, lambda *_: 0)


AT_EXIT = """
import atexit, ctypes

atexit.register(lambda: late())  # before usmpy: it runs after usmpy's own function

import usmpy, c_api

queue, api = usmpy.Queue("host"), c_api.table()
function = c_api.FUNCTION(lambda *_: 0)

def late():
    try:
        api.queue_submit(queue, function, None, None, *c_api.accesses(), *c_api.events())
    except RuntimeError as error:
        print(error)
"""


def test_a_task_after_the_end_of_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "a task cannot be submitted while the interpreter shuts down\n"


def test_a_message_without_an_end_is_cut(api, queue):
    def fail(message, size):
        ctypes.memset(message, ord("x"), size)
        sizes.append(size)
        return 7

    sizes = []
    event, held = task(api, queue, fail)
    with pytest.raises(usmpy.UsmError) as info:
        event.wait()
    assert str(info.value).count("x") == sizes[0] - 1
    del held


def test_reports_of_failures_keep_nothing(api, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(str(report.exc_value)))
    before = sys.getrefcount(_failure.raise_unretrieved)
    for i in range(1, 21):
        event, held = task(api, usmpy.Queue("host"), lambda *_: 1)
        end = time.monotonic() + 60
        while len(seen) < i and time.monotonic() < end:
            if event is not None and event.done:
                event = None  # nobody asked for its result
            usmpy.empty(0)
            time.sleep(0.001)
        del held
    gc.collect()  # frames of the reports
    assert len(seen) == 20
    assert sys.getrefcount(_failure.raise_unretrieved) - before < 10


def test_refused_tasks_leave_no_object(api, queue):
    function = c_api.FUNCTION(lambda *_: 0)
    nothing, wrong = accesses(), c_api.events(queue)

    def refuse():
        with pytest.raises(TypeError):
            api.queue_submit(queue, function, None, None, *nothing, *wrong)

    def left_behind():
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(200):
            refuse()
        gc.collect()
        return sys.getallocatedblocks() - before

    left_behind()
    # A leak grows in each round. Other threads and caches of CPython may allocate hundreds of blocks in one.
    assert min(left_behind() for _ in range(3)) < 100


def test_what_follows_a_failed_task_has_its_code(api, queue):
    event, held = task(api, queue, lambda *_: 7)
    following = queue.barrier(depends=[event])
    last = queue.barrier(depends=[following])
    for each in (event, following, last):
        with pytest.raises(usmpy.UsmError) as info:
            each.wait()
        assert info.value.code == 7
    del held
