"""Tasks, events and memory where few programs go: odd callables and exceptions, tracked allocations."""

import ctypes
import mmap
import os
import signal
import threading

import producers
import pytest
from asleep import once_asleep

import usmpy

PATIENCE = 60


class Odd(Exception):
    """Cannot be made from its own args."""

    def __new__(cls, first, second):
        return super().__new__(cls, first)

    def __init__(self, first, second):
        super().__init__(first)


class Callable:
    """A task without a name, as functools.partial is."""

    def __init__(self, exception=None):
        self.exception = exception

    def __call__(self, *args):
        if self.exception is not None:
            raise self.exception


class Raises:
    def __index__(self):
        raise ZeroDivisionError


def test_an_exception_that_cannot_be_copied(queue):
    event = queue.host_task(Callable(Odd(1, 2)))
    with pytest.raises(Odd, match="1") as caught:
        event.wait(PATIENCE)
    caught.value.__traceback__ = None  # the exception is the task's own, which must not keep this frame
    del caught


def test_a_trace_of_tasks_without_a_name(queue):
    with usmpy.trace() as trace:
        event = queue.host_task(Callable())
        event.add_done_callback(Callable())
        event.wait(PATIENCE)
    names = [task.name for task in trace.tasks]
    assert names[0].endswith("Callable")


def test_indices_that_a_failed_task_should_have_written(queue):
    x, index = usmpy.arange(100, queue=queue), usmpy.zeros(100, dtype="int64", queue=queue)
    event = queue.host_task(Callable(ZeroDivisionError()), index)
    with pytest.raises((ZeroDivisionError, usmpy.UsmError)):
        x[index].wait()
    with pytest.raises(ZeroDivisionError):
        event.wait(PATIENCE)


def test_arguments_of_waits_and_copies(queue):
    x = usmpy.zeros(4, queue=queue)
    with pytest.raises(TypeError, match="missing"):
        usmpy.Event.wait_all()
    with pytest.raises(ValueError, match="timeout"):
        usmpy.Event.wait_all([], timeout=-1)
    with pytest.raises(ZeroDivisionError):
        queue.memcpy(x, x, Raises())
    with pytest.raises(TypeError, match="missing"):
        queue.device.same_device()
    with pytest.raises(TypeError, match="at most 1 positional"):
        usmpy.Device.create_device(queue.device, queue.device)
    with pytest.raises(ValueError, match="surrogates"):
        usmpy.zeros(4, dtype="\udc80", queue=queue)


def test_a_value_whose_memory_is_closed(queue):
    x = usmpy.zeros(4, queue=queue)
    closed = mmap.mmap(-1, 8)
    closed.close()
    with pytest.raises(BufferError, match="closed"):
        x[...] = closed
    assert x.tolist() == [0] * 4


def test_depends_of_a_copy_between_arrays_of_another_device(device):
    """The queue reaches neither array, so that the copy has several steps."""
    others = [d for d in usmpy.get_devices() if d.backend != device.backend]
    x = usmpy.zeros(4, device=device)
    for other in others:
        queue = usmpy.Queue(other)
        with pytest.raises(TypeError, match="depends"):
            queue.memcpy(x, x, depends=[1])


def test_allocations_of_usmpys_own_code_have_the_callers_line(queue):
    before = usmpy.track_allocations(True)
    try:
        scope = {"usmpy": usmpy, "queue": queue, "__name__": "caller"}
        exec(compile("x = usmpy.mean(usmpy.ones(5, queue=queue))", "caller.py", "exec"), scope)
        exec(compile("y = usmpy.zeros(5, queue=queue)", "\udc80.py", "exec"), scope)
        made = {a.where for a in usmpy.live_allocations()}
    finally:
        usmpy.track_allocations(before)
    assert scope["x"].item() == 1
    assert "caller.py:1 in <module>" in made


@pytest.mark.only_on("host-accessible")
def test_a_handler_in_python_ends_the_wait_for_a_buffer(queue):
    x, gate = usmpy.zeros(4, queue=queue), threading.Event()
    queue.host_task(lambda x: gate.wait(PATIENCE), x)
    before = signal.signal(signal.SIGUSR1, lambda *_: Callable(ZeroDivisionError())())
    once_asleep(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    try:
        with pytest.raises(ZeroDivisionError):
            memoryview(x)
    finally:
        gate.set()
        queue.wait(PATIENCE)
        signal.signal(signal.SIGUSR1, before)
    assert memoryview(x).tolist() == [0] * 4


def test_an_allocation_without_the_gil_has_no_line():
    """As a consumer of the exchange table makes one."""
    allocate = producers.ALLOCATOR(producers.our_table().managed_tensor_allocator)
    out, prototype = ctypes.c_void_p(), producers.Tensor((1000,)).managed.dl_tensor
    before = usmpy.track_allocations(True)
    try:
        assert allocate(prototype, out, None, producers.SET_ERROR(lambda *_: None)) == 0
        managed = producers.DLManagedTensorVersioned.from_address(out.value)
        made = {a.address: a.where for a in usmpy.live_allocations()}
        assert made[managed.dl_tensor.data] is None
        producers.delete(managed)
    finally:
        usmpy.track_allocations(before)
