"""dpctl and dpnp on Intel's OpenCL runtime: SYCL's queues, contexts and memory, and ours, in place.

They need an environment of 2.9 GB: ``python tests/tools/with_dpctl.py`` makes one and runs this file.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from libraries import have

import usmpy

if "ZE_ENABLE_ALT_DRIVERS" in os.environ:
    pytest.skip(
        "SYCL's Level Zero adapter crashes on the software driver behind a loader of version 1.8; "
        "python tests/tools/with_dpctl.py leaves that driver out",
        allow_module_level=True,
    )
COMMAND = "python tests/tools/with_dpctl.py makes an environment with dpctl and dpnp, and runs this file"
dpctl = have("dpctl", COMMAND)
dpnp = have("dpnp", COMMAND)
dpt = have("dpnp.tensor", COMMAND)
have("dpctl.memory", COMMAND)
if any("Intel" not in device.vendor for device in dpctl.get_devices()):
    pytest.skip(
        "dpnp 0.20 ends the process where SYCL lists PoCL beside Intel's runtime; "
        "OCL_ICD_VENDORS with a folder of one file shows one driver alone",
        allow_module_level=True,
    )

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "interop-dpctl.md"


@pytest.fixture(scope="module")
def sycl_device():
    """Intel's; PoCL, which SYCL also lists, has no unified shared memory."""
    for device in dpctl.get_devices(backend="opencl", device_type="cpu"):
        if device.has_aspect_usm_shared_allocations:
            return device
    pytest.skip("the SYCL runtime lists no OpenCL device for processors with unified shared memory")


@pytest.fixture(params=["out of order", "in order"])
def sycl_queue(request, sycl_device):
    return dpctl.SyclQueue(sycl_device, property=[] if request.param == "out of order" else ["in_order"])


@pytest.fixture
def ours(sycl_device):
    """usmpy's name for the same device."""
    for device in usmpy.get_devices("opencl"):
        if device.vendor == sycl_device.vendor:
            return device
    raise AssertionError("dpctl lists a device that usmpy does not")


def address(array):
    return array.__sycl_usm_array_interface__["data"][0] + (
        array.__sycl_usm_array_interface__["offset"] * array.itemsize
    )


# Theirs in usmpy.


@pytest.mark.parametrize("take", [usmpy.from_dlpack, usmpy.asarray], ids=lambda take: take.__name__)
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_an_array_of_dpnp_is_taken_in_place_on_its_own_queue(sycl_queue, take, kind):
    theirs = dpnp.arange(10, dtype="float32", usm_type=kind, sycl_queue=sycl_queue)
    x = take(theirs)
    assert (x.data_ptr, x.usm_type, x.device.backend) == (
        address(theirs),
        kind,
        "opencl",
    )
    assert x.queue.in_order == sycl_queue.is_in_order
    assert x.tolist() == list(range(10))
    x[3:] = 7
    x.wait()
    assert dpnp.asnumpy(theirs).tolist() == [0, 1, 2] + [7] * 7


def test_arrays_of_one_sycl_queue_share_one_queue(sycl_queue):
    one, two = (usmpy.asarray(dpnp.ones(3, sycl_queue=sycl_queue)) for _ in range(2))
    assert one.queue == two.queue
    assert usmpy.concat([one, two]).tolist() == [1] * 6
    other = dpctl.SyclQueue(sycl_queue.sycl_device)
    three = usmpy.asarray(dpnp.ones(3, sycl_queue=other))
    assert three.queue != one.queue
    with pytest.raises(usmpy.ExecutionPlacementError):
        usmpy.concat([one, three])


def test_threads_that_take_from_one_sycl_queue_get_one_queue(sycl_queue):
    arrays, start = [], threading.Barrier(8)

    def take():
        theirs = dpnp.ones(3, sycl_queue=sycl_queue)
        start.wait()
        arrays.append(usmpy.asarray(theirs))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({x.queue for x in arrays}) == 1


def test_work_that_dpnp_has_begun_is_finished_first(sycl_queue):
    ones = dpnp.ones((1000, 1000), dtype="float32", sycl_queue=sycl_queue)
    for _ in range(5):
        result = ones
        for _ in range(4):
            result = dpnp.matmul(result, ones) / 1000
        assert (usmpy.from_dlpack(result).asnumpy() == 1).all()


