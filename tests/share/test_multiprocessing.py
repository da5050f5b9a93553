"""Arrays through multiprocessing's queues, pipes and arguments, with each of its start methods."""

import gc
import multiprocessing
import os
import threading
import time

import pytest
from share_peer import Peer
from together import together

import usmpy
import usmpy.multiprocessing

MIB = 1 << 20
METHODS = ["spawn", "fork", "forkserver"]
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def described(x):
    return x.shareable, x.usm_type, x.device.filter_string, x.dtype.name, x.flags.writable, x.tolist()


def answer(argument, inbox, outbox):
    """What the other process does: describes each array, writes to it, and sends it back."""
    outbox.put(described(argument))
    while (x := inbox.get()) is not None:
        if isinstance(x, usmpy.IPCHandle):
            with x:
                x = x.open()
        outbox.put(described(x))
        if x.flags.writable:
            x[:1] = 7
            x.wait()
        outbox.put(x)
        del x


class Other:
    def __init__(self, method, argument):
        context = multiprocessing.get_context(method)
        self.inbox, self.outbox = context.Queue(), context.Queue()
        self.process = context.Process(target=answer, args=(argument, self.inbox, self.outbox), daemon=True)
        self.process.start()
        self.argument = self.outbox.get(timeout=60)

    def __call__(self, x):
        """How the other process describes x, and what it sends back."""
        self.inbox.put(x)
        return self.outbox.get(timeout=60), self.outbox.get(timeout=60)

    def end(self):
        self.inbox.put(None)
        self.process.join(60)
        assert self.process.exitcode == 0
        for queue in (self.inbox, self.outbox):
            queue.close()
            queue.join_thread()


@pytest.fixture(params=METHODS)
def other(request):
    x = usmpy.share(usmpy.arange(5, device="host"))
    x.wait()
    other = Other(request.param, x)
    assert other.argument == described(x)
    del x
    yield other
    other.end()


def places():
    """Devices whose memory can be shared."""
    for device in usmpy.get_devices():
        try:
            usmpy.share(usmpy.zeros(1, device=device))
        except BufferError:
            continue
        yield device.filter_string


def test_shared_arrays_stay_shared(other):
    for place in ("host",) if other.process.name.startswith("Fork") else places():
        x = usmpy.share(usmpy.arange(4, dtype="int16", device=place))
        told, back = other(x)
        assert told == (True, "device", x.device.filter_string, "int16", True, [0, 1, 2, 3])
        assert x.tolist() == [7, 1, 2, 3]
        assert back.data_ptr == x.data_ptr
        told, back = other(x[1::2])
        assert told[-1] == [1, 3]
        assert x.tolist() == [7, 7, 2, 3]


@together("nbytes", [0, 8, 64 * 1024, 64 * 1024 + 4, MIB])
def test_other_arrays_go_by_value(other, nbytes):
    x = usmpy.arange(nbytes // 4, dtype="int32", device="host")
    expected = [7, *x.tolist()[1:]] if nbytes else []
    told, back = other(x)
    assert told == (nbytes == 0, "device", "host:cpu:0", "int32", True, x.tolist())
    assert back.tolist() == expected
    assert x.tolist()[:1] != [7]


def test_by_value_keeps_what_an_array_is(other):
    column = usmpy.reshape(usmpy.arange(1 << 15, dtype="int32", device="host"), (2, -1)).T
    half = usmpy.zeros(1 << 16, dtype="bfloat16", device="host", usm_type="shared")
    fixed = usmpy._core._read_only(usmpy.zeros(1 << 15, device="host"))
    for x in (column, half, fixed):
        told, back = other(x)
        assert told == described(x)
        assert (back.shape, back.flags.c_contiguous) == (x.shape, x.flags.c_contiguous)


def test_handles(other):
    x = usmpy.share(usmpy.arange(3, device="host"))
    handle = x.get_ipc_handle()
    told, back = other(handle)
    assert told[-1] == [0, 1, 2]
    assert back.data_ptr == x.data_ptr
    assert handle.fds  # still open: the other process got duplicates
    handle.close()


def test_pipes_and_threads():
    near, far = multiprocessing.Pipe()
    arrays = [usmpy.share(usmpy.full(3, i, device="host")) for i in range(20)]
    senders = [threading.Thread(target=near.send, args=(x,)) for x in arrays[:1]]
    for thread in senders:
        thread.start()
    got = far.recv()
    for thread in senders:
        thread.join()
    assert got.data_ptr == arrays[0].data_ptr
    near.close()
    far.close()


def counts():
    gc.collect()
    with open("/proc/self/maps") as maps:
        return len(os.listdir("/proc/self/fd")), sum("memfd:usmpy" in line for line in maps)


@pytest.mark.not_sanitized("memory that was freed is kept there for a while")
def test_descriptors_and_memory_stay_flat():
    """10,000 shares: most of one block by handle, and blocks that come and go."""
    x = usmpy.share(usmpy.arange(3, device="host"))
    x.wait()

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1])

    def share(n):
        for i in range(n):
            block = x if i % 4 else usmpy.share(usmpy.zeros(1000, device="host"))
            with block.get_ipc_handle() as handle:
                assert handle.open().data_ptr == block.data_ptr
            del block

    share(1000)
    before, pages = counts(), resident()
    share(10_000)
    assert counts() == before
    assert resident() < pages + 500  # 2 MB of 4 KiB pages; each of 2,500 blocks alone has 8 KiB


