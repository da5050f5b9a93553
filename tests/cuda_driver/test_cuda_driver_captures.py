"""Captures and graphs of the CUDA driver in software: what is recorded, and what is forbidden meanwhile."""

from __future__ import annotations

import ctypes
import threading

import cuda_calls
import pytest
from cuda_calls import (
    CAPTURE_IMPLICIT,
    CAPTURE_INVALIDATED,
    CAPTURE_ISOLATION,
    CAPTURE_MERGE,
    CAPTURE_UNJOINED,
    CAPTURE_UNMATCHED,
    CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD,
    CAPTURED_EVENT,
    pointer,
    size_t,
    u64,
)

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
callbacks = []


class Captures(cuda_calls.Driver):
    def begin(self, stream, mode=GLOBAL):
        self.call("cuStreamBeginCapture", stream, mode)

    def end(self, stream):
        """(code, graph)"""
        graph = pointer()
        return self.code("cuStreamEndCapture", stream, ctypes.byref(graph)), graph

    def status(self, stream):
        status = ctypes.c_int(-1)
        self.call("cuStreamIsCapturing", stream, ctypes.byref(status))
        return status.value

    def fill(self, memory, value, stream):
        return self.code("cuMemsetD32Async", memory, value, size_t(10), stream)


@pytest.fixture(scope="module")
def opened():
    driver = Captures()
    driver.call("cuInit", 0)
    context = driver.out(pointer, "cuDevicePrimaryCtxRetain", 0)
    yield driver, context
    driver.call("cuDevicePrimaryCtxRelease", 0)


@pytest.fixture
def driver(opened):
    driver, context = opened
    with driver.current(context):
        yield driver
        driver.call("cuCtxSynchronize")  # no capture is left


@pytest.fixture
def memory(driver):
    memory = driver.put([0] * 10, "int32")
    yield memory
    driver.call("cuMemFree", memory)


@pytest.fixture
def streams(driver):
    streams = [driver.stream(), driver.stream()]
    yield streams
    for stream in streams:
        driver.call("cuStreamDestroy", stream)


@pytest.fixture
def event(driver):
    event = driver.event()
    yield event
    driver.call("cuEventDestroy", event)


def values(driver, memory):
    driver.call("cuCtxSynchronize")
    return driver.get(memory, 10, "int32").tolist()


def test_a_captured_operation_runs_when_its_graph_does(driver, memory, streams):
    stream, other = streams
    driver.begin(stream)
    assert driver.status(stream) == ACTIVE
    assert driver.fill(memory, 7, stream) == 0
    code, graph = driver.end(stream)
    assert (code, driver.status(stream)) == (0, NONE)
    assert values(driver, memory) == [0] * 10
    n = size_t()
    driver.call("cuGraphGetNodes", graph, None, ctypes.byref(n))
    assert n.value == 1
    executable = driver.out(pointer, "cuGraphInstantiate", graph, u64(0))
    driver.call("cuGraphDestroy", graph)
    for value in (1, 2):
        driver.fill(memory, value, other)
        driver.call("cuGraphLaunch", executable, other)
        assert values(driver, memory) == [7] * 10
    driver.call("cuGraphExecDestroy", executable)


def test_events_bring_other_streams_in(driver, memory, streams, event):
    origin, other = streams
    driver.begin(origin)
    driver.call("cuEventRecord", event, origin)
    driver.call("cuStreamWaitEvent", other, event, 0)
    assert driver.status(other) == ACTIVE
    driver.fill(memory, 3, other)
    driver.call("cuEventRecord", event, other)
    driver.call("cuStreamWaitEvent", origin, event, 0)
    code, graph = driver.end(origin)
    assert (code, driver.status(other)) == (0, NONE)
    driver.call("cuGraphDestroy", graph)


def test_work_that_the_origin_does_not_follow_is_unjoined(driver, memory, streams, event):
    origin, other = streams
    driver.begin(origin)
    driver.call("cuEventRecord", event, origin)
    driver.call("cuStreamWaitEvent", other, event, 0)
    driver.fill(memory, 3, other)
    assert driver.end(other)[0] == CAPTURE_UNMATCHED
    assert driver.end(origin)[0] == CAPTURE_INVALIDATED
    driver.begin(origin)
    driver.call("cuEventRecord", event, origin)
    driver.call("cuStreamWaitEvent", other, event, 0)
    driver.fill(memory, 3, other)
    code, graph = driver.end(origin)
    assert (code, graph.value, driver.status(other)) == (CAPTURE_UNJOINED, None, NONE)


def test_earlier_records_are_not_part_of_a_capture(driver, streams, event):
    origin, other = streams
    driver.call("cuEventRecord", event, other)
    driver.begin(origin)
    assert driver.code("cuStreamWaitEvent", origin, event, 0) == CAPTURE_ISOLATION
    assert driver.status(origin) == INVALIDATED
    assert driver.end(origin)[0] == CAPTURE_INVALIDATED


