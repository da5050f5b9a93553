"""Handles that cannot be opened: what the error says, and that nothing stays mapped or open."""

import contextlib
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys

import pytest
from share_peer import Failed, Peer, resealed

import usmpy

VERSION, SIZE, BOOT, PROCESS, STARTED, BLOCK, NBYTES = 8, 12, 24, 64, 72, 80, 96


def open_files():
    """How many descriptors and mappings are open of what handles open. Drivers open files at any time."""
    names = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own, and what other threads close
            names.append(os.readlink(f"/proc/self/fd/{number}"))
    ours = ("/memfd:usmpy", "anon_inode:[pidfd]", "/proc/")
    with open("/proc/self/maps") as maps:
        return sum(name.startswith(ours) for name in names), sum("memfd:usmpy" in line for line in maps)


@pytest.fixture
def other():
    """Another process with a shared array and its handle."""
    with Peer() as other:
        other("x = usmpy.share(usmpy.arange(1000, device='host')); h = x.get_ipc_handle()")
        yield other


@pytest.fixture
def sent(other):
    """Bytes and descriptors of the other process's handle."""
    other.start("send(h)")
    data, fds = other.receive()
    other.result()
    before = open_files()
    yield data, fds
    assert open_files() == before
    for fd in fds:
        os.close(fd)


def open_it(data, fds):
    with usmpy.IPCHandle.from_bytes(data, fds) as handle:
        return handle.open()


def test_the_handle_itself_opens(sent):
    assert open_it(*sent)[999].item() == 999
    assert resealed(sent[0], SIZE, "I", len(sent[0])) == sent[0]


@pytest.mark.parametrize("data", [b"", b"no", b"x" * 640, b"USMPYIPC"])
def test_other_bytes(data):
    with pytest.raises(ValueError, match="data is no handle of usmpy"):
        usmpy.IPCHandle.from_bytes(data, ())


def test_other_types(sent):
    data, fds = sent
    with pytest.raises(TypeError):
        usmpy.IPCHandle.from_bytes("text", fds)
    with pytest.raises(TypeError):
        usmpy.IPCHandle.from_bytes(data, ["3"])
    with pytest.raises(TypeError):
        usmpy.IPCHandle.from_bytes(data, 3)
    with pytest.raises(TypeError, match="cannot be called"):
        usmpy.IPCHandle()
    with pytest.raises(TypeError, match="readonly"), usmpy.IPCHandle.from_bytes(data, fds) as handle:
        handle.open(readonly=1)
    with pytest.raises(TypeError, match="USMArray is allowed"):
        usmpy.share([1, 2])


def test_truncated(sent):
    data, fds = sent
    for n in range(16, len(data)):
        with pytest.raises(ValueError, match="truncated or damaged"):
            usmpy.IPCHandle.from_bytes(data[:n], fds)
    with pytest.raises(ValueError, match="truncated or damaged"):
        usmpy.IPCHandle.from_bytes(data + b"\0" * 8, fds)


def test_every_flipped_bit_is_found(sent):
    data, fds = sent
    for bit in random.Random(1).sample(range(8 * len(data)), 500):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=r"no handle|version|truncated or damaged|was changed"):
            usmpy.IPCHandle.from_bytes(changed, fds)


def test_another_version(sent):
    data, fds = sent
    with pytest.raises(ValueError, match="has version 9 and this usmpy reads version 1"):
        usmpy.IPCHandle.from_bytes(resealed(data, VERSION, "I", 9), fds)


def test_another_boot(sent):
    data, fds = sent
    with pytest.raises(ValueError, match="another machine, or before this one was started"):
        usmpy.IPCHandle.from_bytes(resealed(data, BOOT, "4s", b"zzzz"), fds)


def test_another_size_than_the_file_has(sent):
    data, fds = sent
    with pytest.raises(ValueError, match="is of 12288 bytes and its file has 8192"):
        open_it(resealed(data, NBYTES, "Q", 12288), fds)
    with pytest.raises(ValueError, match="does not lie within its memory"):
        open_it(resealed(data, NBYTES, "Q", 4096), fds)


def test_other_descriptors(sent):
    data, fds = sent
    with pytest.raises(ValueError, match="fds has 0 descriptors and the handle 1"):
        usmpy.IPCHandle.from_bytes(data, ())
    with pytest.raises(ValueError, match="fds has 9 descriptors and the handle 1"):
        usmpy.IPCHandle.from_bytes(data, fds * 9)
    with pytest.raises(ValueError, match="no open descriptor"):
        usmpy.IPCHandle.from_bytes(data, [1 << 20])
    with open(os.devnull) as file, pytest.raises(ValueError, match="not the handle's file"):
        usmpy.IPCHandle.from_bytes(data, [file.fileno()])