@pytest.mark.parametrize("index", [np.s_[1::2, ::-2], np.s_[::-1], np.s_[2], np.s_[1, 3], np.s_[:, 2:]])
def test_views_of_theirs(sycl_queue, index):
    theirs = dpnp.reshape(dpnp.arange(24, sycl_queue=sycl_queue), (4, 6))[index]
    x = usmpy.asarray(theirs)
    assert (x.data_ptr, x.tolist()) == (address(theirs), dpnp.asnumpy(theirs).tolist())


def test_an_array_in_a_context_of_its_own(sycl_device):
    """dpnp has no DLPack for these: the interface tells the context."""
    context = dpctl.SyclContext(sycl_device)
    queue = dpctl.SyclQueue(context, sycl_device, property="in_order")
    theirs = dpnp.arange(5, dtype="int32", sycl_queue=queue)
    x = usmpy.from_dlpack(theirs)
    assert x.data_ptr == address(theirs)
    assert x.context == usmpy.Context.from_native("opencl", context)
    assert not x.context.is_default
    x[0] = 9
    assert dpnp.asnumpy(theirs).tolist() == [9, 1, 2, 3, 4]


def test_memory_of_dpctl(sycl_queue):
    for kind in ("Device", "Shared", "Host"):
        memory = getattr(dpctl.memory, f"MemoryUSM{kind}")(64, queue=sycl_queue)
        x = usmpy.asarray(memory)
        assert (x.dtype, x.shape, x.usm_type) == (usmpy.uint8, (64,), kind.lower())
        assert x.flags.writable  # its flag, which is true, means that
        x[:] = 3
        x.wait()
        assert bytes(memory.copy_to_host()) == b"\3" * 64


def test_read_only_arrays_stay_so(sycl_queue):
    theirs = dpt.arange(3, sycl_queue=sycl_queue)
    theirs.flags["W"] = False
    assert not usmpy.asarray(theirs).flags.writable


def test_borrow_is_in_order_on_both_sides(sycl_queue):
    theirs = dpnp.zeros(1 << 20, dtype="int32", sycl_queue=sycl_queue)
    for n in range(1, 20):
        theirs += 1
        with usmpy.borrow(theirs) as x:
            assert x.data_ptr == address(theirs)
            assert x[-1].item() == 2 * n - 1
            x[...] = 2 * n
        assert dpnp.asnumpy(theirs)[-1] == 2 * n


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_a_processor_of_another_context_uses_it_in_place(sycl_queue, ours, kind):
    theirs = dpt.arange(4, dtype="int32", sycl_queue=sycl_queue, usm_type=kind)
    memory = usmpy.from_dlpack(theirs)
    assert memory.queue.context != ours.queue.context
    assert usmpy.memory_connection(memory, ours) is usmpy.MemoryConnection.UNIFIED
    for copy in (None, False):
        x = usmpy.from_dlpack(theirs, device=ours, copy=copy)
        assert (x.queue, x.tolist()) == (ours.queue, [0, 1, 2, 3])
        assert x.data_ptr == address(theirs)
        assert usmpy.concat([x[::-1], x]).tolist() == [3, 2, 1, 0, 0, 1, 2, 3]  # by kernels of this context
        x[::2] = 7
        assert dpt.asnumpy(theirs).tolist() == [7, 1, 7, 3]
        x.queue.memcpy(x, usmpy.arange(4, dtype="int32", queue=x.queue)).wait()
    copied = usmpy.from_dlpack(theirs, device=ours, copy=True)
    assert (copied.queue, copied.tolist()) == (ours.queue, [0, 1, 2, 3])
    assert copied.data_ptr != address(theirs)
    assert usmpy.from_dlpack(theirs, device="host").data_ptr == address(theirs)


def test_their_memory_outlives_their_array(sycl_queue):
    theirs = dpnp.arange(1000, dtype="int32", sycl_queue=sycl_queue)
    x = usmpy.asarray(theirs)
    del theirs, sycl_queue
    gc.collect()
    x[...] = 5
    assert x.tolist() == [5] * 1000


# Queues and contexts.


