"""Calls of Level Zero that fail one at a time: what the caller gets, and that usmpy goes on."""

from __future__ import annotations

import textwrap

import backends
import numpy as np
import pytest
from level_zero_processes import SPIRV, needs_driver, run

import usmpy

pytestmark = needs_driver

START = f"""
import sys
sim = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"].split(",")[0])
spirv = open({str(SPIRV)!r}, "rb").read()

def fail(function, first, n=1, code=0x7ffffffe):
    sim.zesimFail(function.encode(), ctypes.c_uint64(first), ctypes.c_uint64(n), ctypes.c_uint32(code))

def said(kind, call, *arguments, **words):
    try:
        call(*arguments, **words)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {{kind}}")

"""


def check(script, **variables):
    return run(START + textwrap.dedent(script), **variables)


@pytest.mark.parametrize("name", ["zeDeviceGetCacheProperties", "zeDeviceGetImageProperties"])
def test_what_a_driver_does_not_tell_of_a_device_is_none(name):
    cache = name == "zeDeviceGetCacheProperties"
    check(
        f"""
        device = usmpy.Device("level_zero")
        assert (device.global_mem_cache_size is None) is {cache}
        assert (device.image_2d_max_width is None) is {not cache}
        assert usmpy.arange(3, device=device).tolist() == [0, 1, 2]
        """,
        ZESIM_FAIL=f"{name}:1+:0x7ffffffe",
    )


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_list_of_drivers_that_fails(call):
    """There is no device then; or the loader asked, and usmpy is not told."""
    check(
        """
        devices = usmpy.get_devices("level_zero") if "level_zero: available" in usmpy.diagnose() else []
        for device in devices:
            assert usmpy.arange(3, device=device).tolist() == [0, 1, 2]
        sys.stdout.flush()
        if not devices:
            os._exit(0)
        """,
        ZESIM_FAIL=f"zeDriverGet:{call}:0x7ffffffe,zeInitDrivers:1+:0x7ffffffe",
    )


@pytest.mark.parametrize("which", [1, 3])  # of each part, two calls
def test_a_part_that_cannot_be_opened(which):
    check(
        f"""
        device = usmpy.Device("level_zero")
        units = device.max_compute_units // 2
        fail("zeDeviceGetProperties", {which})
        assert "a sub-device" in said(usmpy.UsmError, device.create_sub_devices, units)
        parts = device.create_sub_devices(units)
        assert [usmpy.full(3, 7, device=part).tolist() for part in parts] == [[7, 7, 7]] * 2
        """,
    )


def test_more_groups_than_a_launch_may_have():
    check(
        """
        kernel = usmpy.Program("kernel void f(global int *x) { x[0] = 1; }", device="level_zero")["f"]
        x = usmpy.zeros(1, dtype="int32", device="level_zero")
        text = said(ValueError, kernel[usmpy.NdRange((1 << 40,), (1,))], x)
        assert "1099511627776 groups of 1 work-items along dimension 0 are more than" in text, text
        kernel[usmpy.Range(1)](x).wait()
        assert x.item() == 1
        """
    )


@pytest.mark.parametrize("call", [1, 2])
def test_a_binary_that_the_driver_does_not_give(call):
    check(
        f"""
        program = usmpy.Program(spirv, device="level_zero", language="spirv")
        fail("zeModuleGetNativeBinary", {call})
        assert "zeModuleGetNativeBinary" in said(usmpy.UsmError, lambda: program.binary)
        again = usmpy.Program(program.binary, device="level_zero", language="native")
        assert again["axpy"].name == "axpy"
        """,
        USMPY_CACHE="0",
    )


def test_a_block_that_is_larger_than_usual_and_is_refused():
    check(
        """
        first = usmpy.empty(40 << 20, dtype="uint8", device="level_zero")
        text = said(MemoryError, usmpy.empty, 48 << 20, dtype="uint8", device="level_zero")
        assert "50331648 bytes of device memory" in text and "relaxed" not in text, text
        del first
        assert usmpy.full(48 << 20, 3, dtype="uint8", device="level_zero")[-1].item() == 3
        """,
        ZESIM_MEMORY_MIB="64",
        ZESIM_MAX_ALLOC_MIB="16",
    )


