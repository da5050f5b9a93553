"""The CUDA driver in software: virtual memory, and memory and events of several processes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap

import cuda_drivers
import numpy as np
import pytest
from conftest import START
from cuda_calls import INVALID_HANDLE, INVALID_VALUE, NOT_READY, pointer, size_t, u64

GRANULE = 2 << 20
POSIX, PINNED, DEVICE = 1, 1, 1
NONE, READ, WRITE = 0, 1, 3


class Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("place", ctypes.c_int * 2),
        ("metadata", pointer),
        ("flags", ctypes.c_char * 8),
    ]


def create(driver, nbytes=GRANULE, handles=POSIX, device=0):
    properties = Properties(PINNED, handles, (DEVICE, device))
    return driver.out(u64, "cuMemCreate", size_t(nbytes), ctypes.byref(properties), u64(0))


def allow(driver, at, flags, device=0, nbytes=GRANULE):
    access = (ctypes.c_int * 3)(DEVICE, device, flags)
    driver.call("cuMemSetAccess", at, size_t(nbytes), access, size_t(1))


def mapped(driver, handle, nbytes=GRANULE, flags=WRITE):
    at = driver.out(u64, "cuMemAddressReserve", size_t(nbytes), size_t(0), u64(0), u64(0))
    driver.call("cuMemMap", at, size_t(nbytes), size_t(0), handle, u64(0))
    if flags != NONE:
        allow(driver, at, flags, nbytes=nbytes)
    return at


def unmapped(driver, at, nbytes=GRANULE):
    driver.call("cuMemUnmap", at, size_t(nbytes))
    driver.call("cuMemAddressFree", at, size_t(nbytes))


def exported(driver, handle):
    return driver.out(ctypes.c_int, "cuMemExportToShareableHandle", handle, POSIX, u64(0))


def imported(driver, descriptor):
    return driver.out(u64, "cuMemImportFromShareableHandle", pointer(descriptor), POSIX)


def test_an_allocation_has_one_memory_at_every_address(driver):
    handle = create(driver)
    first, second = mapped(driver, handle), mapped(driver, handle)
    driver.call("cuMemsetD32Async", first, 7, size_t(GRANULE // 4), None)
    driver.call("cuStreamSynchronize", None)
    assert (driver.get(second, 100, "int32") == 7).all()
    driver.call("cuMemRelease", handle)
    unmapped(driver, first)
    assert driver.get(second, 1, "int32") == 7
    unmapped(driver, second)


def test_new_memory_holds_no_zeros(driver):
    handle = create(driver)
    at = mapped(driver, handle)
    driver.call("cuMemRelease", handle)
    assert driver.get(at, 1000, "uint8").all()
    unmapped(driver, at)


def test_what_is_refused(driver):
    assert driver.code("cuMemFree", u64(0)) == 0
    properties = Properties(PINNED, POSIX, (DEVICE, 0))
    for nbytes in (0, 100, GRANULE + 1):
        out = u64()
        code = driver.code("cuMemCreate", ctypes.byref(out), size_t(nbytes), ctypes.byref(properties), u64(0))
        assert code == INVALID_VALUE
    handle, silent = create(driver), create(driver, handles=0)
    descriptor = ctypes.c_int()
    code = driver.code("cuMemExportToShareableHandle", ctypes.byref(descriptor), silent, POSIX, u64(0))
    assert code == INVALID_VALUE
    at = driver.out(u64, "cuMemAddressReserve", size_t(GRANULE), size_t(0), u64(0), u64(0))
    assert driver.code("cuMemMap", at, size_t(2 * GRANULE), size_t(0), handle, u64(0)) == INVALID_VALUE
    assert driver.code("cuMemMap", at, size_t(GRANULE), size_t(GRANULE), handle, u64(0)) == INVALID_VALUE
    driver.call("cuMemMap", at, size_t(GRANULE), size_t(0), handle, u64(0))
    assert driver.code("cuMemMap", at, size_t(GRANULE), size_t(0), handle, u64(0)) == INVALID_VALUE
    assert driver.code("cuMemFree", at) == INVALID_VALUE
    unmapped(driver, at)
    for each in (handle, silent):
        driver.call("cuMemRelease", each)
    with open(os.devnull) as file:
        out = u64()
        code = driver.code("cuMemImportFromShareableHandle", ctypes.byref(out), pointer(file.fileno()), POSIX)
        assert code == INVALID_VALUE


def test_what_ended_is_detected(opened, primary, capfd):
    before = opened.counts()["misuses"]
    with opened.current(primary[0]):
        handle = create(opened)
        at = mapped(opened, handle)
        opened.call("cuMemRelease", handle)
        assert opened.code("cuMemRelease", handle) == INVALID_VALUE
        assert opened.code("cuMemAddressFree", at, size_t(GRANULE)) == INVALID_VALUE  # it is mapped
        unmapped(opened, at)
        assert opened.code("cuMemUnmap", at, size_t(GRANULE)) == INVALID_VALUE
        assert opened.code("cuMemsetD8Async", at, 0, size_t(1), None) == INVALID_VALUE
    assert opened.counts()["misuses"] == before + 3
    capfd.readouterr()


def test_pointers_say_what_is_mapped(driver):
    handle = create(driver, 2 * GRANULE)
    at = mapped(driver, handle, 2 * GRANULE)
    base, size = u64(), size_t()
    driver.call("cuMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), u64(at.value + GRANULE + 5))
    assert (base.value, size.value) == (at.value, 2 * GRANULE)
    again = driver.out(u64, "cuMemRetainAllocationHandle", pointer(at.value))
    properties = Properties()
    driver.call("cuMemGetAllocationPropertiesFromHandle", ctypes.byref(properties), again)
    assert (properties.handles, list(properties.place)) == (POSIX, [DEVICE, 0])
    for each in (handle, again):
        driver.call("cuMemRelease", each)
    unmapped(driver, at, 2 * GRANULE)


@pytest.mark.parametrize("flags", [NONE, READ])
def test_copies_and_fills_need_access(driver, flags):
    handle, other = create(driver), driver.put(np.arange(10, dtype="int32"))
    at = mapped(driver, handle, flags=flags)
    driver.call("cuMemRelease", handle)
    expected = 0 if flags == READ else INVALID_VALUE
    assert driver.code("cuMemcpyAsync", other, at, size_t(40), None) == expected
    assert driver.code("cuMemcpyAsync", at, other, size_t(40), None) == INVALID_VALUE
    assert driver.code("cuMemsetD8Async", at, 0, size_t(1), None) == INVALID_VALUE
    allow(driver, at, WRITE)
    driver.call("cuMemcpyAsync", at, other, size_t(40), None)
    driver.call("cuCtxSynchronize")
    assert driver.out(u64, "cuMemGetAccess", (ctypes.c_int * 2)(DEVICE, 0), at).value == WRITE
    unmapped(driver, at)
    driver.call("cuMemFree", other)


COPY = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
    .reg .u64 %out, %in, %at;
    .reg .u32 %thread, %value;
    ld.param.u64 %out, [out];
    ld.param.u64 %in, [in];
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %at, %thread, 4;
    add.u64 %in, %in, %at;
    add.u64 %out, %out, %at;
    ld.global.u32 %value, [%in];
    st.global.u32 [%out], %value;
    ret;
}
"""


