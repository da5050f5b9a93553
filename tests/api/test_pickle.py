"""Pickles of devices, queues, arrays and types: every protocol, out-of-band buffers, copies, processes."""

import copy
import ctypes
import multiprocessing
import os
import pickle
import threading
import types

import numpy as np
import pytest
from asleep import once_asleep

import usmpy
from usmpy import _core

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
STORED = ["float8_e4m3fn", "complex32", "bfloat16"]


def there_and_back(thing, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(thing, protocol))


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def same(a, b):
    assert a.dtype is b.dtype
    assert a.shape == b.shape
    assert a.usm_type == b.usm_type
    assert a.flags.writable == b.flags.writable
    out = [bytearray(x.nbytes) for x in (a, b)]
    for x, buffer in zip((a.copy(), b.copy()), out, strict=True):
        x.queue.memcpy(buffer, x).wait()
    assert out[0] == out[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_devices(protocol):
    device = usmpy.Device("host")
    for each in (device, *device.create_sub_devices(1)):
        assert there_and_back(each, protocol) == each
    assert copy.copy(device) == copy.deepcopy(device) == device


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_placement_travels_as_its_hardware(queue, protocol):
    assert there_and_back(queue.device, protocol) == usmpy.Device("host")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_queues(protocol):
    device = usmpy.Device("host")
    assert there_and_back(device.queue, protocol) is device.queue
    queue = usmpy.Queue(device.create_sub_devices(1)[0], in_order=False, profiling=True, priority="low")
    again = there_and_back(queue, protocol)
    assert again != queue
    assert (again.in_order, again.profiling, again.priority) == (False, True, "low")
    assert again.device.filter_string == queue.device.filter_string


def test_a_queue_of_a_private_context_is_not_pickled():
    queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    with pytest.raises(pickle.PicklingError, match="context"):
        pickle.dumps(queue)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (3, 0, 2), (1, 1, 4)])
def test_arrays(protocol, shape):
    for usm_type in ("device", "shared", "host"):
        for order in "CF":
            x = usmpy.USMArray(shape, "int32", usm_type=usm_type, order=order, device="host")
            x[...] = 7
            y = there_and_back(x, protocol)
            same(x, y)
            assert y.device == x.device
            assert (y.flags.c_contiguous, y.flags.f_contiguous) == (
                x.flags.c_contiguous,
                x.flags.f_contiguous,
            )
            y[...] = 1
            assert x.tolist() == np.full(shape, 7).tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "float16", "float64", "complex128", *STORED, "float4_e2m1fn", "float6_e2m3fn"]
)
def test_arrays_of_every_sort_of_type(protocol, dtype):
    x = usmpy.zeros((3, 5), dtype=dtype, device="host")
    x.queue.memcpy(x, bytes(i % 2 for i in range(x.nbytes)))
    same(x, there_and_back(x, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_views_travel_as_their_elements(protocol):
    n = np.arange(60).reshape(3, 4, 5)
    x = usmpy.asarray(n, device="host", copy=True)
    for key in np.s_[::2], np.s_[..., ::-1], np.s_[:, 1], np.s_[1, 2, 3], np.s_[0:0]:
        y = there_and_back(x[key], protocol)
        np.testing.assert_array_equal(y.asnumpy(), n[key])
        assert len(pickle.dumps(x[0, 0], protocol)) < 1000
    same(usmpy.permute_dims(x, (2, 1, 0)), there_and_back(usmpy.permute_dims(x, (2, 1, 0)), protocol))


def test_an_array_of_a_queue_of_its_own_lands_on_the_device(queue):
    x = usmpy.full(3, 5, queue=queue)
    y = there_and_back(x)
    assert y.queue is usmpy.Device("host").queue
    assert y.tolist() == [5, 5, 5]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_stays_so(protocol):
    x = usmpy._core._read_only(usmpy.arange(4, device="host"))
    y = there_and_back(x, protocol)
    assert not y.flags.writable
    assert y.tolist() == [0, 1, 2, 3]


def test_pickling_waits_for_pending_work(queue):
    gate = threading.Event()
    x = usmpy.zeros(100, queue=queue)
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 3)
    once_asleep(gate.set)
    assert there_and_back(x).tolist() == [3] * 100


def test_pickling_failed_work_raises_its_error(queue):
    def fail(x):
        raise LookupError("mine")

    x = usmpy.zeros(10, queue=queue)
    queue.host_task(fail, x)
    with pytest.raises((LookupError, usmpy.UsmError)):
        pickle.dumps(x)
    with pytest.raises(LookupError):
        queue.wait()


def test_buffers_out_of_band():
    x = usmpy.arange(100_000, device="host")
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert sum(buffer.raw().nbytes for buffer in buffers) == x.nbytes
    y = pickle.loads(data, buffers=buffers)
    same(x, y)
    assert y.data_ptr == x.data_ptr
    assert pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])[7].item() == 7


