"""Memory, copies, fills and times on Level Zero, on devices of several kinds: a process each."""

from __future__ import annotations

import pytest
from level_zero_processes import needs_driver, run

pytestmark = needs_driver

CONNECTIONS = """
UNIFIED, NONE = usmpy.MemoryConnection.UNIFIED, usmpy.MemoryConnection.NONE
cards = usmpy.get_devices("level_zero")
tiles = [tile for card in cards for tile in card.create_sub_devices(4)]
def connections(devices):
    context = usmpy.Context(devices)
    queues = [usmpy.Queue(device, context=context) for device in devices]
    return {usmpy.memory_connection(a, b) for a in queues for b in queues if a is not b}
expected = UNIFIED if os.environ["ZESIM_PEER"] == "1" else NONE
assert connections(cards) == connections([tiles[0], tiles[2]]) == {expected}
assert connections(tiles[:2]) == {UNIFIED}
# Each card has a default context, in which its tiles are too; a pointer means nothing in another.
assert usmpy.memory_connection(cards[0], cards[1]) == NONE
assert usmpy.memory_connection(cards[0], tiles[1]) == usmpy.memory_connection(tiles[1], cards[0]) == UNIFIED
"""


@pytest.mark.parametrize("peer", ["1", "0"])
def test_memory_of_one_context_connects_tiles_always_and_cards_by_peer_access(peer):
    run(CONNECTIONS, ZESIM_PEER=peer, ZESIM_UNITS="4")


@pytest.mark.parametrize("peer", ["1", "0"])
def test_the_driver_is_asked_once_about_two_cards(peer):
    """By the first call that needs the answer, here a copy; that call does not hold the GIL meanwhile."""
    run(
        """
        context = usmpy.Context(usmpy.get_devices("level_zero"))
        one, two = (usmpy.Queue(device, context=context) for device in context.devices)
        x = usmpy.arange(1000, queue=one)
        assert calls("zeDeviceCanAccessPeer") == 0
        y = x.to_device(two)
        asked = calls("zeDeviceCanAccessPeer")
        assert 1 <= asked <= 2, asked  # one question a direction
        for _ in range(3):
            assert x.to_device(two).tolist() == y.tolist() == list(range(1000))
            usmpy.memory_connection(one, two), usmpy.memory_connection(two, one)
        assert calls("zeDeviceCanAccessPeer") == 2
        """,
        ZESIM_PEER=peer,
    )


@pytest.mark.parametrize("hierarchy", ["FLAT", "COMBINED"])
def test_tiles_that_are_root_devices_connect_as_the_driver_says(hierarchy):
    run(
        """
        a, b, c, d = usmpy.get_devices("level_zero")
        context = usmpy.Context([a, b, c])
        qa, qb, qc = (usmpy.Queue(device, context=context) for device in (a, b, c))
        assert usmpy.memory_connection(qa, qb) == usmpy.MemoryConnection.UNIFIED
        assert usmpy.memory_connection(qa, qc) == usmpy.MemoryConnection.NONE
        try:
            usmpy.Queue(d, context=context)
        except ValueError as error:
            assert "not in the given context" in str(error)
        else:
            raise AssertionError
        """,
        ZE_FLAT_DEVICE_HIERARCHY=hierarchy,
        ZESIM_PEER="0",
    )


