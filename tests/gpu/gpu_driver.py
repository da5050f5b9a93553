"""The CUDA driver as another library uses it: its own streams, contexts and kernels.

Everything goes through libcuda by ctypes, in the primary contexts that all libraries share, so that a kernel
can be put into any stream of any library, and a test can look at what is in it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

LIBRARY = os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1")
# The driver in software runs one warp after the other: kernels are small there.
SOFTWARE = not os.path.basename(LIBRARY).startswith("libcuda.so")
LEGACY, PER_THREAD = 1, 2
SUCCESS, NOT_READY, STREAM_IMPLICIT = 0, 600, 906

# spin(ns); add(x, n, value): x[i] += value; multiply(x, n, value).
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 ns)
{
    .reg .u64 %start, %now, %ns;
    .reg .pred %more;
    ld.param.u64 %ns, [ns];
    mov.u64 %start, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %more, %now, %ns;
    @%more bra again;
    ret;
}
"""
ELEMENTWISE = """
.visible .entry NAME(.param .u64 x, .param .u32 n, .param .f32 value)
{
    .reg .u32 %i, %n, %size, %group;
    .reg .u64 %x, %at;
    .reg .f32 %value, %old;
    .reg .pred %out;
    mov.u32 %i, %tid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %group, %ctaid.x;
    mad.lo.u32 %i, %group, %size, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %out, %i, %n;
    @%out bra end;
    ld.param.u64 %x, [x];
    ld.param.f32 %value, [value];
    mul.wide.u32 %at, %i, 4;
    add.u64 %x, %x, %at;
    ld.global.f32 %old, [%x];
    OPERATION.f32 %old, %old, %value;
    st.global.f32 [%x], %old;
end:
    ret;
}
"""
PTX += "".join(
    ELEMENTWISE.replace("NAME", name).replace("OPERATION", operation)
    for name, operation in (("add", "add"), ("multiply", "mul"))
)

# Kernels of ours that take their time: late(x, n, value, ns) and late_copy(x, y, n, ns).
LATE = """
.version 7.0
.target sm_70
.address_size 64
"""
LATE_ENTRY = """
.visible .entry NAME(PARAMETERS.param .u64 ns)
{
    .reg .u64 %start, %now, %ns, %x, %y, %at;
    .reg .u32 %i, %n, %size, %group;
    .reg .f32 %value;
    .reg .pred %more, %out;
    mov.u32 %i, %tid.x;
    setp.ne.u32 %out, %i, 0;
    @%out bra over;
    ld.param.u64 %ns, [ns];
    mov.u64 %start, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %more, %now, %ns;
    @%more bra again;
over:
    bar.sync 0;
    mov.u32 %size, %ntid.x;
    mov.u32 %group, %ctaid.x;
    mad.lo.u32 %i, %group, %size, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %out, %i, %n;
    @%out bra end;
    ld.param.u64 %x, [x];
    mul.wide.u32 %at, %i, 4;
    add.u64 %x, %x, %at;
BODYend:
    ret;
}
"""
LATE_ENTRIES = {
    "late": (
        ".param .u64 x, .param .u32 n, .param .f32 value, ",
        "    ld.param.f32 %value, [value];\n    st.global.f32 [%x], %value;\n",
    ),
    "late_copy": (
        ".param .u64 x, .param .u64 y, .param .u32 n, ",
        "    ld.param.u64 %y, [y];\n    add.u64 %y, %y, %at;\n"
        "    ld.volatile.global.f32 %value, [%x];\n    st.global.f32 [%y], %value;\n",
    ),
}
LATE += "".join(
    LATE_ENTRY.replace("NAME", name).replace("PARAMETERS", parameters).replace("BODY", body)
    for name, (parameters, body) in LATE_ENTRIES.items()
)
LATE_PARAMETERS = ["float32*", "int32", "float32", "uint64"]
LATE_COPY_PARAMETERS = ["const float32*", "float32*", "int32", "uint64"]


class DriverError(Exception):
    def __init__(self, call: str, code: int):
        super().__init__(f"{call}: CUresult {code}")
        self.code = code


