"""Level Zero queues over plain command lists, which drivers without immediate ones have alone."""

from __future__ import annotations

import textwrap

import level_zero_processes
import pytest
from test_level_zero_failures import SWEEP

pytestmark = level_zero_processes.needs_driver

# How a process comes to them.
WAYS = {
    "a driver without": {"ZESIM_IMMEDIATE": "0"},
    "a function that is missing": {"ZESIM_WITHOUT": "zeCommandListCreateImmediate"},
    "an uninitialized feature": {"ZESIM_FAIL": "zeCommandListCreateImmediate:1+:0x78000001"},
    "the variable": {"USMPY_LEVEL_ZERO_COMMAND_LISTS": "plain"},
}
PLAIN = WAYS["the variable"]

START = f"""
import level_zero_sweep
device = usmpy.get_devices("level_zero")[0]
spirv = open({str(level_zero_processes.SPIRV)!r}, "rb").read()
axpy = usmpy.Program(spirv, device=device, language="spirv").axpy
r = usmpy.Range(1000)
def fail(function, n, count, code):
    _ask("zesimFail", function.encode(), ctypes.c_uint64(n), ctypes.c_uint64(count), ctypes.c_uint32(code))
def said(call, *arguments, **words):
    try:
        call(*arguments, **words)
    except usmpy.UsmError as error:
        return str(error)
    raise AssertionError("no UsmError")
"""


def check(tmp_path, script, *, start=START, **variables):
    """The script ends well, broke no rule, and has left nothing with the driver."""
    report = tmp_path / "report"
    text = level_zero_processes.HEAD + start + textwrap.dedent(script) + "\nassert not broken()\n"
    variables = {"USMPY_LEVEL_ZERO_COMMAND_LISTS": None, **variables}
    done = level_zero_processes.alone(["-c", text], report, **variables)
    assert done.returncode == 0, done.stdout
    assert "misuse" not in done.stdout, done.stdout
    counts = level_zero_processes.left_behind(report)
    assert counts.pop("made") > 0
    assert counts == {}, done.stdout
    return done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_all_that_a_program_does(tmp_path, way):
    script = """
    for _ in range(3):
        level_zero_sweep.workload(device)
    queue = usmpy.Queue(device)
    assert queue.native_handle is None
    assert made("command_queue") > 0
    assert calls("zeCommandQueueExecuteCommandLists") > 20
    assert calls("zeCommandListAppendLaunchKernel") > 0
    """
    check(tmp_path, script, **WAYS[way])


def test_immediate_lists_are_taken_where_they_are(tmp_path):
    script = """
    level_zero_sweep.workload(device)
    assert usmpy.Queue(device).native_handle
    assert made("command_queue") == calls("zeCommandListCreate") == 0
    """
    for word in (None, "", "immediate"):
        check(tmp_path, script, USMPY_LEVEL_ZERO_COMMAND_LISTS=word)


def test_requested_immediate_lists_that_are_missing(tmp_path):
    script = """
    try:
        usmpy.Queue(usmpy.get_devices("level_zero")[0])
        raise SystemExit("no error")
    except usmpy.UsmError as error:
        assert "zeCommandListCreateImmediate" in str(error) and "UNSUPPORTED_FEATURE" in str(error), error
    assert made("command_queue") == 0
    usmpy.Context(usmpy.get_devices("level_zero"))
    """
    check(tmp_path, script, start="", USMPY_LEVEL_ZERO_COMMAND_LISTS="immediate", ZESIM_IMMEDIATE="0")


def test_another_failure_is_none_of_the_driver_s_features(tmp_path):
    script = """
    fail("zeCommandListCreateImmediate", 1, 2, 0x7ffffffe)
    text = said(usmpy.Queue, device)
    assert "zeCommandListCreateImmediate" in text and "UNKNOWN" in text, text
    assert made("command_queue") == 0
    """
    check(tmp_path, script)


def test_a_word_that_is_neither():
    script = "print(usmpy.diagnose())"
    told = level_zero_processes.run(script, USMPY_LEVEL_ZERO_COMMAND_LISTS="slow")
    (line,) = (line for line in told.splitlines() if line.startswith("level_zero: "))
    assert 'USMPY_LEVEL_ZERO_COMMAND_LISTS is "slow"; it can be immediate or plain' in line


def test_the_variable_is_shown():
    told = level_zero_processes.run("print(usmpy.diagnose())", **PLAIN)
    assert "USMPY_LEVEL_ZERO_COMMAND_LISTS='plain'" in told


