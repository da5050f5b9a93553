"""Chunks of dask.array in one process and in two, their frames, and spilling.

tests/tools/with_processes.py makes an environment. Where a function of dask.array fails on USMArrays, dask
may go on with NumPy's: the tests look at the type of every chunk and of ``_meta``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import threading
import time

import cuda_drivers
import numpy as np
import pytest
from asleep import once_asleep
from libraries import have

import usmpy

COMMAND = "python tests/tools/with_processes.py dask runs these tests in an environment of their own"
da = have("dask.array", COMMAND)
distributed = have("distributed", COMMAND)
zarr = have("zarr", COMMAND)
dask = have("dask", COMMAND)

from distributed.protocol import deserialize, deserialize_bytes, serialize, serialize_bytes  # noqa: E402

SUITED = pytest.mark.only_on("host-accessible", "!sub-device")
VALUES = np.random.default_rng(7).permutation(np.arange(24.0)).reshape(4, 6)

# Of d, an array of 2 x 2 chunks. Where a | follows, dask itself loses _meta of every library but NumPy.
CALLS = """
d + 1; 2 - d; d + d; d * np.float64(2); -d; abs(d); d ** 2; d // 2; d % 3; d > 3; (d > 3) & (d < 9); ~(d > 3);
np.sin(d); da.exp(d); da.hypot(d, d + 1); da.maximum(d, 5); da.isnan(d); da.where(d > 3, d, -d);
da.where(d > 3, d, 0); d.clip(2, 7); d.round(1); d.astype("float32"); d.astype(usmpy.int32); d.real; d.conj();
da.isclose(d, d); da.add(d, 1, out=da.empty_like(d)); da.sqrt(d.astype("float32"));
d.sum(); d.sum(axis=0); d.sum(axis=1, keepdims=True); d.prod(axis=0); d.mean(); d.mean(axis=1); d.var();
d.var(axis=0, ddof=1); d.std(axis=(0, 1)); d.moment(3); d.max(); d.min(axis=0); d.argmax(); d.argmin(axis=0);
d.argmax(axis=1); (d > 3).any(); (d > 30).all(axis=0); da.ptp(d, axis=0); da.count_nonzero(d);
da.linalg.norm(d);
da.average(d, axis=0); da.cov(d); da.corrcoef(d); da.trace(d[:, :4]); d.astype("int32").sum(axis=0);
da.nansum(d); da.nanmean(d, axis=0); da.nanvar(d); da.nanstd(d, axis=1); da.nanmax(d); da.nanmin(d, axis=0);
da.nanargmax(d, axis=0); da.nanprod(d / 9, axis=0); da.nancumsum(d, axis=0); da.median(d, axis=0);
da.nanmedian(d, axis=1); da.quantile(d, 0.3, axis=1); da.quantile(d, [0.1, 0.5], axis=0) | ;
d.cumsum(axis=0); d.cumprod(axis=1); da.topk(d, 2, axis=1);
da.reduction(d, np.sum, np.sum, dtype="float64"); da.coarsen(np.sum, d, {0: 2, 1: 3}) | ;
d @ d.T; d.dot(d.T); da.tensordot(d, d, axes=((1,), (1,))); da.einsum("ij,kj->ik", d, d);
da.outer(d[0], d[1]);da.vdot(d, d);
d.map_blocks(lambda b: b * 2); d.map_overlap(twice_neighbours, depth=1, boundary="reflect");
d.map_overlap(twice_neighbours, depth=1, boundary="none"); d.map_overlap(lambda b: b, depth=1, boundary=0.0);
d.map_overlap(twice_neighbours, depth=1, boundary="periodic"); da.map_blocks(np.add, d, d);
da.overlap.overlap(d, depth=1, boundary="nearest"); da.apply_gufunc(np.multiply, "(),()->()", d, d);
d.rechunk((4, 2)); d.rechunk((1, 6)); da.concatenate([d, d + 1], axis=1); da.stack([d, d], axis=1);
da.block([[d, d], [d, d]]); da.vstack([d, d]); d.reshape(24); d.ravel(); d.reshape(2, 2, 6); d.T;
d.swapaxes(0, 1); da.moveaxis(d, 0, 1); d[:1].squeeze(); da.expand_dims(d, 1); da.broadcast_to(d, (2, 4, 6));
da.roll(d, 1, axis=0); da.flip(d, 0); da.repeat(d, 2, axis=0); da.tile(d, 2); da.pad(d, 1);
da.pad(d, 2, mode="edge"); da.pad(d, 1, mode="reflect"); da.pad(d, 1, mode="mean"); da.tril(d[:, :4]);
da.diag(d[0]); da.diagonal(d); da.diff(d, axis=0); da.compress([True, False, True, True], d, axis=0);
da.atleast_3d(d); d.shuffle([[0, 1], [3, 2]], axis=0);
d[1:, ::2]; d[1]; d[1, 1]; d[::-1]; d[[0, 3, 1]]; d[:, None]; da.take(d, [1, 2], axis=1);
d.vindex[[0, 1], [1, 2]]; d[d > 3] | ; da.extract(d > 3, d) | ; assigned(d, np.s_[:2, 0], 7.0);
assigned(d, d > 3, 0.0); da.digitize(d, np.array([3.0, 5.0]));
da.bincount(d.astype("int64").ravel(), minlength=24);
da.histogram(d, bins=4, range=(0, 24))[0] | ; da.choose((d > 3).astype("int64"), [d, -d]); da.unique(d);
da.select([d > 9, d > 3], [d, -d], default=1.0); da.searchsorted(da.arange(3.0, like=d) + d[0, 0] * 0, d[0]);
da.isin(d, da.asarray([1.0, 2.0], like=d._meta));
da.zeros_like(d); da.ones_like(d); da.full_like(d, 3); da.asarray([1.0, 2], like=d._meta);
da.asarray(d); da.asanyarray(d); da.from_array(d.compute(), chunks=2);
da.cumsum(d, axis=0, method="blelloch") |
"""


def twice_neighbours(b):
    return b + np.roll(b, 1, axis=0) + np.roll(b, -1, axis=1)


def assigned(d, key, value):
    d = d.copy()
    d[key] = value
    return d


def chunks(d):
    return dask.compute(*np.ravel(d.to_delayed()).tolist(), scheduler="sync")


def on(device, values=VALUES, size=(2, 3)):
    x = usmpy.asarray(values, device=device, copy=True)
    return da.from_array(x, chunks=size)


@SUITED
@pytest.mark.parametrize("call", [call for call in CALLS.replace("\n", " ").split(";") if call.strip()])
def test_chunks_stay_usmarrays(device, call):
    call, bar, _ = call.strip().partition(" |")
    names = {"da": da, "np": np, "usmpy": usmpy, "twice_neighbours": twice_neighbours, "assigned": assigned}
    expected = eval(call, names, {"d": da.from_array(VALUES, chunks=(2, 3))})
    result = eval(call, names, {"d": on(device)})
    if not bar:
        assert type(result._meta) is usmpy.USMArray
        assert result.dtype == expected.dtype.name
    for chunk in chunks(result):
        assert type(chunk) is usmpy.USMArray
        assert chunk.device == device
    computed = result.compute(scheduler="sync")
    assert type(computed) is usmpy.USMArray
    np.testing.assert_allclose(computed.asnumpy(), expected.compute(scheduler="sync"), rtol=1e-6, atol=1e-10)


# The backend "usmpy".

CREATIONS = """
da.ones((4, 6), chunks=2); da.zeros((4,), dtype="int32", chunks=2); da.full((5,), 7, chunks=2);
da.arange(5, chunks=2);
da.empty((3, 2), dtype="float32"); da.arange(1, 9, 3, dtype="int16");
da.zeros_like(da.ones((2, 2), dtype="int8"));
da.random.default_rng(3).random((4, 4), chunks=2); da.random.default_rng(3).normal(2, 1, (4, 4), chunks=2);
da.random.default_rng(3).integers(0, 10, (10,), chunks=5); da.random.random((4, 4), chunks=2);
da.random.default_rng(3).random(9, dtype="float32");
da.random.RandomState(4).randint(0, 4, size=10, chunks=5);
da.random.uniform(2, 3, (10,), chunks=5); da.random.default_rng(3).exponential(2.0, 8, chunks=4);
da.random.default_rng(3).standard_normal(4); da.random.normal(da.zeros((4,), chunks=2), 1, chunks=2)
"""


@pytest.mark.parametrize("call", CREATIONS.replace("\n", " ").split(";"))
def test_creation_functions_of_the_backend(call):
    expected = eval(call.strip())
    with dask.config.set({"array.backend": "usmpy"}):
        result = eval(call.strip())
    assert type(result._meta) is usmpy.USMArray
    for chunk in chunks(result):
        assert type(chunk) is usmpy.USMArray
        assert chunk.device == usmpy.Device()
    assert (result.shape, result.chunks, result.dtype) == (
        expected.shape,
        expected.chunks,
        expected.dtype.name,
    )
    if "random" not in call and "empty" not in call:
        assert result.compute(scheduler="sync").tolist() == expected.compute(scheduler="sync").tolist()


def test_random_numbers_of_a_seed():
    with dask.config.set({"array.backend": "usmpy"}):
        x, y = (da.random.default_rng(5).normal(10, 2, (200, 200), chunks=100) for _ in range(2))
        blocks = chunks(x)
        assert x.name == y.name
        assert x.compute(scheduler="sync").tolist() == y.compute(scheduler="sync").tolist()
    assert abs(x.mean().compute().item() - 10) < 0.1
    assert abs(x.std().compute().item() - 2) < 0.1
    assert len({block.tobytes() for block in blocks}) == 4  # each chunk has a seed of its own


@SUITED
def test_a_device_of_creation_functions(device):
    with dask.config.set({"array.backend": "usmpy"}):
        x = da.ones((4, 4), chunks=2, device=device) + da.arange(4, chunks=2, device=device)
        y = da.random.default_rng(1).random((4, 4), chunks=2, dtype="float32", device=device)
    assert [chunk.device for chunk in chunks(x + y)] == [device] * 4


@SUITED
def test_between_backends(device):
    theirs = da.from_array(VALUES, chunks=2)
    ours = theirs.to_backend("usmpy", device=device)
    assert type(ours._meta) is usmpy.USMArray
    assert {chunk.device for chunk in chunks(ours)} == {device}
    assert ours.to_backend("usmpy") is ours
    back = (ours + 1).to_backend("numpy")
    assert type(back._meta) is np.ndarray
    assert {type(chunk) for chunk in chunks(back)} == {np.ndarray}
    np.testing.assert_array_equal(back.compute(scheduler="sync"), VALUES + 1)


def test_arrays_of_numpy_are_refused():
    """Nothing is converted implicitly, and dask says so instead of going on with NumPy."""
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        (on("host") + da.from_array(VALUES, chunks=(2, 3))).compute(scheduler="sync")


# Sizes and frames.


def test_entry_points():
    code = """
