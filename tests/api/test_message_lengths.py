"""Messages show the beginning of an object's representation: they have at most 400 characters."""

import numpy as np
from test_number_parameters import CALLS as INTS
from test_number_parameters import KEYS, QUEUE, VALUES, F, N
from together import together

import usmpy

LONG = "r" * 10_000


def longwinded(base, *arguments):
    show = lambda self: LONG  # noqa: E731
    return type("Longwinded", (base,), {"__repr__": show, "__str__": show})(*arguments)


OBJECTS = {
    "object": lambda: longwinded(object),
    "int": lambda: longwinded(int, 5),
    "negative int": lambda: longwinded(int, -5),
    "int of many digits": lambda: 10**4000,
    "int of more digits than are shown": lambda: 10**5000,
    "float": lambda: longwinded(float, 0.5),
    "str": lambda: longwinded(str, "zz"),
    "long str": lambda: LONG,
    "tuple": lambda: (longwinded(object),),
    "array": lambda: np.zeros((1,) * 63 + (0,)),
    "interface": lambda: interface(typestr=LONG),
    "interface of long data": lambda: interface(data=LONG),
    "interface of long shape": lambda: interface(shape=LONG),
    "interface of a long version": lambda: interface(version=LONG),
    "Arrow": lambda: type("Arrow", (), {"__arrow_c_array__": lambda self, schema=None: LONG})(),
}
CALLS = {
    "asarray": lambda x, y: usmpy.asarray(y, dtype="uint8"),
    "copy": lambda x, y: usmpy.asarray(1, copy=y),
    "order": lambda x, y: usmpy.asarray(1, order=y),
    "dtype": lambda x, y: usmpy.zeros(1, dtype=y),
    "device": lambda x, y: usmpy.zeros(1, device=y),
    "queue": lambda x, y: usmpy.zeros(1, queue=y),
    "shape": lambda x, y: usmpy.broadcast_shapes((2,), y),
    "reshape": lambda x, y: usmpy.reshape(x, y),
    "from_dlpack": lambda x, y: usmpy.from_dlpack(y),
    "from_arrow": lambda x, y: usmpy.from_arrow(y),
    "copyto": lambda x, y: usmpy.copyto(x, y),
    "x[...] =": lambda x, y: x.__setitem__(..., y),
    "x[key]": lambda x, y: x[y],
    "x[key] =": lambda x, y: x.__setitem__(y, 1),
    "take": lambda x, y: usmpy.take(x, y, axis=0),
    "axis": lambda x, y: usmpy.sum(x, axis=y),
    "put axis": lambda x, y: usmpy.put(x, 0, 1, axis=y),
    "full": lambda x, y: usmpy.full(3, y, dtype="uint8"),
    "+": lambda x, y: x + y,
    "==": lambda x, y: x == y,
    "clip": lambda x, y: usmpy.clip(x, y, y),
    "where": lambda x, y: usmpy.where(x > 0, y, y),
    "memcpy": lambda x, y: x.queue.memcpy(x, y),
    "blocking": lambda x, y: x.queue.memcpy(x, x, blocking=y),
    "fill": lambda x, y: x.queue.fill(x, y),
    "depends": lambda x, y: x.queue.fill(x, 1, depends=y),
    "searchsorted side": lambda x, y: usmpy.searchsorted(x, x, side=y),
    "linspace": lambda x, y: usmpy.linspace(0, 1, y) if not isinstance(y, int) or y < 9 else None,
    "stream": lambda x, y: x.__dlpack__(stream=y),
    "max_version": lambda x, y: x.__dlpack__(max_version=y),
    "dl_device": lambda x, y: x.__dlpack__(dl_device=y),
    "select_device_with_aspects": lambda x, y: usmpy.select_device_with_aspects(y),
    "isdtype": lambda x, y: usmpy.isdtype("int8", y),
}


def interface(**members):
    usual = {"shape": (1,), "typestr": "<f4", "data": (1024, False), "version": 3}
    return type("Interface", (), {"__cuda_array_interface__": usual | members})()


