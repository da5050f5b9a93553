"""Which DLPack devices CUDA memory is seen as, and where such memory of others lands."""

from __future__ import annotations

import os
import subprocess
import sys

import cuda_peers
import no_drivers
import numpy as np
import producers
import pytest
from cuda_peers import CUDA, CUDA_HOST, CUDA_MANAGED
from dlpack_type import NAME

import usmpy

N = 64


@pytest.fixture(params=range(2))
def gpu(request, device):
    return usmpy.Device(f"cuda:gpu:{request.param}")


def number(gpu):
    return int(gpu.filter_string.rpartition(":")[2])


# -- ours ------------------------------------------------------------------------------------------

FIRST = {"device": CUDA, "shared": CUDA_MANAGED, "host": CUDA_HOST}


@pytest.mark.parametrize("usm_type", FIRST)
def test_the_first_view_says_what_kind_of_memory_it_is(gpu, usm_type):
    x = usmpy.zeros(3, device=gpu, usm_type=usm_type)
    shown = (CUDA, number(gpu)) if usm_type == "device" else (FIRST[usm_type], 0)
    assert x.__dlpack_device__() == shown
    tensor = producers.peek(x.__dlpack__(max_version=(1, 0))).dl_tensor
    assert tensor.describe()["device"] == shown
    assert gpu.dlpack_device == (CUDA, number(gpu))


@pytest.mark.parametrize("usm_type", FIRST)
def test_other_true_views_are_returned_without_a_copy(gpu, usm_type):
    x = usmpy.zeros(3, device=gpu, usm_type=usm_type)
    views = [(CUDA, number(gpu))] + ([(1, 0)] if usm_type != "device" else [])
    for view in views:
        tensor = producers.peek(x.__dlpack__(max_version=(1, 0), dl_device=view)).dl_tensor
        assert (tensor.describe()["device"], tensor.data) == (view, x.data_ptr)
    oneapi = producers.peek(x.__dlpack__(max_version=(1, 0), dl_device=(producers.ONEAPI, number(gpu))))
    assert oneapi.dl_tensor.data == x.data_ptr


@pytest.mark.parametrize("usm_type", FIRST)
def test_views_that_are_not_true_are_refused(gpu, usm_type):
    x = usmpy.zeros(3, device=gpu, usm_type=usm_type)
    others = {(CUDA, 1 - number(gpu)), (CUDA, 9), (CUDA_MANAGED, 0), (CUDA_HOST, 0), (1, 1), (14, 9), (77, 0)}
    for view in others - {x.__dlpack_device__(), (CUDA, number(gpu))}:
        with pytest.raises(BufferError, match="no such device"):
            x.__dlpack__(max_version=(1, 0), dl_device=view)


def test_device_memory_is_copied_for_the_host_alone_and_finished(device):
    x = usmpy.asarray(np.arange(N, dtype="float32"), device=device)
    managed = producers.peek(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert managed.flags & producers.IS_COPIED
    assert managed.dl_tensor.describe()["device"] == (1, 0)
    assert np.from_dlpack(x, device="cpu").tolist() == list(range(N))
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        np.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match="no streams"):
        x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), stream=1)


def test_flags_and_versions_are_those_of_other_memory(device):
    x = usmpy.broadcast_to(usmpy.zeros(3, dtype="int8", device=device), (2, 3))
    stream = device.queue.native_handle
    assert producers.peek(x.__dlpack__(stream=stream, max_version=(1, 0))).flags & producers.READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(stream=stream)
    y = usmpy.zeros((4, 4), device=device)[::2, ::-1]
    tensor = producers.peek(y.__dlpack__(stream=stream)).dl_tensor
    assert (tensor.describe()["strides"], tensor.data) == ((8, -1), y.data_ptr)


