"""The CUDA driver in software: devices, contexts, and what tests turn."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading

import cuda_drivers
import pytest
from cuda_calls import INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, pointer, size_t, u64

callbacks = []  # they are called until the process ends, as far as Python knows

# Devices and contexts.


def test_devices_and_their_attributes(driver):
    assert driver.out(ctypes.c_int, "cuDeviceGetCount") == 2

    def attribute(which, device=0):
        return driver.out(ctypes.c_int, "cuDeviceGetAttribute", which, device)

    assert (attribute(75), attribute(76)) == (8, 0)  # compute capability
    assert (attribute(1), attribute(10)) == (1024, 32)
    assert attribute(33, 0) != attribute(33, 1)  # the bus
    names = [ctypes.create_string_buffer(100) for _ in range(2)]
    uuids = [ctypes.create_string_buffer(16) for _ in range(2)]
    for i in range(2):
        driver.call("cuDeviceGetName", names[i], 100, i)
        driver.call("cuDeviceGetUuid", uuids[i], i)
    assert names[0].value != names[1].value
    assert uuids[0].raw != uuids[1].raw
    assert driver.out(ctypes.c_int, "cuDeviceCanAccessPeer", 0, 1) == 1
    assert driver.code("cuDeviceGetName", names[0], 100, 2) == 101


@pytest.mark.parametrize(("devices", "code"), [(0, 100), (1, 0), (3, 0)])
def test_the_environment_says_how_many_devices_there_are(devices, code, script):
    done = script(
        f"""
        assert driver.code("cuInit", 0) == {code}
        n = ctypes.c_int(-1)
        driver.code("cuDeviceGetCount", ctypes.byref(n))
        print(n.value)
        """,
        devices=devices,
    )
    assert (done.stdout, done.stderr) == (f"{devices or -1}\n", "")


def test_every_call_needs_the_start(script):
    done = script('assert driver.code("cuDeviceGet", ctypes.byref(ctypes.c_int()), 0) == 3')
    assert done.returncode == 0, done.stderr


def test_errors_have_names(driver):
    def named(code):
        text = ctypes.c_char_p()
        return driver.code("cuGetErrorName", code, ctypes.byref(text)), text.value

    assert named(700) == (0, b"CUDA_ERROR_ILLEGAL_ADDRESS")
    assert named(0) == (0, b"CUDA_SUCCESS")
    assert named(12345) == (INVALID_VALUE, None)


CALLS_WITHOUT = {
    "cuMemAlloc": lambda d: (ctypes.byref(u64()), size_t(10)),
    "cuMemHostAlloc": lambda d: (ctypes.byref(pointer()), size_t(10), 0),
    "cuStreamCreateWithPriority": lambda d: (ctypes.byref(pointer()), 1, 0),
    "cuEventCreate": lambda d: (ctypes.byref(pointer()), 0),
    "cuMemsetD8Async": lambda d: (u64(0), 0, size_t(1), None),
    "cuCtxSynchronize": lambda d: (),
    "cuModuleLoadData": lambda d: (ctypes.byref(pointer()), b""),
}


@pytest.mark.parametrize("name", CALLS_WITHOUT)
def test_a_current_context_is_needed(opened, name):
    assert not opened.out(pointer, "cuCtxGetCurrent")
    assert opened.code(name, *CALLS_WITHOUT[name](opened)) == INVALID_CONTEXT


def test_current_contexts_are_a_stack_of_each_thread(opened, primary):
    def current():
        return opened.out(pointer, "cuCtxGetCurrent").value

    with opened.current(primary[0]):
        with opened.current(primary[1]):
            assert current() == primary[1].value
            assert opened.out(ctypes.c_int, "cuCtxGetDevice") == 1
            seen = []
            thread = threading.Thread(target=lambda: seen.append(current()))
            thread.start()
            thread.join()
            assert seen == [None]
        assert current() == primary[0].value
    assert opened.code("cuCtxPopCurrent", None) == INVALID_CONTEXT


def test_contexts_beside_the_primary_one(opened, primary):
    own = opened.out(pointer, "cuCtxCreate", None, 0, 0)
    assert own.value not in [context.value for context in primary]
    stream = opened.stream()
    context = pointer()
    opened.call("cuStreamGetCtx", stream, ctypes.byref(context))
    assert context.value == own.value
    memory = opened.allocate(10)
    opened.call("cuMemFree", memory)
    opened.call("cuCtxDestroy", own)
    assert opened.code("cuCtxPushCurrent", own) == INVALID_CONTEXT
    assert opened.code("cuCtxDestroy", primary[0]) == INVALID_CONTEXT


# What tests turn.


def test_a_call_that_is_to_fail_does_so_once(driver):
    assert driver.library.cudasim_fail(b"cuMemAlloc", 2, OUT_OF_MEMORY) == 0
    calls = driver.library.cudasim_calls(b"cuMemAlloc")
    codes = [driver.code("cuMemAlloc", ctypes.byref(memory := u64()), size_t(1)) for _ in range(1)]
    driver.call("cuMemFree", memory)
    codes.append(driver.code("cuMemAlloc", ctypes.byref(u64()), size_t(1)))
    codes.append(driver.code("cuMemAlloc", ctypes.byref(memory), size_t(1)))
    driver.call("cuMemFree", memory)
    assert codes == [0, OUT_OF_MEMORY, 0]
    assert driver.library.cudasim_calls(b"cuMemAlloc") == calls + 3
    assert driver.library.cudasim_fail(b"cuNoSuch", 1, 1) == -1


def test_calls_fail_by_the_environment(script):
    done = script(
        """
        driver.call("cuInit", 0)
        try:
            driver.out(pointer, "cuDevicePrimaryCtxRetain", 0)
        except Failed as failed:
            print(failed.code)
        print(driver.out(pointer, "cuDevicePrimaryCtxRetain", 0).value > 0)
        """,
        fail="cuDevicePrimaryCtxRetain:1:2",
    )
    assert done.stdout == "2\nTrue\n", done.stderr


def test_a_lost_context_stays_lost(script):
    done = script(
        """
        driver.call("cuInit", 0)
        contexts = [driver.out(pointer, "cuDevicePrimaryCtxRetain", i) for i in range(2)]
        driver.call("cuCtxPushCurrent", contexts[0])
        stream, event = driver.stream(), driver.event()
        driver.library.cudasim_lose(0, 719)
        codes = [driver.code("cuStreamQuery", stream), driver.code("cuEventQuery", event)]
        codes += [driver.code("cuMemAlloc", ctypes.byref(u64()), size_t(1)), driver.code("cuCtxSynchronize")]
        driver.call("cuCtxPushCurrent", contexts[1])
        print(codes, driver.allocate(1).value > 0)
        """
    )
    assert done.stdout == "[719, 719, 719, 719] True\n", done.stderr


def test_the_child_of_a_fork_has_no_driver(driver):
    pid = os.fork()
    if pid == 0:
        os._exit(driver.code("cuCtxGetCurrent", ctypes.byref(pointer())))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    driver.call("cuMemFree", driver.allocate(1))


def test_host_functions_must_not_call_the_driver(driver):
    stream, codes = driver.stream(), []
    callbacks.append(
        ctypes.CFUNCTYPE(None, pointer)(
            lambda data: codes.append(driver.code("cuCtxGetCurrent", ctypes.byref(pointer())))
        )
    )
    driver.call("cuLaunchHostFunc", stream, callbacks[-1], None)
    driver.call("cuStreamSynchronize", stream)
    assert codes == [800]
    driver.call("cuStreamDestroy", stream)


def test_only_names_of_the_driver_are_exported(driver):
    names = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", str(cuda_drivers.library())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    exported = {line.split()[0] for line in names.splitlines()}
    driver.library.cudasim_function.restype = ctypes.c_char_p
    listed = {driver.library.cudasim_function(i).decode() for i in range(driver.library.cudasim_functions())}
    plain = {name.split("_v")[0] for name in exported if name.startswith("cu") and "cudasim" not in name}
    assert {name.removesuffix("WithFlags") for name in plain} == listed
    assert not {name for name in exported if not name.startswith("cu")}
