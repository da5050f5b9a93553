"""The CUDA driver in software: streams, their order, and events."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest
from cuda_calls import INVALID_HANDLE, NOT_READY, pointer, size_t, u64

LEGACY, PER_THREAD = pointer(1), pointer(2)
DEFAULT, NON_BLOCKING = 0, 1
RECORD_ONLY = 2  # CU_EVENT_DISABLE_TIMING

# Streams and events.


def test_calls_return_before_the_work_is_done(driver):
    stream, event, memory = driver.stream(), driver.event(), driver.allocate(4)
    with driver.held():
        driver.call("cuMemsetD32Async", memory, 5, size_t(1), stream)
        driver.call("cuEventRecord", event, stream)
        assert driver.code("cuStreamQuery", stream) == NOT_READY
        assert driver.code("cuEventQuery", event) == NOT_READY
    driver.call("cuEventSynchronize", event)
    assert driver.code("cuStreamQuery", stream) == 0
    driver.call("cuMemFree", memory)
    driver.call("cuEventDestroy", event)
    driver.call("cuStreamDestroy", stream)


callbacks = []  # they are called until the process ends, as far as Python knows


def gate(driver, stream):
    """An operation of the stream that ends when the returned function is called."""
    opened = threading.Event()
    callbacks.append(ctypes.CFUNCTYPE(None, pointer)(lambda data: opened.wait(60) and None))
    driver.call("cuLaunchHostFunc", stream, callbacks[-1], None)
    return opened.set


@pytest.mark.parametrize("later", [False, True])
def test_a_wait_is_for_the_events_work_at_the_call(driver, later):
    first, second, event = driver.stream(), driver.stream(), driver.event(RECORD_ONLY)
    open_first = gate(driver, first)
    if not later:
        driver.call("cuEventRecord", event, first)
    driver.call("cuStreamWaitEvent", second, event, 0)
    if later:
        driver.call("cuEventRecord", event, first)
        driver.call("cuStreamSynchronize", second)
    assert driver.code("cuStreamQuery", second) == (0 if later else NOT_READY)
    open_first()
    driver.call("cuStreamSynchronize", second)
    driver.call("cuEventDestroy", event)
    for stream in (first, second):
        driver.call("cuStreamDestroy", stream)


@pytest.mark.parametrize(
    ("flags", "waits"), [(DEFAULT, True), (NON_BLOCKING, False)], ids=["blocking", "non-blocking"]
)
def test_the_legacy_stream_and_blocking_streams_wait_for_each_other(driver, flags, waits):
    stream, other = driver.stream(flags), driver.stream(NON_BLOCKING)
    memory = driver.allocate(4)
    for first, second in ((stream, LEGACY), (LEGACY, stream)):
        open_first = gate(driver, first)
        driver.call("cuMemsetD8Async", memory, 0, size_t(4), second)
        event = driver.event()
        driver.call("cuEventRecord", event, second)
        if waits:
            driver.call("cuMemsetD8Async", memory, 0, size_t(4), other)  # nothing orders it after the gate
            driver.call("cuStreamSynchronize", other)
            assert driver.code("cuEventQuery", event) == NOT_READY
        else:
            driver.call("cuEventSynchronize", event)
        open_first()
        driver.call("cuCtxSynchronize")
        driver.call("cuEventDestroy", event)
    driver.call("cuMemFree", memory)
    for made in (stream, other):
        driver.call("cuStreamDestroy", made)


def test_each_thread_has_a_default_stream_of_its_own(driver, primary):
    ids = []

    def see():
        with driver.current(primary[0]):
            for handle in (PER_THREAD, PER_THREAD, LEGACY, None):
                value = u64()
                driver.call("cuStreamGetId", handle, ctypes.byref(value))
                ids.append(value.value)

    see()
    thread = threading.Thread(target=see)
    thread.start()
    thread.join()
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert ids[4] == ids[5] not in ids[:4]
    assert ids[6:] == ids[2:4]


def test_times_of_events(driver):
    stream, events = driver.stream(), [driver.event(), driver.event(), driver.event(RECORD_ONLY)]
    elapsed = ctypes.c_float()

    def time_of(a, b):
        return driver.code("cuEventElapsedTime", ctypes.byref(elapsed), a, b)

    assert time_of(*events[:2]) == INVALID_HANDLE  # never recorded
    begun = time.monotonic()
    driver.call("cuEventRecord", events[0], stream)
    driver.call("cuEventSynchronize", events[0])
    ended = time.monotonic()
    open_it = gate(driver, stream)
    driver.call("cuEventRecord", events[1], stream)
    driver.call("cuEventRecord", events[2], stream)
    assert time_of(*events[:2]) == NOT_READY
    still = time.monotonic()
    open_it()
    driver.call("cuStreamSynchronize", stream)
    assert time_of(*events[:2]) == 0
    assert (still - ended) * 1e3 <= elapsed.value <= (time.monotonic() - begun) * 1e3
    assert time_of(events[0], events[2]) == INVALID_HANDLE
    for event in events:
        driver.call("cuEventDestroy", event)
    driver.call("cuStreamDestroy", stream)


def test_an_events_stream_is_of_its_context(driver, primary):
    event = driver.event()
    with driver.current(primary[1]):
        other = driver.stream()
        assert driver.code("cuEventRecord", event, other) == INVALID_HANDLE
        driver.call("cuStreamWaitEvent", other, event, 0)
        driver.call("cuStreamDestroy", other)
    driver.call("cuEventDestroy", event)
