"""memory_connection, the calls that promise not to copy, and the copy planner give one answer.

Every pair of places of this machine, and every kind of memory that the first of them has.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import usmpy
from usmpy import MemoryConnection

pytestmark = pytest.mark.leaves_objects("the contexts of `places` live as long as the module")

KINDS = ("device", "shared", "host")
N = 24


def devices() -> dict[str, usmpy.Device]:
    """All devices, and the two halves of each device that has parts."""
    found = {device.filter_string: device for device in usmpy.get_devices()}
    for device in list(found.values()):
        try:
            halves = device.create_sub_devices(device.max_compute_units // 2)
        except (usmpy.UsmError, ValueError):
            continue
        found |= {part.filter_string: part for part in halves}
    return found


@pytest.fixture(scope="module")
def places() -> dict[str, usmpy.Queue]:
    """The cached queue of each device, and a queue in another context, with all devices of the platform."""
    found = devices()
    queues = {name: device.queue for name, device in found.items()}
    for backend in {device.backend for device in found.values()}:
        roots = [device for device in found.values() if device.parent is None and device.backend == backend]
        try:
            contexts = [usmpy.Context(roots)]
        except ValueError:  # two platforms
            contexts = [usmpy.Context(device) for device in roots]
        for context in contexts:
            for device in context.devices:
                queues[f"{device.filter_string} elsewhere"] = usmpy.Queue(device, context=context)
    return queues


def kinds_of(queue: usmpy.Queue) -> list[str]:
    return [kind for kind in KINDS if getattr(queue.device, f"has_usm_{kind}")]


def pairs(places):
    """(text, memory, user): an array of each kind in each place, for each place."""
    for (first, here), (second, user) in itertools.product(places.items(), places.items()):
        for kind in kinds_of(here):
            memory = usmpy.asarray(np.arange(N, dtype="float32"), queue=here, usm_type=kind)
            assert (memory.queue, memory.usm_type) == (here, kind)
            yield f"{kind} memory of {first}, used from {second}", memory, user


def in_place(call, memory, refusal):
    """Is the result of the call a view of the memory? None where the call refuses."""
    try:
        result = call()
    except refusal:
        return False
    assert result.data_ptr == memory.data_ptr
    assert result.usm_type == memory.usm_type
    assert result.tolist() == list(range(N))
    assert result.copy().tolist() == list(range(N))  # commands of the user's place read it
    return True


def test_zero_copy_calls_agree_with_the_connection(places):
    wrong = []
    for text, memory, user in pairs(places):
        answer = usmpy.memory_connection(memory, user) is MemoryConnection.UNIFIED
        calls = {
            "from_dlpack": (lambda: usmpy.from_dlpack(memory, device=user, copy=False), BufferError),  # noqa: B023
            "asarray": (lambda: usmpy.asarray(memory, queue=user, copy=False), ValueError),  # noqa: B023
        }
        for name, (call, refusal) in calls.items():
            if in_place(call, memory, refusal) is not answer:
                wrong.append(f"{name}(copy=False): {text}: {answer}")
        try:
            with usmpy.borrow(memory, user) as borrowed:
                assert in_place(lambda: borrowed, memory, ()), text
            borrows = True
        except BufferError:
            borrows = False
        if borrows is not answer:
            wrong.append(f"borrow: {text}: {answer}")
    assert wrong == []


def is_home(memory: usmpy.USMArray, user: usmpy.Queue) -> bool:
    """Memory that the user's place allocates would be no closer than this, which it reaches."""
    here, there = memory.device.filter_string, user.device.filter_string
    one_device = here == there or there.startswith(f"{here}.") or here.startswith(f"{there}.")
    of_all = memory.usm_type != "device" and memory.device.backend == user.backend
    return one_device or of_all or user.device.device_type == "cpu"


def test_moves_copy_unless_the_memory_is_as_close(places):
    wrong = []
    for text, memory, user in pairs(places):
        unified = usmpy.memory_connection(memory, user) is MemoryConnection.UNIFIED
        for name, move in {
            "to_device": memory.to_device,
            "from_dlpack": lambda queue: usmpy.from_dlpack(memory, device=queue),  # noqa: B023
            "asarray": lambda queue: usmpy.asarray(memory, queue=queue),  # noqa: B023
        }.items():
            moved = move(user)
            assert moved.queue == user
            assert moved.tolist() == list(range(N)), text
            if (moved.data_ptr == memory.data_ptr) is not (unified and is_home(memory, user)):
                wrong.append(f"{name}: {text}: {unified}")
    assert wrong == []


