"""Messages show the beginning of an object's representation: they have at most 400 characters."""

import numpy as np
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
