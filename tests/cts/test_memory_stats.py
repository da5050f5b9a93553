"""memory_stats, trim, set_memory_limit; live_allocations and the lines that made them."""

import ctypes
import os
import subprocess
import sys

import producers
import pytest

import usmpy

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def place(device):
    """A queue of a private context, in which only the test allocates."""
    return usmpy.Queue(device, context=usmpy.Context([device]))


@pytest.fixture
def tracked():
    before = usmpy.track_allocations(True)
    yield
    usmpy.track_allocations(before)


def kinds(device):
    return [kind for kind in ("device", "shared", "host") if getattr(device, f"has_usm_{kind}")]


def test_by_kind(place):
    for kind in kinds(place.device):
        before = usmpy.memory_stats(place)[kind]
        x = usmpy.empty(100 * KIB, dtype="uint8", usm_type=kind, device=place)
        y = usmpy.empty(2 * MIB, dtype="uint8", usm_type=kind, device=place)
        stats = usmpy.memory_stats(place)[kind]
        assert stats["blocks"] == before["blocks"] + 2
        used = stats["in_use"] - before["in_use"]
        assert 100 * KIB + 2 * MIB <= used <= 125 * KIB + 2 * MIB
        del x, y
        after = usmpy.memory_stats(place)[kind]
        assert (after["in_use"], after["blocks"]) == (before["in_use"], before["blocks"])
        assert after["peak"] >= before["in_use"] + used
        assert after["pooled"] == before["pooled"] + used


def test_a_block_that_is_used_again_is_counted_again(place):
    for size in (100, 100 * KIB, 2 * MIB):
        states = []
        for _ in range(3):
            x = usmpy.empty(size, dtype="uint8", device=place)
            states.append(usmpy.memory_stats(place)["device"])
            del x
        assert states == states[:1] * 3


def test_held_memory_is_used_plus_pooled_memory(place):
    arrays = [usmpy.empty(n, dtype="uint8", device=place) for n in (1, 1000, 70_000, MIB, 3 * MIB)]
    del arrays[::2]
    stats = usmpy.memory_stats(place)
    assert stats["held"] == sum(
        stats[kind][word] for kind in ("device", "shared", "host") for word in ("in_use", "pooled")
    )
    assert stats["peak"] >= stats["held"] > 0
    assert stats["limit"] is None


def test_small_blocks_are_kept_where_large_ones_fill_the_pool(place):
    """Otherwise a program that has freed large arrays would request every small one from the driver."""
    large = [usmpy.empty(30 * MIB, dtype="uint8", device=place) for _ in range(4)]
    del large
    full = usmpy.memory_stats(place)["device"]["pooled"]
    assert full <= 64 * MIB
    x = usmpy.empty(100, dtype="uint8", device=place)
    address = x.data_ptr
    del x
    assert usmpy.memory_stats(place)["device"]["pooled"] > full
    y = usmpy.empty(100, dtype="uint8", device=place)
    assert y.data_ptr == address
    many = [usmpy.empty(60 * KIB, dtype="uint8", device=place) for _ in range(300)]
    del many
    assert usmpy.memory_stats(place)["device"]["pooled"] <= 72 * MIB


def test_trim_gives_pooled_blocks_back(place):
    usmpy.trim()  # blocks of other tests, which waited for a stream
    x = usmpy.empty(50 * KIB, dtype="uint8", device=place)
    y = usmpy.empty(50 * KIB, dtype="uint8", device=place)
    del y
    pooled = usmpy.memory_stats(place)["device"]["pooled"]
    assert pooled >= 50 * KIB
    assert usmpy.trim(place) == pooled
    stats = usmpy.memory_stats(place)
    assert (stats["device"]["pooled"], stats["device"]["blocks"]) == (0, 1)
    assert stats["held"] == stats["device"]["in_use"]
    assert usmpy.trim(place) == 0
    del x
    assert usmpy.trim() >= 50 * KIB  # of all devices
    assert usmpy.memory_stats(place)["held"] == 0


def test_imported_memory_is_its_owners(place):
    before = usmpy.memory_stats(place)["held"]
    x = usmpy.from_dlpack(usmpy.zeros(MIB, dtype="uint8", device=place))
    assert usmpy.memory_stats(place)["held"] <= before + MIB
    assert usmpy.memory_stats(place)["device"]["blocks"] == 1
    del x