def test_native_objects_of_sycl(sycl_queue, ours):
    queue = usmpy.Queue.from_native("opencl", sycl_queue)
    context = usmpy.Context.from_native("opencl", sycl_queue.sycl_context)
    assert queue.device == ours or queue.device.native_handle == ours.native_handle
    assert queue.context == context
    assert queue != usmpy.Queue.from_native("opencl", sycl_queue)
    assert usmpy.Queue.from_native("opencl", sycl_queue._get_capsule()).context == context
    assert usmpy.asarray(dpnp.ones(2, sycl_queue=sycl_queue)).queue == queue  # the one that is there
    assert usmpy.Queue.from_native("opencl", sycl_queue, owner=object()).native_handle == queue.native_handle


def test_native_objects_of_another_sort_are_refused(sycl_queue):
    with pytest.raises(TypeError, match="SyclContext, which is a context of backend opencl"):
        usmpy.Queue.from_native("opencl", sycl_queue.sycl_context)
    with pytest.raises(TypeError, match="SyclQueue, which is a queue of backend opencl"):
        usmpy.Context.from_native("opencl", sycl_queue)
    with pytest.raises(TypeError, match=r"handle is a dpctl.*SyclDevice"):
        usmpy.Queue.from_native("opencl", sycl_queue.sycl_device)


def references(queue):
    """The driver's own count of the queue and of its context."""
    cl = pytest.importorskip("pyopencl")
    return (
        cl.CommandQueue.from_int_ptr(queue.native_handle).reference_count,
        cl.Context.from_int_ptr(queue.context.native_handle).reference_count,
    )


def test_counts_of_the_driver_come_back(sycl_queue, ours):
    queue = usmpy.Queue.from_native("opencl", sycl_queue)
    own = usmpy.Queue(ours)
    x = usmpy.zeros(4, queue=own)
    theirs = dpnp.ones(3, sycl_queue=sycl_queue)
    for n in range(20):
        usmpy.asarray(theirs)
        usmpy.Queue.from_native("opencl", sycl_queue)
        usmpy.Context.from_native("opencl", sycl_queue.sycl_context)
        dpctl.SyclQueue(own._get_capsule())
        own._get_capsule()
        dpctl.memory.as_usm_memory(x)
        if n == 0:  # the runtime keeps the last command of a queue
            before = references(queue), references(own)
    deadline = time.monotonic() + 60  # the driver releases objects shortly after their commands complete
    while (references(queue), references(own)) != before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert (references(queue), references(own)) == before


# Ours in dpctl and dpnp.


def test_an_array_on_their_queue_is_theirs_in_place(sycl_queue):
    queue = usmpy.Queue.from_native("opencl", sycl_queue)
    x = usmpy.zeros((3, 4), dtype="float32", queue=queue)
    assert x.__sycl_usm_array_interface__["syclobj"] is sycl_queue
    theirs = dpt.asarray(x)
    assert (address(theirs), theirs.sycl_queue) == (x.data_ptr, sycl_queue)
    theirs += 1
    sycl_queue.wait()
    assert x.tolist() == [[1] * 4] * 3
    memory = dpctl.memory.as_usm_memory(x)
    assert (memory.get_usm_type(), memory.nbytes) == ("device", 48)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_an_array_on_our_queue_is_theirs_in_place(ours, kind):
    queue = usmpy.Queue(ours)
    x = usmpy.zeros((3, 4), dtype="float32", queue=queue, usm_type=kind)
    assert x.__sycl_usm_array_interface__["syclobj"] is x.queue
    theirs = dpt.asarray(x, copy=False)
    assert (address(theirs), theirs.usm_type) == (x.data_ptr, kind)
    back = usmpy.asarray(theirs)
    assert (back.queue, back.data_ptr) == (queue, x.data_ptr)
    for n in range(1, 5):  # one queue of the driver's: the order is that of the calls
        theirs += 1
        x.queue.wait()
        assert x[0, 0].item() == 2 * n - 1
        x[...] = 2 * n
    assert dpt.asnumpy(theirs).tolist() == [[8] * 4] * 3


def test_their_array_over_our_memory_outlives_ours(ours):
    queue = usmpy.Queue(ours)
    x = usmpy.full(1000, 3, dtype="int32", queue=queue)
    theirs = dpt.asarray(x)
    del x, queue
    gc.collect()
    theirs *= 2
    assert (dpt.asnumpy(theirs) == 6).all()


