"""The kernels of the extension on one OpenCL device: built, cached and launched by PyOpenCL."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl

from usmpy import _core

SOURCES = {name: source.decode() for name, source in _core._kernel_sources()[0].items()}
NO_FP64 = "no fp64"  # an option of ours: as on a device that has none
GROUP = 64  # the most work-items in a group that these tests ask for


def find_devices():
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # no driver at all
        return []
    return [device for platform in platforms for device in platform.get_devices()]


class Device:
    """Memory of the host that the device can reach (fine-grained SVM), and kernels over it."""

    def __init__(self, device):
        self.device = device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.programs = {}
        self.fp64 = bool(device.double_fp_config)

    def empty(self, nbytes):
        """Bytes at an address that a multiple of 64 divides."""
        memory = cl.fsvm_empty(self.context, nbytes + 64, np.uint8)
        start = -memory.ctypes.data % 64
        return memory[start : start + nbytes]

    def put(self, array):
        """The same bytes, side by side, in memory of the device."""
        memory = self.empty(max(array.nbytes, 1))[: array.nbytes]
        memory[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return memory.view(array.dtype).reshape(array.shape)

    def build(self, name, *options):
        key = name, options
        if key not in self.programs:
            fp64 = self.fp64 and NO_FP64 not in options
            text = SOURCES[name] if fp64 else "#define double no_double\n" + SOURCES[name]
            given = [option for option in options if option != NO_FP64]
            program = cl.Program(self.context, text)
            self.programs[key] = program.build(["-DUSM_HAS_FP64"] * fp64 + given, cache_dir=False)
        return self.programs[key]

    def build_all(self, builds):
        """Several at once: drivers compile in the calling thread."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda build: self.build(*build), builds))

    def run(self, program, kernel, ranges, *arguments):
        kernel = cl.Kernel(program, kernel)
        for i, argument in enumerate(arguments):
            kernel.set_arg(i, cl.SVM(argument) if isinstance(argument, np.ndarray) else argument)
        cl.enqueue_nd_range_kernel(self.queue, kernel, *ranges)
        self.queue.finish()

    def launches(self, dst, src, names, serial=True):
        """usm_kernel_plan_strided and usm_kernel_plan_launch for dst[...] = src[...]."""
        return _core._kernel_launches(
            dst.ctypes.data,
            src.ctypes.data,
            *names,
            dst.shape,
            tuple(stride // dst.itemsize for stride in dst.strides),
            tuple(stride // src.itemsize for stride in src.strides),
            serial,
            self.device.max_compute_units,
            GROUP,
        )

    def copy(self, dst, src, names, serial=True, ranges=None, options=()):
        """dst[...] = src[...] by the kernel, where both lie in memory of the device."""
        size, unaligned, launches = self.launches(dst, src, names, serial)
        mode = ("-DUSM_SERIAL",) if serial else ()
        if size:
            program, kernel = self.build("strided", *mode), f"usm_strided_{size}"
        else:
            mode += ("-DUSM_UNALIGNED",) if unaligned else ()
            program = self.build("cast", *mode, f"-DUSM_DST={names[0]}", f"-DUSM_SRC={names[1]}", *options)
            kernel = "usm_cast"
        for to, frm, axes, global_size, local_size in launches:
            self.run(program, kernel, ranges or (global_size, local_size), bytes_at(to), bytes_at(frm), axes)
        return size


def bytes_at(address):
    """One byte of SVM, as the pointer that a kernel is given."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(address))
