"""usmpy.trace(): what is recorded of tasks, their times, their dependencies and their ends."""

import functools
import gc
import threading

import pytest

import usmpy


@pytest.fixture(scope="session")
def other(device):
    return usmpy.Queue(device, in_order=False)


def named(trace, name):
    return [task for task in trace.tasks if task.name == name]


def test_a_kernel_after_a_fill(queue, program):
    x = usmpy.empty(1000, dtype="float32", device=queue)
    y = usmpy.empty_like(x)
    with usmpy.trace() as t:
        queue.fill(x, 2.0)
        program["scale"][usmpy.Range(1000)](x, y, 3.0).wait()
    (fill,) = named(t, "fill")
    (kernel,) = named(t, "scale")
    assert (fill.what, fill.nbytes, fill.state) == ("fill", 4000, "complete")
    assert (kernel.what, kernel.work_items, kernel.nbytes) == ("kernel", 1000, None)
    assert kernel.depends == ((fill.id, "data"),)
    assert fill.queue == kernel.queue > 0
    assert kernel.device == queue.device.filter_string
    begin, end = t.span_ns
    for task in (fill, kernel):
        assert begin <= task.submit_ns <= task.end_ns <= end
        assert task.start_ns <= task.end_ns
    assert t.pending == t.dropped == 0


def test_dependencies_say_why(queue, other):
    x = usmpy.zeros(100, dtype="int32", device=queue)
    y = usmpy.zeros(100, dtype="int32", device=queue)
    queue.wait()
    with usmpy.trace() as t:
        write = queue.fill(x, 1)
        copy = other.memcpy(y, x)
        again = queue.fill(x, 2)
        barrier = other.barrier([again])
        barrier.wait()
        copy.wait()
    tasks = t.tasks
    assert [task.what for task in tasks] == ["fill", "copy", "fill", "barrier"]
    assert [task.in_order for task in tasks] == [True, False, True, False]
    assert dict(tasks[1].depends)[0] == "data"
    assert dict(tasks[2].depends)[1] == "order"
    assert dict(tasks[3].depends)[2] == "explicit"
    assert tasks[1].nbytes == 400
    assert write.done


def test_nothing_is_recorded_outside(queue):
    x = usmpy.zeros(10, dtype="int32", device=queue)
    queue.fill(x, 1).wait()
    with usmpy.trace() as t:
        pass
    queue.fill(x, 2).wait()
    assert t.tasks == []


@pytest.mark.only_on("host-task")
def test_tasks_pending_at_the_end_complete_later(queue):
    gate = threading.Event()
    with usmpy.trace() as t:
        event = queue.host_task(gate.wait)
    assert t.pending == 1
    assert (t.tasks[0].state, t.tasks[0].end_ns) == ("pending", None)
    assert "1 pending" in repr(t)
    t.to_svg()
    t.to_chrome()
    gate.set()
    event.wait()
    assert (t.pending, t.tasks[0].state) == (0, "complete")
    assert t.tasks[0].timed == "host"


@pytest.mark.only_on("host-task")
def test_a_trace_may_go_before_its_tasks(queue):
    gate = threading.Event()
    with usmpy.trace() as t:
        events = [queue.host_task(gate.wait) for _ in range(3)]
    del t
    gc.collect()
    gate.set()
    usmpy.Event.wait_all(events)
    with usmpy.trace() as t:
        queue.barrier(events).wait()
    assert [task.depends for task in t.tasks] == [()]


def fails():
    raise ValueError("on purpose")


@pytest.mark.only_on("host-task")
def test_tasks_that_fail_are_marked(queue):
    with usmpy.trace() as t:
        first = queue.host_task(fails)
        second = queue.host_task(print, depends=[first])
        with pytest.raises(ValueError, match="on purpose"):
            first.wait()
        with pytest.raises(Exception, match="not run"):
            second.wait()
    assert [(task.name, task.state) for task in t.tasks] == [("fails", "error"), ("print", "error")]
    assert 'class="host error"' in t.to_svg()


def test_copies_have_a_bandwidth(device):
    queue = usmpy.Queue(device, profiling=True)
    x = usmpy.zeros(1 << 20, dtype="uint8", device=queue)
    y = usmpy.empty_like(x)
    queue.wait()
    with usmpy.trace() as t:
        event = queue.memcpy(y, x)
        event.wait()
    (copy,) = named(t, "copy")
    assert (copy.timed, copy.nbytes) == ("device", 1 << 20)
    assert (copy.start_ns, copy.end_ns) == (event.start_time_ns, event.end_time_ns)
    if copy.duration_ns:
        assert copy.bandwidth == pytest.approx(copy.nbytes / copy.duration_ns * 1e9)
        assert "GB/s" in t.to_svg()