def test_two_processes_that_free_at_once():
    other = Other("spawn", usmpy.zeros(1, device="host"))
    before = counts()
    for _ in range(50):
        x = usmpy.share(usmpy.arange(1000, device="host"))
        x.wait()
        other.inbox.put(x)
        assert other.outbox.get(timeout=60)[-1][999] == 999
        del x  # as the other process writes to its array, sends it back and frees it
        back = other.outbox.get(timeout=60)
        assert back[0].item() == 7
        del back
    deadline = time.monotonic() + 60
    while counts()[1] != before[1] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert counts()[1] == before[1]
    other.end()


@pytest.mark.parametrize("killed", ["before it gets the array", "while it has the array"])
def test_a_killed_receiver(killed):
    other = Other("spawn", usmpy.zeros(1, device="host"))
    x = usmpy.share(usmpy.arange(4, device="host"))
    if killed == "before it gets the array":
        other.process.kill()
        other.inbox.put(x)
    else:
        other.inbox.put(x)
        other.outbox.get(timeout=60)
        other.process.kill()
    other.process.join()
    assert x.tolist()[1:] == [1, 2, 3]
    x[0] = 5
    assert x[0].item() == 5
    for queue in (other.inbox, other.outbox):
        queue.cancel_join_thread()
        queue.close()


def put_and_sleep(queue, ready, shared):
    x = usmpy.ones(MIB, dtype="int8", device="host")
    queue.put(usmpy.share(x) if shared else x)
    queue.close()
    queue.join_thread()  # which sends
    ready.set()
    threading.Event().wait()  # it is killed


@pytest.mark.parametrize("shared", [True, False])
def test_a_killed_sender(shared):
    """The descriptor was still with the sender: an error of multiprocessing, and nothing stays open."""
    context = multiprocessing.get_context("spawn")
    queue, ready = context.Queue(), context.Event()
    before = counts()
    process = context.Process(target=put_and_sleep, args=(queue, ready, shared), daemon=True)
    process.start()
    assert ready.wait(60)
    process.kill()
    process.join()
    with pytest.raises(OSError, match=r"refused|No such file"):
        queue.get(timeout=60)
    process.close()
    del process
    assert counts()[1] == before[1]
    queue.close()


@pytest.mark.parametrize("after", ["the open", "a write", "a handle of its own", "pending work"])
def test_an_importer_killed(after):
    x = usmpy.share(usmpy.arange(1000, device="host"))
    steps = {
        "the open": "pass",
        "a write": "y[0] = 5; y.wait()",
        "a handle of its own": "h = y.get_ipc_handle()",
        "pending work": "y.fill(3)",
    }
    before = counts()
    with Peer() as other:
        with x.get_ipc_handle() as handle:
            other("y = handle().open()", handle)
        other.start(steps[after])
        if after != "pending work":
            other.result()
        other.kill()
    assert x[999].item() in (999, 3)
    x[0] = 7
    assert x[0].item() == 7
    assert counts() == before


def write_and_end(x):
    x[0] = 42
    x.wait()
    y = x + 1  # work of the child itself
    os._exit(0 if y[0].item() == 43 else 1)


def test_fork_after_use():
    """A child made by fork has the memory, its handles work there, and its end takes nothing along."""
    x = usmpy.share(usmpy.arange(4, device="host"))
    x.wait()
    handle = x.get_ipc_handle()
    child = os.fork()
    if child == 0:
        try:
            y = handle.open()
            with y.get_ipc_handle() as own:
                write_and_end(usmpy.IPCHandle.from_bytes(bytes(own), own.fds).open())
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [42, 1, 2, 3]
    assert handle.open().tolist() == [42, 1, 2, 3]
    handle.close()
