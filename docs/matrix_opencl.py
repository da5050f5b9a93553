"""PyOpenCL in docs/make_exchange_matrix.py: its memory in usmpy, and usmpy's in its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import usmpy

COUNT = 16
SOURCE = "kernel void add(global float *x, float a) { x[get_global_id(0)] += a; }"


def pyopencl_cells(
    found: dict[str, usmpy.Device], held: Callable[[Callable[[Any], Any]], Any]
) -> dict[tuple[str, str, str], str]:
    into = (
        "From a library to usmpy",
        "PyOpenCL | `USMArray.from_pointer(theirs.svm_ptr, ..., queue=..., owner=theirs)`",
    )
    out = ("From usmpy to a library", "PyOpenCL | `with x.lend(queue) as pointer:`")
    cells = {(*into, "host"): "", (*out, "host"): "", (*into, "writable"): "yes"}
    orders: dict[tuple[str, str], set[bool]] = {into: set(), out: set()}
    for place, device in found.items():
        if place == "host":
            continue
        same, ordered = take(device, held)
        cells[(*into, place)] = "in place" if same else "copy"
        orders[into].add(ordered)
        same, ordered = lend(device, held)
        cells[(*out, place)] = "in place" if same else "copy"
        orders[out].add(ordered)
    for row, seen in orders.items():
        cells[(*row, "ordered")] = "yes" if seen == {True} else "no"
    return cells if len(found) > 1 else {}


def objects(device: usmpy.Device) -> tuple[Any, Any, Any]:
    """PyOpenCL's context and queue for a device of ours, and ours over that queue."""
    import pyopencl as cl

    context = cl.Context([cl.Device.from_int_ptr(device.native_handle)])
    cl_queue = cl.CommandQueue(context)
    return context, cl_queue, usmpy.Queue.from_native("opencl", cl_queue)


def open_when(gate: Any, context: Any) -> Any:
    """An event of PyOpenCL's that ends a moment from now."""
    import threading

    import pyopencl as cl

    event = cl.UserEvent(context)

    def end() -> None:
        gate.wait(10)
        event.set_status(cl.command_execution_status.COMPLETE)

    threading.Thread(target=end).start()
    return event


def take(device: usmpy.Device, held: Callable[[Callable[[Any], Any]], Any]) -> tuple[bool, bool]:
    import numpy as np
    import pyopencl as cl

    context, cl_queue, queue = objects(device)
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
    memory = cl.SVMAllocation(context, 4 * COUNT, 0, flags, queue=cl_queue)
    cl.enqueue_svm_memfill(cl_queue, memory, np.float32(1))
    x = usmpy.USMArray.from_pointer(
        memory.svm_ptr, (COUNT,), "float32", queue=queue, usm_type="shared", owner=memory
    )

    def ordered(gate: Any) -> bool:
        event = open_when(gate, context)
        cl.enqueue_svm_memfill(cl_queue, memory, np.float32(7), wait_for=[event])
        return x.copy().tolist() == [7] * COUNT

    return x.data_ptr == memory.svm_ptr, held(ordered)


def lend(device: usmpy.Device, held: Callable[[Callable[[Any], Any]], Any]) -> tuple[bool, bool]:
    import numpy as np
    import pyopencl as cl

    context, cl_queue, queue = objects(device)
    add = cl.Program(context, SOURCE).build().add
    x = usmpy.zeros(COUNT, dtype="float32", queue=queue)
    x.wait()
    same = False

    def ordered(gate: Any) -> bool:
        nonlocal same
        cl.enqueue_marker(cl_queue, wait_for=[open_when(gate, context)])
        queue.fill(x, 3)
        with x.lend(queue) as pointer:
            same = pointer == x.data_ptr
            add(
                cl_queue,
                (COUNT,),
                None,
                cl.SVM((ctypes.c_ubyte * x.nbytes).from_address(pointer)),
                np.float32(4),
            )
        return x.tolist() == [7] * COUNT

    ordered_too = held(ordered)
    return same, ordered_too
