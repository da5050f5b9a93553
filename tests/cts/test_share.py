"""Memory for several processes: copies into it, handles, and what another process sees."""

import gc
import os
import threading
import time

import pytest
from asleep import once_asleep
from share_peer import Failed, Peer

import usmpy

MIB = 1 << 20


@pytest.fixture(scope="module")
def peer():
    with Peer() as peer:
        yield peer


@pytest.fixture
def shared(queue):
    return usmpy.share(usmpy.arange(12, dtype="int32", queue=queue))


def held(device):
    """Bytes that the memory of share() takes from the device, without what nobody has open any more."""
    usmpy.trim()
    return usmpy.memory_stats("host" if device.has_usm_system else device)["held"]


def falls_to(device, before):
    """Whether that comes back to this value: threads of tasks give their counts back last."""
    deadline = time.monotonic() + 60
    while held(device) != before and time.monotonic() < deadline:
        time.sleep(0.001)
    return held(device) == before


@pytest.mark.only_on("!shares")
def test_devices_that_cannot_share_say_so(queue):
    x = usmpy.zeros(3, queue=queue)
    assert not x.shareable
    with pytest.raises(BufferError, match=r"cannot share .* memory between processes: "):
        usmpy.share(x)
    with pytest.raises(BufferError, match=r"usmpy.share\(x\)"):
        x.get_ipc_handle()


@pytest.mark.only_on("shares")
def test_a_copy_that_can_be_shared(queue):
    x = usmpy.reshape(usmpy.arange(12, dtype="int32", queue=queue), (3, 4)).T
    y = usmpy.share(x)
    assert not x.shareable
    assert y.shareable
    assert usmpy.share(y) is y
    assert y.queue == queue
    assert (y.shape, y.strides, y.dtype, y.usm_type) == (x.shape, x.strides, x.dtype, x.usm_type)
    assert y.tolist() == x.tolist()
    assert y[1:].shareable
    assert not (y + 1).shareable


@pytest.mark.only_on("shares")
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "float64", "complex64", "bfloat16", "float8_e4m3", "float4_e2m1fn"]
)
def test_every_type(queue, peer, dtype):
    x = usmpy.share(usmpy.zeros(6, dtype=dtype, queue=queue))
    with x.get_ipc_handle() as handle:
        assert peer("(y := handle().open()).dtype.name", handle) == dtype
    assert peer("y.tobytes()") == x.tobytes()
    peer("del y")


@pytest.mark.only_on("shares")
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_every_kind_of_memory(queue, device, peer, kind):
    """Drivers share memory of kind "device"; where the device uses all of the host's, every kind is that."""
    if not getattr(device, f"has_usm_{kind}"):
        return
    x = usmpy.arange(4, dtype="int32", queue=queue, usm_type=kind)
    if kind != "device" and not device.has_usm_system:
        with pytest.raises(
            BufferError, match=f"cannot share {kind} memory .*: its driver shares memory of kind"
        ):
            usmpy.share(x)
        return
    y = usmpy.share(x)
    assert y.usm_type == kind
    with y.get_ipc_handle() as handle:
        assert peer("(y := handle().open()).usm_type, y.tolist()", handle) == (kind, [0, 1, 2, 3])
    peer("del y")


@pytest.mark.only_on("shares")
def test_the_queue_of_an_opened_array(shared, device, peer):
    """A queue of the device takes the memory into its own context, which other queues of it then use."""
    place = device.filter_string
    peer(f"d = usmpy.Device({place!r}); q = usmpy.Queue(d, context=usmpy.Context([d]))")
    with shared.get_ipc_handle() as handle:
        peer("y = handle().open(device=q); z = handle().open(device=q)", handle)
    assert peer("y.queue is q, y.data_ptr == z.data_ptr, (y + 1).tolist()") == (
        True,
        True,
        list(range(1, 13)),
    )
    peer("y[0] = 9; y.wait(); del y, z")
    assert shared[0].item() == 9


