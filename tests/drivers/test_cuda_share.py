"""CUDA memory between processes: order by events, mappings, and what the driver or a sandbox refuses.

All processes use the driver in software, whose handles, descriptors and events pass between them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct

import cuda_drivers
import pytest
from share_peer import Failed, Peer, resealed

import usmpy

missing = cuda_drivers.missing()
pytestmark = pytest.mark.skipif(missing is not None, reason=str(missing))

NBYTES = 96  # where a handle has the size of its block (csrc/core/share/handle.h)
GRANULE = 2 << 20
NOT_PERMITTED, NOT_SUPPORTED, OUT_OF_MEMORY, MAP_FAILED, UNKNOWN = 800, 801, 2, 205, 999

# The driver's counters in each process, and what it maps and has open.
DRIVER = """
import ctypes, gc, os
sim = ctypes.CDLL(os.environ["USMPY_CUDA_LIBRARY"])
sim.cudasim_misuse.restype = ctypes.c_char_p
def calls(name): return sim.cudasim_calls(name.encode())
def counts():
    gc.collect()
    values = (ctypes.c_ulonglong * 8)()
    sim.cudasim_counts(values)
    return dict(zip(("bytes", "blocks", "streams", "events"), values))
def state():
    gc.collect()
    usmpy.Device("cuda:gpu:0").queue.wait()
    usmpy.trim()
    held = usmpy.memory_stats("cuda:gpu:0")["held"]
    with open("/proc/self/maps") as maps:
        mapped = sum("memfd:" in line and "event" not in line for line in maps)
    folder = "/proc/self/fd/"
    files = [os.readlink(folder + fd) for fd in os.listdir(folder) if os.path.lexists(folder + fd)]
    return sum("event" not in file for file in files), mapped, counts(), held
def forget():
    for fd in fds: os.close(fd)
    fds.clear()
"""
EXPORTS = "x = usmpy.share(usmpy.arange(5000, dtype='int32', device='cuda:gpu:0')); x.wait()"
OPENS = "y = handle().open()"


class Process(Peer):
    """Another process, which must follow the driver's rules."""

    def __init__(self, **settings):
        super().__init__(**cuda_drivers.environment(**settings))
        self.socket.settimeout(float(os.environ.get("PEER_TIMEOUT", "60")))
        self(DRIVER)

    def send(self):
        """Bytes and descriptors of its handle `h`."""
        self.start("send(h)")
        data, fds = self.receive()
        self.result()
        return data, fds

    @contextlib.contextmanager
    def sent(self, code="h = x.get_ipc_handle()"):
        """The same as a handle of this process."""
        self(code)
        data, fds = self.send()
        try:
            with usmpy.IPCHandle.from_bytes(data, fds) as handle:
                yield handle
        finally:
            for fd in fds:
                os.close(fd)

    def __exit__(self, *error):
        try:
            if error[0] is None and self.process.poll() is None:
                assert self("sim.cudasim_misuse().decode()") == ""
        finally:
            super().__exit__(*error)


@pytest.fixture
def first():
    with Process() as first:
        first(EXPORTS)
        yield first


@pytest.fixture
def second():
    with Process() as second:
        yield second


# -- order ---------------------------------------------------------------------------------------------


# A kernel's first use loads it, which waits for all work of the device.
LOADS = "(usmpy.zeros(5000, dtype='int32', device='cuda') + 0).wait()"


def test_openers_wait_in_the_stream(first, second):
    """Neither process waits; all queues of the opener come after what the exporter had begun."""
    first("queue = usmpy.Queue('cuda'); sim.cudasim_hold(1); filled = queue.fill(x, 3)")
    second("other = usmpy.Queue('cuda'); z = usmpy.zeros(5000, dtype='int32', queue=other); z.wait()")
    second(LOADS)
    with first.sent() as handle:
        second(OPENS, handle)
        assert first("filled.done") is False
        second("copied = other.memcpy(z, y); added = y + 1; end = y.queue.barrier()")
        second("usmpy.Queue('cuda').host_task(lambda: None).wait(60)")
        assert second("copied.done, end.done") == (False, False)
    first("sim.cudasim_hold(0)")
    assert second("z.tolist() == [3] * 5000, added.tolist() == [4] * 5000") == (True, True)
    assert first("filled.done")
    assert second("calls('cuIpcOpenEventHandle')") == 1


