"""borrow() and lend() with streams: order on the device at both ends, and no wait on the host."""

from __future__ import annotations

import ctypes

import cuda_peers
import pytest

import usmpy

N = 200
WAITS = ("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize")
# Owners that tell their stream: by table, by both protocols, by __cuda_array_interface__ alone.
TELLS = [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Interface]


class WithStream(cuda_peers.Dlpack):
    """An owner that tells its stream by being one, as it were."""

    def __cuda_stream__(self):
        return (0, self.stream)


class WithoutStream(cuda_peers.Interface):
    version = 2


def waits(driver):
    return [driver.calls(name) for name in WAITS]


@pytest.fixture
def queue(device):
    return usmpy.Queue(device)


# -- borrow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [*TELLS, WithStream])
@pytest.mark.parametrize("own", [True, False], ids=["a queue", "the cached queue"])
def test_the_owners_stream_waits_for_our_work_on_the_device(peer, driver, device, queue, cls, own):
    theirs = peer.array(N, 1, cls=cls, late=True)
    target = queue if own else device.queue
    before = waits(driver)
    with usmpy.borrow(theirs, queue if own else None) as x:
        assert (x.data_ptr, x.queue, x.flags.writable) == (theirs.address, target, True)
        driver.late(target.native_handle)
        target.fill(x, 5)
    assert driver.is_busy(target.native_handle)  # no wait on the host
    assert waits(driver) == before
    assert theirs.read() == b"\5" * N  # in the owner's stream


@pytest.mark.parametrize("cls", [*TELLS, WithStream, cuda_peers.Dlpack, cuda_peers.Legacy])
def test_our_work_waits_for_the_owners(peer, queue, cls):
    theirs = peer.array(N, 3, cls=cls, late=True)
    y = usmpy.zeros(N, dtype="int8", queue=queue)
    with usmpy.borrow(theirs, queue) as x:
        queue.memcpy(y, x)
    theirs.fill(9)
    assert y.tolist() == [3] * N


@pytest.mark.parametrize("cls", [cuda_peers.Dlpack, cuda_peers.Legacy, WithoutStream])
def test_an_owner_without_a_stream_finds_finished_work(peer, driver, queue, cls):
    theirs = peer.array(N, 1, cls=cls)
    driver.synchronize(theirs.stream)
    with usmpy.borrow(theirs, queue) as x:
        driver.late(queue.native_handle)
        event = queue.fill(x, 5)
    assert event.done


def test_the_stream_at_the_end_is_asked_for_again(peer, driver, queue):
    """The owner continues in another stream than it began in."""
    theirs = peer.array(N, 1, cls=cuda_peers.Torch)
    driver.synchronize(theirs.stream)
    first = peer.streams.pop(0)
    with usmpy.borrow(theirs, queue) as x:
        driver.late(queue.native_handle)
        queue.fill(x, 5)
    assert theirs.stream != first
    assert theirs.read() == b"\5" * N
    driver.destroy_stream(first)


@pytest.mark.parametrize("cls", TELLS)
def test_a_borrow_without_work_enqueues_nothing(peer, driver, queue, cls):
    theirs = peer.array(N, 1, cls=cls, late=True)
    names = ("cuEventRecord", "cuStreamWaitEvent", *WAITS)
    before = [driver.calls(name) for name in names]
    with usmpy.borrow(theirs, queue):
        pass
    # A stream that no table named may be destroyed before the first use: its work is recorded at once.
    now = int(cls is not cuda_peers.Torch)
    assert [driver.calls(name) for name in names] == [before[0] + now, *before[1:]]


def test_after_the_end_the_array_is_over(peer, queue):
    theirs = peer.array(N, 1)
    with usmpy.borrow(theirs, queue) as x:
        queue.fill(x, 5)
    for use in (x.copy, x.asnumpy, lambda: x.__dlpack__(stream=1), lambda: x.__cuda_array_interface__):
        with pytest.raises(ValueError, match="borrow"):
            use()


