"""Level Zero memory between processes: handles of the driver, and what is left when processes end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import struct
import time

import level_zero_drivers
import pytest
from asleep import until_others_sleep
from level_zero_processes import SPIRV, needs_driver, run
from share_peer import Failed, Peer, resealed

import usmpy
from usmpy import _core

pytestmark = needs_driver

# The driver's counters, in this process and in others.
DRIVER = """
import ctypes, gc, os, usmpy
def _ask(function, *arguments):
    found = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"].split(",")[0])[function]
    found.restype = ctypes.c_int64
    return found(*arguments)
def calls(function): return _ask("zesimCalls", function.encode())
def live(kind):
    gc.collect()
    usmpy.trim()  # another thread may be letting go
    return _ask("zesimLive", kind.encode())
def broken():
    text = ctypes.create_string_buffer(4096)
    return text.value.decode() if _ask("zesimMisuse", text, 4096) else ""
def state():
    alive = live("ipc_memory"), live("ipc_handle")
    with open("/proc/self/maps") as file:
        maps = sum("level-zero-sim" in line for line in file)
    return len(os.listdir("/proc/self/fd")), maps, *alive
def forget():
    for fd in fds: os.close(fd)
    fds.clear()
"""
OWN: dict = {"fds": []}
exec(DRIVER, OWN)
EXPORTS = "x = usmpy.share(usmpy.arange(5000, dtype='int32', device={!r})); h = x.get_ipc_handle()"
OPENS = "y = handle().open()"
INVALID_ARGUMENT = "0x78000004"
BYTES, ORDER = 256, 64  # the last members of a handle but for shape and strides (csrc/core/share/handle.h)


class Process(Peer):
    """Another process, which must follow the rules of Level Zero."""

    def __init__(self, **environment):
        super().__init__(**environment)
        self(DRIVER)

    def send(self):
        """Bytes and descriptors of its handle `h`."""
        self.start("send(h)")
        data, fds = self.receive()
        self.result()
        return data, fds

    def close(self, fds=()):
        for fd in fds:
            os.close(fd)
        assert self("broken()") == ""


@pytest.fixture(scope="module")
def other():
    with Process() as other:
        yield other


@pytest.fixture
def device():
    return usmpy.get_devices("level_zero")[0]


@pytest.fixture
def sent(other, device):
    """Bytes and descriptors of another process's array of 5,000 elements."""
    other(EXPORTS.format(device.filter_string))
    data, fds = other.send()
    before = OWN["state"]()
    yield data, fds
    assert OWN["state"]() == before
    other("del x, h")
    other.close(fds)


def open_it(data, fds, **words):
    with usmpy.IPCHandle.from_bytes(data, fds) as handle:
        return handle.open(**words)


def bytes_at(data):
    """Where the driver's bytes are in a handle of one axis."""
    return len(data) - 16 - 4 - BYTES  # shape and strides are aligned to 8 bytes


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ZESIM_IPC": "0"}, "zeDriverGetIpcProperties"),
        ({"ZESIM_WITHOUT": "zeDriverGetIpcProperties"}, "zeDriverGetIpcProperties"),
        ({"ZESIM_WITHOUT": "zeMemGetIpcHandle"}, "zeMemGetIpcHandle"),
    ],
)
def test_a_driver_that_shares_no_memory(variables, said):
    run(
        """
        x = usmpy.zeros(1 << 20, device="level_zero")
        x.wait()
        before = live("device_memory")
        try:
            usmpy.share(x)
        except BufferError as error:
            assert os.environ["SAID"] in str(error), error
            assert "cannot share device memory between processes" in str(error)
        else:
            raise AssertionError
        assert live("device_memory") == before
        assert not x.shareable
        assert usmpy.share(x.to_device("host")).shareable
        """,
        SAID=said,
        **variables,
    )


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_other_kinds_of_memory(device, kind):
    x = usmpy.zeros(3, device=device, usm_type=kind)
    with pytest.raises(BufferError, match="its driver shares memory of kind 'device'"):
        usmpy.share(x)


