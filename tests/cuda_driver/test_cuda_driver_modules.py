"""Modules and functions of the CUDA driver in software, and what faults do."""

from __future__ import annotations

import ctypes

import cuda_calls
import numpy as np
import pytest
from cuda_calls import (
    ASSERT,
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_PTX,
    INVALID_VALUE,
    LAUNCH_FAILED,
    MISALIGNED,
    pointer,
    ptx,
    size_t,
    u64,
)

pytestmark = pytest.mark.skipif(
    cuda_calls.nvrtc_library() is None, reason="no NVRTC: the package nvidia-cuda-nvrtc-cu12 has it"
)


# Faults: each in a process of its own, since the context is lost after it.

FAULTS = {
    "beyond": ("x[1 << 20] = 1;", ILLEGAL_ADDRESS),
    "before": ("x[-1] = 1;", ILLEGAL_ADDRESS),
    "null": ("*(int *)(long long)x[0] = 1;", ILLEGAL_ADDRESS),
    "host": ("*(int *)p = 1;", ILLEGAL_ADDRESS),
    "read": ("if (x[100000] == 7) x[0] = 2;", ILLEGAL_ADDRESS),
    "misaligned": ("*(int *)((char *)x + 2) = 1;", MISALIGNED),
    "trap": ("if (x[0] >= 0) __trap();", LAUNCH_FAILED),
    "shared": ("extern __shared__ int s[]; ((volatile int *)s)[x[0] + 100] = 1;", ILLEGAL_ADDRESS),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_loses_the_context(script, name):
    statement, expected = FAULTS[name]
    done = script(
        """
        import sys
        contexts = start()
        kernel = driver.kernel(driver.load(sys.argv[1]), "k")
        other, stream, event = driver.stream(), driver.stream(), driver.event()
        x, kept = driver.put(np.zeros(100, "int32")), np.zeros(100)
        with driver.held():
            driver.launch(kernel, 2, 1, x, np.int64(kept.ctypes.data), stream=stream)
            driver.call("cuEventRecord", event, stream)
        codes = [driver.code("cuStreamSynchronize", stream), driver.code("cuEventQuery", event)]
        codes += [driver.code("cuStreamQuery", other), driver.code("cuMemFree", x)]
        codes.append(driver.code("cuCtxSynchronize"))
        driver.call("cuCtxPushCurrent", contexts[1])
        driver.call("cuMemFree", driver.allocate(1))
        print(set(codes), b" in k, line " in driver.library.cudasim_fault())
        """,
        ptx(f'extern "C" __global__ void k(int *x, long long p) {{ {statement} }}'),
    )
    assert done.stdout == f"{{{expected}}} True\n", done.stderr


def test_memory_of_another_device_needs_peer_access(script):
    done = script(
        """
        import sys
        contexts = start()
        driver.call("cuCtxPushCurrent", contexts[1])
        x = driver.put(np.zeros(1, "int32"))
        driver.call("cuCtxPushCurrent", contexts[0])
        kernel = driver.kernel(driver.load(sys.argv[1]), "k")
        driver.call("cuCtxEnablePeerAccess", contexts[1], 0)
        print(driver.code("cuCtxEnablePeerAccess", contexts[1], 0))
        driver.launch(kernel, 1, 1, x)
        driver.call("cuCtxSynchronize")
        print(driver.get(x, 1, "int32"))
        driver.call("cuCtxDisablePeerAccess", contexts[1])
        driver.launch(kernel, 1, 1, x)
        print(driver.code("cuCtxSynchronize"))
        """,
        ptx('extern "C" __global__ void k(int *x) { *x = 5; }'),
    )
    assert done.stdout == f"704\n[5]\n{ILLEGAL_ADDRESS}\n", done.stderr


def test_an_assertion_that_fails_loses_the_context(script):
    done = script(
        """
        import sys
        start()
        kernel = driver.kernel(driver.load(sys.argv[1]), "k")
        for x in (1, 2):
            driver.launch(kernel, 1, 1, np.int32(x))
            print(driver.code("cuCtxSynchronize"))
        """,
        ptx(
            'extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, '
            "size_t);"
            'extern "C" __global__ void k(int x) { if (x != 1) __assertfail("x == 1", "f", 1, "k", 1); }'
        ),
    )
    assert done.stdout == f"0\n{ASSERT}\n", done.stderr


# Modules, functions, limits.

PLAIN = 'extern "C" __global__ void k(char a, double b, short *c) { if (b > a) *c = 1; }'


def test_functions_of_the_driver(driver):
    source = (
        PLAIN
        + 'extern "C" __global__ void __launch_bounds__(96) l() { __shared__ volatile int s[10]; s[0] = 1; }'
    )
    module = driver.load(ptx(source))
    count = ctypes.c_uint()
    driver.call("cuModuleGetFunctionCount", ctypes.byref(count), module)
    functions = (pointer * 2)()
    driver.call("cuModuleEnumerateFunctions", functions, 2, module)
    names = []
    for function in functions:
        name = ctypes.c_char_p()
        driver.call("cuFuncGetName", ctypes.byref(name), pointer(function))
        names.append(name.value)
    assert (count.value, sorted(names)) == (2, [b"k", b"l"])
    kernel, limited = driver.kernel(module, "k"), driver.kernel(module, "l")
    found, offset, size = [], size_t(), size_t()
    while (
        driver.code(
            "cuFuncGetParamInfo", kernel, size_t(len(found)), ctypes.byref(offset), ctypes.byref(size)
        )
        == 0
    ):
        found.append((offset.value, size.value))
    assert found == [(0, 1), (8, 8), (16, 8)]
    attribute = {which: ctypes.c_int() for which in (0, 1)}
    for which, value in attribute.items():
        driver.call("cuFuncGetAttribute", ctypes.byref(value), which, limited)
    assert [value.value for value in attribute.values()] == [96, 40]
    with pytest.raises(cuda_calls.Failed) as failed:
        driver.launch(limited, 1, 97)
    assert failed.value.code == INVALID_VALUE
    with pytest.raises(cuda_calls.Failed) as failed:
        driver.kernel(module, "m")
    assert failed.value.code == 500
    driver.call("cuModuleUnload", module)


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [(0, 1, 0), (1, 0, 0), (1, 1025, 0), (1, (32, 33, 1), 0), ((1, 65536, 1), 1, 0), (1, 1, 49153)],
)
def test_sizes_that_no_launch_has(driver, grid, block, shared):
    module = driver.load(ptx(PLAIN))
    launches = driver.library.cudasim_launches()
    with pytest.raises(cuda_calls.Failed) as failed:
        driver.launch(
            driver.kernel(module, "k"), grid, block, np.int8(1), np.float64(0), u64(0), shared=shared
        )
    assert failed.value.code == INVALID_VALUE
    driver.call("cuModuleUnload", module)
    assert driver.library.cudasim_launches() == launches


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .u32 %r<2>; "
MALFORMED = {
    "": "Missing .version",
    HEAD + "foo.u32 %r7; }": "line 4",
    HEAD + "bra L; }": "'L'",
    HEAD + "frob.u32 %r1, 1; }": "frob",
    HEAD + "add.u32 %r1, 1; }": "mismatch",
    HEAD: "ends",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_ptx_is_refused_with_a_message(driver, text):
    with pytest.raises(cuda_calls.Failed, match=MALFORMED[text]) as failed:
        driver.load(text)
    assert failed.value.code == INVALID_PTX


def test_a_function_ends_with_its_module(opened, primary, capfd):
    before = opened.counts()["misuses"]
    with opened.current(primary[0]):
        module = opened.load(ptx(PLAIN))
        kernel = opened.kernel(module, "k")
        opened.call("cuModuleUnload", module)
        with pytest.raises(cuda_calls.Failed) as failed:
            opened.launch(kernel, 1, 1, np.int8(1), np.float64(0), u64(0))
    assert failed.value.code == INVALID_HANDLE
    assert opened.counts()["misuses"] == before + 1
    assert "function" in capfd.readouterr().err
