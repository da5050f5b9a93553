"""Programs of the portable language on the host, on OpenCL devices that PyOpenCL finds, and on CUDA."""

from __future__ import annotations

import numpy as np
from host_kernels import LOCAL, POINTER, Local, build

import usmpy

try:
    import pyopencl as cl
except ImportError:
    cl = None


def find_devices():
    if cl is None:
        return []
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # no driver at all
        return []
    return [device for platform in platforms for device in platform.get_devices()]


def drivers():
    """Everything but the host, by name: what makes it."""
    found = {d.platform.name.split("(")[0].strip().replace(" ", "-"): (Driver, d) for d in find_devices()}
    return found | {device.filter_string: (Cuda, device) for device in usmpy.get_devices("cuda")[:1]}


class Driver:
    """An OpenCL device."""

    def __init__(self, device):
        self.device = device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)

    def run(self, source, kernel, size, *given, local=None, options=""):
        program = cl.Program(self.context, source).build(options.split(), cache_dir=False)
        function = cl.Kernel(program, kernel)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffers = []
        for i, value in enumerate(given):
            if isinstance(value, np.ndarray) and value.ndim:
                buffers.append((value, cl.Buffer(self.context, flags, hostbuf=value)))
                function.set_arg(i, buffers[-1][1])
            else:
                function.set_arg(i, cl.LocalMemory(value.nbytes) if isinstance(value, Local) else value)
        cl.enqueue_nd_range_kernel(self.queue, function, as_tuple(size), as_tuple(local))
        for array, buffer in buffers:
            cl.enqueue_copy(self.queue, array, buffer)
        self.queue.finish()


class Host:
    """The host, through usmpy._compile.compiler."""

    def run(self, source, kernel, size, *given, local=None, options=""):
        function = build(source, options=options).kernels[kernel]
        for value, p in zip(given, function.parameters, strict=True):
            assert isinstance(value, np.ndarray) == (p.kind == POINTER) or not value.shape
            assert isinstance(value, Local) == (p.kind == LOCAL)
        function(size, *given, local=local, boxes=2)


class Cuda:
    """A CUDA device, through usmpy itself."""

    def __init__(self, device):
        self.device = device

    def run(self, source, kernel, size, *given, local=None, options=""):
        function = usmpy.Program(source, device=self.device, options=options)[kernel]
        arrays, arguments = [], []
        for value in given:
            if isinstance(value, Local):
                arguments.append(usmpy.LocalMemory(value.nbytes))
            elif isinstance(value, np.ndarray) and value.ndim:
                arrays.append((value, usmpy.asarray(value, device=self.device, copy=True)))
                arguments.append(arrays[-1][1])
            else:
                arguments.append(value.tobytes() if isinstance(value, np.ndarray) else value)
        space = usmpy.Range(*as_tuple(size))
        if local is not None:
            space = usmpy.NdRange(as_tuple(size), as_tuple(local))
        self.device.queue.submit(function, arguments, space).wait()
        for value, array in arrays:
            value[...] = array.asnumpy()


def as_tuple(size):
    return (size,) if isinstance(size, int) else size
