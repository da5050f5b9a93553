"""Calls of the CUDA driver in software by their names in cuda.h, with ctypes, and PTX from NVRTC."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import pathlib
from collections.abc import Iterator

import cuda_drivers
import numpy as np

pointer, u64, size_t = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_PTX, INVALID_HANDLE = 1, 2, 201, 218, 400
NOT_READY, ILLEGAL_ADDRESS, MISALIGNED, LAUNCH_FAILED, ASSERT = 600, 700, 716, 719, 710
(
    CAPTURE_UNSUPPORTED,
    CAPTURE_INVALIDATED,
    CAPTURE_MERGE,
    CAPTURE_UNMATCHED,
    CAPTURE_UNJOINED,
    CAPTURE_ISOLATION,
    CAPTURE_IMPLICIT,
    CAPTURED_EVENT,
    CAPTURE_WRONG_THREAD,
) = range(900, 909)

# Versions that cuda.h of the headers means; the driver in software has no other names for most of them.
VERSIONS = ("", "_v2", "_v3", "_v4", "WithFlags")


class Failed(Exception):
    """A call failed; the code is its argument."""

    @property
    def code(self) -> int:
        return self.args[1]


class Driver:
    """The library, opened in this process. ``call`` raises Failed, ``code`` returns what the call did."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(cuda_drivers.library()))
        for name in ("cudasim_misuse", "cudasim_fault"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.cudasim_calls.restype = ctypes.c_longlong
        self.library.cudasim_launches.restype = ctypes.c_ulonglong

    @functools.cache  # noqa: B019 (there is one)
    def function(self, name):
        for version in reversed(VERSIONS):
            with contextlib.suppress(AttributeError):
                return getattr(self.library, name + version)
        raise AttributeError(name)

    def code(self, name, *arguments) -> int:
        return self.function(name)(*arguments)

    def call(self, name, *arguments) -> None:
        code = self.code(name, *arguments)
        if code:
            raise Failed(name, code, self.library.cudasim_fault())

    def out(self, kind, name, *arguments):
        """The call's first argument, which it fills."""
        result = kind()
        self.call(name, ctypes.byref(result), *arguments)
        return result if kind in (pointer, u64) else result.value

    # What tests write often.

    def counts(self) -> dict[str, int]:
        values = (ctypes.c_ulonglong * 8)()
        self.library.cudasim_counts(values)
        names = ("bytes", "allocations", "streams", "events", "modules", "graphs", "users", "misuses")
        return dict(zip(names, values, strict=True))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """No stream begins another operation in this block."""
        self.library.cudasim_hold(1)
        try:
            yield
        finally:
            self.library.cudasim_hold(0)

    @contextlib.contextmanager
    def current(self, context) -> Iterator[None]:
        self.call("cuCtxPushCurrent", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent", None)

    def stream(self, flags=1):
        return self.out(pointer, "cuStreamCreateWithPriority", flags, 0)

    def event(self, flags=0):
        return self.out(pointer, "cuEventCreate", flags)

    def allocate(self, nbytes) -> u64:
        return self.out(u64, "cuMemAlloc", size_t(nbytes))

    def put(self, values, dtype=None) -> u64:
        """New memory of the device with these contents."""
        values = np.ascontiguousarray(values, dtype)
        there = self.allocate(max(values.nbytes, 1))
        self.call("cuMemcpyHtoD", there, pointer(values.ctypes.data), size_t(values.nbytes))
        return there

    def get(self, there, shape, dtype):
        values = np.empty(shape, dtype)
        self.call("cuMemcpyDtoH", pointer(values.ctypes.data), there, size_t(values.nbytes))
        return values

    def load(self, text: str | bytes):
        """The module of this PTX; Failed with the log where it is refused."""
        module, log = pointer(), ctypes.create_string_buffer(1000)
        options, values = (ctypes.c_int * 2)(5, 6), (pointer * 2)(ctypes.addressof(log), len(log))
        image = text.encode() if isinstance(text, str) else text
        code = self.code("cuModuleLoadDataEx", ctypes.byref(module), image, 2, options, values)
        if code:
            raise Failed("cuModuleLoadDataEx", code, log.value.decode())
        return module

    def kernel(self, module, name):
        return self.out(pointer, "cuModuleGetFunction", module, name.encode())

    def launch(self, kernel, grid, block, *arguments, shared=0, stream=None):
        kept = [
            (ctypes.c_char * argument.nbytes).from_buffer_copy(argument.tobytes())
            if isinstance(argument, (np.generic, np.ndarray))
            else argument
            for argument in arguments
        ]
        parameters = (pointer * max(len(kept), 1))(*map(ctypes.addressof, kept))
        sizes = [value if isinstance(value, tuple) else (value, 1, 1) for value in (grid, block)]
        self.call("cuLaunchKernel", kernel, *sizes[0], *sizes[1], shared, stream, parameters, None)


def nvrtc_library() -> str | None:
    found = [path for folder in cuda_drivers.packages() for path in sorted(folder.glob("lib/libnvrtc.so.*"))]
    return next((str(path) for path in found if "builtins" not in path.name), None)


@functools.cache
def ptx(source: str, *options: str) -> str:
    """PTX that NVRTC compiles from CUDA C++; no device is needed."""
    path = pathlib.Path(nvrtc_library())
    for part in path.parent.glob("libnvrtc-builtins.so.*"):  # which it looks for by name alone
        ctypes.CDLL(str(part))
    library = ctypes.CDLL(str(path))
    program, size = pointer(), size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"test.cu", 0, None, None) == 0
    every = [b"--gpu-architecture=compute_80", *(option.encode() for option in options)]
    failed = library.nvrtcCompileProgram(program, len(every), (ctypes.c_char_p * len(every))(*every))
    part = "ProgramLog" if failed else "PTX"
    getattr(library, f"nvrtcGet{part}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{part}")(program, text)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert not failed, text.value.decode()
    return text.value.decode()