@pytest.mark.only_on("shares")
def test_both_processes_have_one_memory(shared, peer, device):
    with shared.get_ipc_handle() as handle:
        peer("y = handle().open()", handle)
    assert peer("y.tolist()") == list(range(12))
    assert peer("y.device.filter_string") == device.filter_string
    peer("y[0] = 77; y.wait()")
    assert shared[0].item() == 77
    shared[1] = 78
    shared.wait()
    assert peer("y[1].item()") == 78
    peer("del y")


@pytest.mark.only_on("shares")
def test_a_view_and_its_strides(shared, peer):
    view = usmpy.reshape(shared, (3, 4))[::-1, 1::2]
    with view.get_ipc_handle() as handle:
        peer("y = handle().open()", handle)
    assert peer("y.tolist()") == view.tolist()
    peer("y[0, 0] = 99; y.wait()")
    assert shared[9].item() == 99
    peer("del y")


@pytest.mark.only_on("shares")
def test_the_exporter_opens_its_own_block(shared):
    with shared.get_ipc_handle() as handle:
        again = handle.open()
        assert again.data_ptr == shared.data_ptr
        assert handle.open(readonly=True).flags.writable is False
    with pytest.raises(ValueError, match="the handle is closed"):
        handle.open()


@pytest.mark.only_on("shares")
def test_a_process_maps_a_block_once(shared, peer):
    with shared.get_ipc_handle() as first, shared[4:].get_ipc_handle() as second:
        peer("a = handle().open()", first)
        peer("b = handle().open()", second)
    assert peer("b.data_ptr - a.data_ptr") == 16
    peer("a[4] = 5")
    assert peer("b[0].item()") == 5  # one order of all work on the block
    peer("del a, b")


@pytest.mark.only_on("shares")
def test_read_only_arrays_stay_so(shared, peer):
    with usmpy.broadcast_to(shared[:1], (3,)).get_ipc_handle() as handle:
        peer("y = handle().open()", handle)
    assert peer("y.tolist(), y.flags.writable") == ([0, 0, 0], False)
    with pytest.raises(Failed, match="ValueError"):
        peer("y[0] = 1")
    peer("del y")


@pytest.mark.only_on("shares")
def test_pending_work_comes_first(queue, peer):
    gate = threading.Event()
    x = usmpy.share(usmpy.zeros(4, dtype="int32", queue=queue))
    x.wait()
    usmpy.Queue("host").host_task(gate.wait)
    held = queue.host_task(gate.wait)
    queue.fill(x, 3, depends=[held])
    once_asleep(gate.set)
    with x.get_ipc_handle() as handle:
        assert peer("handle().open().tolist()", handle) == [3, 3, 3, 3]


@pytest.mark.only_on("shares")
def test_failed_work_is_raised_at_the_export(queue):
    x = usmpy.share(usmpy.zeros(4, dtype="int32", queue=queue))

    def fails(x):
        raise ZeroDivisionError("on purpose")

    event = queue.host_task(fails, x)
    with pytest.raises(ZeroDivisionError):
        x.get_ipc_handle()
    with pytest.raises(ZeroDivisionError):
        event.wait()
    with pytest.raises(ZeroDivisionError):
        queue.wait()


@pytest.mark.only_on("shares")
def test_an_opened_block_is_handed_on(shared, peer):
    with Peer() as third:
        with shared.get_ipc_handle() as handle:
            peer("y = handle().open(); h = y[2:].get_ipc_handle()", handle)
        peer("h2 = h")
        peer.start("send(h)")
        data, fds = peer.receive()
        peer.result()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            assert handle.open().data_ptr == shared.data_ptr + 8  # the block came home
            assert third("(z := handle().open()).tolist()", handle) == list(range(2, 12))
        for fd in fds:
            os.close(fd)
        third("z[0] = 50; z.wait()")
        assert shared[2].item() == 50
    peer("del y, h, h2")