def inode_at(data, fd):
    """Where the handle has the inode of its descriptor."""
    return data.index(struct.pack("Q", os.fstat(fd).st_ino), NBYTES)


@pytest.mark.parametrize("size", [8192, 4096])
def test_files_without_seals(sent, size):
    data, fds = sent
    fd = os.memfd_create("usmpy", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    forged = resealed(data, inode_at(data, fds[0]), "Q", os.fstat(fd).st_ino)
    with pytest.raises(ValueError, match="not sealed against changes of its size"):
        open_it(forged, [fd])
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    if size == 4096:
        with pytest.raises(ValueError, match="is of 8192 bytes and its file has 4096"):
            open_it(forged, [fd])
    else:
        assert open_it(forged, [fd])[0].item() == 0
    os.close(fd)


def test_nobody_can_make_the_memory_smaller(sent):
    _, fds = sent
    with pytest.raises(PermissionError):
        os.ftruncate(fds[0], 0)


def test_bare_bytes_reach_a_process_that_runs(other, sent):
    data, _ = sent
    assert open_it(data, None)[7].item() == 7


def test_bare_bytes_of_a_closed_handle(other, sent):
    data, _ = sent
    other("h.close()")
    with pytest.raises(ValueError, match="has closed the handle"):
        usmpy.IPCHandle.from_bytes(data)


def test_bare_bytes_whose_descriptor_is_another_file_now(other, sent):
    data, _ = sent
    other("n = h.fds[0]; h.close(); f = os.open('/dev/null', os.O_RDONLY); os.dup2(f, n)")
    with pytest.raises(ValueError, match="the handle is stale"):
        usmpy.IPCHandle.from_bytes(data)


def test_bare_bytes_of_a_dead_process(other, sent):
    data, fds = sent
    other.kill()
    with pytest.raises(ValueError, match="that made the handle has ended"):
        usmpy.IPCHandle.from_bytes(data)
    assert open_it(data, fds)[7].item() == 7  # with its descriptors it still is the memory


def test_bare_bytes_of_a_process_whose_number_is_used_again(sent):
    data, _ = sent
    with pytest.raises(ValueError, match="that made the handle has ended"):
        usmpy.IPCHandle.from_bytes(resealed(data, STARTED, "Q", 1))


@pytest.mark.made_if(os.getuid() == 0, "another user is needed")
def test_a_refusal_names_ptrace_scope(other, sent):
    """A process of another user may not take descriptors out of this one."""
    data, _ = sent
    code = (
        "import os, sys, usmpy\nos.setgid(65534); os.setuid(65534)\n"
        "try: usmpy.IPCHandle.from_bytes(bytes.fromhex(sys.argv[1]))\n"
        "except BufferError as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, data.hex()], capture_output=True, text=True, check=True
    )
    assert "/proc/sys/kernel/yama/ptrace_scope" in found.stdout


def test_an_absent_device(sent):
    data, fds = sent
    at = data.index(b"host:cpu:0")
    gone = resealed(data, at, "10s", b"cuda:gpu:9")
    with pytest.raises(usmpy.DeviceNotFound, match=r"exporter's cuda:gpu:9, .*host:cpu:0"):
        open_it(gone, fds)
    with usmpy.IPCHandle.from_bytes(gone, fds) as handle:
        assert handle.open(device="host")[1].item() == 1


def test_a_device_that_cannot_use_the_memory(sent):
    names = [d.filter_string for d in usmpy.get_devices() if not d.has_usm_system]
    for name in names:
        with usmpy.IPCHandle.from_bytes(*sent) as handle, pytest.raises(BufferError, match="to_device"):
            handle.open(device=name)
    assert names


def test_a_handle_is_no_pickle(sent):
    import pickle

    with usmpy.IPCHandle.from_bytes(*sent) as handle:
        with pytest.raises(pickle.PicklingError, match=r"import usmpy\.multiprocessing"):
            pickle.dumps(handle)
        assert repr(handle).startswith("<usmpy.IPCHandle, fds=(")
    assert repr(handle) == "<usmpy.IPCHandle, closed>"
    handle.close()


def test_read_only_mappings(other):
    """Writes are forbidden by the page tables, until somebody opens the block to write."""
    x = usmpy.share(usmpy.arange(4, device="host"))
    rights = "[line.split()[1] for line in open('/proc/self/maps') if 'memfd:usmpy' in line]"
    with x.get_ipc_handle() as handle:
        other("del x, h; y = handle().open(readonly=True)", handle)
        assert other(rights) == ["r--s"]
        with pytest.raises(Failed, match="read-only"):
            other("y[0] = 1")
        other("z = handle().open()")
    assert other(rights) == ["rw-s"]
    other("z[0] = 9")
    assert other("y.tolist()") == [9, 1, 2, 3]
    assert x[0].item() == 9


DTYPE, OFFSET = 106, 112


@pytest.mark.parametrize("offset", [-8, -(2**63), 8200, 2**63 - 1])
def test_elements_outside_of_the_block(sent, offset):
    data, fds = sent
    with pytest.raises(ValueError, match="does not lie within its memory"):
        open_it(resealed(data, OFFSET, "q", offset), fds)


@pytest.mark.parametrize(
    ("length", "offset"), [(0, 8192), (1, 8184), (2, 8176), (1, 8185), (1, 8192), (2, 8184)]
)
def test_elements_at_the_end_of_the_block(sent, length, offset):
    data, fds = sent
    changed = resealed(resealed(data, OFFSET, "q", offset), len(data) - 16, "q", length)
    if offset + 8 * length <= 8192:
        assert open_it(changed, fds).shape == (length,)
    else:
        with pytest.raises(ValueError, match="does not lie within its memory"):
            open_it(changed, fds)


def test_a_type_that_does_not_exist(sent):
    data, fds = sent
    with pytest.raises(ValueError, match="does not lie within its memory"):
        open_it(resealed(data, DTYPE, "B", 255), fds)


def test_the_handle_of_an_empty_array_has_no_descriptors(other):
    other("empty = usmpy.share(usmpy.zeros((0, 3), device='host')).get_ipc_handle()")
    data, count = other("bytes(empty), len(empty.fds)")
    assert count == 0
    for fds in (None, ()):
        x = open_it(data, fds)
        assert (x.shape, x.tolist()) == ((0, 3), [])


def test_bare_bytes_of_a_process_that_ended_and_is_not_waited_for(other, sent):
    data, _ = sent
    process = other.process
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it stays in /proc, as a zombie
    with pytest.raises(ValueError, match="that made the handle has ended"):
        usmpy.IPCHandle.from_bytes(data)


# Opens the handle while few descriptors are left; what is taken is given back before the answer is sent.
FEW_DESCRIPTORS = """
import another, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
theirs, lacking = handle(), ""
with another.no_descriptors(few):
    try:
        theirs.open()
    except MemoryError as error:
        lacking = str(error)
again = theirs.open().tolist()
"""


@pytest.mark.parametrize("few", range(5))
def test_an_opening_with_few_descriptors_can_be_repeated(other, few):
    x = usmpy.share(usmpy.arange(5, device="host"))
    with x.get_ipc_handle() as handle:
        other(f"few = {few}\n" + FEW_DESCRIPTORS, handle)
    assert "ulimit -n" in other("lacking") or (few > 0 and other("lacking") == "")
    assert other("again") == [0, 1, 2, 3, 4]


def test_other_numbers_of_descriptors(sent):
    data, fds = sent
    # Their count, 1, and the number of the first stand before the inodes.
    at = data.index(struct.pack("I", 1), inode_at(data, fds[0]) - 72)
    changed = resealed(data, at, "I", 0)
    with pytest.raises(ValueError, match="has 0 descriptors of memory; it must have 1"):
        open_it(changed, ())


def test_memory_of_a_driver_that_the_device_does_not_have(sent):
    data, fds = sent
    rule, of_the_driver = 104, 2
    with pytest.raises(BufferError, match="cannot open memory of other processes"):
        open_it(resealed(data, rule, "B", of_the_driver), fds)


# The same where a few descriptors are left: the first calls of an opening succeed.


@pytest.mark.leaves_objects("queues of devices are cached")
def test_the_lowest_descriptor_may_be_a_copy():
    x = usmpy.share(usmpy.arange(10, device="host"))
    first = x.get_ipc_handle()
    kept = os.dup(0)
    os.close(0)
    try:
        second = x.get_ipc_handle()  # one of its descriptors is 0 now
        assert second.open()[9].item() == 9
        second.close()
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    first.close()


SCRIPT = """
import multiprocessing, os, usmpy, usmpy.multiprocessing
def main():
    assert not os.path.exists("/dev/shm/probe")
    try:
        open("/dev/shm/probe", "w").close()
        raise SystemExit("/dev/shm can be written to")
    except OSError:
        pass
    near, far = multiprocessing.Pipe()
    x = usmpy.share(usmpy.arange(4, device="host"))
    near.send(x)
    assert far.recv().data_ptr == x.data_ptr
    near.send(usmpy.ones(1 << 20, dtype="int8", device="host"))
    assert far.recv().size == 1 << 20
    print("ok")
main()
"""


def test_without_dev_shm():
    unshare = shutil.which("unshare")
    hide = "mount -t tmpfs -o ro,size=4k none /dev/shm"
    if unshare is None or subprocess.run([unshare, "-m", "sh", "-c", hide], capture_output=True).returncode:
        pytest.skip("a namespace of its own for mounts needs root")
    command = [unshare, "-m", "sh", "-c", f'{hide} && exec "$0" -c "$1"', sys.executable, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
