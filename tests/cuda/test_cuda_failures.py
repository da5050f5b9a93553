"""Failures of CUDA: no driver, lost contexts, no memory, forks; each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import cuda_drivers
import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60

START = """
import ctypes, gc, os, sys, time
import numpy as np
import usmpy
sim = ctypes.CDLL(os.environ["USMPY_CUDA_LIBRARY"])
device = usmpy.Device("cuda:gpu:0")
def said(call, kind):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind}")
"""


def run(script, before="", **settings):
    environment = cuda_drivers.environment(**settings)
    environment["PYTHONPATH"] = os.pathsep.join([*sys.path, environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", START + before + textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    return done.stdout


# -- the driver ----------------------------------------------------------------------------------------


def diagnosis(**environment):
    own = cuda_drivers.environment()
    own.update(environment)
    own["PYTHONPATH"] = str(ROOT)
    script = (
        "import usmpy; print([line for line in usmpy.diagnose().splitlines() if line.startswith('cuda')][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=own, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_missing_library():
    said = diagnosis(USMPY_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert said.startswith("cuda: absent: /nowhere/libcuda.so.1: cannot open")
    assert "driver" in said
    assert "USMPY_CUDA_LIBRARY" in said


def test_a_library_that_is_another():
    said = diagnosis(USMPY_CUDA_LIBRARY="libc.so.6")
    assert re.match(r"cuda: broken: /\S+/libc\.so\.6 has no function cuGetErrorName", said)


@pytest.mark.parametrize(
    ("code", "state", "words"),
    [
        (100, "absent", "no GPU that CUDA can use"),
        (34, "absent", "stub"),
        (101, "broken", "CUDA_VISIBLE_DEVICES"),
        (803, "broken", "another version than the kernel's module"),
        (804, "broken", "cuda-compat"),
        (802, "broken", "nvidia-fabricmanager"),
        (999, "broken", "/dev/nvidia"),
        (304, "broken", "/dev/nvidia"),
        (2, "broken", "cuInit failed with CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_errors_of_cuinit(code, state, words):
    said = diagnosis(CUDASIM_FAIL=f"cuInit:1:{code}")
    assert said.startswith(f"cuda: {state}: ")
    assert words in said


def test_a_driver_that_is_too_old():
    said = diagnosis(CUDASIM_VERSION="11080")
    assert said.startswith("cuda: broken: ")
    assert "11.8" in said
    assert "12.0" in said


def test_no_devices():
    assert diagnosis(CUDASIM_DEVICES="0").startswith("cuda: absent: ")


def test_the_oldest_driver_that_works():
    run("assert usmpy.arange(5, device=device).tolist() == [0, 1, 2, 3, 4]; print('ok')", version=12000)


# -- a context that is lost ----------------------------------------------------------------------------

FAULT = """
source = "kernel void fine(global int *x) { x[get_global_id(0)] += 1; }"
source += "kernel void wild(global int *x, ulong far) { x[get_global_id(0) + far] = 1; }"
program = usmpy.Program(source, device=device)
queue = usmpy.Queue(device)
x = usmpy.zeros(64, dtype="int32", queue=queue)
other = usmpy.zeros(64, dtype="int32", queue=usmpy.Queue(device))
pinned = usmpy.zeros(64, dtype="int32", usm_type="host", queue=queue)
program.fine[64](x).wait()
other.wait()
sim.cudasim_hold(1)
event = program.wild[64](x, 1 << 44)
behind = program.fine[64](x)
task = queue.host_task(lambda: None)
elsewhere = usmpy.Queue(device).memcpy(other, x)
sim.cudasim_hold(0)
"""


def test_a_kernel_that_faults_is_named_and_the_context_is_lost():
    run(
        """
        text = said(lambda: event.wait(30), usmpy.UsmError)
        assert "wild" in text and "CUDA_ERROR_ILLEGAL_ADDRESS" in text and "lost" in text, text
        assert event.status == "error"
        said(lambda: behind.wait(30), usmpy.UsmError)
        said(lambda: elsewhere.wait(30), usmpy.UsmError)
        task.wait(30)  # order alone
        for call in (
            lambda: program.fine[64](x),
            lambda: queue.memcpy(x, other),
            lambda: usmpy.Queue(device),
            lambda: usmpy.empty(1 << 22, device=device),
            lambda: usmpy.zeros(64, queue=queue),
        ):
            text = said(call, usmpy.UsmError)
            assert "lost" in text, text
        said(lambda: queue.wait(30), usmpy.UsmError)
        queue.wait(30)
        text = said(lambda: x.asnumpy(), usmpy.UsmError)
        del x, other, pinned, event, behind, elsewhere
        gc.collect()
        assert usmpy.ones(3, device="host").tolist() == [1] * 3
        print("ok")
        """,
        FAULT,
    )


def test_the_process_ends_with_work_on_a_lost_context():
    run(
        """
        while not (event.done and behind.done and task.done and elsewhere.done):
            time.sleep(0.001)
        print("ok")
        """,
        FAULT,
    )


def test_the_other_device_continues():
    run(
        """
        said(lambda: event.wait(30), usmpy.UsmError)
        assert usmpy.arange(4, device="cuda:gpu:1").tolist() == [0, 1, 2, 3]
        print("ok")
        """,
        FAULT,
    )


# -- memory --------------------------------------------------------------------------------------------


def test_out_of_memory_names_the_sizes_and_is_over_when_memory_is_freed():
    run(
        """
        x = usmpy.empty(40 << 20, dtype="uint8", device=device)
        text = said(lambda: usmpy.empty(40 << 20, dtype="uint8", device=device), MemoryError)
        assert str(40 << 20) in text and "are free" in text, text
        del x
        y = usmpy.empty(40 << 20, dtype="uint8", device=device)
        y.queue.fill(y, 1).wait()
        print("ok")
        """,
        memory=64 << 20,
    )


def test_memory_that_work_still_holds_is_waited_for():
    run(
        """
        queue = device.queue
        for _ in range(6):
            x = usmpy.empty(40 << 20, dtype="uint8", queue=queue)
            queue.fill(x, 1)
            del x
        queue.wait()
        print("ok")
        """,
        memory=64 << 20,
    )


@pytest.mark.parametrize("settings", [{"pools": 0}, {"peers": 0}, {"managed": 0}, {"pageable": 1}], ids=str)
def test_devices_that_lack_something(settings):
    run(
        """
        x = usmpy.asarray(np.arange(1000), device=device)
        assert usmpy.flip(x).copy().tolist() == list(range(1000))[::-1]
        x.queue.memcpy(x[1:], x[:-1]).wait()
        assert x.tolist() == [0, *range(999)]
        y = x.to_device("cuda:gpu:1")
        assert y.tolist() == [0, *range(999)]
        if device.has_usm_shared:
            usmpy.ones(5, usm_type="shared", device=device)
        else:
            assert "shared" in said(lambda: usmpy.ones(5, usm_type="shared", device=device), ValueError)
        print("ok")
        """,
        **settings,
    )


@pytest.mark.parametrize(
    "name", ["cuEventRecord", "cuMemcpyAsync", "cuStreamCreateWithPriority", "cuMemHostAlloc"]
)
def test_calls_that_fail_leave_no_trace(name):
    run(
        f"""
        name = {name!r}.encode()
        x = usmpy.asarray(np.arange(1000), device=device)
        x.wait()
        for n in range(1, 6):
            sim.cudasim_fail(name, n, 2)
            try:
                queue = usmpy.Queue(device)
                y = usmpy.empty(1000, dtype="int64", queue=queue)
                queue.memcpy(y, x).wait()
                z = y.asnumpy()
                w = usmpy.ones(7_000_000 + n, dtype="uint8", usm_type="host", queue=queue)
            except (usmpy.UsmError, MemoryError) as error:
                assert "OUT_OF_MEMORY" in str(error) or "memory" in str(error), error
            sim.cudasim_fail(name, 0, 0)
            assert x.asnumpy().tolist() == list(range(1000))
        print("ok")
        """
    )


# -- processes -----------------------------------------------------------------------------------------


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_a_forked_child_raises_and_the_parent_continues():
    run(
        """
        x = usmpy.ones(10, device=device)
        queue = usmpy.Queue(device)
        child = os.fork()
        if child == 0:
            try:
                for call in (lambda: usmpy.ones(5, device=device), lambda: usmpy.Queue(device),
                             lambda: queue.barrier(), lambda: x.asnumpy()):
                    assert "spawn" in said(call, RuntimeError)
                del x, queue
                gc.collect()
                assert usmpy.ones(3, device="host").tolist() == [1] * 3
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert x.tolist() == [1] * 10
        print("ok")
        """
    )


def test_the_process_ends_with_work_pending():
    run(
        """
        x = usmpy.zeros(10_000_000, dtype="int32", device=device)
        for i in range(20):
            x.queue.fill(x, i + 1)
        print("ok")
        """
    )


def test_nothing_is_used_after_its_end():
    run(
        """
        for in_order in (True, False):
            queue = usmpy.Queue(device, in_order=in_order, profiling=in_order)
            x = usmpy.ones(1000, queue=queue)
            y = usmpy.flip(x).copy()
            queue.host_task(lambda: None)
            z = usmpy.zeros(2_000_000, queue=queue)
            del x, y, z, queue
            gc.collect()
        from asleep import until_others_sleep
        until_others_sleep()
        print("ok")
        """,
        abort=1,
    )