@pytest.mark.only_on("shares")
def test_empty_arrays(queue, peer):
    x = usmpy.zeros((0, 3), queue=queue)
    assert x.shareable
    assert usmpy.share(x) is x
    with x.get_ipc_handle() as handle:
        assert handle.fds == ()
        assert peer("handle().open().shape", handle) == (0, 3)


@pytest.mark.only_on("shares")
def test_memory_stays_after_the_array(queue, peer):
    x = usmpy.share(usmpy.full(1000, 7, dtype="int32", queue=queue))
    handle = x.get_ipc_handle()
    peer("y = handle().open()", handle)
    del x
    gc.collect()
    assert peer("y.tolist() == [7] * 1000")
    z = handle.open()
    assert z[999].item() == 7
    z[0] = 8
    z.wait()
    assert peer("y[0].item()") == 8
    handle.close()
    peer("del y")


@pytest.mark.only_on("shares")
def test_counts_stay_flat(shared, peer):
    """Descriptors and mappings of both processes, over many shares."""

    def counts():
        usmpy.trim()  # what nobody uses is closed
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum("memfd:usmpy" in line for line in maps)

    def share():
        with shared.get_ipc_handle() as handle:
            peer("handle().open()[0].item()", handle)

    for _ in range(3):  # the other process closes each handle when it gets the next
        share()
    theirs = "usmpy.trim(), len(os.listdir('/proc/self/fd')), len(open('/proc/self/maps').readlines())"

    def both():
        at_theirs = peer(theirs)[1:]  # first, since what is open there holds a descriptor here
        shared.get_ipc_handle().close()  # closes the descriptors of what is closed there
        return counts(), at_theirs

    before = both()
    for _ in range(200):
        share()
    after = both()
    # They fall if the last count of an earlier block is released in between.
    assert after[0][0] <= before[0][0]
    assert after[0][1] <= before[0][1]
    assert after[1][0] <= before[1][0]
    assert after[1][1] <= before[1][1] + 8  # the interpreter's own memory


@pytest.mark.only_on("shares")
def test_memory_counts_while_it_is_shared(device):
    x = usmpy.zeros(1 << 20, dtype="uint8", device=device)
    before = held(device)
    y = usmpy.share(x)
    y.wait()
    assert held(device) >= before + y.nbytes
    del y
    assert falls_to(device, before)


@pytest.mark.only_on("shares")
@pytest.mark.parametrize("who", ["exporter", "importer"])
def test_a_killed_process_takes_nothing_along(shared, queue, who):
    """SIGKILL while both have the block open."""
    with Peer() as other:
        if who == "importer":
            with shared.get_ipc_handle() as handle:
                other("y = handle().open()", handle)
            other.kill()
            assert shared.tolist() == list(range(12))
            return
        place = queue.device.filter_string
        other(f"x = usmpy.share(usmpy.arange(12, dtype='int32', device={place!r})); x.wait()")
        other("h = x.get_ipc_handle()")
        other.start("send(h)")
        data, fds = other.receive()
        other.result()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            before = handle.open()
            other.kill()
            assert before.tolist() == list(range(12))
            del before
            assert handle.open()[3].item() == 3  # the descriptors alone hold it
        for fd in fds:
            os.close(fd)


@pytest.mark.only_on("shares")
@pytest.mark.parametrize("end", ["closes", "is killed"])
def test_memory_is_used_again_after_the_last_importer(queue, device, end):
    """The exporter's array has ended while two others have it open; new memory never is that memory."""
    before = held(device)
    with Peer() as first, Peer() as second:
        x = usmpy.share(usmpy.full(MIB, 7, dtype="uint8", queue=queue))
        with x.get_ipc_handle() as handle:
            first("y = handle().open()", handle)
        with x.get_ipc_handle() as handle:
            second("y = handle().open()", handle)
        del x
        gc.collect()
        for peer in (first, second):
            for value in (1, 2, 3):
                other = usmpy.share(usmpy.full(MIB, value, dtype="uint8", queue=queue))
                other.wait()
                assert peer("bytes(y.tobytes()) == b'\\7' * (1 << 20)")
                del other
            if end == "closes":
                peer("del y; [os.close(fd) for fd in fds]; fds.clear()")
            else:
                peer.kill()
        assert falls_to(device, before)