def test_a_limit_is_named_by_the_error(place):
    x = usmpy.empty(4 * MIB, dtype="uint8", device=place)
    usmpy.set_memory_limit(place, 6 * MIB)
    assert usmpy.memory_stats(place)["limit"] == 6 * MIB
    with pytest.raises(MemoryError, match=rf"limit is {6 * MIB} bytes, of which {4 * MIB} are held"):
        usmpy.empty(3 * MIB, dtype="uint8", device=place)
    y = usmpy.empty(2 * MIB, dtype="uint8", device=place)
    usmpy.set_memory_limit(place, None)
    z = usmpy.empty(3 * MIB, dtype="uint8", device=place)
    assert usmpy.memory_stats(place)["limit"] is None
    assert x.size + y.size + z.size == 9 * MIB


def test_pooled_blocks_go_before_a_limit_is_met(place):
    arrays = [usmpy.empty(MIB, dtype="uint8", device=place) for _ in range(4)]
    del arrays[:]
    assert usmpy.memory_stats(place)["device"]["pooled"] == 4 * MIB
    usmpy.set_memory_limit(place, 5 * MIB)
    x = usmpy.empty(3 * MIB, dtype="uint8", device=place)
    assert usmpy.memory_stats(place)["held"] == 3 * MIB
    del x
    usmpy.set_memory_limit(place, 0)
    with pytest.raises(MemoryError, match="limit is 0 bytes"):
        usmpy.empty(1, device=place)


@pytest.mark.parametrize("nbytes", [-1, 1 << 64])
def test_limits_that_are_none(place, nbytes):
    with pytest.raises(ValueError, match="nbytes is"):
        usmpy.set_memory_limit(place, nbytes)
    with pytest.raises(TypeError):
        usmpy.set_memory_limit(place, 1.5)


def test_lines_of_live_allocations(place, tracked):
    x = usmpy.empty(1000, dtype="uint8", device=place)
    y = [usmpy.zeros(n, dtype="uint8", device=place) for n in (10, 2000)]
    mine = [a for a in usmpy.live_allocations() if a.where and "test_memory_stats.py" in a.where]
    assert len(mine) == 3
    assert "test_lines_of_live_allocations" in mine[0].where
    assert mine[0].nbytes >= 1000
    assert (mine[0].usm_type, mine[0].imported) == ("device", False)
    assert mine[0].device.filter_string == place.device.filter_string
    assert mine[0].address == x.data_ptr
    assert 0 <= mine[0].age_s < 600
    assert str(mine[0]).endswith(mine[0].where)
    place.wait()
    del x, y
    assert not [a for a in usmpy.live_allocations() if a.where and "test_memory_stats.py" in a.where]


def test_imports_are_tracked_too(tracked):
    numpy = pytest.importorskip("numpy")
    x = usmpy.from_dlpack(numpy.zeros(1000))
    (mine,) = [a for a in usmpy.live_allocations() if a.imported and a.address == x.data_ptr]
    assert (mine.nbytes, mine.usm_type) == (8000, "host")


def test_nothing_is_tracked_unless_asked_for(place):
    assert usmpy.track_allocations(False) is False
    x = usmpy.empty(1234, dtype="uint8", device=place)
    assert x.data_ptr not in [a.address for a in usmpy.live_allocations()]
    with pytest.raises(TypeError, match="on is an int"):
        usmpy.track_allocations(1)


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_block_that_was_used_before_is_large_enough(place, more):
    """Blocks of one class have one size: four sizes to each doubling."""
    for power in (1 << 12, 1 << 16, 1 << 20):
        n = power + more
        x = usmpy.empty(n, dtype="uint8", device=place)
        size = usmpy.memory_stats(place)["device"]["in_use"]
        del x
        assert size == (power if more <= 0 else power * 5 // 4)


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


PROGRAM = "import usmpy; x = usmpy.zeros(5, device='host'); print(len(usmpy.live_allocations()) > 0)"


@pytest.mark.parametrize(("value", "tracked"), [("1", "True"), ("0", "False"), ("", "False")])
def test_the_variable(value, tracked):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "USMPY_TRACK_ALLOCATIONS": value},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == (tracked, "")