def test_work_that_has_ended_needs_no_event(first, second):
    for _ in range(3):
        with first.sent() as handle:
            second(OPENS, handle)
    assert first("calls('cuIpcGetEventHandle')") == 0
    assert second("calls('cuIpcOpenEventHandle'), y[7].item()") == (0, 7)


def test_a_block_has_one_event_in_each_process(first, second):
    for i in range(5):
        first(f"sim.cudasim_hold(1); x.fill({i})")
        with first.sent() as handle:
            second(OPENS, handle)
        first("sim.cudasim_hold(0)")
        assert second("y[4999].item()") == i
    assert first("calls('cuIpcGetEventHandle')") == 1
    assert second("calls('cuIpcOpenEventHandle')") == 1


def test_events_are_used_again_and_never_destroyed(first, second):
    """An event that others may have open is undefined for them once it is destroyed."""
    first("import asleep")
    for _ in range(20):
        first("z = usmpy.share(usmpy.zeros(100, device='cuda')); z.wait(); sim.cudasim_hold(1); z.fill(2)")
        with first.sent("h = z.get_ipc_handle()") as handle:
            first("sim.cudasim_hold(0); z.wait(); del z, h; gc.collect(); asleep.until_others_sleep()")
            assert second("handle().open()[99].item()", handle) == 2
        second("forget()")
    assert first("calls('cuIpcGetEventHandle')") == 1


def test_a_process_hands_its_own_pending_work_on(first, second):
    with Process() as third:
        with first.sent() as handle:
            second(OPENS, handle)
        first("(x[1:] + 0).wait()")  # the same for the one that it uses
        second("sim.cudasim_hold(1); y.fill(8)")
        with second.sent("h = y[1:].get_ipc_handle()") as handle:
            third("(y := handle().open()) is None", handle)
            first("z = handle().open()", handle)
            assert first("z.data_ptr - x.data_ptr") == 4
            first("back = z + 0; end = z.queue.barrier()")
            third("end = y.queue.barrier()")
            assert (first("end.done"), third("end.done")) == (False, False)
        second("sim.cudasim_hold(0)")
        assert (first("back[0].item()"), third("y[4998].item()")) == (8, 8)


@pytest.mark.parametrize("settings", [{"ipc_events": 0}, {"fail": f"cuIpcGetEventHandle:1:{MAP_FAILED}"}])
def test_a_driver_without_events_for_processes(settings, second):
    """The exporter waits instead."""
    with Process(**settings) as first:
        first(EXPORTS)
        first("sim.cudasim_delay(100000); x += 1; late = x.queue.barrier()")
        with first.sent() as handle:
            assert first("late.done") is True
            assert second("handle().open()[0].item()", handle) == 1
        assert second("calls('cuIpcOpenEventHandle')") == 0


def test_an_opener_that_cannot_wait_says_so(first):
    with Process(ipc_events=0) as second:
        before = second("state()")
        first("sim.cudasim_hold(1); x.fill(3)")
        with first.sent() as handle, pytest.raises(Failed, match=r"BufferError.*--pid=host.*x\.wait\(\)"):
            second(OPENS, handle)
        second("forget()")
        assert second("state()[:2]") == before[:2]
        first("sim.cudasim_hold(0); x.wait()")
        with first.sent() as handle:
            assert second("handle().open()[5].item()", handle) == 3


@pytest.mark.parametrize("when", ["before the open", "after the open"])
def test_an_exporter_killed_with_work_pending(when, first, second):
    """What it had not done is not done; the opener's work goes on."""
    second(LOADS)
    first("sim.cudasim_hold(1); x.fill(3)")
    with first.sent() as handle:
        if when == "before the open":
            first.kill()
        second(OPENS, handle)
        second("copy = y + 0; end = y.queue.barrier()")
        if when == "after the open":
            assert second("end.done") is False
            first.kill()
    assert second("copy[4999].item()") == 4999