@pytest.mark.parametrize("peer", ["1", "0"])
@pytest.mark.parametrize("pairs", ["cards", "tiles", "contexts"])
def test_copies_between_devices(pairs, peer):
    """The driver tells of every address that a device uses and cannot reach: run() looks."""
    run(
        """
        cards = usmpy.get_devices("level_zero")
        if os.environ["PAIRS"] == "contexts":
            a, b = (usmpy.Queue(card) for card in cards)
        else:
            tiles = [card.create_sub_devices(4)[1] for card in cards]
            pair = cards if os.environ["PAIRS"] == "cards" else tiles
            context = usmpy.Context(pair)
            a, b = (usmpy.Queue(device, context=context) for device in pair)
        for n in (0, 1000, 1 << 19):
            for kind in ("device", "shared", "host"):
                x = usmpy.arange(n, dtype="int32", queue=a, usm_type=kind)
                y = x.to_device(b)
                assert y.queue == b and (y.asnumpy() == range(n)).all()
                z = usmpy.zeros(n, dtype="int32", queue=b)
                usmpy.copyto(z, x)
                x[...] = -1  # behind the copy
                assert n == 0 or z.asnumpy()[[0, -1]].tolist() == [0, n - 1]
        grid = usmpy.reshape(usmpy.arange(600, dtype="int16", queue=a), (20, 30))
        flipped = usmpy.zeros((30, 20), dtype="float64", queue=b)
        usmpy.copyto(flipped, grid.T.astype("float64"))
        assert (flipped.asnumpy() == grid.asnumpy().T).all()
        same = usmpy.zeros((10, 30), dtype="int16", queue=b)
        usmpy.copyto(same, grid[::2])
        assert (same.asnumpy() == grid.asnumpy()[::2]).all()
        """,
        PAIRS=pairs,
        ZESIM_PEER=peer,
        ZESIM_UNITS="4",
        ZESIM_JITTER_US="50",
    )


COPY_ENGINES = """
import numpy as np
queue = usmpy.Queue("level_zero")
n = 1 << 18
x = usmpy.empty(n, dtype="int64", queue=queue)
host = np.arange(n)
lists = made("command_list")
kernel = usmpy.Program("kernel void f(global long *x) { x[get_global_id(0)] *= 3; }", device="level_zero").f
for i in range(8):  # each step is behind the one before, whatever engine does it
    queue.memcpy(x, host, blocking=False)
    kernel[usmpy.Range(n)](x)
    assert x.asnumpy()[::1000].tolist() == (3 * host[::1000]).tolist()
print(made("command_list") - lists)
"""


@pytest.mark.parametrize(("engines", "lists"), [("0", 0), ("1", 1), ("3", 1)])
def test_large_copies_go_to_engines_that_only_copy_and_keep_the_order(engines, lists):
    assert run(COPY_ENGINES, ZESIM_COPY_ENGINES=engines, ZESIM_JITTER_US="100").split() == [str(lists)]


def test_large_copies_keep_the_order_where_the_driver_keeps_none():
    assert run(COPY_ENGINES, ZESIM_API="1.3", ZESIM_JITTER_US="100", ZESIM_OVERLAP="4").split() == ["1"]


def test_small_copies_and_those_within_the_device_stay_with_the_kernels():
    run(
        """
        queue = usmpy.Queue("level_zero")
        x, y = (usmpy.ones(1 << 20, dtype="int32", queue=queue) for _ in range(2))
        lists = made("command_list")
        queue.memcpy(x, y)
        queue.memcpy(x[:1000], bytes(4000))
        assert x[:2000:999].tolist() == [0, 0, 1]
        assert made("command_list") == lists
        """
    )


def test_blocks_above_the_driver_s_limit_ask_for_relaxed_limits():
    run(
        """
        device = usmpy.get_devices("level_zero")[0]
        assert device.max_alloc_size == device.global_mem_size == 64 << 20
        for kind in ("device", "shared", "host"):
            x = usmpy.full((5 << 20) // 4, 7, dtype="int32", device=device, usm_type=kind)
            assert x.usm_type == kind and x.asnumpy()[-1] == 7
            del x
        try:
            usmpy.empty(65 << 20, dtype="uint8", device=device)
        except MemoryError as error:
            assert f"cannot allocate {65 << 20} bytes of device memory" in str(error)
        else:
            raise AssertionError
        """,
        ZESIM_MAX_ALLOC_MIB="1",
        ZESIM_MEMORY_MIB="64",
    )


