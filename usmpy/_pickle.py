"""Pickles: devices by filter string, queues by device and properties, arrays by value and place."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Device, DType, Queue, USMArray

if TYPE_CHECKING:
    from ._core import _Order, _Priority, _UsmType


def make_queue(device: Device, in_order: bool, profiling: bool, priority: _Priority) -> Queue:
    return Queue(device, in_order=in_order, profiling=profiling, priority=priority)


def cached_queue(device: Device) -> Queue:
    return device.queue


def reduce_queue(queue: Queue, cached: bool, default_context: bool) -> tuple[Any, ...]:
    if not default_context:
        raise pickle.PicklingError(
            "a queue of a context of its own cannot be pickled: no other process has the context"
        )
    device = Device(queue.device.filter_string)
    if cached:
        return cached_queue, (device,)
    return make_queue, (device, queue.in_order, queue.profiling, queue.priority)


def make_array(
    data: Any,
    dtype: DType,
    shape: tuple[int, ...],
    device: Device,
    usm_type: _UsmType,
    order: _Order,
    writable: bool,
) -> USMArray:
    array = USMArray(shape, dtype, device=device, usm_type=usm_type, order=order)
    if array.nbytes:
        array.queue.memcpy(array, data).wait()
    return array if writable else _core._read_only(array)


def reduce_array(array: USMArray, protocol: int) -> tuple[Any, ...]:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    compact = array if array.flags.c_contiguous or order == "F" else array.copy()
    data: Any = bytearray(compact.nbytes)
    if compact.nbytes:
        compact.queue.memcpy(data, compact).wait()
    data = pickle.PickleBuffer(data) if protocol >= 5 else bytes(data)
    device = Device(array.device.filter_string)
    return make_array, (data, array.dtype, array.shape, device, array.usm_type, order, array.flags.writable)
