"""CUDA graphs: captures of CuPy and PyTorch that take in or hand out our arrays, and of our launches.

Either it works, or an error says that a capture is in the way; the capture goes on, and our queue too.
"""

from __future__ import annotations

import contextlib
import gc

import numpy as np
import pytest
from gpu_driver import SOFTWARE

import usmpy

N = 32 if SOFTWARE else 1024


@pytest.fixture(autouse=True)
def quiet(driver):
    yield
    driver.synchronize()


class CuPyCapture:
    """begin_capture to end_capture on a stream of CuPy."""

    def __init__(self, cupy):
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)

    @property
    def pointer(self):
        return self.stream.ptr

    def warm(self, theirs):
        with self.stream:
            theirs *= 1  # compiled, and in memory
        self.stream.synchronize()

    @contextlib.contextmanager
    def capturing(self):
        with self.stream:
            self.stream.begin_capture()
            try:
                yield
            finally:
                self.graph = self.stream.end_capture()

    def replay(self):
        self.graph.launch(self.stream)
        self.stream.synchronize()

    def take(self, x):
        return self.cupy.from_dlpack(x)

    def make(self):
        return self.cupy.zeros(N, dtype="float32")

    def double(self, theirs):
        theirs *= 2

    def address(self, theirs):
        return theirs.data.ptr


class TorchCapture(CuPyCapture):
    """torch.cuda.graph, on a side stream of PyTorch's."""

    def __init__(self, torch):
        self.torch = torch
        self.stream = torch.cuda.Stream()

    @property
    def pointer(self):
        return self.stream.cuda_stream

    def warm(self, theirs):
        with self.torch.cuda.stream(self.stream):
            theirs.mul_(1)
        self.stream.synchronize()

    @contextlib.contextmanager
    def capturing(self):
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph, stream=self.stream):
            yield

    def replay(self):
        self.graph.replay()
        self.torch.cuda.synchronize()

    def take(self, x):
        return self.torch.from_dlpack(x)

    def make(self):
        return self.torch.zeros(N, device="cuda")

    def double(self, theirs):
        theirs.mul_(2)

    def address(self, theirs):
        return theirs.data_ptr()


@pytest.fixture(params=["cupy", "torch"])
def capture(request, device):
    module = request.getfixturevalue(request.param)
    made = {"cupy": CuPyCapture, "torch": TorchCapture}[request.param](module)
    made.warm(made.make())
    return made


def still_works(device):
    x = usmpy.arange(10, dtype="float32", device=device)
    assert usmpy.flip(x).copy().tolist() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def ready(device, value):
    x = usmpy.full(N, value, dtype="float32", device=device)
    x.wait()
    return x


def test_a_capture_takes_in_our_array(capture, device):
    x = ready(device, 3.0)
    with capture.capturing():
        theirs = capture.take(x)
        capture.double(theirs)
    assert capture.address(theirs) == x.data_ptr
    assert x.tolist() == [3.0] * N  # captured, not run
    capture.replay()
    capture.replay()
    assert x.tolist() == [12.0] * N
    still_works(device)


def test_our_array_is_let_go_within_a_capture(capture, device):
    x = ready(device, 3.0)
    with capture.capturing():
        theirs = capture.take(x)
        capture.double(theirs)
        del theirs  # the deleter runs here, and must not disturb
        gc.collect()
    capture.replay()
    assert x.tolist() == [6.0] * N
    still_works(device)


def test_an_array_with_pending_work_is_refused_by_name_in_a_capture(capture, device, late):
    x = ready(device, 3.0)
    with capture.capturing():  # PyTorch waits for the device as it begins one
        event = late[usmpy.Range(N)](x, N, 5.0, 300_000_000)
        with pytest.raises((BufferError, usmpy.UsmError), match="captur"):
            x.__dlpack__(stream=capture.pointer, max_version=(1, 0))
        assert not event.done
    event.wait()
    assert x.tolist() == [5.0] * N
    still_works(device)


def test_a_capture_hands_out_an_array_to_us(capture, device):
    """The producer's stream is being captured: taking the array may work, or be refused by name."""
    theirs = capture.make()
    capture.warm(theirs)
    taken, said = None, []
    with capture.capturing():
        try:
            taken = usmpy.from_dlpack(theirs)
        except (BufferError, usmpy.UsmError) as error:
            said.append(str(error))
        capture.double(theirs)
    assert all("captur" in text for text in said)
    capture.replay()
    if taken is not None:
        assert taken.data_ptr == capture.address(theirs)
        usmpy.copyto(taken, ready(device, 4.0))
        taken.wait()
        capture.replay()
        assert taken.tolist() == [8.0] * N
    still_works(device)


def test_using_an_array_of_a_capture_before_its_end(capture, device):
    """Our queue cannot wait for work that only a graph has: an error says so, and nothing else breaks."""
    theirs = capture.make()
    capture.warm(theirs)
    said = []
    with capture.capturing():
        capture.double(theirs)
        try:
            usmpy.from_dlpack(theirs).copy().wait(60)
        except (BufferError, usmpy.UsmError) as error:
            said.append(str(error))
    assert all("captur" in text for text in said)
    capture.replay()
    still_works(device)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_busy_queue_of_ours_does_not_disturb_a_capture(device, driver, late, mode):
    """Our work is pending, ends, and is waited for, while another stream is captured."""
    x, y = ready(device, 1.0), ready(device, 1.0)
    event = late[usmpy.Range(N)](x, N, 5.0, 100_000_000)
    with driver.stream() as pointer, driver.capture(pointer, mode) as graph:
        driver.add(pointer, y.data_ptr, N, 1)
        event.wait()
        assert event.done
    assert graph == [1]
    assert x.tolist() == [5.0] * N
    assert y.tolist() == [1.0] * N


def test_our_launches_become_part_of_a_graph(cupy, device, late):
    stream = cupy.cuda.Stream(non_blocking=True)
    q = usmpy.Queue.from_stream(stream)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    q.wait()
    late[usmpy.Range(N)](x, N, 1.0, 0).wait()
    with stream:
        stream.begin_capture()
        event = late[usmpy.Range(N)](x, N, 7.0, 0)
        graph = stream.end_capture()
    event.wait(60)
    assert x.tolist() == [1.0] * N
    graph.launch(stream)
    stream.synchronize()
    assert x.tolist() == [7.0] * N
    still_works(device)


def test_a_graph_keeps_its_memory_alive(cupy, device, late):
    """The arrays of captured launches are dropped; the graph keeps writing to their memory."""
    stream = cupy.cuda.Stream(non_blocking=True)
    q = usmpy.Queue.from_stream(stream)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    late[usmpy.Range(N)](x, N, 1.0, 0).wait()
    address = x.data_ptr
    with stream:
        stream.begin_capture()
        late[usmpy.Range(N)](x, N, 7.0, 0)
        graph = stream.end_capture()
    del x
    gc.collect()
    others = [usmpy.zeros(N, dtype="float32", queue=q) for _ in range(8)]
    q.wait()
    graph.launch(stream)
    stream.synchronize()
    assert address not in [y.data_ptr for y in others]
    assert not any(np.any(y.asnumpy()) for y in others)
    del graph