import sys
import dask
assert "usmpy.dask" in sys.modules
assert "numpy" not in sys.modules, "import dask has become slow"
import usmpy
from dask.sizeof import sizeof
assert sizeof(usmpy.empty((1000, 1000), dtype="int8", device="host")) == 1_000_000
assert sizeof(usmpy.broadcast_to(usmpy.empty(10, dtype="int8", device="host"), (1000, 10))) == 10
import distributed.protocol
assert usmpy.USMArray in distributed.protocol.dask_serialize._lookup
assert "usmpy._dask_array" not in sys.modules
import dask.array
assert "usmpy._dask_array" in sys.modules
(finder,) = [finder for finder in sys.meta_path if type(finder).__module__ == "usmpy.dask"]
assert not finder.functions
"""
    first = """
import usmpy._dask_array
from dask.array.dispatch import numel_lookup
assert usmpy.USMArray in numel_lookup._lookup
"""
    for script in (code, first):
        subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "USMPY_DEVICE": "host"})
    names = {(point.group, point.value) for point in importlib.metadata.distribution("usmpy").entry_points}
    assert ("dask.sizeof", "usmpy.dask:register") in names
    assert ("dask.array.backends", "usmpy.dask:Backend") in names


@SUITED
@pytest.mark.parametrize("dtype", ["bool", "int16", "float64", "complex64", "bfloat16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_frames_of_the_host(device, dtype, order):
    x = usmpy.empty((64, 30), dtype=dtype, order=order, device=device)
    x.queue.memcpy(x, bytes(range(128)) * (x.nbytes // 128)) if dtype != "bool" else x.fill(True)
    header, frames = serialize(x)
    assert header["serializer"] == "dask"
    assert [memoryview(frame).readonly for frame in frames] == [False, False]
    place = usmpy.asarray(frames[1], device="host", copy=False).data_ptr
    if device.backend == "host":
        assert place == x.data_ptr
    y = deserialize(header, [bytearray(frames[0]), bytearray(frames[1])])
    assert (y.dtype, y.shape, y.device, y.usm_type) == (x.dtype, x.shape, x.device, x.usm_type)
    assert y.flags.f_contiguous == (order == "F")
    assert y.flags.writable
    assert y.tobytes() == x.tobytes()
    z = deserialize_bytes(serialize_bytes(x))  # as a worker stores it on disk: a read-only buffer
    assert z.tobytes() == x.tobytes()
    assert z.flags.writable


@SUITED
def test_frames_of_views(device):
    n = np.arange(60, dtype="int16").reshape(3, 4, 5)
    x = usmpy.asarray(n, device=device, copy=True)
    for key in np.s_[:], np.s_[::2], np.s_[..., ::-1], np.s_[1, 2, 3], np.s_[:0]:
        np.testing.assert_array_equal(deserialize(*serialize(x[key])).asnumpy(), n[key])
    y = usmpy.broadcast_to(x[:, :1], (2, 3, 4, 5))
    header, frames = serialize(y)
    assert memoryview(frames[1]).nbytes == x[:, :1].nbytes
    np.testing.assert_array_equal(
        deserialize(header, frames).asnumpy(), np.broadcast_to(n[:, :1], (2, 3, 4, 5))
    )


def test_pending_work_is_in_the_frames():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    gate = threading.Event()
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 3)
    once_asleep(gate.set)
    assert set(deserialize(*serialize(x)).tolist()) == {3}


class Trouble(Exception):
    pass


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__("odd")


def spoiled(error, device="host"):
    """An array that a failed task was to write."""
    queue = usmpy.Queue(device)
    x = usmpy.ones((40, 30), queue=queue)

    def fail(_):
        raise error

    queue.host_task(fail, x)
    return x


@pytest.mark.only_on("host-task")
def test_failed_work_is_in_the_frames(device, monkeypatch):
    """Each receiver gets the error where it reads the array, and nobody gets what the memory held before."""
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reports.append(args.exc_type))
    x = spoiled(Trouble("no rows"), device)
    received = [deserialize(*serialize(x)) for _ in range(2)]
    for y in received:
        assert (y.shape, y.dtype, y.queue, y.usm_type) == (x.shape, x.dtype, device.queue, x.usm_type)
        with pytest.raises((Trouble, usmpy.UsmError)) as caught:
            y.tolist()
        assert "no rows" in f"{caught.value} {caught.value.__cause__}"
        with contextlib.suppress(Trouble):  # where it ended before the read
            y.queue.wait()
    assert reports == []
    with pytest.raises((Trouble, usmpy.UsmError)):
        x.tolist()  # the sender's own is still refused
    x = spoiled(Odd(1, 2), device)
    y = deserialize(*serialize(x))
    with pytest.raises((RuntimeError, usmpy.UsmError)) as caught:
        y.tolist()
    assert "Odd: odd" in f"{caught.value} {caught.value.__cause__}"
    with contextlib.suppress(RuntimeError):
        y.queue.wait()
    with pytest.raises((Odd, usmpy.UsmError)):
        x.tolist()


@SUITED
@pytest.mark.parametrize("reads", [False, True])
def test_a_failed_task_of_a_chunk(device, monkeypatch, reads):
    """The result raises where it is read; an error that nobody retrieves is reported once."""
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reports.append(args.exc_type))
    x = da.from_array(usmpy.ones((4, 6), queue=usmpy.Queue(device)), chunks=(2, 6))
    result = (x.map_blocks(fail_once, meta=x._meta) + 1).compute()
    if reads:
        with pytest.raises((Trouble, usmpy.UsmError)):
            result.tolist()
    del x, result
    deadline = time.monotonic() + 60
    while not (reads or reports) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.001)
    assert reports == ([] if reads else [Trouble])


def fail_once(b, block_id=None):
    b = b.copy()
    if block_id == (0, 0):
        b.queue.host_task(fail_with_trouble, b)
    return b


def fail_with_trouble(_):
    raise Trouble("no rows")


def test_several_arrays_have_buffers_of_their_own():
    """distributed receives each frame that follows a writable one in a buffer of its own."""
    from distributed.comm.tcp import _add_frames_header
    from distributed.protocol import dumps, to_serialize

    x = usmpy.zeros(100_000, device="host")
    frames = dumps({"data": {"x": to_serialize(x), "y": to_serialize([x, x])}}, frame_split_size=1000)
    assert [memoryview(frame).nbytes for frame in frames].count(x.nbytes) == 3  # not cut into shards either
    prelude = memoryview(_add_frames_header(frames)[0][0]).cast("B")[:8].cast("Q")[0]
    assert prelude < x.nbytes


# CUDA devices: UCXX takes frames in their memory, and dask-cuda spills them to the host.


@pytest.fixture(autouse=True)
def _no_cycles():
    """Graphs of dask refer to themselves: their arrays go with the next collection."""
    yield
    gc.collect()


@pytest.fixture
def gpu():
    devices = usmpy.get_devices("cuda")
    if not devices:
        pytest.skip(cuda_drivers.missing() or "there is no CUDA device: see usmpy.diagnose()")
    return devices[0]


@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16"])
def test_frames_of_a_gpu(gpu, dtype):
    x = usmpy.zeros((64, 30), dtype=dtype, device=gpu)
    x.queue.memcpy(x, bytes(range(128)) * (x.nbytes // 128))
    for array in (x, x.T, x[:, ::2]):
        header, frames = serialize(array, serializers=("cuda", "dask"))
        assert header["serializer"] == "cuda"
        (frame,) = frames
        assert frame.__cuda_array_interface__["typestr"] == "|u1"
        assert (frame.data_ptr == array.data_ptr) == (array.shape != (64, 15))
        y = deserialize(header, frames, deserializers=("cuda", "dask"))
        assert (y.data_ptr, y.dtype, y.shape, y.device) == (frame.data_ptr, array.dtype, array.shape, gpu)
        assert y.tobytes() == array.tobytes()
        foreign = usmpy.empty(frame.nbytes, dtype="uint8", device=gpu)  # as UCXX receives it

        class Buffer:
            __cuda_array_interface__ = foreign.__cuda_array_interface__

        usmpy.copyto(foreign, frame)
        foreign.wait()
        z = deserialize(header, [Buffer()], deserializers=("cuda", "dask"))
        assert (z.data_ptr, z.tobytes()) == (foreign.data_ptr, array.tobytes())
        del y, z


def test_frames_of_a_gpu_are_finished(gpu):
    x = usmpy.zeros(1000, dtype="int32", queue=usmpy.Queue(gpu))
    gate = threading.Event()
    x.queue.host_task(lambda x: gate.wait(60), x)
    x.queue.fill(x, 3)
    once_asleep(gate.set)
    _, (frame,) = serialize(x, serializers=("cuda",))
    assert gate.is_set()
    assert set(frame.asnumpy().tolist()) == {0, 3}


def test_what_has_no_memory_of_a_gpu_goes_through_the_host(gpu):
    for x in (usmpy.arange(3, device="host"), usmpy.zeros((0, 3), device=gpu)):
        header, frames = serialize(x, serializers=("cuda", "dask"))
        assert header["serializer"] == "dask"
        y = deserialize(header, frames)
        assert (y.device, y.shape, y.tolist()) == (x.device, x.shape, x.tolist())


def test_spilling_from_a_gpu_to_the_host(gpu):
    """What dask-cuda does when the memory of a GPU is short."""
    x = usmpy.asarray(VALUES, device=gpu, dtype="float32")
    header, frames = serialize(x, serializers=("dask", "pickle"), on_error="raise")
    assert [memoryview(frame).nbytes for frame in frames][1:] == [x.nbytes]
    y = deserialize(header, frames)
    assert (y.device, y.dtype, y.tolist()) == (gpu, x.dtype, x.tolist())
    assert y.data_ptr != x.data_ptr


def test_spilling_by_dask_cuda(gpu, tmp_path):
    host_file = have("dask_cuda.device_host_file", COMMAND)
    objects = have("dask_cuda.get_device_memory_objects", COMMAND)
    assert host_file.is_device_object(usmpy.zeros(1, device=gpu))
    assert not host_file.is_device_object(usmpy.zeros(1, device="host"))
    store = host_file.DeviceHostFile(
        worker_local_directory=str(tmp_path), device_memory_limit=1000, memory_limit=1000
    )
    arrays = {f"x{i}": usmpy.full(100, i, dtype="float32", device=gpu) for i in range(6)}  # 400 bytes each
    (found,) = objects.get_device_memory_ids([arrays["x0"]])
    assert found.nbytes == 400
    for name, x in arrays.items():
        store[name] = x
    assert set(store.device) == {"x4", "x5"}
    assert len(store.host) + len(store.disk) == 4
    assert len(store.disk) > 0  # from the host to the disk
    for i, name in enumerate(arrays):
        assert (store[name].device, set(store[name].tolist())) == (gpu, {i})


# A cluster of two processes.

CLUSTER = pytest.mark.leaves_objects("the client and the scheduler release graphs and their arrays later")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    with (
        dask.config.set({"temporary-directory": str(tmp_path_factory.mktemp("dask"))}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="700 MB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def workers(client):
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def facts(x):
    return type(x) is usmpy.USMArray, x.device.filter_string, x.data_ptr % 64, x.flags.writable, os.getpid()


@CLUSTER
@SUITED
def test_chunks_go_from_worker_to_worker(client, workers, device):
    first, second = workers
    x = client.submit(usmpy.arange, 300_000, dtype="float64", device=device, workers=[first], pure=False)
    there = client.submit(facts, x, workers=[first], pure=False).result()
    here = client.submit(facts, x, workers=[second], pure=False).result()
    assert here[-1] != there[-1]
    assert here[:2] == there[:2] == (True, device.filter_string)
    assert here[3]
    if device.backend == "host":
        assert here[2] == 16  # the second frame has a buffer of its own, in which the array stays
    y = x.result()
    assert (y.device, y.tolist()[-1]) == (device, 299_999)
    both = client.submit(
        lambda pair: [float(part[-1]) for part in pair], [x, x], workers=[second], pure=False
    )
    assert both.result() == [299_999.0, 299_999.0]


@CLUSTER
def test_failed_work_on_a_worker(client, workers):
    """The task of another worker that reads the chunk fails with the error; nothing waits for ever."""
    x = client.submit(spoiled, ValueError("no rows"), workers=workers[:1], pure=False)
    with pytest.raises(ValueError, match="no rows"):
        client.submit(lambda x: float(x[0, 0]), x, workers=workers[1:], pure=False).result(timeout=60)
    y = client.submit(spoiled, ValueError("no rows"), workers=workers[:1], pure=False).result()
    with pytest.raises(ValueError, match="no rows"):
        y.tolist()


@CLUSTER
@SUITED
def test_arrays_over_a_cluster(client, device):
    n = np.random.default_rng(1).random((400, 300))
    x = on(device, n, (100, 150))
    for result, expected in (
        (x + 1, n + 1),
        (x.mean(axis=0), n.mean(axis=0)),
        (x.std(), n.std()),
        (x.argmax(axis=1), n.argmax(axis=1)),
        (x.rechunk((400, 30)).cumsum(axis=1), n.cumsum(axis=1)),
        (da.concatenate([x, x]), np.concatenate([n, n])),
        (x @ x.T, n @ n.T),
        (x[::3, 10:20], n[::3, 10:20]),
        (x.map_blocks(lambda b: b * 2), n * 2),
    ):
        kept = client.persist(result)
        assert type(result._meta) is usmpy.USMArray
        found = client.gather(client.map(facts, distributed.futures_of(kept), pure=False))
        assert {fact[:2] for fact in found} == {(True, device.filter_string)}
        computed = result.compute()
        assert type(computed) is usmpy.USMArray
        np.testing.assert_allclose(computed.asnumpy(), expected)


def heat(b):
    c = b.copy()
    c[1:-1, 1:-1] += 0.2 * (b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2] - 4 * b[1:-1, 1:-1])
    return c


@CLUSTER
@SUITED
def test_stencils_and_zarr(client, device, tmp_path):
    n = np.random.default_rng(2).random((64, 48))
    expected = da.from_array(n, chunks=32).map_overlap(heat, depth=1, boundary="reflect").compute()
    x = on(device, n, 32).map_overlap(heat, depth=1, boundary="reflect")
    x.to_backend("numpy").to_zarr(str(tmp_path / "x.zarr"))  # zarr takes arrays of NumPy alone
    stored = zarr.open_array(str(tmp_path / "x.zarr"), mode="r")
    assert stored.chunks == (32, 32)
    np.testing.assert_allclose(stored[:], expected)
    y = da.from_zarr(str(tmp_path / "x.zarr")).to_backend("usmpy", device=device)
    found = client.gather(client.map(facts, distributed.futures_of(client.persist(y)), pure=False))
    assert {fact[:2] for fact in found} == {(True, device.filter_string)}
    np.testing.assert_allclose(y.compute().asnumpy(), expected)


@CLUSTER
def test_creation_on_workers(client):
    with dask.config.set({"array.backend": "usmpy"}):
        x = da.random.default_rng(1).normal(size=(100, 100), chunks=50) * 0 + da.ones((100, 100), chunks=50)
        y = da.random.random((10, 10), chunks=5)
    total = x.sum().compute()
    assert (type(total), total.item()) == (usmpy.USMArray, 10_000)
    assert type(y._meta) is type(y.compute()) is usmpy.USMArray


@CLUSTER
def test_workers_spill_arrays_to_disk(client, workers):
    """Twice the memory that a worker keeps; distributed measures it by the sizes of dask.sizeof."""
    x = [
        client.submit(usmpy.full, (5_000_000,), float(i), device="host", workers=workers[:1], pure=False)
        for i in range(30)  # 40 MB each
    ]
    distributed.wait(x)
    spilled = client.run(lambda dask_worker: len(dask_worker.data.slow), workers=workers[:1])
    assert spilled[workers[0]] > 5
    values = client.gather(
        [client.submit(lambda x: (float(x[0]), float(x[-1]), x.shape), part) for part in x]
    )
    assert values == [(float(i), float(i), (5_000_000,)) for i in range(30)]


@CLUSTER
def test_a_kernel_of_ones_own(client):
    def launch(kernel, x):
        y = usmpy.empty_like(x)
        kernel[usmpy.Range(x.size)](x, y)
        return y

    source = """
    kernel void twice(global const int *x, global int *y) {
        size_t i = get_global_id(0);
        y[i] = 2 * x[i];
    }"""
    kernel = usmpy.Program(source, device="host").twice
    x = on("host", np.arange(10, dtype="int32"), 5)
    y = da.map_blocks(lambda b, kernel: launch(kernel, b), x, kernel=kernel, dtype="int32", meta=x._meta)
    assert y.compute().tolist() == list(range(0, 20, 2))
    gc.collect()


def test_the_example(tmp_path):
    """A plate of 8 times the memory of a worker, here of 2 MB."""
    example = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "dask_heat.py"
    options = [
        "--memory-limit",
        "2MB",
        "--rounds",
        "2",
        "--steps",
        "8",
        "--output",
        str(tmp_path / "heat.png"),
    ]
    done = subprocess.run([sys.executable, example, *options], check=True, capture_output=True, text=True)
    assert "times the memory of a worker" in done.stdout
    assert (tmp_path / "heat.png").stat().st_size > 1000