# Classes whose names are longer than a message.
NAMED = {
    "object": lambda: named(object),
    "int": lambda: named(int, 300),
    "negative int": lambda: named(int, -5),
    "float": lambda: named(float, 0.5),
    "str": lambda: named(str, "zz"),
    "bytes": lambda: named(bytes, b"zz"),
    "dict": lambda: named(dict),
    "list": lambda: [named(object)],
    "array": lambda: np.zeros((1,) * 63 + (0,)).view(type(LONG, (np.ndarray,), {})),
    "capsule": lambda: named(object, __dlpack__=lambda self, **_: named(object), __dlpack_device__=(1, 0)),
    "device": lambda: named(object, __dlpack__=lambda self, **_: 1, __dlpack_device__=lambda self: 1),
    "pair": lambda: named(object, __arrow_c_array__=lambda self, schema=None: named(object)),
    "stream": lambda: named(object, __cuda_stream__=lambda self: named(object)),
    "interface": lambda: named(object, __cuda_array_interface__=named(object)),
    "SYCL": lambda: named(object, __sycl_usm_array_interface__={"syclobj": named(object), "version": 1}),
    "error": lambda: named(object, __array__=raises),
}
ADDRESSES = ("address", "handle")  # at which any int would be memory
MORE = {
    **{name: call for name, call in INTS.items() if name not in (KEYS, *ADDRESSES)},
    **{name: call for name, (call, _) in VALUES.items()},
    "from_stream": usmpy.Queue.from_stream,
    "matmul": lambda y: usmpy.matmul(F, y),
    "take_along_axis": lambda y: usmpy.take_along_axis(F, y),
    "where condition": lambda y: usmpy.where(y, F, F),
    "Program": lambda y: usmpy.Program(y, device="host"),
    "language": lambda y: usmpy.Program("", device="host", language=y),
    "options": lambda y: usmpy.Program("kernel void f() {}", device="host", options=y),
    "kernel": lambda y: QUEUE.submit(y, (), 1),
    "kernel range": lambda y: QUEUE.submit(KERNEL, (F.copy(),), y),
    "kernel by name": lambda y: KERNEL[usmpy.Range(3)](**{str(y): F.copy()}),
    "kernel of a program": lambda y: usmpy.Program(SOURCE, device=QUEUE)[y],
    "kernel in brackets": lambda y: KERNEL[y],
    "kernel device": lambda y: KERNEL.max_work_group_size(y),
    "keyword": lambda y: usmpy.zeros(1, **{str(y): 1}),
    "keyword of a host task": lambda y: QUEUE.host_task(print, **{str(y): 1}),
    "with_parameters": lambda y: KERNEL.with_parameters([y]),
    "unpickle_device": lambda y: usmpy.unpickle_device(y),
    "unpickle_device of a name": lambda y: usmpy.unpickle_device({str(y): "host"}),
    "select_device": lambda y: usmpy.Device(y),
    "has_aspect": lambda y: QUEUE.device.has_aspect(y),
    "to_device": lambda y: F.to_device(y),
    "to_device stream": lambda y: F.to_device(F.device, stream=y),
    "lend": lambda y: F.lend(y).__enter__(),
    "borrow": lambda y: usmpy.borrow(y).__enter__(),
    "axis of a kernel": lambda y: FOLD(N, axis=y),
    "array of a kernel": lambda y: FOLD(y),
    "__array_namespace__": lambda y: F.__array_namespace__(api_version=y),
    "numpy.quantile method": lambda y: np.quantile(F, 0.5, method=y),
    "numpy.add out": lambda y: np.add(F, F, out=y),
    "numpy.einsum": lambda y: np.einsum(y, F),
    "info kind": lambda y: usmpy.__array_namespace_info__().dtypes(kind=y),
    "default_rng": lambda y: usmpy.random.default_rng(y),
    "ElementwiseKernel": lambda y: usmpy.ElementwiseKernel(y, "T z", "z = x"),
    "ElementwiseKernel name": lambda y: usmpy.ElementwiseKernel("T x", "T z", "z = x", name=y),
}
SOURCE = "kernel void set(global float *x) { if (get_global_id(0) < 3) x[get_global_id(0)] = 1; }"
KERNEL = usmpy.Program(SOURCE, device=QUEUE).set
FOLD = usmpy.ReductionKernel("T x", "T z", "x", "a + b", "z = a", 0)


def named(base, *arguments, **members):
    return type(LONG, (base,), members)(*arguments)


def mute(self):
    raise RuntimeError("cannot be shown")


def raises(self, *arguments, **keywords):
    raise type(LONG, (TypeError,), {})(LONG)


def told(call, *arguments):
    try:
        call(*arguments)
    except usmpy.BuildError:  # with the whole log of the compiler
        return ""
    except Exception as error:
        return str(error)
    return ""


@together("call, kind", [(call, kind) for call in {**CALLS, **MORE} for kind in NAMED])
def test_a_message_is_short_whatever_the_name_of_the_class(call, kind):
    x, y = usmpy.arange(3, dtype="uint8", device="host"), NAMED[kind]()
    message = told(CALLS[call], x, y) if call in CALLS else told(MORE[call], y)
    assert len(message) <= 400, f"{len(message)}: {message[:200]}"


@together("call, kind", [(call, kind) for call in MORE for kind in OBJECTS])
def test_a_message_of_any_call_is_short_whatever_the_representation(call, kind):
    message = told(MORE[call], OBJECTS[kind]())
    assert len(message) <= 400, f"{len(message)}: {message[:200]}"


@together("call", [*CALLS, *MORE])
def test_a_message_needs_no_representation(call):
    """Objects whose repr raises are refused as others are."""
    x, y = (
        usmpy.arange(3, dtype="uint8", device="host"),
        named(object, __repr__=mute, __str__=lambda self: "y"),
    )
    arguments = (x, y) if call in CALLS else (y,)
    assert "cannot be shown" not in told(({**CALLS, **MORE})[call], *arguments)


@together("call, kind", [(call, kind) for call in CALLS for kind in OBJECTS])
def test_a_message_is_short_whatever_the_representation(call, kind):
    x, y = usmpy.arange(3, dtype="uint8", device="host"), OBJECTS[kind]()
    message = ""
    try:
        CALLS[call](x, y)
    except Exception as error:
        message = str(error)
    assert len(message) <= 400, message[:200]
    assert LONG not in message
