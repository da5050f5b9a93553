"""Pickles: devices by filter string, queues by device and properties, arrays by value and place."""

from __future__ import annotations

import pickle

from .. import _core
from .._core import Device, Kernel, Program, Queue, USMArray
from .unpickle import find_device

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

    from .._core import _Language, _Order, _Priority, _UsmType


def make_queue(place: str, in_order: bool, profiling: bool, priority: _Priority) -> Queue:
    return Queue(find_device(place), in_order=in_order, profiling=profiling, priority=priority)


def cached_queue(place: str) -> Queue:
    return find_device(place).queue


def reduce_device(device: Device) -> tuple[Any, ...]:
    return find_device, (device.filter_string,)


def reduce_queue(queue: Queue, cached: bool, default_context: bool) -> tuple[Any, ...]:
    if not default_context:
        raise pickle.PicklingError(
            "a queue of a context of its own cannot be pickled: no other process has the context"
        )
    place = queue.device.filter_string
    if cached:
        return cached_queue, (place,)
    return make_queue, (place, queue.in_order, queue.profiling, queue.priority)


def make_array(
    data: Any,
    dtype: str,
    shape: tuple[int, ...],
    place: str,
    usm_type: _UsmType,
    order: _Order,
    writable: bool = True,
    owned: bool = True,
) -> USMArray:
    """The array in the memory of a buffer, or in new memory if the device cannot use the buffer in place.

    owned: the array may use the buffer; False for pickles of protocols before 5, whose data are always bytes,
    although most of their arrays are writable.
    """
    buffer = _core._adopt_bytes(data, usm_type)
    array = _core._of_bytes(buffer, dtype, shape, order)
    moved = array.to_device(find_device(place))
    if moved.data_ptr == array.data_ptr and (not owned or moved.data_ptr % array.itemsize):
        moved = moved.copy(order)
    if moved.data_ptr != array.data_ptr:
        moved.wait()  # the caller may change the buffer as soon as this returns
    return moved if writable else _core._read_only(moved)


def reduce_array(array: USMArray, protocol: int) -> tuple[Any, ...]:
    flags = array.flags
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    data = _core._to_bytes(array)
    content: Any = pickle.PickleBuffer(data) if protocol >= 5 else bytes(memoryview(data))
    place = array.device.filter_string
    arguments = (content, array.dtype.name, array.shape, place, array.usm_type, order)
    if protocol >= 5 and flags.writable:
        return make_array, arguments
    return make_array, (*arguments, flags.writable, protocol >= 5)


def make_program(
    source: str | bytes, place: str, language: _Language, options: str, check: bool = False
) -> Program:
    return Program(source, device=find_device(place), language=language, options=options, check=check)


def reduce_program(program: Program, source: str | bytes) -> tuple[Any, ...]:
    place = program.device.filter_string
    return make_program, (source, place, program.language, program.options, program.check)


def make_kernel(program: Program, name: str, parameters: tuple[str, ...] | None) -> Kernel:
    kernel = program[name]
    return kernel if parameters is None else kernel.with_parameters(parameters)


def reduce_kernel(kernel: Kernel) -> tuple[Any, ...]:
    program = kernel.program
    if program is None:
        raise TypeError(
            f"cannot pickle the Kernel {kernel.name!r}: the address of its function means nothing in another "
            "process. Make it there with Kernel.from_pointer"
        )
    own = program[kernel.name]
    return make_kernel, (program, kernel.name, None if kernel is own else kernel.parameters)
