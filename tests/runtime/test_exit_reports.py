"""The end of the process: unretrieved errors, and work that does not complete."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import cuda_drivers
import level_zero_drivers
import level_zero_processes
import pytest
from asleep import until_asleep

ROOT = Path(__file__).parents[2]
SECONDS = 60
HEAD = """
import ctypes, os, signal, sys, threading, time
import usmpy
from asleep import until_asleep
def fail(*_):
    raise ZeroDivisionError("no rows")
"""
REPORT = "nobody asked for its result; call event.wait() or queue.wait()"

pytestmark = pytest.mark.not_sanitized("it starts interpreters")


def start(script, environment=None):
    own = dict(os.environ if environment is None else environment)
    own["PYTHONPATH"] = os.pathsep.join([*sys.path, own.get("PYTHONPATH", "")])
    own["PYTHONFAULTHANDLER"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + textwrap.dedent(script)],
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(script, environment=None):
    """The process's standard error; the process succeeds."""
    process = start(script, environment)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert out.endswith("ok\n"), out + err
    return err


HOST = {
    "a cached queue": "usmpy.Device('host').queue.host_task(fail)",
    "a queue in a global": "q = usmpy.Queue('host'); q.host_task(fail)",
    "an event in a global": "e = usmpy.Queue('host').host_task(fail)",
    "an array in a global": "x = usmpy.zeros(4, device='host'); x.queue.host_task(fail, x)",
    "a queue in a cycle": "c = [usmpy.Queue('host')]; c.append(c); c[0].host_task(fail); del c",
    "a task that is still running": "usmpy.Queue('host').host_task(lambda: (until_asleep(), fail()))",
    "skipped work": "q = usmpy.Queue('host'); q.host_task(print, depends=[q.host_task(fail)])",
    "display": "x = usmpy.zeros(4, device='host'); x.queue.host_task(fail, x); repr(x)",
    "a wait that was too short": """
q = usmpy.Queue('host')
e = q.host_task(lambda: (until_asleep(), fail()))
try:
    e.wait(0)
except TimeoutError:
    pass
""",
    "daemon threads": """
def work():
    q = usmpy.Queue('host')
    q.host_task(fail)
    submitted.set()
    threading.Event().wait()
submitted = threading.Event()
threading.Thread(target=work, daemon=True).start()
submitted.wait()
""",
    "memory for other processes": """
x = usmpy.share(usmpy.zeros(4, device='host'))
handle = x.get_ipc_handle()
x.queue.host_task(fail, x)
""",
    "a function of an array that was shared": """
x = usmpy.share(usmpy.zeros(4, device='host'))
x.queue.host_task(lambda x: (until_asleep(), fail()), x)
y = x + 1
""",
    "memory that another process had made": """
import share_peer
with share_peer.Peer() as other:
    other("x = usmpy.share(usmpy.zeros(4, device='host')); h = x.get_ipc_handle()")
    other.start("send(h)")
    with usmpy.IPCHandle.from_bytes(*other.receive()) as handle:
        x = handle.open()
    other.result()
    x.queue.host_task(fail, x)
    assert other("x.tolist()") == [0, 0, 0, 0]
""",
    "at exit": "import atexit; atexit.register(lambda: usmpy.Queue('host').host_task(fail))",
}


@pytest.mark.parametrize("name", HOST)
def test_it_is_reported_once(name):
    err = said(HOST[name] + "\nprint('ok', flush=True)\n")
    assert err.count("Exception ignored") == err.count(REPORT) == err.count("ZeroDivisionError: no rows") == 1


ASKED = {
    "event.wait": "e.wait()",
    "queue.wait": "q.wait()",
    "event.exception": """
    while not e.done:
        time.sleep(0.001)
    assert e.exception()
    raise ZeroDivisionError
""",
    "event.result": "e.result()",
    "tolist": "x.tolist()",
}


@pytest.mark.parametrize("name", ASKED)
def test_a_retrieved_error_is_not_reported(name):
    script = f"""
q = usmpy.Queue("host")
x = usmpy.zeros(4, queue=q)
e = q.host_task(fail, x)
try:
    {ASKED[name]}
except ZeroDivisionError:
    print("ok", flush=True)
"""
    assert said(script) == ""


def test_a_child_does_not_report_for_its_parent():
    script = """
    q = usmpy.Queue("host")
    e = q.host_task(fail)
    gate = threading.Event()
    running = q.host_task(gate.wait)
    while not e.done:
        time.sleep(0.001)
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        gate.set()
        print("ok", flush=True)
    """
    process = start(script)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert out == "ok\n"
    assert err.count(REPORT) == 1