@pytest.mark.parametrize(("written", "code"), [(False, 0), (True, 700)])
def test_kernels_need_access(script, written, code):
    done = script(
        """
        sys.path.insert(0, os.path.dirname(cuda_calls.__file__))
        from test_cuda_driver_processes import *
        start()
        at, other = mapped(driver, create(driver), flags=READ), driver.put(np.arange(64, dtype="int32"))
        kernel = driver.kernel(driver.load(COPY), "k")
        driver.launch(kernel, 1, 64, *((at, other) if sys.argv[1] == "True" else (other, at)))
        print(driver.code("cuCtxSynchronize"))
        """.replace("sys.path", "import sys; sys.path", 1),
        str(written),
    )
    assert done.stdout == f"{code}\n", done.stderr


# The other process: it gets descriptors in its arguments and lines of code, and answers each with a value.
OTHER = START + textwrap.dedent(
    """
    import sys
    sys.path.insert(0, os.path.dirname(cuda_calls.__file__))
    from test_cuda_driver_processes import *
    contexts = start()
    descriptors = [int(n) for n in sys.argv[1:]]
    for line in sys.stdin:
        try:
            value = eval(line)
        except SyntaxError:
            value = exec(line)
        print(repr(value), flush=True)
    """
)


class Other:
    def __init__(self, *descriptors):
        environment = {**cuda_drivers.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER, *map(str, descriptors)],
            env=environment,
            pass_fds=descriptors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return eval(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()


def test_two_processes_have_one_memory(driver):
    handle = create(driver)
    descriptor, at = exported(driver, handle), mapped(driver, handle)
    driver.call("cuMemRelease", handle)
    with Other(descriptor) as other:
        os.close(descriptor)
        other("handle = imported(driver, descriptors[0]); at = mapped(driver, handle)")
        driver.call("cuMemsetD32Async", at, 5, size_t(10), None)
        driver.call("cuCtxSynchronize")
        assert other("driver.get(at, 10, 'int32').tolist()") == [5] * 10
        other("driver.call('cuMemsetD32Async', at, 6, size_t(1), None); driver.call('cuCtxSynchronize')")
        assert driver.get(at, 2, "int32").tolist() == [6, 5]
        unmapped(driver, at)
        assert other("driver.get(at, 1, 'int32').tolist()") == [6]


def test_events_are_reached_in_both_processes(driver):
    with Other() as other:
        other("event = driver.event(6); name = (ctypes.c_char * 64)()")
        other("driver.call('cuIpcGetEventHandle', name, event)")
        name = (ctypes.c_char * 64).from_buffer_copy(other("bytes(name)"))
        event = driver.out(pointer, "cuIpcOpenEventHandle", Name.from_buffer(name))
        assert driver.code("cuEventQuery", event) == 0  # nothing was recorded
        other("driver.library.cudasim_hold(1); driver.call('cuEventRecord', event, None)")
        assert driver.code("cuEventQuery", event) == NOT_READY
        stream = driver.stream()
        driver.call("cuStreamWaitEvent", stream, event, 0)
        assert driver.code("cuStreamQuery", stream) == NOT_READY
        other("driver.library.cudasim_hold(0)")
        driver.call("cuStreamSynchronize", stream)
        assert driver.code("cuEventQuery", event) == 0
        assert (
            other("driver.code('cuIpcOpenEventHandle', ctypes.byref(pointer()), Name.from_buffer(name))")
            == 201
        )
        # A process that ends leaves nothing to wait for.
        other("driver.library.cudasim_hold(1); driver.call('cuEventRecord', event, None)")
        driver.call("cuStreamWaitEvent", stream, event, 0)
        other.process.kill()
        driver.call("cuStreamSynchronize", stream)
        driver.call("cuEventDestroy", event)
        driver.call("cuStreamDestroy", stream)
    other.process.wait()
    out = pointer()
    assert driver.code("cuIpcOpenEventHandle", ctypes.byref(out), Name.from_buffer(name)) == 205


class Name(ctypes.Structure):
    """CUipcEventHandle, which is passed by value."""

    _fields_ = [("bytes", ctypes.c_char * 64)]


def test_an_event_that_its_process_destroyed(opened, primary, capfd):
    before = opened.counts()["misuses"]
    with Other() as other, opened.current(primary[0]):
        other("event = driver.event(6); name = (ctypes.c_char * 64)()")
        other("driver.call('cuIpcGetEventHandle', name, event)")
        name = (ctypes.c_char * 64).from_buffer_copy(other("bytes(name)"))
        event = opened.out(pointer, "cuIpcOpenEventHandle", Name.from_buffer(name))
        other("driver.call('cuEventDestroy', event)")
        opened.code("cuEventQuery", event)
        assert b"which that process has destroyed" in opened.library.cudasim_misuse()
        opened.call("cuEventDestroy", event)
    assert opened.counts()["misuses"] == before + 1
    capfd.readouterr()


def test_events_for_processes_have_no_times(driver):
    assert driver.code("cuEventCreate", ctypes.byref(pointer()), 4) == INVALID_VALUE
    event = driver.event(2)
    assert driver.code("cuIpcGetEventHandle", ctypes.byref(Name()), event) == INVALID_HANDLE
    driver.call("cuEventDestroy", event)