def test_what_the_driver_is_asked(other, device):
    """For one handle a block and one mapping a process. The block is freed after the last importer."""
    usmpy.trim()
    other("import gc; gc.collect()")
    memory, handles = OWN["live"]("device_memory"), OWN["live"]("ipc_handle")
    put = OWN["calls"]("zeMemPutIpcHandle")
    x = usmpy.share(usmpy.arange(1 << 18, dtype="int32", device=device))
    x.wait()
    usmpy.trim()
    assert (OWN["live"]("device_memory"), OWN["live"]("ipc_handle")) == (memory + 1, handles + 1)
    for i in range(3):
        with x[i:].get_ipc_handle() as handle:
            other(f"y{i} = handle().open()", handle)
    assert OWN["live"]("ipc_handle") == handles + 1
    assert other("live('ipc_memory')") == 1
    assert other("y2.data_ptr - y0.data_ptr") == 8
    del x
    gc.collect()
    usmpy.trim()
    assert OWN["live"]("device_memory") == memory + 1
    other("forget(); del y0, y1")
    usmpy.trim()
    assert OWN["live"]("device_memory") == memory + 1
    assert other("y2[:3].tolist()") == [2, 3, 4]
    other("del y2")
    assert other("live('ipc_memory')") == 0
    usmpy.trim()
    assert (OWN["live"]("device_memory"), OWN["live"]("ipc_handle")) == (memory, handles)
    newer = hasattr(ctypes.CDLL(level_zero_drivers.LOADER), "zeMemPutIpcHandle")  # since version 1.6
    assert OWN["calls"]("zeMemPutIpcHandle") - put == newer
    other.close()


@pytest.mark.parametrize("names_process", ["0", "1"])
@pytest.mark.parametrize("killed", [None, "before the open", "while it is open"])
def test_both_forms_of_handles(names_process, killed):
    """Newer drivers of Intel take the descriptor out of the process that a handle names."""
    place = "level_zero:gpu:0"
    variables = {"ZESIM_IPC_PROCESS": names_process}
    with Process(**variables) as first, Process(**variables) as second, Process(**variables) as third:
        first(EXPORTS.format(place))
        data, fds = first.send()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            if killed == "before the open":
                first.close()
                first.kill()
            # Numbers of descriptors differ in both processes.
            second("spare = [os.open('/dev/null', os.O_RDONLY) for _ in range(20)]")
            second(OPENS, handle)
        assert second("y[[0, 4999]].tolist()") == [0, 4999]
        if killed == "while it is open":
            first.close()
            first.kill()
        second("h = y[10:].get_ipc_handle()")
        data, own = second.send()
        with usmpy.IPCHandle.from_bytes(data, own) as handle:
            third(OPENS, handle)
        third("y[0] = -1; y.wait()")
        assert second("y[10].item()") == -1
        if killed is None:
            assert first("x[10].item()") == -1
            first.close()
        second.close(fds)
        third.close(own)


def test_a_handle_that_the_exporters_driver_must_be_asked_for():
    """Where the driver refuses a handle of this process, it gets that of the exporter."""
    variables = {"ZESIM_IPC_PROCESS": "1"}
    refusal = {**variables, "ZESIM_FAIL": f"zeMemOpenIpcHandle:1:{INVALID_ARGUMENT}"}
    with Process(**variables) as first, Process(**refusal) as second:
        first(EXPORTS.format("level_zero:gpu:0"))
        data, fds = first.send()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            second(OPENS, handle)
        assert second("calls('zeMemOpenIpcHandle'), y[7].item()") == (2, 7)
        first.close(fds)
        second.close()


