"""Sequences that never end, have billions of items, or another length than they say.

A call reads no more of them than can mean something, and raises or takes what they have.
"""

import contextlib

import numpy as np
import pytest
from test_number_parameters import AXES, COUNTS, CUBE, QUEUE, F, N, changed
from together import together

import usmpy

FAR = 1 << 21  # no call asks as many times


class Endless:
    """As a mock of a scalar of NumPy is."""

    def __init__(self, item=1):
        self.item, self.asked = item, 0

    def __getitem__(self, index):
        self.asked += 1
        assert self.asked < FAR, "it does not end"
        return self.item


class Lying(Endless):
    def __len__(self):
        return 2


class Counted(Lying):
    def __getitem__(self, index):
        return range(2)[index]


class List(list):
    def __iter__(self):
        return iterator(self[0])


def iterator(item):
    for _ in range(FAR):
        yield item
    raise AssertionError("it does not end")


def count(item):
    return (i + item if isinstance(item, int) else item for i in iterator(0))


FORMS = {
    "__getitem__ alone": Endless,
    "a wrong length": Lying,
    "generator": iterator,
    "count": count,
    "list subclass": lambda item: List([item, item]),
    "range": lambda item: range(10**9),
    "range from the end": lambda item: range(10**9, -1, -1),
    "short iterator": lambda item: iter([item, item]),
}
# What NumPy reads itself before it calls usmpy is left out: the conditions of np.select, shapes beside like=.
# Calls that take a sequence beside those of the parameters that are counts, and an item of it.
KERNEL = usmpy.Program("kernel void set(global float *x) { x[get_global_id(0)] = 1; }", device=QUEUE).set
CALLS = {
    "arrays": (lambda v: usmpy.concat(v), F),
    "stacked arrays": (lambda v: usmpy.stack(v), F),
    "depends": (lambda v: QUEUE.fill(F.copy(), 1, depends=v), QUEUE.barrier),
    "depends in brackets": (lambda v: KERNEL[usmpy.Range(3), v](F.copy()), QUEUE.barrier),
    "wait_all": (usmpy.Event.wait_all, QUEUE.barrier),
    "devices": (usmpy.Context, QUEUE.device),
    "queues": (usmpy.get_execution_queue, QUEUE),
    "args": (lambda v: QUEUE.submit(KERNEL, v, 3), F),
    "range": (lambda v: QUEUE.submit(KERNEL, [F.copy()], v), 3),
    "parameters": (KERNEL.with_parameters, "float32* x"),
    "aspects": (usmpy.select_device_with_aspects, "cpu"),
    "aspects left out": (lambda v: usmpy.select_device_with_aspects("cpu", v), "gpu"),
    "isdtype": (lambda v: usmpy.isdtype("int8", v), "bool"),
    "key": (lambda v: F[v], 1),
    "key of two": (lambda v: CUBE[v, 0], 1),
    "asarray": (usmpy.asarray, 1),
    "asarray, nested": (lambda v: usmpy.asarray([v]), 1),
    "x[...] =": (lambda v: changed(F, lambda y: y.__setitem__(..., v)), 1),
    "copyto": (lambda v: changed(F, lambda y: usmpy.copyto(y, v)), 1),
    "fill_value": (lambda v: usmpy.full(3, v), 1),
    "take": (lambda v: usmpy.take(N, v), 1),
    "put": (lambda v: changed(F, lambda y: usmpy.put(y, v, 1)), 1),
    "strides": (lambda v: from_pointer(strides=v), 1),
    "shape with an address": (lambda v: from_pointer(shape=v), 1),
    "roll.shift, several": (lambda v: usmpy.roll(CUBE, v, axis=v), 1),
    "moveaxis, several": (lambda v: usmpy.moveaxis(CUBE, v, v), 1),
    "tensordot.axes of two": (lambda v: usmpy.tensordot(CUBE, CUBE, axes=(v, v)), 1),
    "tile, nested": (lambda v: usmpy.tile(F, (v, 2)), 1),
    "dl_device": (lambda v: F.__dlpack__(dl_device=v), 1),
    "max_version": (lambda v: F.__dlpack__(max_version=v), 1),
    "from_dlpack device": (lambda v: usmpy.from_dlpack(F, device=v), 1),
    "fds": (lambda v: usmpy.IPCHandle.from_bytes(bytes(usmpy.share(F).get_ipc_handle()), v), 1),
    "np.split": (lambda v: np.split(F, v), 1),
    "np.array_split": (lambda v: np.array_split(F, v), 1),
    "np.sum axis": (lambda v: np.sum(CUBE, axis=v), 1),
    "np.median axis": (lambda v: np.median(CUBE, axis=v), 1),
    "np.tensordot axes": (lambda v: np.tensordot(CUBE, CUBE, axes=v), 1),
    "np.rot90 axes": (lambda v: np.rot90(CUBE, axes=v), 1),
    "np.flip axis": (lambda v: np.flip(CUBE, axis=v), 1),
    "np.transpose axes": (lambda v: np.transpose(CUBE, v), 1),
    "np.reshape": (lambda v: np.reshape(F, v), 3),
    "np.squeeze axis": (lambda v: np.squeeze(CUBE[:, :1], v), 1),
    "np.broadcast_to": (lambda v: np.broadcast_to(F, v), 3),
    "np.unravel_index shape": (lambda v: np.unravel_index(N, v), 3),
}
# Elements and indices: as many as there are mean something.
ANY_LENGTH = {"asarray", "asarray, nested", "x[...] =", "copyto", "fill_value"}
ANY_LENGTH |= {"key", "key of two", "take", "put", "USMArray.__getitem__.key"}
COUNTED = {name: (call, 1) for name, call in {**COUNTS, **AXES}.items()}
RAISES = (TypeError, ValueError, IndexError, OverflowError, BufferError)


def from_pointer(shape=3, strides=None):
    return usmpy.USMArray.from_pointer(F.data_ptr, shape, F.dtype, strides=strides, queue=QUEUE, owner=F)


def cases():
    for name, (call, item) in {**CALLS, **COUNTED}.items():
        for form, make in FORMS.items():
            if not (name in ANY_LENGTH and form.startswith("range")):
                yield name, form, call, make, item


@together("name, form, call, make, item", cases())
def test_a_call_ends(name, form, call, make, item):
    with contextlib.suppress(*RAISES):
        call(make(item() if callable(item) else item))  # no event stays for other tests to count
    QUEUE.wait()


@together("name", ["asarray", "x[...] =", "take", "key"])
def test_what_has_no_length_is_no_sequence(name):
    with pytest.raises((TypeError, IndexError)):
        CALLS[name][0](Endless())


def test_what_has_a_length_is_one():
    assert usmpy.zeros(Counted()).shape == (0, 1)
    assert usmpy.asarray(Counted()).tolist() == [0, 1]
    assert usmpy.zeros(iter([2, 3])).shape == (2, 3)