@pytest.mark.parametrize("end", ["returns", "sys.exit", "SIGTERM"])
def test_an_exporter_that_ends_first(end, first, second):
    with first.sent() as handle:
        second(OPENS, handle)
    if end == "returns":
        first.socket.close()
    elif end == "sys.exit":
        first.start("raise SystemExit(0)")
    else:
        os.kill(first.process.pid, signal.SIGTERM)
    first.process.wait(60)
    assert second("y[4999].item()") == 4999
    second("y[0] = 3; y.wait(); forget()")
    assert second("y[0].item()") == 3


# -- mappings ------------------------------------------------------------------------------------------


def test_sizes_are_whole_granules(first):
    first(f"z = usmpy.zeros({GRANULE + 1}, dtype='int8', device='cuda'); z.wait(); before = state()")
    first("y = usmpy.share(z); y.wait(); after = state()")
    assert first("after[3] - before[3], after[2]['bytes'] - before[2]['bytes']") == (2 * GRANULE, 2 * GRANULE)
    first("del y")
    assert first("state() == before")


def test_ordinary_memory_still_comes_from_the_pool(first):
    first("before = calls('cuMemCreate'); y = usmpy.zeros(1 << 20, device='cuda'); y.wait()")
    assert first("calls('cuMemCreate') - before") == 0


def test_a_process_maps_a_block_once(first, second):
    for i in range(3):
        with first.sent(f"h = x[{i}:].get_ipc_handle()") as handle:
            second(f"y{i} = handle().open()", handle)
    assert second("calls('cuMemMap'), y2.data_ptr - y0.data_ptr") == (1, 8)
    assert first("calls('cuMemExportToShareableHandle'), calls('cuMemMap')") == (1, 1)


# CUmemAccess_flags: 1 of memory that may be read, 3 of memory that may be read and written.
ACCESS = """
def access(array):
    flags = ctypes.c_ulonglong()
    place = (ctypes.c_int * 2)(1, 0)
    assert sim.cuMemGetAccess(ctypes.byref(flags), place, ctypes.c_uint64(array.data_ptr)) == 0
    return flags.value
def writes(array):
    '''By an array that the read-only one does not know of.'''
    try:
        usmpy.USMArray.from_pointer(array.data_ptr, (1,), 'int32', queue=array.queue, owner=array).fill(9)
    except usmpy.UsmError as error:
        return str(error)
"""


def test_read_only_opens_are_read_only_for_the_device(first, second):
    second(ACCESS)
    with first.sent() as handle:
        second("y = handle().open(readonly=True)", handle)
        assert second("access(y), y[5].item(), (y + 1)[5].item()") == (1, 5, 6)
        with pytest.raises(Failed, match="read-only"):
            second("y[0] = 1")
        assert "failed with CUDA_ERROR_INVALID_VALUE" in second("writes(y)")
        second("z = handle().open()")
    assert second("access(y), writes(y), y[0].item()") == (3, None, 9)
    assert first("x[0].item()") == 9