def test_two_captures_are_not_merged(driver, streams, event):
    for stream in streams:
        driver.begin(stream)
    driver.call("cuEventRecord", event, streams[0])
    assert driver.code("cuStreamWaitEvent", streams[1], event, 0) == CAPTURE_MERGE
    assert [driver.end(stream)[0] for stream in streams] == [CAPTURE_INVALIDATED] * 2


@pytest.mark.parametrize("call", ["cuEventQuery", "cuEventSynchronize"])
def test_the_host_does_not_ask_about_captured_events(driver, streams, event, call):
    driver.begin(streams[0], RELAXED)
    driver.call("cuEventRecord", event, streams[0])
    assert driver.code(call, event) == CAPTURED_EVENT
    assert driver.end(streams[0])[0] == CAPTURE_INVALIDATED


@pytest.mark.parametrize("call", ["cuStreamQuery", "cuStreamSynchronize"])
def test_the_host_does_not_ask_about_capturing_streams(driver, streams, call):
    driver.begin(streams[0], RELAXED)
    assert driver.code(call, streams[0]) == CAPTURE_UNSUPPORTED
    assert driver.end(streams[0])[0] == CAPTURE_INVALIDATED


def exchange(driver, mode):
    value = ctypes.c_int(mode)
    driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
    return value.value


# Mode of the capture, whether the caller is the capturing thread, the caller's mode: is the call refused?
UNSAFE = [
    (GLOBAL, True, GLOBAL, True),
    (GLOBAL, False, GLOBAL, True),
    (GLOBAL, False, THREAD_LOCAL, False),
    (GLOBAL, True, THREAD_LOCAL, True),
    (GLOBAL, True, RELAXED, False),
    (GLOBAL, False, RELAXED, False),
    (THREAD_LOCAL, True, GLOBAL, True),
    (THREAD_LOCAL, False, GLOBAL, False),
    (RELAXED, True, GLOBAL, False),
    (RELAXED, False, GLOBAL, False),
]


@pytest.mark.parametrize(("mode", "own", "caller", "refused"), UNSAFE)
def test_unsafe_calls_by_mode_and_thread(opened, driver, streams, mode, own, caller, refused):
    codes = []

    def ask():
        with driver.current(opened[1]):
            before = exchange(driver, caller)
            memory = u64()
            codes.append(driver.code("cuMemAlloc", ctypes.byref(memory), size_t(10)))
            assert exchange(driver, RELAXED) == caller
            if memory.value:
                driver.call("cuMemFree", memory)
            exchange(driver, before)

    driver.begin(streams[0], mode)
    if own:
        ask()
    else:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert codes == [CAPTURE_UNSUPPORTED if refused else 0]
    code, graph = driver.end(streams[0])
    assert code == (CAPTURE_INVALIDATED if refused else 0)
    if graph:
        driver.call("cuGraphDestroy", graph)


def test_another_thread_ends_only_a_relaxed_capture(opened, driver, streams):
    codes = []

    def end(stream):
        with driver.current(opened[1]):
            codes.append(driver.end(stream))

    for stream, mode in zip(streams, (THREAD_LOCAL, RELAXED), strict=True):
        driver.begin(stream, mode)
        thread = threading.Thread(target=end, args=(stream,))
        thread.start()
        thread.join()
    assert [code for code, _ in codes] == [CAPTURE_WRONG_THREAD, 0]
    for graph in (driver.end(streams[0])[1], codes[1][1]):
        driver.call("cuGraphDestroy", graph)


def test_the_legacy_stream_would_wait_for_a_capture(driver, memory):
    blocking = driver.stream(0)
    assert driver.code("cuStreamBeginCapture", None, RELAXED) == CAPTURE_UNSUPPORTED
    driver.begin(blocking, RELAXED)
    assert driver.fill(memory, 1, None) == CAPTURE_IMPLICIT
    assert driver.end(blocking)[0] == CAPTURE_INVALIDATED
    driver.call("cuStreamDestroy", blocking)
    independent = driver.stream(1)
    driver.begin(independent, RELAXED)
    assert driver.fill(memory, 1, None) == 0
    driver.call("cuGraphDestroy", driver.end(independent)[1])
    driver.call("cuStreamDestroy", independent)


def test_graphs_hold_objects_of_users(driver, streams):
    stream = streams[0]
    ended = threading.Event()
    callbacks.append(ctypes.CFUNCTYPE(None, pointer)(lambda data: ended.set()))
    user = driver.out(pointer, "cuUserObjectCreate", None, callbacks[-1], 1, 1)
    driver.begin(stream)
    code, graph = driver.end(stream)
    assert code == 0
    driver.call("cuGraphRetainUserObject", graph, user, 1, 1)  # moved: the graph's alone
    executable = driver.out(pointer, "cuGraphInstantiate", graph, u64(0))
    driver.call("cuGraphDestroy", graph)
    assert not ended.is_set()
    with driver.held():
        driver.call("cuGraphLaunch", executable, stream)
        driver.call("cuGraphExecDestroy", executable)
        assert not ended.is_set()
    assert ended.wait(60)
