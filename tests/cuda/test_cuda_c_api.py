"""Work that an extension enqueues itself in the stream of a queue: usmpy.h, queue_begin and queue_end."""

from __future__ import annotations

import threading

import c_api
import pytest
from asleep import once_asleep
from c_api import READ, READ_WRITE, accesses

import usmpy

N = 200


@pytest.fixture
def api():
    return c_api.table()


@pytest.fixture
def queue(device):
    return usmpy.Queue(device)


def test_foreign_work_is_ordered_between_earlier_and_later_work(api, driver, device, queue):
    x = usmpy.zeros(N, dtype="uint8", queue=queue)
    other = usmpy.Queue(device)
    stream = api.queue_native(queue)
    driver.late(other.native_handle)
    other.fill(x, 1)  # late, in another stream
    assert api.queue_begin(queue, *accesses((x, READ_WRITE))) == 0
    assert driver.is_busy(other.native_handle)  # no wait on the host
    driver.late(stream)
    driver.fill(stream, x.data_ptr, N // 2, 2)
    event = api.queue_end(queue, *accesses((x, READ_WRITE)))
    assert not event.done
    y = usmpy.zeros(N, dtype="uint8", queue=other)
    other.memcpy(y, x)  # behind the work of others, without a word
    assert y.tolist() == [2] * (N // 2) + [1] * (N // 2)
    assert event.done


def test_the_arrays_live_until_the_work_has_ended(api, driver, queue):
    x = usmpy.zeros(N, dtype="uint8", queue=queue)
    address, stream = x.data_ptr, api.queue_native(queue)
    assert api.queue_begin(queue, *accesses((x, READ_WRITE))) == 0
    driver.late(stream)
    driver.fill(stream, address, N, 2)
    event = api.queue_end(queue, *accesses((x, READ_WRITE)))
    before = usmpy._core._live_counts()["allocs"]
    del x
    assert usmpy._core._live_counts()["allocs"] == before
    event.wait()
    assert usmpy._core._live_counts()["allocs"] == before - 1


def test_dependencies_on_other_drivers_are_waited_for_on_the_host(api, driver, device, queue):
    x = usmpy.zeros(N, dtype="uint8", queue=queue)
    gate, stream = threading.Event(), api.queue_native(queue)
    usmpy.Queue(device).host_task(lambda a: gate.wait(60), x)
    once_asleep(gate.set)
    assert api.queue_begin(queue, *accesses((x, READ))) == 0
    assert gate.is_set()
    driver.fill(stream, x.data_ptr, N, 3)
    api.queue_end(queue, *accesses((x, READ_WRITE)))
    assert x.tolist() == [3] * N