def race(driver, peer, queue, theirs, block, borrowed):
    """
    One turn of the case of the DLPack discussion: we copy from a borrowed array, late; the owner then changes
    it on its own stream, and frees it into its pool, whose next user writes. What did we copy?
    """
    theirs.fill(1)
    if borrowed:
        with usmpy.borrow(theirs, queue) as x:
            driver.brief(queue.native_handle, 0.0005)
            queue.memcpy(block, x)
    else:  # the same without the end of a borrow: order at the start alone
        driver.synchronize(theirs.stream)
        x = usmpy.from_dlpack(theirs, device=queue)
        driver.brief(queue.native_handle, 0.0005)
        queue.memcpy(block, x)
    theirs.fill(2)  # mutated, freed and written anew: in stream order all of it
    return block.tolist() == [1] * N


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy])
def test_an_owner_that_continues_at_once_a_thousand_times(peer, driver, queue, cls):
    theirs = peer.array(N, 0, cls=cls)
    block = usmpy.zeros(N, dtype="int8", queue=queue)
    assert all(race(driver, peer, queue, theirs, block, True) for _ in range(1000))
    # The order at the end is what makes it right.
    assert not all(race(driver, peer, queue, theirs, block, False) for _ in range(50))


# -- lend ------------------------------------------------------------------------------------------


@pytest.fixture(params=cuda_peers.STREAMS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_a_loan_to_a_stream_is_in_order_at_both_ends(peer, driver, queue, kind):
    """Our late work, a foreign kernel and our next work are ordered, without a host wait."""
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    seen = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    stream = peer.stream()
    before = waits(driver)
    driver.late(queue.native_handle)
    queue.fill(x, 4)
    with x.lend(kind(stream)) as pointer:
        assert pointer == x.data_ptr
        driver.copy(stream, seen.data_ptr, pointer, N)
        driver.late(stream)
        driver.fill(stream, pointer, N, 9)
    assert driver.is_busy(stream)
    y = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.memcpy(y, x)
    queue.fill(x, 1)
    assert waits(driver)[1:] == before[1:]
    assert y.tolist() == [9] * N
    assert seen.tolist() == [4] * N
    assert x.tolist() == [1] * N


@pytest.mark.parametrize("number", [cuda_peers.LEGACY, cuda_peers.PER_THREAD])
def test_a_loan_to_a_default_stream(driver, queue, kind, number):
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    driver.late(queue.native_handle)
    queue.fill(x, 4)
    with x.lend(kind(number)) as pointer:
        driver.fill(number, pointer, N, 9)
    assert x.tolist() == [9] * N


def test_memory_that_was_lent_outlasts_the_loan(peer, driver, queue, device):
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    address, stream = x.data_ptr, peer.stream()
    with x.lend(stream) as pointer:
        driver.late(stream)
        driver.fill(stream, pointer, N, 9)
    del x
    others = [usmpy.empty(N, dtype="int8", queue=q) for q in (queue, device.queue) for _ in range(3)]
    assert driver.is_busy(stream)
    assert address not in [other.data_ptr for other in others]


def test_a_loan_is_right_a_thousand_times(peer, driver, queue):
    """Somebody's late kernel writes; we read right after the loan, in our own queue."""
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    y = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    stream = peer.stream()

    def turn(value, lent):
        if lent:
            with x.lend(stream) as pointer:
                driver.brief(stream, 0.0005)
                driver.fill(stream, pointer, N, value)
        else:
            driver.brief(stream, 0.0005)
            driver.fill(stream, x.data_ptr, N, value)
        queue.memcpy(y, x)
        return y.tolist() == [value] * N

    assert all(turn(i % 100, True) for i in range(1000))
    assert not all(turn(i % 100, False) for i in range(50))


def test_lend_of_an_import_is_ordered_after_its_producer(peer, driver, queue):
    """An array of one library is lent to a stream of another, without a use of ours in between."""
    theirs = peer.array(N, 6, cls=cuda_peers.Torch, late=True)
    x = usmpy.from_dlpack(theirs)
    out = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    other = driver.stream()
    with x.lend(other) as pointer:
        driver.copy(other, out.data_ptr, pointer, N)
    driver.synchronize(other)
    assert out.tolist() == [6] * N
    x.wait()
    queue.wait()
    usmpy.Event.wait_all([])
    driver.destroy_stream(other)


def test_a_loan_of_read_only_memory_waits_for_its_writers(peer, driver, queue):
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    shown = usmpy.broadcast_to(x, (2, N))
    queue.wait()
    driver.late(queue.native_handle)
    queue.fill(x, 4)
    host = ctypes.create_string_buffer(N)
    stream = peer.stream()
    with shown.lend(stream) as pointer:
        driver.copy(stream, ctypes.addressof(host), pointer, N)
        driver.synchronize(stream)
    assert host.raw == b"\4" * N