def test_copy_and_deepcopy(queue):
    x = usmpy.arange(4, device="host")
    for make in (copy.copy, copy.deepcopy):
        y = make(x)
        y[0] = 9
        assert x.tolist() == [0, 1, 2, 3]
        assert y.tolist() == [9, 1, 2, 3]


def test_one_array_twice_is_one_array():
    x = usmpy.arange(4, device="host")
    a, b = there_and_back([x, x])
    assert a is b


def test_a_missing_device():
    data = pickle.dumps(usmpy.Device("host"), 2).replace(b"host:cpu:0", b"host:cpu:9")
    with pytest.raises(usmpy.DeviceNotFound, match="host:cpu:9"):
        pickle.loads(data)


def test_objects_that_cannot_be_pickled(queue):
    with pytest.raises(TypeError, match=r"cannot pickle an Event: .* Wait for it here, or pickle the arrays"):
        pickle.dumps(queue.barrier())
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(queue.context)


SOURCE = "kernel void scale(global const float *x, global float *y, float a) { y[0] = a * x[0]; }"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_programs(protocol):
    program = usmpy.Program(SOURCE, device="host", options="-D N=4")
    again = there_and_back(program, protocol)
    assert (again.kernel_names, again.options, again.language) == (["scale"], "-D N=4", "portable")
    assert again.device == program.device


def test_a_program_of_a_binary():
    device = next(iter(usmpy.get_devices("opencl")), None)
    if device is None:
        pytest.skip("no OpenCL device")
    program = usmpy.Program(
        bytearray(usmpy.Program(SOURCE, device=device).binary), device=device, language="native"
    )
    assert there_and_back(program).kernel_names == ["scale"]


def test_a_program_that_does_not_build_there():
    data = pickle.dumps(usmpy.Program(SOURCE, device="host"), 2)
    with pytest.raises(usmpy.BuildError):
        pickle.loads(data.replace(b"a * x[0]", b"b * x[0]"))


def test_kernels():
    kernel = usmpy.Program(SOURCE, device="host").scale
    program, again = there_and_back([kernel.program, kernel])
    assert again is program.scale
    assert again.parameters == kernel.parameters
    words = ["const float32* p", "float32*", "float32 b"]
    assert (
        there_and_back(kernel.with_parameters(words)).parameters == kernel.with_parameters(words).parameters
    )


def test_a_kernel_of_a_function_in_memory_is_not_pickled():
    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, ["int32*"], name="f", owner=function)
    with pytest.raises(TypeError, match=r"cannot pickle the Kernel 'f': the address .* Kernel.from_pointer"):
        pickle.dumps(kernel)


def test_errors_travel_with_what_they_say():
    error = usmpy.UsmError("text", backend="cuda", code=700, name="CUDA_ERROR")
    again = there_and_back(error)
    assert (str(again), again.backend, again.code, again.name) == ("text", "cuda", 700, "CUDA_ERROR")


def double(x):
    assert x.queue is usmpy.Device("host").queue
    return usmpy.concat([x, x]), os.getpid()


def test_another_process():
    x = usmpy.reshape(usmpy.arange(6, dtype="int16", device="host", usm_type="shared"), (2, 3))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        y, process = pool.apply(double, (x,))
    assert process != os.getpid()
    assert y.usm_type == "shared"
    assert y.tolist() == x.tolist() * 2


def test_a_state_that_does_not_belong_to_the_bytes_is_refused():
    """As from a file that was changed."""
    data = usmpy.zeros(4, dtype="uint8", device="host")
    good = (data, "int8", (2, 2), "F")
    assert _core._of_bytes(*good).shape == (2, 2)
    for i, wrong, kind in [
        *((0, value, TypeError) for value in (None, b"1234", np.zeros(4, "uint8"))),
        *((1, value, TypeError) for value in (None, "nonsense", [])),
        *(
            (2, value, (TypeError, ValueError))
            for value in (None, "a", (2, "a"), (-2, -2), (2, 3), (1,) * 65)
        ),
        *((3, value, (TypeError, ValueError)) for value in ("K", 1)),
    ]:
        with pytest.raises(kind):
            _core._of_bytes(*good[:i], wrong, *good[i + 1 :])