@pytest.mark.parametrize(
    "properties", ["", "in_order=False", "profiling=True", "in_order=False, profiling=True"]
)
def test_order(tmp_path, properties):
    """Each launch needs the one before; commands begin late, so that whatever is not ordered is seen."""
    script = f"""
    queue = usmpy.Queue(device, {properties})
    other = usmpy.Queue(device, in_order=False)
    x, y = (usmpy.ones(1000, dtype="float32", queue=queue) for _ in range(2))
    for i in range(10):
        queue.fill(x, float(i))
        axpy[r](x, y, 1.0, 1000)
        queue.memcpy(y[500:], y[:500])
        last = other.memcpy(x, y)
        queue.memcpy(y, x, depends=[last])
    assert y.tolist() == [46.0] * 1000
    """
    check(tmp_path, script, ZESIM_JITTER_US="500", **PLAIN)


def test_large_copies_run_on_copy_engines(tmp_path):
    script = """
    queue = usmpy.Queue(device)
    x = usmpy.empty(1 << 21, dtype="uint8", queue=queue)
    host = usmpy.empty(1 << 21, dtype="uint8", usm_type="host", queue=queue)
    queue.wait()
    queues = made("command_queue")
    for i in range(5):
        queue.fill(x, i)
        queue.memcpy(host, x)
        queue.fill(x, 77)
        queue.memcpy(x, host)
    queue.wait()
    assert made("command_queue") == queues + 1
    assert (x[:3].tolist(), host.tolist()[-3:]) == ([4] * 3, [4] * 3)
    """
    check(tmp_path, script, ZESIM_JITTER_US="300", **PLAIN)


def test_times(tmp_path):
    script = """
    queue = usmpy.Queue(device, profiling=True)
    x, y = (usmpy.ones(1000, dtype="float32", queue=queue) for _ in range(2))
    events = [axpy[r](x, y, 1.0, 1000) for _ in range(20)]
    queue.wait()
    for before, event in zip([events[0], *events], events):
        assert event.submit_time_ns <= event.start_time_ns <= event.end_time_ns
        assert event is before or before.end_time_ns <= event.end_time_ns + 20_000
    assert sum(event.end_time_ns - event.start_time_ns for event in events) > 0
    """
    check(tmp_path, script, **PLAIN)


def test_host_tasks_and_dependent_work(tmp_path):
    script = """
    import threading
    queue = usmpy.Queue(device)
    other = usmpy.Queue(device, in_order=False)
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    gate, seen = threading.Event(), []
    queue.wait()
    task = queue.host_task(gate.wait)
    events = [other.fill(x, 5, depends=[task])]
    events.append(other.host_task(lambda: seen.append(x.tolist()[0]), depends=events))
    free = other.fill(usmpy.empty(10, dtype="int32", queue=other), 1)
    free.wait()  # a task that waits for the host delays no other
    assert events[0].status != "complete"
    gate.set()
    other.wait()
    queue.wait()
    assert seen == [5]
    """
    check(tmp_path, script, **PLAIN)


@pytest.mark.parametrize(
    ("turn", "properties"),
    [
        ("axpy[r](x, y, 1.0, 1000)", ""),
        ("axpy[r](x, y, 1.0, 1000).wait()", "profiling=True"),
        ("last = axpy[r, [last] if last else []](x, y, 1.0, 1000)", "in_order=False"),
        ("queue.memcpy(y, x); queue.fill(x, 1.0)", ""),
    ],
    ids=["launches", "one by one", "depending", "copies"],
)
def test_a_loop_makes_nothing_new(tmp_path, turn, properties):
    script = f"""
    queue = usmpy.Queue(device, {properties})
    x, y = (usmpy.ones(1000, dtype="float32", queue=queue) for _ in range(2))
    axpy = usmpy.Program(spirv, device=queue, language="spirv").axpy
    last = None
    def turns(n):
        global last
        for i in range(n):
            {turn}
            if i % 100 == 99:
                queue.wait()
                last = None
        queue.wait()
    kinds = ["context", "command_queue", "command_list", "event_pool", "event", "fence", "module", "kernel",
             "device_memory", "shared_memory", "host_memory"]
    functions = ["zeCommandListCreate", "zeCommandListCreateImmediate", "zeCommandQueueCreate",
                 "zeEventCreate", "zeFenceCreate", "zeCommandListDestroy", "zeMemAllocDevice"]
    def counts():
        return {{kind: made(kind) for kind in kinds}} | {{name: calls(name) for name in functions}}
    _ask("zesimPause", 1)  # more at once than a hundred turns could ever have
    for _ in range(400):
        queue.fill(y, 1.0)
    _ask("zesimPause", 0)
    queue.wait()
    turns(300)
    before, executed = counts(), calls("zeCommandQueueExecuteCommandLists")
    turns(2000)
    assert counts() == before, (before, counts())
    assert calls("zeCommandQueueExecuteCommandLists") - executed >= 2000
    """
    check(tmp_path, script, **PLAIN)


def test_waiting_one_by_one_needs_few_lists(tmp_path):
    script = """
    queue = usmpy.Queue(device)
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    for i in range(300):
        queue.fill(x, i).wait()
    assert made("command_list") == made("fence") < 20, made("command_list")
    """
    check(tmp_path, script, **PLAIN)


