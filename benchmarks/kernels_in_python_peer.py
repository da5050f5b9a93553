"""The kernels of kernels_in_python.py for numba-cuda and cupyx.jit, which take the same CuPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy
from cupyx import jit

if not hasattr(numpy, "row_stack"):  # which numba-cuda asks for, and NumPy 2.5 has no more
    numpy.row_stack = numpy.vstack
try:
    from numba import cuda, float32
except ImportError:
    cuda = None

TILE = 16


def numba_kernels() -> dict[str, Any]:
    @cuda.jit
    def matmul(a, b, c):
        j, i = cuda.grid(2)
        lj, li = cuda.threadIdx.x, cuda.threadIdx.y
        left = cuda.shared.array((16, 16), float32)
        right = cuda.shared.array((16, 16), float32)
        total = float32(0.0)
        for t in range(a.shape[1] // 16):
            left[li, lj] = a[i, t * 16 + lj]
            right[li, lj] = b[t * 16 + li, j]
            cuda.syncthreads()
            for k in range(16):
                total += left[li, k] * right[k, lj]
            cuda.syncthreads()
        c[i, j] = total

    @cuda.jit
    def n_body(x, y, z, m, ax, ay, az):
        i = cuda.grid(1)
        sx = sy = sz = float32(0.0)
        for j in range(len(x)):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            r = dx * dx + dy * dy + dz * dz + float32(0.01)
            s = m[j] / (r * math.sqrt(r))
            sx += s * dx
            sy += s * dy
            sz += s * dz
        ax[i], ay[i], az[i] = sx, sy, sz

    @cuda.jit
    def stencil(x, y):
        j, i = cuda.grid(2)
        j, i = j + 1, i + 1
        if i < y.shape[0] - 1 and j < y.shape[1] - 1:
            y[i, j] = float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @cuda.jit
    def reduction(x, sums):
        part = cuda.shared.array(256, float32)
        i = cuda.threadIdx.x
        part[i] = x[cuda.grid(1)]
        step = 128
        while step > 0:
            cuda.syncthreads()
            if i < step:
                part[i] += part[i + step]
            step = step // 2
        if i == 0:
            sums[cuda.blockIdx.x] = part[0]

    @cuda.jit(device=True)
    def phi(d):
        return float32(0.5) * (float32(1.0) + math.erf(d * float32(0.7071067811865476)))

    @cuda.jit
    def black_scholes(price, strike, years, call, put):
        i = cuda.grid(1)
        s, k, t = price[i], strike[i], years[i]
        root = math.sqrt(t)
        d1 = (math.log(s / k) + float32(0.02 + 0.5 * 0.3 * 0.3) * t) / (float32(0.3) * root)
        d2 = d1 - float32(0.3) * root
        discounted = k * math.exp(float32(-0.02) * t)
        call[i] = s * phi(d1) - discounted * phi(d2)
        put[i] = discounted * phi(-d2) - s * phi(-d1)

    @cuda.jit
    def histogram(x, counts):
        cuda.atomic.add(counts, x[cuda.grid(1)] & 255, 1)

    return {f.__name__: f for f in (matmul, n_body, stencil, reduction, black_scholes, histogram)}


def cupy_kernels() -> dict[str, Any]:
    f4, u4 = cupy.float32, cupy.uint32

    @jit.rawkernel()
    def matmul(a, b, c):
        j, i = jit.grid(2)
        lj, li = jit.threadIdx.x, jit.threadIdx.y
        left = jit.shared_memory(cupy.float32, 256)
        right = jit.shared_memory(cupy.float32, 256)
        total = f4(0.0)
        for t in range(a.shape[1] // 16):
            left[li * 16 + lj] = a[i, t * 16 + lj]
            right[li * 16 + lj] = b[t * 16 + li, j]
            jit.syncthreads()
            for k in range(u4(16)):
                total += left[li * 16 + k] * right[k * 16 + lj]
            jit.syncthreads()
        c[i, j] = total

    @jit.rawkernel()
    def n_body(x, y, z, m, ax, ay, az):
        i = jit.grid(1)
        sx = f4(0.0)
        sy = f4(0.0)
        sz = f4(0.0)
        for j in range(len(x)):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            r = dx * dx + dy * dy + dz * dz + f4(0.01)
            s = m[j] / (r * cupy.sqrt(r))
            sx += s * dx
            sy += s * dy
            sz += s * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz

    @jit.rawkernel()
    def stencil(x, y):
        j, i = jit.grid(2)
        if i + 2 < y.shape[0] and j + 2 < y.shape[1]:
            y[i + 1, j + 1] = f4(0.2) * (
                x[i + 1, j + 1] + x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]
            )

    @jit.rawkernel()
    def reduction(x, sums):
        part = jit.shared_memory(cupy.float32, 256)
        i = jit.threadIdx.x
        part[i] = x[jit.grid(1)]
        step = u4(128)
        while step > u4(0):
            jit.syncthreads()
            if i < step:
                part[i] += part[i + step]
            step = step // u4(2)
        if i == 0:
            sums[jit.blockIdx.x] = part[0]

    @jit.rawkernel()
    def histogram(x, counts):
        jit.atomic_add(counts, x[jit.grid(1)] & 255, 1)

    return {f.__name__: f for f in (matmul, n_body, stencil, reduction, histogram)}


def launches(name: str, space: Any, arguments: tuple[Any, ...]) -> dict[str, Callable[[], None]]:
    """A call of each peer that has the kernel. space: the range, and the size of work-groups or None."""
    extents, local = space
    block = local or ((32, 8) if len(extents) == 2 else (256,))
    grid = tuple(-(-n // b) for n, b in zip(extents, block, strict=True))
    arrays = tuple(cupy.from_dlpack(x) for x in arguments)
    found: dict[str, Callable[[], None]] = {}
    for peer, kernels in (("numba-cuda", numba_kernels() if cuda else {}), ("cupyx.jit", cupy_kernels())):
        if name not in kernels:
            continue
        bound = kernels[name][grid, block]
        given = tuple(map(cuda.as_cuda_array, arrays)) if peer == "numba-cuda" else arrays
        found[peer] = lambda bound=bound, given=given: bound(*given)
    return found


def synchronize() -> None:
    cupy.cuda.Device().synchronize()