CHILDREN = {
    "exit": """
child = os.fork()
if not child:
    q = usmpy.Queue("host")
    q.host_task(fail)
    sys.exit()
ended(child)
""",
    "a queue that ends, and os._exit": """
child = os.fork()
if not child:
    hook, reported = sys.unraisablehook, threading.Event()
    sys.unraisablehook = lambda report: (hook(report), reported.set())
    usmpy.Queue("host").host_task(fail)
    while not reported.is_set():
        time.sleep(0.002)  # reports run between two steps of the interpreter
    os._exit(0)
ended(child)
""",
    "multiprocessing": """
import multiprocessing
def work():
    usmpy.Queue("host").host_task(lambda: (until_asleep(), fail()))
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
assert child.exitcode == 0
""",
    **{
        f"multiprocessing, {method}, which imports it": f"""
import multiprocessing
code = '''
import usmpy
from asleep import until_asleep
def fail():
    until_asleep()
    raise ZeroDivisionError("no rows")
usmpy.Queue("host").host_task(fail)
'''
child = multiprocessing.get_context("{method}").Process(target=exec, args=(code, {{}}))
child.start()
child.join()
assert child.exitcode == 0
"""
        for method in ("forkserver", "spawn")
    },
    "after an array of the parent's": """
x = usmpy.zeros(4, device="host")
x.queue.wait()
child = os.fork()
if not child:
    q = usmpy.Queue("host")
    q.host_task(fail)
    try:
        x + 1
    except RuntimeError:
        pass
    sys.exit()
ended(child)
""",
}


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child_reports_its_own(name):
    """Once, and the parent reports nothing."""
    script = f"""
q = usmpy.Queue("host")
q.host_task(int).wait()
def ended(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
{CHILDREN[name]}
print("ok", flush=True)
"""
    err = said(script)
    assert err.count("Exception ignored") == err.count(REPORT) == err.count("ZeroDivisionError: no rows") == 1


# Drivers.


@pytest.mark.skipif(cuda_drivers.has_real(), reason="tests/gpu tests faults of a real device")
@pytest.mark.skipif(cuda_drivers.missing() is not None, reason=cuda_drivers.missing() or "built")
@pytest.mark.parametrize("asks", [False, True])
def test_a_fault_of_a_cuda_kernel(asks):
    script = f"""
    device = usmpy.Device("cuda:gpu:0")
    source = "kernel void wild(global int *x, ulong far) {{ x[get_global_id(0) + far] = 1; }}"
    x = usmpy.zeros(64, dtype="int32", device=device)
    event = usmpy.Program(source, device=device).wild[64](x, 1 << 44)
    if {asks}:
        try:
            event.wait()
        except usmpy.UsmError:
            pass
    print("ok", flush=True)
    """
    err = said(script, cuda_drivers.environment())
    assert err.count("Exception ignored") == err.count("CUDA_ERROR_ILLEGAL_ADDRESS") == (not asks)
    assert err.count(REPORT) == (not asks)


@pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built")
@pytest.mark.parametrize("asks", [False, True])
def test_a_fault_of_level_zero(asks):
    script = f"""
    sim = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"].split(",")[0])
    q = usmpy.Queue(usmpy.get_devices("level_zero")[0])
    x = usmpy.zeros(64, dtype="int32", queue=q)
    q.wait()
    sim.zesimPause(1)
    event = q.fill(x, 3)
    sim.zesimFail(b"zeEventQueryStatus", ctypes.c_uint64(1), ctypes.c_uint64(1), ctypes.c_uint32(0x70000001))
    sim.zesimPause(0)
    while not event.done:
        time.sleep(0.001)
    assert event.status == "error"
    if {asks}:
        try:
            event.wait()
        except usmpy.UsmError:
            pass
    print("ok", flush=True)
    """
    err = said(script, level_zero_processes.environment())
    assert err.count("Exception ignored") == err.count(REPORT) == (not asks)


# Work that does not end.


def lines_until(process, words):
    """Standard error up to the line with these words."""
    text = ""
    for line in process.stderr:
        text += line
        if words in line:
            return text
    raise AssertionError(text)


def never_ending(waits):
    return start(
        f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        q = usmpy.Queue("host")
        q.host_task(threading.Event().wait)
        q.fill(usmpy.zeros(100, queue=q), 1)
        print("ready", flush=True)
        if {waits}:
            q.wait()
        """
    )


@pytest.fixture(scope="module", autouse=True)
def patient():
    """A process that says after five seconds what it waits for. It begins before the other tests do."""
    with never_ending(False) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("waits", [True, False])
def test_the_process_says_what_it_waits_for_and_how_to_leave(patient, waits):
    process = never_ending(True) if waits else patient
    assert process.stdout.readline() == "ready\n"
    if waits:
        until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
    text = lines_until(process, "usmpy:")
    assert ("KeyboardInterrupt" in text) == waits
    assert "waiting for 2 tasks to complete before the process ends (the oldest on host:cpu:0)" in text
    assert "Ctrl-C" in text
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)


def test_work_that_ends_soon_is_waited_for_in_silence():
    script = "usmpy.Queue('host').host_task(until_asleep); print('ok', flush=True)"
    assert said(script) == ""


def test_a_report_of_more_tasks_than_are_kept():
    err = said("""
    q = usmpy.Queue("host")
    events = [q.host_task(fail) for _ in range(50)]
    while not all(event.done for event in events):
        time.sleep(0.001)
    del events
    print("ok")
    """)
    assert "at least 32 tasks of one queue" in err
    assert err.count("no rows") == 1