def test_a_kernel_cannot_write_to_read_only_memory(first):
    with Process() as second, first.sent() as handle:
        second("y = handle().open(readonly=True)", handle)
        second(
            "p = usmpy.Program('kernel void k(global int *x) { x[get_global_id(0)] = 1; }', device=y.device)"
        )
        second("w = usmpy.USMArray.from_pointer(y.data_ptr, (64,), 'int32', queue=y.queue, owner=y)")
        with pytest.raises(Failed, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
            second("p.k[64](w).wait()")
        second.kill()
    assert first("x[:64].tolist()") == list(range(64))


def test_a_driver_without_read_only_memory(first):
    with Process(read_only=0) as second, first.sent() as handle:
        second(ACCESS)
        second("y = handle().open(readonly=True)", handle)
        assert second("access(y), y.flags.writable, y[5].item()") == (3, False, 5)
        with pytest.raises(Failed, match="read-only"):
            second("y[0] = 1")


@pytest.mark.parametrize("asked", ["before", "after"])
def test_other_devices_of_a_process(asked, first, second):
    """Access is granted to each mapping (cuMemSetAccess), whenever a device first asks for it."""
    ask = "usmpy.memory_connection(usmpy.zeros(1, device='cuda:gpu:0'), usmpy.Device('cuda:gpu:1'))"
    if asked == "before":
        second(ask)
    with first.sent() as handle:
        second("y = handle().open(); q = usmpy.Queue('cuda:gpu:1')", handle)
        assert second(f"str({ask})") == second("str(usmpy.memory_connection(y, q))")
        second("z = usmpy.zeros(5000, dtype='int32', queue=q); usmpy.copyto(z, y)")
        assert second("z[4999].item()") == 4999
        second("w = handle().open(device=q)")
    assert second("w.device.filter_string, w.data_ptr == y.data_ptr, (w + 1)[9].item()") == (
        "cuda:gpu:1",
        True,
        10,
    )


def test_memory_that_only_the_pool_has():
    """The driver's pool keeps what is freed: it gives it back before memory has run out."""
    with Process(memory=64 << 20) as first:
        first("y = usmpy.empty(48 << 20, dtype='int8', device='cuda'); y.wait(); del y; gc.collect()")
        first("z = usmpy.share(usmpy.zeros(20 << 20, dtype='int8', device='cuda')); z.wait()")
        before = first("counts()['blocks']")
        with pytest.raises(Failed, match=r"MemoryError.*cuMemCreate failed with CUDA_ERROR_OUT_OF_MEMORY"):
            first("usmpy.share(usmpy.zeros(30 << 20, dtype='int8', device='cuda'))")
        assert first("usmpy.trim(), counts()['blocks']")[1] <= before


# -- bad handles ---------------------------------------------------------------------------------------


def refused(second, data, fds, error, match):
    before = second("state()")
    with usmpy.IPCHandle.from_bytes(data, fds) as handle, pytest.raises(Failed, match=f"{error}.*{match}"):
        second(OPENS, handle)
    second("forget()")
    assert second("state()") == before


def test_sizes_that_are_not_the_blocks(first, second):
    second("usmpy.zeros(1, device='cuda').wait()")
    with first.sent() as handle:
        data, fds = bytes(handle), handle.fds
        for nbytes in (2 * GRANULE, GRANULE + 1, 1 << 62):
            forged = resealed(data, NBYTES, "Q", nbytes)
            refused(second, forged, fds, "ValueError", f"is of {nbytes} bytes and its file says {GRANULE}")
        forged = resealed(data, NBYTES, "Q", 4096)
        refused(second, forged, fds, "ValueError", "does not lie within its memory")


def inode_at(data, fd):
    return data.index(struct.pack("Q", os.fstat(fd).st_ino), NBYTES)


def test_descriptors_of_other_files(first, second):
    second("usmpy.zeros(1, device='cuda').wait()")
    null, other = os.open("/dev/null", os.O_RDONLY), os.memfd_create("x")
    os.ftruncate(other, GRANULE)
    with first.sent() as handle:
        data, fds = bytes(handle), list(handle.fds)
        for i, fd, match in [
            (0, null, "is no memory of 2097152 bytes.*cuMemImportFromShareableHandle"),
            (0, other, "is no memory of 2097152 bytes.*cuMemImportFromShareableHandle"),
            (1, null, "does not describe memory of CUDA"),
            (1, other, "does not describe memory of CUDA"),
        ]:
            given = [*fds]
            given[i] = fd
            forged = resealed(data, inode_at(data, fds[i]), "Q", os.fstat(fd).st_ino)
            refused(second, forged, given, "ValueError", match)
        with pytest.raises(ValueError, match="not the handle's file"):
            usmpy.IPCHandle.from_bytes(data, fds[::-1])
        with pytest.raises(ValueError, match="fds has 1 descriptors and the handle 2"):
            usmpy.IPCHandle.from_bytes(data, fds[:1])
    os.close(null)
    os.close(other)


def test_descriptors_of_another_block(first, second):
    """The description tells them apart, also where all descriptors of the driver are of one device file."""
    with (
        first.sent() as handle,
        first.sent("z = usmpy.share(x + 1); h2 = z.get_ipc_handle(); h = h2") as wrong,
    ):
        with pytest.raises(ValueError, match="not the handle's file"):
            usmpy.IPCHandle.from_bytes(bytes(handle), wrong.fds)
        assert second("handle().open()[1].item()", wrong) == 2


def test_a_stale_number_of_a_descriptor(first, second):
    """Bytes without descriptors, whose handle was closed, and whose numbers are another handle's now."""
    first("h = x.get_ipc_handle()")
    data, fds = first.send()
    for fd in fds:
        os.close(fd)
    with usmpy.IPCHandle.from_bytes(data) as handle:
        assert second("handle().open()[3].item()", handle) == 3
    first("h.close(); z = usmpy.share(x + 1); h = z.get_ipc_handle()")
    with pytest.raises(ValueError, match=r"the handle is stale|has closed the handle"):
        usmpy.IPCHandle.from_bytes(data)


def test_a_handle_of_another_device(first, second):
    first("x = usmpy.share(usmpy.arange(5000, dtype='int32', device='cuda:gpu:1')); x.wait()")
    second("usmpy.zeros(1, device='cuda').wait()")
    with first.sent() as handle:
        data, fds = bytes(handle), handle.fds
        uuid = usmpy.Device("host").uuid.bytes  # its length
        at = data.index(b"cuda:gpu:1") - len(uuid)
        own = second("usmpy.Device('cuda:gpu:0').uuid.bytes")
        forged = resealed(resealed(data, at, "16s", own), at + 16, "10s", b"cuda:gpu:0")
        refused(second, forged, fds, "ValueError", "on another device than CUDA in software 0")
        assert second("(y := handle().open()).device.filter_string, y[1].item()", handle) == ("cuda:gpu:1", 1)


def test_an_absent_device(first):
    first("x = usmpy.share(usmpy.arange(5000, dtype='int32', device='cuda:gpu:1')); x.wait()")
    for devices in (0, 1):
        absent = pytest.raises(Failed, match=r"DeviceNotFound.*exporter's cuda:gpu:1")
        with Process(devices=devices) as second, first.sent() as handle, absent:
            second(OPENS, handle)


# -- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sharing": 0}, "passes no file descriptors of memory"),
        ({"fail": f"cuMemCreate:1:{NOT_SUPPORTED}"}, "cuMemCreate failed with CUDA_ERROR_NOT_SUPPORTED"),
        (
            {"fail": f"cuMemExportToShareableHandle:1:{NOT_PERMITTED}"},
            "cuMemExportToShareableHandle failed with CUDA_ERROR_NOT_PERMITTED.*sandbox",
        ),
    ],
)
def test_machines_that_pass_no_descriptors(settings, said):
    with Process(**settings) as first:
        first("x = usmpy.zeros(3, device='cuda'); x.wait(); before = state()")
        with pytest.raises(
            Failed, match=f"BufferError.*cannot share device memory between processes.*{said}"
        ):
            first("usmpy.share(x)")
        assert first("state() == before")
        assert first("usmpy.share(x.to_device('host')).shareable")