@pytest.mark.parametrize(
    ("exporter", "mask", "found"),
    [
        ("level_zero:gpu:1", "1", "level_zero:gpu:0"),
        ("level_zero:gpu:1", "0,1", "level_zero:gpu:1"),
        ("level_zero:gpu:0", "1", None),
        ("level_zero:gpu:1", "0", None),
    ],
)
def test_the_device_is_found_by_its_identity(exporter, mask, found):
    with Process() as first, Process(ZE_AFFINITY_MASK=mask) as second:
        first(EXPORTS.format(exporter))
        data, fds = first.send()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            if found is None:
                with pytest.raises(Failed, match=f"DeviceNotFound.*exporter's {exporter}"):
                    second(OPENS, handle)
                assert second("live('ipc_memory')") == 0
            else:
                second(OPENS, handle)
                assert second("y.device.filter_string, y[3].item()") == (found, 3)
        first.close(fds)
        second.close()


def test_tiles(other):
    """A tile's array is on the same tile of the other process."""
    card = usmpy.get_devices("level_zero")[0]
    tile = card.create_sub_devices(card.max_compute_units // 2)[1]
    x = usmpy.share(usmpy.arange(100, dtype="int32", device=tile))
    with x.get_ipc_handle() as handle:
        other(OPENS, handle)
        assert other("y.device.filter_string") == tile.filter_string
        other("y += 1; y.wait(); z = handle().open(device='level_zero:gpu:0')")
        assert other("z.device.filter_string, z[9].item()") == ("level_zero:gpu:0", 10)
    assert x[99].item() == 100
    other("forget(); del y, z")
    other.close()


def test_another_device(sent):
    with pytest.raises(BufferError, match="cannot use the memory"):
        open_it(*sent, device="level_zero:gpu:1")
    with pytest.raises(BufferError, match="cannot use the memory"):
        open_it(*sent, device="host")


def test_bytes_that_are_not_the_drivers(sent):
    data, fds = sent
    at = bytes_at(data)
    assert open_it(resealed(data, at, "i", 1 << 20), fds)[4999].item() == 4999  # replaced in any case
    for format, offset, value in [("Q", 8, 1 << 40), ("I", 20, 7), ("Q", 24, 1 << 40), ("Q", 24, 0)]:
        with pytest.raises(
            ValueError,
            match=r"does not open the handle \(zeMemOpenIpcHandle: ZE_RESULT_ERROR_INVALID_ARGUMENT\)",
        ):
            open_it(resealed(data, at + offset, format, value), fds)
    n_bytes = at - ORDER - 4
    for n in (0, 64, 200):
        with pytest.raises(ValueError, match=f"has {n} bytes of the driver"):
            open_it(resealed(data, n_bytes, "I", n), fds)


def test_sizes_that_are_not_the_memorys(sent):
    data, fds = sent
    for nbytes in (1 << 20, 1 << 40, (1 << 64) - 1):
        with pytest.raises(ValueError, match=f"the handle is of {nbytes} bytes and its memory has 20480"):
            open_it(resealed(data, 96, "Q", nbytes), fds)
    with pytest.raises(ValueError, match="does not lie within its memory"):
        open_it(resealed(data, 96, "Q", 4999 * 4), fds)


@pytest.mark.parametrize("file", ["/dev/null", "memfd", "pipe"])
def test_descriptors_of_other_files(sent, file):
    data, fds = sent
    ends = os.pipe() if file == "pipe" else (-1, -1)
    fd = {"/dev/null": lambda: os.open(file, os.O_RDONLY), "memfd": lambda: os.memfd_create("x")}.get(
        file, lambda: os.dup(ends[0])
    )()
    at = data.index(struct.pack("Q", os.fstat(fds[0]).st_ino), 104)
    forged = resealed(data, at, "Q", os.fstat(fd).st_ino)
    with pytest.raises(ValueError, match="does not open the handle"):
        open_it(forged, [fd, *fds[1:]])
    for end in (fd, *ends):
        if end >= 0:
            os.close(end)


def test_handles_without_descriptors(sent):
    data, _ = sent
    with pytest.raises(ValueError, match="fds has 0 descriptors and the handle 2"):
        usmpy.IPCHandle.from_bytes(data, ())
    with usmpy.IPCHandle.from_bytes(data) as handle:  # out of the exporter
        assert handle.open()[11].item() == 11


def test_counts_stay_flat_over_thousands(other, device):
    """Blocks that come and go on both sides, and handles of one that stays."""
    stays = usmpy.share(usmpy.arange(1000, dtype="int32", device=device))

    def share(n):
        for i in range(n):
            x = stays if i % 2 else usmpy.share(usmpy.full(1000, i, dtype="int32", device=device))
            with x.get_ipc_handle() as handle:
                assert other("handle().open()[5].item()", handle) == (5 if i % 2 else i)
            del x

    def states():
        until_others_sleep()  # by then, other threads have released the tasks that ended
        usmpy.trim()
        memory = usmpy.memory_stats(device)["held"], OWN["live"]("device_memory")
        return OWN["state"](), memory, other("state()")

    share(100)
    before = states()
    share(3000)
    assert states() == before
    other("forget()")
    other.close()


def test_pending_work_of_a_slow_device_comes_first():
    with Process(ZESIM_JITTER_US="3000") as first, Process() as second:
        first("queue = usmpy.Queue('level_zero', in_order=False)")
        first("x = usmpy.share(usmpy.zeros(1 << 16, dtype='int32', queue=queue)); x.wait()")
        for i in range(5):
            first.start("x += 1; x += 1; h = x.get_ipc_handle()")
            first.result()
            data, fds = first.send()
            with usmpy.IPCHandle.from_bytes(data, fds) as handle:
                assert second("usmpy.unique_values(handle().open()).tolist()", handle) == [2 * i + 2]
            first.close(fds)
        second.close()


def test_a_fork_has_no_driver():
    run(
        """
        import gc
        x = usmpy.share(usmpy.arange(1000, dtype="int32", device="level_zero"))
        handle = x.get_ipc_handle()
        child = os.fork()
        if child == 0:
            try:
                for call in (lambda: usmpy.share(x + 0), lambda: usmpy.share(usmpy.zeros(3, queue=x.queue))):
                    try:
                        call()
                    except RuntimeError as error:
                        assert "before this process was forked" in str(error), error
                    else:
                        os._exit(1)
                handle.close()
                del x
                gc.collect()
                os._exit(0)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert handle.open().tolist() == list(range(1000)) == x.tolist()
        """
    )


@pytest.mark.parametrize("end", ["returns", "sys.exit", "SIGTERM"])
def test_an_exporter_that_ends_first(end):
    """Its memory stays where it is open, and nothing of it is left in the importer at the end."""
    with Process() as first, Process() as second:
        first(EXPORTS.format("level_zero:gpu:0"))
        data, fds = first.send()
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            second(OPENS, handle)
        first.close(fds)
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
        second("del y")
        assert second("state()[2:]") == (0, 0)
        second.close()


def test_allocations_fail_in_turn(sent, device):
    """Those of the core, for a block that is made, exported, opened and closed here: nothing is left."""
    own = usmpy.zeros(100, device=device)

    def scenario():
        x = usmpy.share(own)
        with x.get_ipc_handle() as handle:
            assert handle.open().data_ptr == x.data_ptr
        assert open_it(*sent)[4999].item() == 4999

    scenario()
    usmpy.trim()
    before, memory = OWN["state"](), OWN["live"]("device_memory")
    for n in range(1, 200):
        failed = False
        _core._fault("heap", n)
        try:
            scenario()
        except MemoryError:
            failed = True
        reached = _core._fault_calls("heap") >= n
        _core._fault("heap", 0)
        assert failed <= reached
        until = time.monotonic() + 60  # threads of tasks give their counts back last
        while (OWN["state"](), OWN["live"]("device_memory")) != (before, memory):
            assert time.monotonic() < until
            usmpy.trim()
        if not reached:
            break
    assert 5 < n < 199


def test_a_handle_without_descriptors_to_be_had():
    """The handle of device memory takes a duplicate and a pipe; nothing stays open where one is missing."""
    run(
        """
        import resource
        from another import no_descriptors, said
        x = usmpy.share(usmpy.arange(1000, dtype="int32", device="level_zero"))
        x.get_ipc_handle().close()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, hard), hard))
        texts = []
        with no_descriptors() as taken:
            for _ in range(3):
                texts.append(said(x.get_ipc_handle, MemoryError))
                os.close(taken.pop())
            x.get_ipc_handle().close()
        assert all("Too many open files" in text and "ulimit -n" in text for text in texts), texts
        assert "pipe" not in texts[0] and "cannot make a pipe" in texts[1] == texts[2], texts
        assert len(os.listdir("/proc/self/fd")) < 100
        """
    )


def test_a_fork_uses_nothing_of_the_driver():
    run(
        f"""
        import gc
        from another import in_child, said
        from share_peer import Peer
        spirv = open({str(SPIRV)!r}, "rb").read()
        device = usmpy.Device("level_zero")
        context = usmpy.Context([device])
        queue = usmpy.Queue(device, context=context)
        program = usmpy.Program(spirv, device=queue, language="spirv")
        plain = usmpy.Program(spirv, device=queue, language="spirv", options="-cl-mad-enable")
        axpy = program["axpy"]
        x = usmpy.ones(100, dtype="float32", queue=queue)
        y = usmpy.zeros(100, dtype="float32", queue=queue)
        other = Peer()
        other("x = usmpy.share(usmpy.zeros(3, device='level_zero')); h = x.get_ipc_handle()")
        other.start("send(h)")
        data, fds = other.receive()
        other.result()
        own = ctypes.create_string_buffer(400)
        address = ctypes.addressof(own)  # nothing of the driver's
        queue.wait()

        def child():
            global x, y, axpy, plain, program, queue, context
            for number, call in enumerate((
                lambda: usmpy.Context([device]),
                lambda: usmpy.Queue(device, context=context),
                lambda: usmpy.empty(1 << 24, queue=queue),
                lambda: queue.fill(x, 1),
                lambda: axpy[usmpy.Range(100)](x, y, 2.0, 100),
                lambda: usmpy.Program(spirv, device=queue, language="spirv", options="-cl-opt-disable"),
                lambda: program.binary,
                lambda: usmpy.USMArray.from_pointer(address, 100, "float32", queue=queue),
                lambda: usmpy.Context.from_native("level_zero", address),
                lambda: plain["axpy"],
                lambda: usmpy.IPCHandle.from_bytes(data, fds).open(),
            )):
                assert "before this process was forked" in said(call, RuntimeError), number
            del x, y, axpy, plain, program, queue, context
            gc.collect()

        in_child(child)
        axpy[usmpy.Range(100)](x, y, 2.0, 100)
        assert y.tolist() == [2.0] * 100
        other.__exit__()
        """
    )


def test_memory_whose_handle_cannot_be_duplicated():
    run(
        """
        import resource
        x = usmpy.arange(1 << 16, dtype="int32", device="level_zero")
        usmpy.share(x)
        x.queue.wait()
        usmpy.trim()  # it is closed
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, hard), hard))
        taken, said = [], []
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        shared = None
        while shared is None:
            try:
                shared = usmpy.share(x)
            except MemoryError as error:
                said.append(str(error))
                os.close(taken.pop())
        for fd in taken:
            os.close(fd)
        assert "gives no file descriptor to pass on: Too many open files" in said[-1], said
        assert shared.tolist() == x.tolist()
        """
    )