@pytest.mark.only_on("shares")
@pytest.mark.parametrize("when", ["before the open", "while it is open", "while it is opened"])
def test_a_killed_exporter(device, peer, when):
    """Its memory stays where descriptors of it are open, and can be handed on."""
    place = device.filter_string
    usmpy.share(usmpy.zeros(1, device=device)).wait()
    usmpy.trim()  # it is closed
    before = len(os.listdir("/proc/self/fd"))
    with Peer() as other:
        other(f"x = usmpy.share(usmpy.arange(1 << 20, dtype='int32', device={place!r}))")
        other("x.wait(); h = x.get_ipc_handle()")  # what is pending may end with its process
        other.start("send(h)")
        data, fds = other.receive()
        other.result()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            if when == "while it is opened":
                other.process.kill()
            elif when == "before the open":
                other.kill()
            y = handle.open()
            other.kill()
            assert y[MIB - 1].item() == MIB - 1
            y[0] = 5
            assert usmpy.sum(y[:2]).item() == 6
    for fd in fds:
        os.close(fd)
    with y.get_ipc_handle() as handle:
        assert peer("handle().open()[:3].tolist()", handle) == [5, 1, 2]
    del y
    gc.collect()
    while len(os.listdir("/proc/self/fd")) > before:  # another thread may hold the last count
        usmpy.trim()


@pytest.mark.only_on("shares")
def test_two_processes_that_free_at_once(queue, device, peer):
    forget = "[os.close(fd) for fd in fds]; fds.clear()"
    peer(forget)
    before = held(device)
    for i in range(100):
        x = usmpy.share(usmpy.full(100 + i, i, dtype="int32", queue=queue))
        with x.get_ipc_handle() as handle:
            assert peer("(y := handle().open())[-1].item()", handle) == i
        peer.start("del y")
        del x
        peer.result()
    peer(forget)
    assert falls_to(device, before)


@pytest.mark.only_on("shares")
def test_work_on_opened_memory(queue, device, peer):
    """Copies in all directions, operations, DLPack and addresses, of memory that another process made."""
    place = device.filter_string
    peer(f"x = usmpy.share(usmpy.arange(5000, dtype='float32', device={place!r})); h = x.get_ipc_handle()")
    peer.start("send(h)")
    data, fds = peer.receive()
    peer.result()
    with usmpy.IPCHandle.from_bytes(data, fds) as handle:
        x = handle.open()
    for fd in fds:
        os.close(fd)
    assert x.shareable
    assert usmpy.memory_connection(x, queue) == usmpy.MemoryConnection.UNIFIED
    own = usmpy.Queue(device)
    y = usmpy.zeros(5000, dtype="float32", queue=own)
    usmpy.copyto(y, x)
    assert y.tolist() == list(range(5000))
    x[::2] = 1
    usmpy.copyto(x[1::2], y[:2500] * 2)
    expected = [v for i in range(2500) for v in (1.0, 2.0 * i)]
    assert x.to_device("host").tolist() == expected
    assert usmpy.from_dlpack(x).data_ptr == x.data_ptr
    if not device.has_usm_system:  # else it is memory of the host device
        z = usmpy.USMArray.from_pointer(x.data_ptr + 4, (4999,), "float32", queue=x.queue, owner=x)
        assert z.tolist() == expected[1:]
        assert z.usm_type == "device"
        with pytest.raises(ValueError, match=r"bytes 0 to 4194303 of an allocation of \d+ bytes"):
            usmpy.USMArray.from_pointer(x.data_ptr, (MIB,), "float32", queue=x.queue, owner=x)
        del z
    x.wait()
    assert peer("x.tolist()") == expected
    del x
    peer("del x, h")
