"""CUDA C++ for the tests of kernels: one element a thread, and what makes and runs it."""

from __future__ import annotations

import numpy as np
from cuda_calls import ptx, u64

C_TYPES = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
INTEGERS = [name for name in C_TYPES if "int" in name]
FLOATS = ["float32", "float64"]
N = 500


def computed(driver, source, out, *arguments, grid=4, block=128, options=(), shared=0):
    """The kernel `k` of the source with the first array and what else it takes; what the array holds then."""
    module = driver.load(ptx(source, *options))
    memory = [driver.put(value) if value.ndim else value for value in map(np.asarray, (out, *arguments))]
    driver.launch(driver.kernel(module, "k"), grid, block, *memory, shared=shared)
    driver.call("cuCtxSynchronize")
    result = driver.get(memory[0], out.shape, out.dtype)
    for there in memory:
        if isinstance(there, u64):
            driver.call("cuMemFree", there)
    driver.call("cuModuleUnload", module)
    return result


def every(expression, result, *operands, before=""):
    """One element a thread: out[i] = expression of a, b, c."""
    names = "abc"[: len(operands)]
    loads = "".join(f"{C_TYPES[t]} {n} = p{n}[i]; " for n, t in zip(names, operands, strict=True))
    takes = "".join(f", const {C_TYPES[t]} *p{n}" for n, t in zip(names, operands, strict=True))
    return (
        f'{before}\nextern "C" __global__ void k({C_TYPES[result]} *out{takes}) {{ '
        f"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < {N}) {{ {loads} out[i] = {expression}; }} }}"
    )


def computed_all(driver, dtype, expressions, *operands):
    """What each expression of a, b, c gives, all in one program: a row for each."""
    names = "abc"[: len(operands)]
    ctype = C_TYPES[dtype]
    takes = "".join(f", const {ctype} *p{n}" for n in names)
    loads = "".join(f"{ctype} {n} = p{n}[i]; " for n in names)
    stores = "".join(f"out[{k * N} + i] = {each}; " for k, each in enumerate(expressions))
    source = (
        f'extern "C" __global__ void k({ctype} *out{takes}) {{ '
        f"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < {N}) {{ {loads} {stores} }} }}"
    )
    return computed(driver, source, np.zeros((len(expressions), N), dtype), *operands)


def sample(dtype, seed=0):
    """Numbers of all sizes, with the type's ends."""
    random = np.random.default_rng(seed)
    if "int" in dtype:
        info = np.iinfo(dtype)
        shifts = random.integers(0, info.bits, N).astype(dtype)
        values = random.integers(info.min, info.max, N, dtype=dtype, endpoint=True) >> shifts
        values[:6] = info.min, info.max, 0, 1, info.max - 1, info.min + 1
        return random.permutation(values)
    values = (random.standard_normal(N) * 10.0 ** random.integers(-6, 6, N)).astype(dtype)
    values[:5] = 0, -0.0, 1, np.inf, -np.inf
    return random.permutation(values)


def same(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