def test_without_relaxed_limits_the_driver_s_limit_is_the_device_s():
    run(
        """
        device = usmpy.get_devices("level_zero")[0]
        assert device.max_alloc_size == 1 << 20 < device.global_mem_size
        x = [usmpy.ones(1 << 20, dtype="uint8", device=device) for _ in range(3)]
        assert [int(a.asnumpy().sum()) for a in x] == [1 << 20] * 3
        for kind in ("device", "shared", "host"):
            try:
                usmpy.empty((1 << 20) + 1, dtype="uint8", device=device, usm_type=kind)
            except MemoryError as error:
                assert f"of {kind} memory" in str(error)
                assert "one block may have at most 1048576 bytes" in str(error)
            else:
                raise AssertionError
        """,
        ZESIM_MAX_ALLOC_MIB="1",
        ZESIM_MEMORY_MIB="64",
        ZESIM_RELAXED="0",
    )


@pytest.mark.parametrize("longest", ["128", "4", "1"])
def test_patterns_longer_than_the_driver_fills_are_filled_by_a_kernel(longest):
    run(
        """
        import numpy as np
        queue = usmpy.Queue("level_zero")
        values = {"uint8": 200, "int16": -3, "float32": 1.5, "int64": 1 << 40, "complex128": 1 - 2j}
        for dtype, value in values.items():
            for n in (1, 3, 1000):
                x = usmpy.zeros(n + 2, dtype=dtype, queue=queue)
                queue.fill(x[1:-1], value)
                expected = np.zeros(n + 2, dtype=dtype)
                expected[1:-1] = value
                assert (x.asnumpy() == expected).all(), (dtype, n)
        print(calls("zeModuleCreate"))
        """,
        ZESIM_FILL_BYTES=longest,
    )


def test_prefetch_moves_shared_memory_alone():
    run(
        """
        queue = usmpy.Queue("level_zero")
        for kind, count in (("device", 0), ("host", 0), ("shared", 1)):
            x = usmpy.ones(5000, dtype="int32", queue=queue, usm_type=kind)
            before = calls("zeCommandListAppendMemoryPrefetch"), calls("zeCommandListAppendMemAdvise")
            queue.prefetch(x).wait()
            after = calls("zeCommandListAppendMemoryPrefetch"), calls("zeCommandListAppendMemAdvise")
            assert (after[0] - before[0], after[1] - before[1]) == (count, count), kind
            assert x.tolist() == [1] * 5000
        """
    )


@pytest.mark.parametrize("bits", ["64", "32", "14"])
def test_times_of_tasks_go_on_where_the_device_s_counter_begins_again(bits):
    """14 bits of 80 ns are over after 1.3 ms.

    Turns of the counter that are counted too often add up to 78 ms. The clocks are compared to within the
    time for which a thread may lose its processor.
    """
    run(
        """
        import time
        queue = usmpy.Queue("level_zero", profiling=True)
        x, y = (usmpy.zeros(1 << 16, dtype="int32", queue=queue) for _ in range(2))
        queue.wait()
        begin, last = time.monotonic_ns(), 0
        for _ in range(60):
            event = queue.memcpy(y, x)
            event.wait()
            now = time.monotonic_ns()
            assert begin <= event.submit_time_ns <= event.start_time_ns <= event.end_time_ns
            assert last <= event.start_time_ns and event.end_time_ns <= now + 10_000_000
            last = event.end_time_ns
            time.sleep(0.0007)  # half a turn of the smallest counter
        """,
        ZESIM_TIMESTAMP_BITS=bits,
    )


def test_overlapping_copies_where_commands_of_a_list_overlap():
    """They go through a block: the copy out of it waits for the one into it."""
    run(
        """
        queue = usmpy.Queue("level_zero", in_order=False)
        n = 1 << 14
        for i in range(40):
            x = usmpy.arange(n, dtype="int32", queue=queue)
            queue.wait()
            if i % 2:
                queue.memcpy(x[1:], x[:-1]).wait()
                assert x.asnumpy().tolist() == [0, *range(n - 1)]
            else:
                queue.memcpy(x[:-1], x[1:]).wait()
                assert x.asnumpy().tolist() == [*range(1, n), n - 1]
        """,
        ZESIM_JITTER_US="300",
        ZESIM_OVERLAP="4",
    )