def test_an_opener_to_which_no_descriptors_are_passed(first):
    for settings in ({"sharing": 0}, {"fail": f"cuMemImportFromShareableHandle:1:{NOT_SUPPORTED}"}):
        refusal = pytest.raises(Failed, match=r"BufferError.*no file descriptors")
        with Process(**settings) as second, first.sent() as handle, refusal:
            second(OPENS, handle)


def test_other_kinds_of_memory(first):
    for kind in ("shared", "host"):
        with pytest.raises(Failed, match=r"BufferError.*its driver shares memory of kind 'device'"):
            first(f"usmpy.share(usmpy.zeros(3, device='cuda', usm_type={kind!r}))")
    with Process(pageable=1) as second:
        second("x = usmpy.share(usmpy.zeros(3, device='cuda', usm_type='host'))")
        assert second("x.shareable, calls('cuMemCreate')") == (True, 0)


def test_a_fork_has_no_driver(first):
    first(
        """
handle = x.get_ipc_handle()
child = os.fork()
if child == 0:
    code = 1
    try:
        try:
            usmpy.share(usmpy.zeros(3, queue=x.queue))
        except RuntimeError as error:
            code = 0 if "before this process was forked" in str(error) else 2
        handle.close()
        del x
        gc.collect()
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
assert handle.open().tolist() == list(range(5000)) == x.tolist()
"""
    )


# -- failing calls, and many ---------------------------------------------------------------------------