def test_copies_are_planned_by_the_connection(places):
    """Elements with gaps on both sides are no block, which drivers copy from any memory of the host."""
    wrong = []
    for text, memory, user in pairs(places):
        target = usmpy.zeros(N, dtype="float32", queue=user)
        answer = usmpy.memory_connection(memory, target)
        plan = usmpy.explain_copy(target[::3], memory[::3])
        connection, path = (re.search(rf"^{name}: (.*)$", plan, re.M)[1] for name in ("connection", "path"))
        direct = path == "direct, one command"
        if connection != answer.name or direct is not (answer is MemoryConnection.UNIFIED):
            wrong.append(f"{text}: {answer.name}, planned as {connection}, {path}")
        usmpy.copyto(target[::3], memory[::3])
        assert target.tolist()[::3] == list(range(0, N, 3)), text
    assert wrong == []


def test_devices_and_queues_stand_for_memory_of_kind_device(places):
    for (first, here), (second, user) in itertools.product(places.items(), places.items()):
        memory = usmpy.empty(1, queue=here)
        answer = usmpy.memory_connection(memory, user)
        assert usmpy.memory_connection(here, user) is answer, (first, second)
        assert usmpy.memory_connection(memory, usmpy.empty(1, queue=user)) is answer, (first, second)


def test_an_array_over_foreign_memory_stands_for_that_memory(places):
    """Its queue may be of another device than its memory."""
    source = np.arange(N, dtype="float32")
    for name, queue in places.items():
        memory = usmpy.from_dlpack(source)
        answer = usmpy.memory_connection(memory, queue)
        if answer is MemoryConnection.UNIFIED:
            view = usmpy.from_dlpack(source, device=queue, copy=False)
            assert view.queue == queue
            for other in places.values():
                there = usmpy.memory_connection(view, other)
                assert there is usmpy.memory_connection(memory, other), name


def test_the_answer_is_per_direction(places):
    """The known answers of these drivers: answers that only agree with each other could all be wrong."""
    found = {name: queue for name, queue in places.items() if "elsewhere" not in name}
    host = found["host:cpu:0"]
    for name, queue in found.items():
        device = queue.device
        to_host = usmpy.memory_connection(queue, host)
        from_host = usmpy.memory_connection(host, queue)
        reads = device.device_type == "cpu" and device.backend in ("host", "opencl")
        if reads:
            assert to_host is MemoryConnection.UNIFIED, name
        if device.device_type != "cpu":
            assert to_host is MemoryConnection.NONE, name
        expected = MemoryConnection.UNIFIED if device.has_usm_system else MemoryConnection.NONE
        assert from_host is expected, name
        if device.has_usm_host:
            pinned = usmpy.empty(1, usm_type="host", queue=queue)
            assert usmpy.memory_connection(pinned, host) is MemoryConnection.UNIFIED, name


def test_two_gpus_of_one_driver():
    gpus = usmpy.get_devices("cuda")
    if len(gpus) < 2:
        pytest.skip("this machine has no two CUDA devices")
    one, two = gpus[:2]
    x = usmpy.arange(N, dtype="float32", device=one)
    connection = usmpy.memory_connection(one, two)
    assert connection in (MemoryConnection.UNIFIED, MemoryConnection.MIGRATABLE)
    moved = x.to_device(two)
    assert (moved.device, moved.data_ptr != x.data_ptr) == (two, True)
    assert usmpy.from_dlpack(x, device=two).data_ptr != x.data_ptr
    assert tuple(moved.__dlpack_device__()) == two.dlpack_device
    if connection is MemoryConnection.UNIFIED:
        view = usmpy.from_dlpack(x, device=two, copy=False)
        assert (view.device, view.data_ptr) == (two, x.data_ptr)
        assert tuple(view.__dlpack_device__()) == one.dlpack_device


@pytest.mark.not_sanitized("it starts an interpreter")
def test_drivers_that_connect_otherwise():
    """GPUs without peer access, kernels that read any memory of the process, cards that reach each other."""
    if "CUDASIM_PAGEABLE" in os.environ:
        return  # this is such a process
    here = pathlib.Path(__file__).resolve()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here)],
        cwd=here.parents[2],
        env={**os.environ, "CUDASIM_PEERS": "0", "CUDASIM_PAGEABLE": "1", "ZESIM_PEER": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