def test_memory_that_the_driver_does_not_describe():
    check(
        """
        queue = usmpy.Queue("level_zero")
        x = usmpy.arange(5, dtype="int32", queue=queue, usm_type="shared")
        theirs = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
        own = (ctypes.c_int32 * 5)()
        queue.wait()
        fail("zeMemGetAllocProperties", 1, 100)
        for other in (queue, theirs):
            said(usmpy.UsmError, usmpy.USMArray.from_pointer, ctypes.addressof(own), 5, "int32", queue=other)
        fail("zeMemGetAllocProperties", 1, 0)
        assert x.tolist() == [0, 1, 2, 3, 4]
        """
    )


def test_a_list_for_copies_that_cannot_be_made():
    check(
        """
        queue = usmpy.Queue("level_zero")
        x = usmpy.zeros(1 << 22, dtype="uint8", queue=queue)
        y = usmpy.full(1 << 22, 3, dtype="uint8", usm_type="host", queue=queue)
        queue.wait()
        fail("zeCommandListCreateImmediate", 1, 2)
        assert "zeCommandListCreateImmediate" in said(usmpy.UsmError, lambda: queue.memcpy(x, y).wait())
        queue.memcpy(x, y).wait()
        assert x[-1].item() == 3
        """
    )


def place(name):
    for backend in backends.BACKENDS:
        if backend.name == name:
            return backend.device()
    pytest.skip(f"this run has no {name}")


@pytest.mark.parametrize("way", ["to", "from"])
def test_large_copies_between_two_backends_go_in_pieces(way):
    """The rows of a piece are those of an inner axis, and repeated axes have no pieces of their own."""
    here, there = place("level-zero-sim"), place(backends.CUDA_NAME)
    if way == "from":
        here, there = there, here
    shape = (2, 3, 300, 500)
    row = usmpy.arange(500, dtype="int64", device=here)
    x = usmpy.arange(2 * 3 * 300 * 500, dtype="int64", device=here).reshape(shape)
    y = usmpy.zeros((2, 3, 300, 1000), dtype="int64", device=there)[..., ::2]
    usmpy.copyto(y, x)
    assert np.array_equal(y.asnumpy(), x.asnumpy())
    usmpy.copyto(y, usmpy.broadcast_to(row, shape))
    assert np.array_equal(y.asnumpy(), np.broadcast_to(row.asnumpy(), shape))
    between = x[:, :1].transpose(1, 0, 2, 3)
    usmpy.copyto(y.transpose(1, 0, 2, 3), usmpy.broadcast_to(between, (3, 2, 300, 500)))
    assert np.array_equal(y.asnumpy(), np.broadcast_to(x[:, :1].asnumpy(), shape))


@pytest.mark.parametrize("version", ["1.6", "1.12"])  # drivers before 1.7 have no lists in order
@pytest.mark.parametrize("in_order", [True, False])
def test_points_in_a_list_that_others_use(in_order, version):
    """A barrier comes after what others appended, and after its dependencies."""
    check(
        f"""
        queue = usmpy.Queue("level_zero", in_order={in_order})
        other = usmpy.Queue("level_zero", context=queue.context)
        x, y = (usmpy.zeros(1000, dtype="int32", queue=each) for each in (queue, other))
        queue.wait()
        other.wait()
        assert queue.native_handle
        sim.zesimPause(1)
        filled = other.fill(y, 5)
        point = queue.barrier(depends=[filled])
        last = queue.fill(x, 3, depends=[point])
        assert not point.done
        sim.zesimPause(0)
        last.wait()
        assert filled.done and point.done
        assert (x.tolist(), y.tolist()) == ([3] * 1000, [5] * 1000)
        """,
        ZESIM_API=version,
    )


def test_a_copy_that_is_refused_while_it_is_early_leaves_no_memory():
    check(
        """
        from another import copy_while_refused
        name = "zeCommandListAppendMemoryCopy"
        copy_while_refused(usmpy.Queue("level_zero"), 3, lambda: calls(name),
                           lambda n: fail(name, max(n, 1), 1 if n else 0), sim.zesimPause,
                           lambda: live("device_memory"))
        """
    )