CREATE = ("cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess")
CREATE += ("cuMemExportToShareableHandle",)
OPEN = ("cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess")
ORDER = ("cuIpcOpenEventHandle", "cuStreamWaitEvent")
ENDS = ("cuMemRelease", "cuMemUnmap", "cuMemAddressFree", "cuEventDestroy")


def test_each_call_of_a_creation_fails():
    with Process() as first:
        first("y = usmpy.zeros(3, device='cuda'); y.wait(); usmpy.share(y).wait()")
        before = first("state()")
        for name in CREATE:
            for code, error in ((UNKNOWN, "UsmError"), (NOT_SUPPORTED, "BufferError")):
                first(f"sim.cudasim_fail({name.encode()!r}, 1, {code})")
                with pytest.raises(Failed, match=f"{error}.*{name}"):
                    first("usmpy.share(y)")
                assert without_events(first("state()")) == without_events(before), (name, code)
            first(f"sim.cudasim_fail({name.encode()!r}, 1, {OUT_OF_MEMORY}); z = usmpy.share(y); z.wait()")
            first("del z")  # it is tried again once spare memory is given back
            assert without_events(first("state()")) == without_events(before), name
        assert first("state()")[2]["events"] <= before[2]["events"] + 2  # a busy machine may need more


def test_each_call_of_an_open_fails(first, second):
    second("usmpy.zeros(3, device='cuda').wait()")
    with first.sent("sim.cudasim_hold(1); x.fill(3); h = x.get_ipc_handle()") as handle:
        second("before = state()", handle)
        for name in OPEN + ORDER:
            error = "BufferError" if name == "cuIpcOpenEventHandle" else "UsmError"
            second(f"sim.cudasim_fail({name.encode()!r}, 1, {UNKNOWN})")
            with pytest.raises(Failed, match=f"{error}.*{name}"):
                second(OPENS)
            assert second("state() == before"), name
        first("sim.cudasim_hold(0)")
        assert second("handle().open()[9].item()") == 3


def test_each_call_of_an_export_fails(first, second):
    """A call that makes an event: the exporter waits. One that records it: an error."""
    first("sim.cudasim_delay(50000)")
    for name in ("cuEventCreate", "cuIpcGetEventHandle"):
        first(f"x += 1; sim.cudasim_fail({name.encode()!r}, 1, {UNKNOWN}); h = x.get_ipc_handle()")
        first(f"sim.cudasim_fail({name.encode()!r}, 0, 0)")
    with first.sent() as handle:
        assert second("handle().open()[0].item()", handle) == 2


def test_calls_that_give_memory_back_fail(first, second):
    """Nothing can be raised there; the rest is given back."""
    second("usmpy.zeros(3, device='cuda').wait()")
    with first.sent() as handle:
        for name in ENDS:
            second(f"y = handle().open(); sim.cudasim_fail({name.encode()!r}, 1, {UNKNOWN})", handle)
            second("del y; gc.collect()")
            second(f"sim.cudasim_fail({name.encode()!r}, 0, 0)")
            assert second("handle().open()[7].item()") == 7
    second.kill()  # what the driver refused to give back is its own


def test_threads_that_open_and_export_at_once(first, second):
    """One block: several threads record its event and wait for it, and it is mapped again and again."""
    threads = """
import threading
def at_once(work, n=4):
    failed = []
    def run():
        try:
            for i in range(100): work(i)
        except BaseException as error:
            failed.append(error)
    all = [threading.Thread(target=run) for _ in range(n)]
    for each in all: each.start()
    for each in all: each.join()
    if failed: raise failed[0]
def export(i):
    x.fill(3)
    with x.get_ipc_handle() as own: assert own.open().data_ptr == x.data_ptr
def open_it(i):
    with handle() as own: assert own.open()[7].item() == 3
"""
    first(threads)
    second(threads)
    first("at_once(export)")
    with first.sent("sim.cudasim_hold(1); x.fill(3); h = x.get_ipc_handle(); sim.cudasim_hold(0)") as handle:
        first.start("at_once(export)")
        second("at_once(open_it)", handle)
        first.result()
    second("forget()")
    assert first("x[4999].item()") == 3


