"""Objects that a process leaves in a Level Zero driver at its end, by the software driver's counts."""

from __future__ import annotations

import textwrap

import level_zero_drivers
import level_zero_processes
import pytest

pytestmark = pytest.mark.skipif(
    level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built"
)

START = f"""
import atexit, ctypes, gc, os, sys, threading, time
import usmpy
sim = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"])
device = usmpy.get_devices("level_zero")[0]
spirv = open({str(level_zero_processes.SPIRV)!r}, "rb").read()
program = usmpy.Program(spirv, device=device, language="spirv")
axpy = program.axpy
x = usmpy.ones(1000, dtype="float32", device=device)
y = usmpy.zeros_like(x)
"""

# A bit of everything; the objects are global, as in most scripts.
WORK = """
queue = usmpy.Queue(device, profiling=True)
other = usmpy.Queue(device, context=usmpy.Context([device]), in_order=False)
z = usmpy.zeros(100, dtype="int16", queue=queue, usm_type="shared")
z[::2] = 1
u = usmpy.arange(100, queue=other)
part = device.create_sub_devices(device.max_compute_units // 2)[0]
v = usmpy.zeros(50, device=part)
big = usmpy.empty(4 << 20, dtype="uint8", device=device)
host = usmpy.empty(10, usm_type="host", device=device)
events = [axpy[usmpy.Range(1000)](x, y, 2.0, 1000) for _ in range(100)]
queue.host_task(lambda a: None, z)
second = usmpy.zeros(10, device=usmpy.get_devices("level_zero")[1])
"""
WAIT = "assert y.tolist() == [200.0] * 1000; other.wait(); queue.wait()\n"


def run(tmp_path, script, status=0, before="", **variables):
    report = tmp_path / "report"
    done = level_zero_processes.alone(["-c", START + before + textwrap.dedent(script)], report, **variables)
    assert done.returncode == status, done.stdout
    assert "misuse" not in done.stdout
    return done.stdout, level_zero_processes.left_behind(report)


def alive(counts):
    return {kind: count for kind, count in counts.items() if kind != "made"}


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise RuntimeError('the script fails')", 1),
        ("cycle = [x, queue, program]; cycle.append(cycle); del x, queue, program", 0),
        ("atexit.register(lambda: print(y.tolist()[0]))", 0),
        ("memory = memoryview(z); table = usmpy.from_dlpack(z); copy = x.__dlpack__()", 0),
    ],
    ids=["falls off the end", "sys.exit", "an exception", "a cycle", "atexit", "exports"],
)
def test_a_process_that_ends_leaves_nothing(tmp_path, end, status):
    _, counts = run(tmp_path, WORK + WAIT + end, status)
    assert counts.pop("made") > 200
    assert counts == {}


def test_work_that_is_running_ends_first(tmp_path):
    script = "from asleep import once_asleep; sim.zesimPause(1); once_asleep(lambda: sim.zesimPause(0))"
    _, counts = run(tmp_path, script, before=WORK, ZESIM_JITTER_US="2000")
    assert counts.pop("made") > 200
    assert counts == {}


def test_threads_that_are_still_at_work(tmp_path):
    script = """
    turns = threading.Semaphore(0)
    def work():
        while True:
            axpy[usmpy.Range(1000)](x, y, 2.0, 1000).wait()
            turns.release()
    threading.Thread(target=work, daemon=True).start()
    for _ in range(10):
        turns.acquire()
    """
    _, counts = run(tmp_path, script)
    # What the thread was in the middle of may stay: its own objects hold it.
    assert counts["made"] > 10


@pytest.mark.parametrize("what", ["x", "program", "queue", "events[-1]", "u"])
def test_a_leaked_object_keeps_only_its_dependencies(tmp_path, what):
    script = f"ctypes.pythonapi.Py_IncRef(ctypes.py_object({what}))\n"
    _, counts = run(tmp_path, WORK + WAIT + script)
    left = alive(counts)
    # The second device and the context of `other` are not concerned.
    most = {"context": 1, "command_list": 3, "device_memory": 1, "module": 8}
    assert all(left.get(kind, 0) <= count for kind, count in most.items()), left
    assert left.get("shared_memory", 0) == left.get("host_memory", 0) == left.get("command", 0) == 0


def test_a_device_that_is_lost_leaves_nothing(tmp_path):
    script = """
    sim.zesimFail(b"command", 20, 1, 0x70000001)
    for _ in range(50):
        try:
            axpy[usmpy.Range(1000)](x, y, 2.0, 1000)
        except usmpy.UsmError as error:
            assert "DEVICE_LOST" in str(error)
    """
    _, counts = run(tmp_path, script, before=WORK)
    assert counts.pop("made") > 200
    assert counts == {}


def test_work_that_fails_leaves_nothing(tmp_path):
    script = """
    def fail():
        raise ValueError("a task fails")
    failed = queue.host_task(fail)
    behind = queue.fill(z, 1, depends=[failed])
    sim.zesimFail(b"zeCommandListAppendLaunchKernel", 1, 1, 0x7ffffffe)
    try:
        axpy[usmpy.Range(1000)](x, y, 2.0, 1000)
    except usmpy.UsmError as error:
        failure = error
    """
    _, counts = run(tmp_path, script, before=WORK)
    assert counts.pop("made") > 200
    assert counts == {}


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_a_forked_child_touches_nothing(tmp_path):
    script = """
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert y.tolist() == [0.0] * 1000
    """
    _, counts = run(tmp_path, script)
    assert counts.pop("made") > 3
    assert counts == {}


@pytest.mark.leaves_objects("queues of devices are cached")
@pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built")
def test_a_context_of_level_zero_without_memory_is_closed(tmp_path):
    script = "import usmpy; print(usmpy.get_devices('level_zero')[0].context)"
    done = level_zero_processes.alone(["-c", script], tmp_path / "report")
    assert done.returncode == 0, done.stdout