def test_exports_are_recorded(queue):
    x = usmpy.zeros(100, dtype="float32", device=queue)
    queue.wait()
    with usmpy.trace() as t:
        queue.fill(x, 1.0)
        capsule = x.__dlpack__(max_version=(1, 1))
        del capsule
    (export,) = [task for task in t.tasks if task.what == "export"]
    assert (export.name, export.nbytes, export.queue) == ("DLPack", 400, 0)
    assert export.depends == ((0, "data"),)


def test_more_than_the_limit_is_counted(queue):
    x = usmpy.zeros(10, dtype="int32", device=queue)
    with usmpy.trace(limit=5) as t:
        for i in range(12):
            queue.fill(x, i)
        queue.wait()
    assert len(t.tasks) == 5
    assert t.dropped == 7
    assert "7 dropped" in repr(t)
    assert "7 more were dropped" in t.to_svg()
    assert t.to_chrome()["otherData"]["dropped"] == 7


def test_traces_in_each_other(queue):
    x = usmpy.zeros(10, dtype="int32", device=queue)
    with usmpy.trace() as outer:
        queue.fill(x, 1)
        with usmpy.trace(limit=1) as inner:
            queue.fill(x, 2)
            queue.fill(x, 3)
        queue.fill(x, 4)
        with usmpy.trace() as last:
            queue.fill(x, 5)
    queue.wait()
    assert [len(t.tasks) for t in (outer, inner, last)] == [5, 1, 1]
    assert (inner.dropped, last.dropped) == (1, 0)
    assert inner.tasks[0].depends == last.tasks[0].depends == ()  # the dependency is not in these traces
    assert [dict(task.depends).get(i) for i, task in enumerate(outer.tasks[1:])] == ["order"] * 4
    del outer
    assert last.tasks[0].state == "complete"


def test_submissions_of_many_threads(device):
    def work(k):
        queue = usmpy.Queue(device)
        x = usmpy.empty(10, dtype="int32", device=queue)
        for i in range(200):
            queue.fill(x, i)
        queue.wait()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with usmpy.trace() as t:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tasks = [task for task in t.tasks if task.what == "fill"]
    assert len(tasks) == 800
    assert len({task.thread for task in tasks}) == len({task.queue for task in tasks}) == 4
    for task in tasks:
        assert all(t.tasks[before].queue == task.queue for before, _ in task.depends)


def test_memory_that_is_used_again_is_other_memory(queue):
    with usmpy.trace() as t:
        for i in range(3):
            x = usmpy.empty(10, dtype="int32", device=queue)
            queue.fill(x, i).wait()
            del x
    assert [task.depends for task in t.tasks] == [()] * 3


def test_a_copy_of_a_view_counts_all_of_its_elements(queue):
    x = usmpy.ones((6, 2, 5), dtype="int32", device=queue)
    y = usmpy.empty((5, 2, 6), dtype="int32", device=queue)
    with usmpy.trace() as t:
        usmpy.copyto(y, usmpy.permute_dims(x, (2, 1, 0)))
        queue.wait()
    (copy,) = t.tasks
    assert (copy.what, copy.nbytes) == ("strided", 240)


def test_functions_without_a_name_are_named_by_their_type():
    class Named:
        __name__ = 7

        def __call__(self):
            return None

    queue = usmpy.Queue("host")
    with usmpy.trace() as trace:
        for function in (functools.partial(int), Named()):
            queue.host_task(function).wait()
    assert [task.name.rpartition(".")[2] for task in trace.tasks] == ["partial", "Named"]


PATIENCE = 60


class Callable:
    """A task without a name, as functools.partial is."""

    def __init__(self, exception=None):
        self.exception = exception

    def __call__(self, *args):
        if self.exception is not None:
            raise self.exception


def test_a_trace_of_tasks_without_a_name(queue):
    with usmpy.trace() as trace:
        event = queue.host_task(Callable())
        event.add_done_callback(Callable())
        event.wait(PATIENCE)
    names = [task.name for task in trace.tasks]
    assert names[0].endswith("Callable")
