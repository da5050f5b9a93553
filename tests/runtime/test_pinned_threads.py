"""Threads of a part of the host are pinned to its processors; those that they start for others are not."""

import os

import pytest

import usmpy

PATIENCE = 60

pytestmark = pytest.mark.leaves_objects("queues of devices are cached")


@pytest.fixture
def pinned():
    """A queue of one processor."""
    host = usmpy.Device("host:cpu:0")
    if host.max_compute_units < 2:
        pytest.skip("the host has one processor")
    queue = usmpy.Queue(host.create_sub_devices(1)[0])
    yield queue
    queue.wait()


def processors():
    return os.sched_getaffinity(0)


def test_where_threads_run(pinned):
    def task():
        return processors(), usmpy.Queue("host").host_task(processors).result(PATIENCE)

    own, started = pinned.host_task(task).result(PATIENCE)
    assert len(own) == 1
    assert started == processors()