@pytest.mark.parametrize("index", [np.s_[1:, ::2], np.s_[2], np.s_[1, 2], np.s_[:, 3]])
def test_views_of_ours(ours, index):
    x = usmpy.reshape(usmpy.arange(24, device=ours), (4, 6))[index]
    theirs = dpt.asarray(x)
    assert (address(theirs), dpt.asnumpy(theirs).tolist()) == (x.data_ptr, x.tolist())


def test_queues_that_dpctl_cannot_express_are_refused(ours):
    x = usmpy.reshape(usmpy.arange(24, device=ours), (4, 6))
    with pytest.raises(ValueError, match="can not accommodate"):
        dpt.asarray(x[::-1])
    with pytest.raises(ValueError, match="not bound"):
        dpt.asarray(x[:0])


def test_dlpack_of_ours(ours, sycl_device):
    """SYCL's default context is another one than ours: memory of either is none of the other's."""
    x = usmpy.arange(4, dtype="int32", device=ours)
    assert x.__dlpack_device__() == (1, 0)
    assert type(dpnp.from_dlpack(x)) is np.ndarray
    place = (14, sycl_device.get_device_id())
    assert ours.dlpack_device == place
    with pytest.raises(BufferError, match="not bound to default sycl context"):
        dpnp.from_dlpack(x, device=place)
    default = dpctl.SyclQueue(sycl_device)
    y = usmpy.arange(4, dtype="int32", queue=usmpy.Queue.from_native("opencl", default))
    theirs = dpnp.from_dlpack(y, device=place)  # through the host
    assert type(theirs) is dpnp.ndarray
    assert address(theirs) != y.data_ptr
    assert dpnp.asnumpy(theirs).tolist() == [0, 1, 2, 3]


def test_dlpack_capsules_alone_mean_the_default_context(sycl_queue, ours):
    class Capsules:
        """dpnp's DLPack without its interface."""

        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    theirs = dpnp.arange(4, dtype="int32", sycl_queue=sycl_queue)
    sycl_queue.wait()
    x = usmpy.from_dlpack(Capsules(theirs))
    assert (x.queue, x.data_ptr, x.tolist()) == (ours.queue, address(theirs), [0, 1, 2, 3])


def test_a_device_that_sycl_does_not_list(sycl_device):
    for device in usmpy.get_devices("opencl"):
        parts = device.max_compute_units > 1 and device.vendor == sycl_device.vendor
        if not parts:
            continue
        part = device.create_sub_devices(1)[0]
        with pytest.raises(BufferError, match="does not list"):
            usmpy.Queue(part)._get_capsule()
        return
    pytest.skip("the device has one compute unit: it has no part smaller than itself")


def test_their_recipe_runs(tmp_path):
    """In docs/recipes.md, which CI runs without them."""
    root = GUIDE.parents[1]
    done = subprocess.run(
        [sys.executable, root / "tests" / "tools" / "pages.py", root / "docs" / "recipes.md"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    left_out = json.loads(done.stdout.splitlines()[-1])["left out"]
    assert not [names for names in left_out.values() if "dpnp" in names]


def test_the_guide_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})


class Named:
    """Memory whose interface names another object as its place."""

    def __init__(self, memory, syclobj):
        self.__sycl_usm_array_interface__ = {**memory.__sycl_usm_array_interface__, "syclobj": syclobj}


def test_a_context_stands_for_a_queue_of_it(sycl_device):
    context = dpctl.SyclContext(sycl_device)
    theirs = dpctl.memory.MemoryUSMShared(16, queue=dpctl.SyclQueue(context, sycl_device))
    for syclobj in (context, context._get_capsule()):
        x = usmpy.asarray(Named(theirs, syclobj))
        assert x.data_ptr == theirs._pointer
        assert x.context == usmpy.Context.from_native("opencl", context)


def test_a_queue_that_was_theirs_gives_their_capsule(sycl_queue):
    queue = usmpy.Queue.from_native("opencl", sycl_queue)
    assert dpctl.SyclQueue(queue._get_capsule()) == sycl_queue
