"""What traces say of commands of each kind, and traces that overlap in time."""

import gc

import pytest

import usmpy


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def test_bytes_of_each_kind_of_command(queue):
    x = usmpy.zeros(1024, dtype="float32", usm_type="shared", queue=queue)
    y = usmpy.zeros((64, 64), dtype="float32", queue=queue)
    with usmpy.trace() as t:
        queue.prefetch(x)
        usmpy.arange(1000, dtype="int32", queue=queue)
        y.T.copy()
        y[::2, ::2].copy()
        queue.wait()
    assert [(task.what, task.nbytes) for task in t.tasks] == [
        ("prefetch", 4096),
        ("sequence", 4000),
        ("strided", 4 * 64 * 64),
        ("strided", 4 * 32 * 32),
    ]


def test_a_trace_that_is_gone_leaves_the_ends_of_another(queue):
    with usmpy.trace() as first:
        queue.host_task(int).wait()
    with usmpy.trace() as second:
        queue.host_task(int).wait()
        queue.host_task(int).wait()
    assert [task.state for task in first.tasks] == ["complete"]
    del first
    gc.collect()
    assert [task.state for task in second.tasks] == ["complete"] * 2


def test_traces_that_overlap_have_the_tasks_of_their_own_time(queue):
    x = usmpy.zeros(100, queue=queue)
    first, second = usmpy.trace(), usmpy.trace()
    with first:
        queue.fill(x, 1).wait()
        second.__enter__()
        queue.fill(x, 2).wait()
    queue.fill(x, 3).wait()
    queue.fill(x, 4).wait()
    second.__exit__(None, None, None)
    assert [len(trace.tasks) for trace in (first, second)] == [2, 3]
    del first
    gc.collect()
    assert [task.state for task in second.tasks] == ["complete"] * 3
