"""borrow() and lend() with real streams: the owner continues at once, and all data are correct.

The case of the DLPack discussion: a library runs a kernel on memory that it borrowed, the owner changes it
right after, in its own stream, and gives it back to an asynchronous pool. The kernels are late by much more
than the host takes for all of it.
"""

from __future__ import annotations

import gpu_mini
import numpy as np
import pytest
from gpu_driver import SOFTWARE

import usmpy

N, ROUNDS = (32, 50) if SOFTWARE else (4096, 1000)
LATE_NS = 5_000_000 if SOFTWARE else 200_000


@pytest.fixture(autouse=True)
def quiet(driver):
    yield
    driver.synchronize()


class CuPyOwner:
    """Memory from the driver's asynchronous pool, or from CuPy's own."""

    def __init__(self, cupy, pool):
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.pool = cupy.cuda.MemoryAsyncPool() if pool == "async" else cupy.cuda.MemoryPool()

    def run(self, body):
        with self.cupy.cuda.using_allocator(self.pool.malloc), self.stream:
            body()
        self.stream.synchronize()

    def array(self, value):
        return self.cupy.full(N, value, dtype="float32")

    def overwrite(self, a):
        a.fill(-1)

    def add_one(self, a):
        a += 1

    def values(self, a):
        return a.get()


class TorchOwner(CuPyOwner):
    def __init__(self, torch, pool):
        self.torch = torch
        self.stream = torch.cuda.Stream()

    def run(self, body):
        with self.torch.cuda.stream(self.stream):
            body()
        self.torch.cuda.synchronize()

    def array(self, value):
        return self.torch.full((N,), float(value), device="cuda")

    def overwrite(self, a):
        a.fill_(-1)

    def values(self, a):
        return a.cpu().numpy()


class MiniOwner(CuPyOwner):
    def __init__(self, module, pool):
        self.mini = module.Mini()
        self.stream = self.mini.stream()

    def run(self, body):
        with self.mini.on(self.stream):
            body()
        gpu_mini.driver().synchronize()

    def array(self, value):
        return self.mini.full(N, value)

    def overwrite(self, a):
        self.mini.fill(a, -1)

    def add_one(self, a):
        self.mini.add_one(a)

    def values(self, a):
        return self.mini.numpy(a)


@pytest.fixture(params=["mini", "cupy async", "cupy pool", "torch"])
def owner(request, device):
    library, _, pool = request.param.partition(" ")
    module = gpu_mini if library == "mini" else request.getfixturevalue(library)
    made = {"cupy": CuPyOwner, "torch": TorchOwner, "mini": MiniOwner}[library](module, pool)
    made.run(lambda: made.overwrite(made.array(0)))  # compiles
    return made


def count_right(owner, queue, results, use, kept=None):
    """How many of the rounds saw the owner's data. Where they go wrong, `kept` has the memory stay."""

    def rounds():
        for i in range(ROUNDS):
            a = owner.array(i)
            use(a, results[i])
            owner.overwrite(a)  # changes it, in its own stream
            if kept is not None:
                kept.append(a)
            del a  # frees it, into its pool: the next round gets it

    queue.wait()
    owner.run(rounds)
    queue.wait()
    seen = results.asnumpy()
    return sum(bool((seen[i] == i).all()) for i in range(ROUNDS))


@pytest.fixture
def results(device):
    queue = usmpy.Queue(device)
    results = usmpy.full((ROUNDS, N), -7.0, dtype="float32", queue=queue)
    queue.wait()
    return results


def test_a_borrowed_array_is_read_before_its_owner_changes_and_frees_it(owner, late_copy, results):
    queue = results.queue

    def use(a, result):
        with usmpy.borrow(a, queue) as x:
            late_copy[usmpy.Range(N)](x, result, N, LATE_NS)

    assert count_right(owner, queue, results, use) == ROUNDS