@pytest.mark.parametrize(
    "function",
    [
        "zeCommandListCreate",
        "zeFenceCreate",
        "zeCommandListClose",
        "zeCommandQueueExecuteCommandLists",
        "zeCommandListAppendMemoryFill",
    ],
)
def test_a_task_that_is_refused_is_not_run(tmp_path, function):
    script = f"""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    queue.wait()
    _ask("zesimPause", 1)
    kept = [queue.fill(x, i) for i in range(10)]
    fail({function!r}, 1, 1, 0x7ffffffe)
    assert {function!r} in said(queue.fill, x, 99) or {function!r}.endswith("Fill")
    _ask("zesimPause", 0)
    queue.wait()
    assert x.tolist() == [9] * 1000
    lists = made("command_list")
    queue.fill(x, 10).wait()
    assert x.tolist() == [10] * 1000
    assert made("command_list") == lists
    """
    check(tmp_path, script, **PLAIN)


@pytest.mark.parametrize("function", ["zeFenceReset", "zeCommandListReset", "zeFenceQueryStatus"])
def test_a_list_that_cannot_be_used_again_just_now(tmp_path, function):
    script = f"""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    queue.wait()
    for i in range(20):
        fail({function!r}, 1, 1, 0x7ffffffe)
        try:
            queue.fill(x, 100 + i).wait()
        except usmpy.UsmError as error:
            assert {function!r} in str(error)
        fail({function!r}, 1, 0, 0)
        queue.fill(x, i).wait()
        assert x.tolist() == [i] * 1000
    """
    check(tmp_path, script, **PLAIN)


@pytest.mark.parametrize("function", ["zeCommandQueueCreate", "zeCommandListCreate"])
def test_a_queue_that_is_refused(tmp_path, function):
    script = f"""
    fail({function!r}, 1, 1, 0x70000002)
    try:
        usmpy.Queue(device).fill(usmpy.empty(10, device=device), 1)
        raise SystemExit("no error")
    except MemoryError as error:
        assert {function!r} in str(error), error
    assert usmpy.full(10, 2, device=device).tolist() == [2] * 10
    """
    check(tmp_path, script, **PLAIN)


def test_a_device_that_is_lost_in_the_middle(tmp_path):
    script = """
    queue = usmpy.Queue(device)
    x = usmpy.ones(1000, dtype="float32", queue=queue)
    y = usmpy.zeros(1000, dtype="float32", queue=queue)
    queue.wait()
    _ask("zesimPause", 1)
    fail("command", 10, 1, 0x70000001)
    events = [axpy[r](x, y, 1.0, 1000) for _ in range(30)]
    task = queue.host_task(lambda: None, depends=[events[-1]])
    _ask("zesimPause", 0)
    said(events[-1].wait)
    said(task.wait)
    first = events[[event.status for event in events].index("error")]
    assert "DEVICE_LOST" in said(first.wait)
    said(queue.wait)
    assert {event.status for event in events[10:]} == {"error"}
    assert "DEVICE_LOST" in said(axpy[r], x, y, 1.0, 1000)
    assert usmpy.arange(3, device=usmpy.get_devices("level_zero")[1]).tolist() == [0, 1, 2]
    """
    check(tmp_path, script, **PLAIN)


@pytest.mark.parametrize("arguments", [("work", "0x7ffffffe", "1"), ("without", "0x78000003")], ids="-".join)
def test_each_call_fails_in_turn(tmp_path, arguments):
    report = tmp_path / "report"
    done = level_zero_processes.alone([SWEEP, *arguments], report, **PLAIN)
    assert done.returncode == 0, done.stdout
    assert "misuse" not in done.stdout, done.stdout
    counts = level_zero_processes.left_behind(report)
    assert counts.pop("made") > 500
    assert counts == {}


def test_lifetime(tmp_path):
    """Queues that come and go take everything with them, while others work and at the end of the process."""
    script = """
    import gc
    x = usmpy.zeros(1000, dtype="int32", device=device)
    x.queue.wait()
    kinds = ["command_queue", "command_list", "fence"]
    before = [live(kind) for kind in kinds]
    for i in range(20):
        queue = usmpy.Queue(device, in_order=i % 2 == 0)
        events = [queue.fill(x, i) for _ in range(5)]
        queue.wait()
        del queue, events
        gc.collect()
    x.queue.wait()
    _ask("zesimPause", 1)
    queue = usmpy.Queue(device)
    pending = [queue.fill(x, 7) for _ in range(5)]
    del queue, pending  # the tasks keep their queue
    _ask("zesimPause", 0)
    import time
    until = time.monotonic() + 60
    while [live(kind) for kind in kinds] != before:
        assert time.monotonic() < until, [(kind, live(kind)) for kind in kinds]
        time.sleep(0.001)
    assert x.tolist() == [7] * 1000
    left = usmpy.Queue(device)
    left.fill(x, 8)
    """
    check(tmp_path, script, **PLAIN)