def test_results_of_the_driver_become_errors_of_their_kind():
    run(
        """
        queue = usmpy.Queue("level_zero")
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        for code, name, kind in (
            (0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", MemoryError),
            (0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", MemoryError),
            (0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT", usmpy.UsmError),
            (0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN", usmpy.UsmError),
        ):
            _ask("zesimFail", b"zeCommandListAppendMemoryFill", ctypes.c_uint64(1), ctypes.c_uint64(1), code)
            try:
                queue.fill(x, 1)
            except kind as error:
                assert f"failed with {name} (0x{code:x})" in str(error), error
            else:
                raise AssertionError(name)
            queue.fill(x, 2)
            assert x.tolist() == [2] * 64
        """
    )


def test_a_context_of_another_library_where_there_is_one_device():
    run(
        """
        (device,) = usmpy.get_devices("level_zero")
        loader = ctypes.CDLL("libze_loader.so.1")
        number, driver, made = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
        assert loader.zeDriverGet(ctypes.byref(number), ctypes.byref(driver)) == 0
        description = (ctypes.c_uint64 * 3)(0xD)  # ZE_STRUCTURE_TYPE_CONTEXT_DESC
        assert loader.zeContextCreate(driver, description, ctypes.byref(made)) == 0
        context = usmpy.Context.from_native("level_zero", made.value)
        assert context.devices == [device]
        assert context.native_handle == made.value
        del context
        assert loader.zeContextDestroy(made) == 0
        """,
        ZESIM_DEVICES="1",
        ZESIM_SUB_DEVICES="0",
    )


def test_memory_of_another_library_is_of_its_own_device_in_a_context_of_several():
    run(
        """
        devices = usmpy.get_devices("level_zero")
        context = usmpy.Context(devices)
        queues = [usmpy.Queue(device, context=context) for device in devices]
        loader = ctypes.CDLL("libze_loader.so.1")
        handle = ctypes.c_void_p(context.native_handle)
        for i, device in enumerate(devices):
            pointer = ctypes.c_void_p()
            description = (ctypes.c_uint64 * 3)(0x15)  # ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
            own = ctypes.c_void_p(device.native_handle)
            code = loader.zeMemAllocDevice(
                handle, description, ctypes.c_size_t(64), ctypes.c_size_t(64), own, ctypes.byref(pointer)
            )
            assert code == 0
            for queue in queues:
                y = usmpy.USMArray.from_pointer(pointer.value, (8,), "int32", queue=queue)
                assert y.__dlpack_device__() == (14, i)
                assert y.usm_type == "device"
                queue.fill(y, i).wait()
                assert y.tolist() == [i] * 8
            del y
            assert loader.zeMemFree(handle, pointer) == 0
        """
    )


def test_a_query_that_fails_itself_is_repeated():
    """Only after some failures in a row the error is the task's."""
    run(
        """
        queue = usmpy.Queue("level_zero")
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        queue.wait()
        names = [b"zeEventQueryStatus", b"zeEventHostSynchronize"]
        for i in range(20):
            _ask("zesimPause", 1)
            try:
                event = queue.fill(x, i)
                _ask("zesimFail", names[0], ctypes.c_uint64(1), ctypes.c_uint64(3), 0x70000002)
                if i % 2:
                    _ask("zesimFail", names[1], ctypes.c_uint64(1), ctypes.c_uint64(1), 0x70000002)
                for _ in range(3):
                    assert not event.done
            finally:
                _ask("zesimPause", 0)
            event.wait()
            assert x.tolist() == [i] * 64
            for name in names:
                _ask("zesimFail", name, ctypes.c_uint64(1), ctypes.c_uint64(0), 0)
        """
    )


def test_times_that_the_driver_does_not_tell_are_of_when_the_end_was_seen():
    run(
        """
        import time
        queue = usmpy.Queue("level_zero", profiling=True)
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        queue.wait()
        name, first, often = b"zeEventQueryKernelTimestamp", ctypes.c_uint64(1), ctypes.c_uint64(1000)
        _ask("zesimFail", name, first, often, 0x70000002)
        _ask("zesimPause", 1)
        event = queue.fill(x, 1)
        before = time.monotonic_ns()
        _ask("zesimPause", 0)
        event.wait()
        assert before <= event.start_time_ns == event.end_time_ns <= time.monotonic_ns()
        """
    )