def test_without_the_order_at_the_exit_the_data_are_wrong(owner, late_copy, results):
    """The same, but the owner's stream does not wait at the end: what the test above is there to see."""
    queue = results.queue
    scratch = usmpy.empty(N, dtype="float32", queue=queue)

    def use(a, result):
        with usmpy.borrow(a, queue) as x:
            late_copy[usmpy.Range(N)](x, scratch, N, 0)  # behind the owner's work so far
            address = x.data_ptr
        # The same memory by its address, once the exit is over: the owner does not wait for this one.
        alias = usmpy.USMArray.from_pointer(address, (N,), "float32", queue=queue)
        late_copy[usmpy.Range(N)](alias, result, N, LATE_NS)

    kept = []
    right = count_right(owner, queue, results, use, kept)
    assert right < ROUNDS // 2, f"{right} of {ROUNDS} rounds were right by luck: the test shows nothing"


def test_the_owner_sees_our_writes(owner, late, device):
    queue = usmpy.Queue(device)
    wrong = []

    def rounds():
        arrays = []
        for i in range(100):
            a = owner.array(-5)
            with usmpy.borrow(a, queue) as x:
                late[usmpy.Range(N)](x, N, float(i), LATE_NS)
            owner.add_one(a)  # in the owner's stream, behind our kernel
            arrays.append(a)
        for i, a in enumerate(arrays):
            if not (owner.values(a) == i + 1).all():
                wrong.append(i)

    owner.run(rounds)
    assert wrong == []


def test_a_borrow_sees_the_owners_earlier_writes(stream_peer, device, driver):
    queue = usmpy.Queue(device)
    stream = stream_peer.stream()
    pointer = stream_peer.pointer(stream)
    a = stream_peer.make(np.zeros(N, "float32"))
    target = usmpy.empty(N, dtype="float32", queue=queue)
    with stream_peer.on(stream):
        driver.delay(pointer, 0.5)
        driver.add(pointer, stream_peer.address(a), N, 1)
        with usmpy.borrow(a, queue) as x:
            assert x.data_ptr == stream_peer.address(a)
            queue.memcpy(target, x)
        assert not driver.idle(pointer), "borrow() waited on the host"
    assert target.tolist() == [1.0] * N


def test_a_lent_array_is_used_before_we_change_and_free_it(device, driver, results):
    """The reverse: late foreign kernels on our memory, which we overwrite and free at once."""
    n = ROUNDS // 2
    queue = results.queue
    stream = driver.create_stream()
    for i in range(n):
        x = usmpy.full(N, float(i), dtype="float32", queue=queue)
        with x.lend(stream) as pointer:
            driver.delay(stream, LATE_NS * 1e-9)
            driver.copy(stream, results[i].data_ptr, pointer, 4 * N)
        queue.fill(x, -1.0)
        del x
    driver.synchronize()
    seen = results.asnumpy()[:n]
    assert sum(bool((seen[i] == i).all()) for i in range(n)) == n
    driver.destroy_stream(stream)


def test_reads_are_ordered_after_writes_to_a_lent_array(stream_peer, device, driver):
    stream = stream_peer.stream()
    pointer = stream_peer.pointer(stream)
    x = usmpy.zeros(N, dtype="float32", device=device)
    with x.lend(stream) as address:
        driver.delay(pointer, 0.3)
        driver.add(pointer, address, N, 4)
    assert not driver.idle(pointer), "lend() waited on the host"
    assert x.tolist() == [4.0] * N


def test_lending_to_a_queue_and_to_a_stream_object(cupy, device, driver):
    x = usmpy.zeros(N, dtype="float32", device=device)
    queue = usmpy.Queue(device)
    stream = cupy.cuda.Stream(non_blocking=True)
    for taker, pointer in ((queue, queue.native_handle), (stream, stream.ptr), (stream.ptr, stream.ptr)):
        with x.lend(taker) as address:
            driver.add(pointer, address, N, 1)
    assert x.tolist() == [3.0] * N