QUEUE = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))


def unchanging():
    """An object of each class whose objects do not change."""
    program = usmpy.Program("kernel void fill(global float *x) { x[get_global_id(0)] = 1; }", device="host")
    return [
        QUEUE,
        QUEUE.context,
        QUEUE.device,
        QUEUE.barrier(),
        usmpy.Device("host"),
        usmpy.float32,
        usmpy.MemoryConnection.UNIFIED,
        usmpy.Range(2, 3),
        usmpy.NdRange(4, 2),
        usmpy.LocalMemory(4),
        program,
        program.fill,
        program.fill[usmpy.Range(3)],
        usmpy.ElementwiseKernel("T x", "T z", "z = x"),
        usmpy.ReductionKernel("T x", "T z", "x", "a + b", "z = a", "0"),
        usmpy.ScanKernel("T x", "T z", "x", "a + b"),
    ]


# Classes whose objects have a state of their own, or stand for something open: new objects, or a TypeError.
OTHER = {
    usmpy.USMArray: "new memory: test_copies_of_arrays",
    usmpy.IPCHandle: "open descriptors",
    usmpy.Trace: "records",
    usmpy.borrow: "a block",
    usmpy.unpickle_device: "a block",
}


def test_objects_that_do_not_change_stay_the_same():
    for thing in unchanging():
        assert copy.copy(thing) is thing
        state = {"list": [thing], "object": types.SimpleNamespace(thing=thing), "tuple": (thing, [])}
        again = copy.deepcopy(state)
        assert again["list"][0] is again["object"].thing is again["tuple"][0] is thing
        assert again["list"] is not state["list"]


def test_no_public_class_is_forgotten():
    public = {value for name in usmpy.__all__ if isinstance(value := getattr(usmpy, name), type)}
    public |= {
        value
        for value in vars(_core).values()
        if isinstance(value, type) and not value.__name__.startswith("_")
    }
    tuples = {cls for cls in public if issubclass(cls, (tuple, BaseException))}
    views = {_core.Flags}  # of an array
    assert public - tuples - views == {type(thing) for thing in unchanging()} | set(OTHER)


def layouts(x):
    yield x
    yield x[::2, ::-1]
    yield usmpy.permute_dims(x, (1, 0))
    yield usmpy.broadcast_to(x[0], (2, 4))
    yield x[1, 1]
    yield x[:0]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_of_arrays(make):
    for usm_type in ("device", "shared", "host"):
        whole = usmpy.reshape(usmpy.arange(12, queue=QUEUE, usm_type=usm_type), (3, 4))
        for x in layouts(whole):
            for writable in (False, True):
                x.flags.writable = writable and x.flags.writable
                y = make(x)
                assert (y.queue, y.context, y.usm_type) == (QUEUE, QUEUE.context, usm_type)
                assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())
                y[...] = -1
                assert not x.size or (x.tolist() != y.tolist())


def test_arrays_of_a_state():
    x = usmpy.arange(4, queue=QUEUE)
    state = copy.deepcopy({"x": x, "again": [x], "queue": x.queue})
    assert state["x"] is state["again"][0] is not x
    assert state["x"].queue is state["queue"] is QUEUE


def test_a_copy_is_ordered_after_pending_work():
    queue = usmpy.Queue("host", in_order=False)
    x = usmpy.zeros(4, dtype="int64", queue=queue)
    for i in range(1, 20):
        x[...] = i
        y = copy.deepcopy(x)
        x[...] = -1
        assert y.tolist() == [i] * 4


def test_a_copy_moves_nowhere():
    x = usmpy.arange(4, queue=QUEUE)
    with usmpy.unpickle_device(usmpy.Queue("host")):
        assert copy.copy(x).queue is copy.deepcopy(x).queue is QUEUE


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_generator_goes_on_by_itself(make):
    one = usmpy.random.Generator(3, queue=QUEUE)
    one.random(5)
    two = make(one)
    numbers = one.random(7)
    again = two.random(7)
    assert again.tolist() == numbers.tolist()
    assert again.queue is QUEUE