class Driver:
    """One GPU's primary context, which stays retained as long as the process."""

    def __init__(self, ordinal: int = 0):
        self.library = ctypes.CDLL(LIBRARY)
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.device, self.context = device.value, ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        module = ctypes.c_void_p()
        self.functions = {}
        with self.entered():
            self.call("cuModuleLoadData", ctypes.byref(module), PTX.encode())
            for name in ("spin", "add", "multiply"):
                function = ctypes.c_void_p()
                self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
                self.functions[name] = function

    def code(self, name: str, *arguments) -> int:
        return getattr(self.library, name)(*arguments)

    def call(self, name: str, *arguments) -> None:
        code = self.code(name, *arguments)
        if code != SUCCESS:
            raise DriverError(name, code)

    def call_entered(self, name: str, *arguments) -> None:
        with self.entered():
            self.call(name, *arguments)

    # Contexts.

    def current(self) -> int | None:
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value

    @contextlib.contextmanager
    def entered(self, context=None):
        self.call("cuCtxPushCurrent_v2", self.context if context is None else ctypes.c_void_p(context))
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @contextlib.contextmanager
    def current_is(self, context: int | None):
        """Sets the thread's current context, and asserts that it is the same one at the end."""
        before = self.current()
        self.call("cuCtxSetCurrent", ctypes.c_void_p(context))
        try:
            yield
            assert self.current() == context, "the current context was changed"
        finally:
            self.call("cuCtxSetCurrent", ctypes.c_void_p(before))

    def create_context(self) -> int:
        """Not the primary one; current in no thread. `cuCtxDestroy_v2` ends it."""
        context = ctypes.c_void_p()
        if hasattr(self.library, "cuCtxCreate_v2"):
            self.call("cuCtxCreate_v2", ctypes.byref(context), 0, self.device)
        else:
            self.call("cuCtxCreate_v4", ctypes.byref(context), None, 0, self.device)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        return context.value

    # Streams.

    def create_stream(self, context=None) -> int:
        stream = ctypes.c_void_p()
        with self.entered(context):
            self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream.value

    def destroy_stream(self, stream: int) -> None:
        self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    @contextlib.contextmanager
    def stream(self):
        handle = self.create_stream()
        try:
            yield handle
        finally:
            self.synchronize(handle)
            self.destroy_stream(handle)

    def idle(self, stream: int) -> bool:
        with self.entered():
            code = self.code("cuStreamQuery", ctypes.c_void_p(stream))
        if code not in (SUCCESS, NOT_READY):
            raise DriverError("cuStreamQuery", code)
        return code == SUCCESS

    def synchronize(self, stream: int | None = None) -> None:
        with self.entered():
            if stream is None:
                self.call("cuCtxSynchronize")
            else:
                self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def follow(self, stream: int, other: int) -> None:
        """Later work in the stream waits for the present work of the other one."""
        event = ctypes.c_void_p()
        with self.entered():
            self.call("cuEventCreate", ctypes.byref(event), 2)
            self.call("cuEventRecord", event, ctypes.c_void_p(other))
            self.call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
            self.call("cuEventDestroy_v2", event)

    @contextlib.contextmanager
    def capture(self, stream: int, mode: int = 0):
        """Modes: 0 global, 1 thread-local, 2 relaxed. The list has the number of nodes at the end."""
        found: list[int] = []
        graph, n = ctypes.c_void_p(), ctypes.c_size_t()
        self.call_entered("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), mode)
        try:
            yield found
        finally:
            with self.entered():
                code = self.code("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
                if code == SUCCESS:
                    self.call("cuGraphGetNodes", graph, None, ctypes.byref(n))
                    self.call("cuGraphDestroy", graph)
                    found.append(n.value)
        if code != SUCCESS:
            raise DriverError("cuStreamEndCapture", code)

    # Work.

    def _launch(self, name: str, stream: int, groups: int, size: int, *arguments) -> None:
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.pointer(argument), ctypes.c_void_p) for argument in arguments)
        )
        with self.entered():
            code = self.library.cuLaunchKernel(
                self.functions[name], groups, 1, 1, size, 1, 1, 0, ctypes.c_void_p(stream), pointers, None
            )
        if code != SUCCESS:
            raise DriverError("cuLaunchKernel", code)

    def delay(self, stream: int, seconds: float) -> None:
        """Delays all later work of the stream by this time."""
        self._launch("spin", stream, 1, 1, ctypes.c_uint64(int(seconds * 1e9)))

    def add(self, stream: int, pointer: int, n: int, value: float) -> None:
        arguments = ctypes.c_uint64(pointer), ctypes.c_uint32(n), ctypes.c_float(value)
        self._launch("add", stream, (n + 255) // 256, 256, *arguments)

    def multiply(self, stream: int, pointer: int, n: int, value: float) -> None:
        arguments = ctypes.c_uint64(pointer), ctypes.c_uint32(n), ctypes.c_float(value)
        self._launch("multiply", stream, (n + 255) // 256, 256, *arguments)

    def copy(self, stream: int, target: int, source: int, nbytes: int) -> None:
        with self.entered():
            self.call(
                "cuMemcpyDtoDAsync_v2",
                ctypes.c_uint64(target),
                ctypes.c_uint64(source),
                ctypes.c_size_t(nbytes),
                ctypes.c_void_p(stream),
            )

    def allocate(self, nbytes: int, name: str = "cuMemAlloc_v2", *more) -> int:
        pointer = ctypes.c_uint64()
        with self.entered():
            self.call(name, ctypes.byref(pointer), ctypes.c_size_t(nbytes), *more)
        return pointer.value

    def free(self, pointer: int) -> None:
        with self.entered():
            self.call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def read(self, pointer: int, n: int) -> list[float]:
        """So many float32, when all work on the GPU has ended."""
        values = (ctypes.c_float * n)()
        self.synchronize()
        with self.entered():
            self.call("cuMemcpyDtoH_v2", values, ctypes.c_uint64(pointer), ctypes.c_size_t(4 * n))
        return list(values)

    def write(self, pointer: int, values: list[float]) -> None:
        data = (ctypes.c_float * len(values))(*values)
        with self.entered():
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), data, ctypes.c_size_t(4 * len(values)))