def without_events(state):
    """Without what events have, which are made as they are needed: a descriptor and a page each here."""
    files, mapped, counts, held = state
    return files, mapped, {name: n for name, n in counts.items() if name != "events"}, held


def test_counts_stay_flat_over_thousands(first, second):
    """Blocks that come and go on both sides, and handles of one that stays."""

    def share(n):
        for i in range(n):
            step = (
                "h = x.get_ipc_handle()" if i % 2 else f"z = usmpy.share(x[:9] + {i}); h = z.get_ipc_handle()"
            )
            with first.sent(step) as handle:
                assert second("handle().open()[5].item()", handle) == (5 if i % 2 else 5 + i)

    def states():
        first("z = h = None")
        second("forget()")
        return first("state()"), second("state()")

    share(100)
    before = states()
    share(3000)
    after = states()
    assert list(map(without_events, after)) == list(map(without_events, before))
    # As many as blocks have waited for their end at once: a busy machine has more, a leak one for each.
    assert after[0][2]["events"] < before[0][2]["events"] + 750
    assert after[1][2]["events"] <= before[1][2]["events"] + 2


def test_two_processes_that_free_at_once(first, second):
    first("z = None")
    before = first("state()"), second("state()")
    for i in range(100):
        with first.sent(f"z = usmpy.share(x + {i}); h = z.get_ipc_handle()") as handle:
            assert second("(y := handle().open())[0].item()", handle) == i
        first.start("z = h = None")
        second.start("del y; forget()")
        first.result()
        second.result()
    after = first("state()"), second("state()")
    assert list(map(without_events, after)) == list(map(without_events, before))


@pytest.mark.parametrize(("kind", "name"), [(1, "shared"), (2, "host")])
def test_memory_of_a_kind_that_cuda_does_not_share(first, second, kind, name):
    second("usmpy.zeros(1, device='cuda').wait()")
    with first.sent() as handle:
        forged = resealed(bytes(handle), NBYTES + 9, "B", kind)
        refused(second, forged, handle.fds, "ValueError", f"is of {name} memory with 2 descriptors")


def test_an_opener_whose_context_fails_leaves_nothing(first, second):
    """Opening makes the context current for the mapping, and for the exporter's event."""
    second("z = usmpy.zeros(1, device='cuda'); z.wait(); del z")
    before = second("state()[:2]")
    first("sim.cudasim_hold(1); x.fill(3)")
    with first.sent() as handle:
        for n in (1, 2, 3):
            second(f"sim.cudasim_fail(b'cuCtxPushCurrent', {n}, {UNKNOWN})")
            with pytest.raises(Failed, match=r"UsmError.*cuCtxPushCurrent failed"):
                second(OPENS, handle)
            second("sim.cudasim_fail(b'cuCtxPushCurrent', 0, 0); forget()")
            assert second("state()[:2]") == before
        second(OPENS, handle)
        first("sim.cudasim_hold(0)")
        assert second("y[4999].item()") == 3


# Takes the descriptors out of the process that made the handle, while only a few are left here.
FEW_DESCRIPTORS = """
import os, resource
from another import no_descriptors
most, said = max(map(int, os.listdir("/proc/self/fd"))) + 8, []
resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for few in range(6):
    with no_descriptors(few):
        try:
            usmpy.IPCHandle.from_bytes(data).close()
            said.append("")
        except MemoryError as error:
            said.append(str(error))
"""


def test_descriptors_that_run_out_while_they_are_taken():
    with Process() as exporter, Process() as importer:
        exporter(EXPORTS + "; h = x.get_ipc_handle()")
        data, fds = exporter.send()
        for fd in fds:
            os.close(fd)
        importer(f"data = {data!r}\n" + FEW_DESCRIPTORS)
        said = importer("said")
    assert said[-1] == ""
    assert all("Too many open files" in text and "ulimit -n" in text for text in said[:3])


def test_a_block_that_became_writable_is_closed_and_opened_again(first):
    with Process() as second:
        for _ in range(2):
            with first.sent() as handle:
                second("y = handle().open(readonly=True)", handle)
                second("z = handle().open()")
                assert second("y[5].item()") == 5
                second("del y, z; forget()")