# -- those of others -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["device", "managed", "host"])
@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Dlpack])
@pytest.mark.parametrize("current", [0, 1, None])
def test_memory_lands_on_the_device_that_it_is_on(peer, driver, device, gpu, kind, cls, current):
    theirs = peer.array(N, 7, cls=cls, device=number(gpu), kind=kind, late=True)
    with driver.on(current):
        x = usmpy.from_dlpack(theirs)
        # Pinned memory is of all devices alike; the driver says whose context it was made in.
        assert x.queue is gpu.queue
        assert x.usm_type == {"device": "device", "managed": "shared", "host": "host"}[kind]
        assert x.data_ptr == theirs.address
        assert x.asnumpy().tolist() == [7] * N
    assert x.__dlpack_device__() == theirs.dlpack_device


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Dlpack])
def test_memory_of_another_device_is_copied_on_request(peer, device, gpu, cls):
    theirs = peer.array(N, 7, cls=cls, device=number(gpu), late=True)
    other = usmpy.Device(f"cuda:gpu:{1 - number(gpu)}")
    for place in (other, other.dlpack_device):
        x = usmpy.from_dlpack(theirs, device=place)
        assert x.queue is other.queue
        assert x.data_ptr != theirs.address  # the devices reach each other's memory, over a link
        assert x.tolist() == [7] * N
        assert tuple(x.__dlpack_device__()) == other.dlpack_device
        view = usmpy.from_dlpack(theirs, device=place, copy=False)
        assert (view.queue, view.data_ptr) == (other.queue, theirs.address)
        assert view.copy().tolist() == [7] * N
    for place in ("host", (1, 0)):
        x = usmpy.from_dlpack(theirs, device=place)
        assert x.queue is usmpy.Device("host").queue
        assert x.tolist() == [7] * N
        with pytest.raises(BufferError, match="copy=False"):
            usmpy.from_dlpack(theirs, device=place, copy=False)


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy])
def test_a_copy_is_ordered_before_the_owners_later_work(peer, driver, device, cls):
    """The owner may change its memory at once: its stream waits for the copy, and the host does not."""
    usmpy.from_dlpack(peer.array(N, 1, cls=cls), copy=True).wait()
    theirs = peer.array(N, 7, cls=cls, late=True)
    before = driver.calls("cuEventSynchronize")
    x = usmpy.from_dlpack(theirs, copy=True)
    assert driver.is_busy(theirs.stream)
    theirs.fill(1)
    assert driver.calls("cuEventSynchronize") == before
    assert x.tolist() == [7] * N
    assert theirs.read() == b"\1" * N


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Dlpack])
def test_arrays_of_others_are_operands(peer, device, cls):
    theirs = peer.array(N, 7, cls=cls, late=True)
    x = usmpy.zeros(N, dtype="int8", device=device)
    x[...] = theirs
    theirs.fill(1)
    assert x.tolist() == [7] * N
    usmpy.copyto(theirs, x)
    assert theirs.read() == b"\7" * N
    assert usmpy.asarray(theirs).data_ptr == theirs.address


# -- what cannot be --------------------------------------------------------------------------------


def tensor_at(address, **keywords):
    tensor = producers.Tensor((N,), "int8", data=address, memory=0, **keywords)
    return producers.Producer(lambda: tensor.capsule(), device=keywords["device"]), tensor


@pytest.mark.parametrize("address", [0x1000, 0xDEADBEEF000])
def test_a_pointer_that_the_driver_does_not_know_is_refused(device, address):
    for type_ in (CUDA, CUDA_MANAGED, CUDA_HOST):
        producer, tensor = tensor_at(address, device=(type_, 0))
        with pytest.raises(BufferError, match="does not know"):
            usmpy.from_dlpack(producer)
        assert tensor.deleted == 1


def test_memory_of_the_host_is_not_the_devices(device):
    producer, tensor = producers.producer((N,), "int8", device=(CUDA, 0))
    producer.device = (CUDA, 0)
    with pytest.raises(BufferError, match="does not know"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


def test_more_than_the_allocation_has_is_refused(peer, device):
    theirs = peer.array(N, 7)
    producer, tensor = tensor_at(theirs.address + 1, device=(CUDA, 0))
    with pytest.raises(BufferError, match="allocation of 64 bytes"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


def test_a_producer_that_names_the_wrong_device_is_refused(peer, device):
    theirs = peer.array(N, 7, device=1)
    producer, tensor = tensor_at(theirs.address, device=(CUDA, 0))
    with pytest.raises(BufferError, match="device 1"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


def test_a_missing_device_is_refused(device):
    producer, tensor = tensor_at(0x1000, device=(CUDA, 9))
    with pytest.raises(BufferError, match=rf"{NAME} \({CUDA}\), id 9"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


# Without the devices of OpenCL and Level Zero, which have that name before CUDA's.
PROGRAM = """
import producers

def given(data, n, place):
    source, _ = producers.producer((n,), device=place, data=data)
    source.device = place
    return usmpy.from_dlpack(source)

for i, device in enumerate(usmpy.get_devices("cuda")):
    x = usmpy.ones(3, device=device)
    x.queue.wait()
    for data, n in ((0, 0), (x.data_ptr, 3)):
        assert given(data, n, (producers.ONEAPI, i)).queue.device == device
    try:
        given(64, 3, (producers.ONEAPI, i))
    except BufferError as error:
        assert "the cuda driver does not know" in str(error), error
    else:
        raise AssertionError("it is nobody's memory")
"""


def test_no_elements_and_memory_that_is_nobodys():
    head = no_drivers.HEAD.replace('== ["host"]', '== ["cuda"] * 2 + ["host"]')
    hidden = {name: value for name, value in no_drivers.HIDDEN.items() if name != "USMPY_CUDA_LIBRARY"}
    done = subprocess.run(
        [sys.executable, "-c", head + PROGRAM],
        env={**os.environ, **hidden, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
