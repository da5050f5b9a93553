"""Kernels in Python beside the same kernels in the portable language: run time, launch, and first call.

    python benchmarks/kernels_in_python.py [--quick] [--peers] [DEVICE ...]

Each row has the same types and the same order of operations in both. Ratios are medians of `ROUNDS` rounds.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import usmpy
from usmpy.kernel_api import atomic_add, barrier, get_global_id, get_group_id, get_local_id, local_array

# CuPy imports NVIDIA's package cuda, not the script of that name beside this one.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [*(entry for entry in sys.path if entry != str(HERE)), str(HERE.parent)]
ROUNDS = 9
TILE = 16


def matmul(a, b, c):
    j, i = get_global_id(0), get_global_id(1)
    lj, li = get_local_id(0), get_local_id(1)
    left = local_array((TILE, TILE), usmpy.float32)
    right = local_array((TILE, TILE), usmpy.float32)
    total = 0.0
    for t in range(a.shape[1] // TILE):
        left[li, lj] = a[i, t * TILE + lj]
        right[li, lj] = b[t * TILE + li, j]
        barrier()
        for k in range(TILE):
            total += left[li, k] * right[k, lj]
        barrier()
    c[i, j] = total


MATMUL = """
kernel void matmul(global const float *a, global const float *b, global float *c, long n)
{
    long j = get_global_id(0), i = get_global_id(1), lj = get_local_id(0), li = get_local_id(1);
    local float left[16][16], right[16][16];
    float total = 0;
    for (long t = 0; t < n / 16; t++) {
        left[li][lj] = a[i * n + t * 16 + lj];
        right[li][lj] = b[(t * 16 + li) * n + j];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (long k = 0; k < 16; k++)
            total += left[li][k] * right[k][lj];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    c[i * n + j] = total;
}
"""


def n_body(x, y, z, m, ax, ay, az):
    i = get_global_id(0)
    sx = sy = sz = 0.0
    for j in range(len(x)):
        dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
        r = dx * dx + dy * dy + dz * dz + 0.01
        s = m[j] / (r * math.sqrt(r))
        sx += s * dx
        sy += s * dy
        sz += s * dz
    ax[i], ay[i], az[i] = sx, sy, sz


N_BODY = """
kernel void n_body(global const float *x, global const float *y, global const float *z, global const float *m,
                   global float *ax, global float *ay, global float *az, long n)
{
    long i = get_global_id(0);
    float sx = 0, sy = 0, sz = 0;
    for (long j = 0; j < n; j++) {
        float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        float r = dx * dx + dy * dy + dz * dz + 0.01f;
        float s = m[j] / (r * sqrt(r));
        sx += s * dx;
        sy += s * dy;
        sz += s * dz;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
}
"""


def stencil(x, y):
    j, i = get_global_id(0) + 1, get_global_id(1) + 1
    y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


STENCIL = """
kernel void stencil(global const float *x, global float *y, long n)
{
    long j = get_global_id(0) + 1, i = get_global_id(1) + 1;
    y[i * n + j] = 0.2f * (x[i * n + j] + x[(i - 1) * n + j] + x[(i + 1) * n + j] + x[i * n + j - 1]
                           + x[i * n + j + 1]);
}
"""


def reduction(x, sums):
    part = local_array(256, usmpy.float32)
    i = get_local_id(0)
    part[i] = x[get_global_id(0)]
    step = 128
    while step > 0:
        barrier()
        if i < step:
            part[i] += part[i + step]
        step = step // 2
    if i == 0:
        sums[get_group_id(0)] = part[0]


REDUCTION = """
kernel void reduction(global const float *x, global float *sums)
{
    local float part[256];
    long i = get_local_id(0);
    part[i] = x[get_global_id(0)];
    for (long step = 128; step > 0; step = step / 2) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (i < step)
            part[i] += part[i + step];
    }
    if (i == 0)
        sums[get_group_id(0)] = part[0];
}
"""


def phi(d):
    return 0.5 * (1.0 + math.erf(d * 0.7071067811865476))


def black_scholes(price, strike, years, call, put):
    i = get_global_id(0)
    s, k, t = price[i], strike[i], years[i]
    root = math.sqrt(t)
    d1 = (math.log(s / k) + (0.02 + 0.5 * 0.3 * 0.3) * t) / (0.3 * root)
    d2 = d1 - 0.3 * root
    discounted = k * math.exp(-0.02 * t)
    call[i] = s * phi(d1) - discounted * phi(d2)
    put[i] = discounted * phi(-d2) - s * phi(-d1)


BLACK_SCHOLES = """
float phi(float d) { return 0.5f * (1.0f + erf(d * 0.7071067811865476f)); }
kernel void black_scholes(global const float *price, global const float *strike, global const float *years,
                          global float *call, global float *put)
{
    long i = get_global_id(0);
    float s = price[i], k = strike[i], t = years[i], root = sqrt(t);
    float d1 = (log(s / k) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / (0.3f * root);
    float d2 = d1 - 0.3f * root, discounted = k * exp(-0.02f * t);
    call[i] = s * phi(d1) - discounted * phi(d2);
    put[i] = discounted * phi(-d2) - s * phi(-d1);
}
"""


def histogram(x, counts):
    atomic_add(counts, x[get_global_id(0)] & 255, 1)


HISTOGRAM = """
kernel void histogram(global const int *x, global int *counts)
{
    atomic_add(&counts[x[get_global_id(0)] & 255], 1);
}
"""


def cases(queue: usmpy.Queue, quick: bool):
    """(kernel in Python, source in C, range, arguments of the first, further arguments of the second)."""

    def drawn(*shape, low=0.1, high=1.0):
        numbers = usmpy.random.default_rng(3, queue=queue).random(shape, dtype="float32")
        return numbers * (high - low) + low

    n = 256 if quick else 1024
    a, b, c = drawn(n, n), drawn(n, n), usmpy.empty((n, n), dtype="float32", queue=queue)
    yield matmul, MATMUL, usmpy.NdRange((n, n), (TILE, TILE)), (a, b, c), (n,)
    m = 1024 if quick else 8192
    bodies = [drawn(m) for _ in range(7)]
    yield n_body, N_BODY, usmpy.Range(m), tuple(bodies), (m,)
    w = 512 if quick else 4096
    grid = drawn(w, w)
    yield stencil, STENCIL, usmpy.Range(w - 2, w - 2), (grid, usmpy.zeros_like(grid)), (w,)
    size = 1 << (18 if quick else 24)
    long = drawn(size)
    sums = usmpy.empty(size // 256, dtype="float32", queue=queue)
    yield reduction, REDUCTION, usmpy.NdRange(size, 256), (long, sums), ()
    options = [drawn(size // 4, low=10, high=30) for _ in range(5)]
    yield black_scholes, BLACK_SCHOLES, usmpy.Range(size // 4), tuple(options), ()
    numbers = usmpy.arange(size, dtype="int32", queue=queue)
    counts = usmpy.zeros(256, dtype="int32", queue=queue)
    yield histogram, HISTOGRAM, usmpy.Range(size), (numbers, counts), ()


def seconds(launch: Callable[[], object], repeats: int, wait: Callable[[object], object]) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        event = launch()
    wait(event)
    return (time.perf_counter() - begin) / repeats


def wait(event: object) -> None:
    event.wait()


def measure(name: str, queue: usmpy.Queue, case: tuple[Any, ...], peers: bool) -> None:
    """Prints a row for each peer: the kernel in C, with contraction, and those of other libraries."""
    function, source, space, arguments, more = case
    python = usmpy.kernel(function)[space]
    program = usmpy.Program(source, device=queue)[function.__name__][space]
    others = {"portable C": (lambda: program(*arguments, *more), wait)}
    contracted = usmpy.kernel(function, options="-cl-mad-enable")[space]
    others["with -cl-mad-enable"] = (lambda: contracted(*arguments), wait)
    if peers:
        from benchmarks import kernels_in_python_peer

        extents = space.global_range if isinstance(space, usmpy.NdRange) else tuple(space)
        local = space.local_range if isinstance(space, usmpy.NdRange) else None
        found = kernels_in_python_peer.launches(function.__name__, (extents, local), arguments)
        others |= {
            peer: (launch, lambda _: kernels_in_python_peer.synchronize()) for peer, launch in found.items()
        }
    own = (lambda: python(*arguments), wait)
    for peer, other in others.items():
        pair = (own, other)
        once = [min(seconds(launch, 1, end) for _ in range(3)) for launch, end in pair]
        repeats = max(1, min(2000, int(0.05 / max(once))))
        times = [[seconds(launch, repeats, end) for launch, end in pair] for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(row[k] for row in times) for k in (0, 1))
        ratio = statistics.median(row[0] / row[1] for row in times)
        show(name, function.__name__, ours, peer, theirs, ratio)


def show(name: str, kernel: str, ours: float, peer: str, theirs: float, ratio: float) -> None:
    times = f"{ours * 1e6:10.2f} us  {peer:20} {theirs * 1e6:10.2f} us {ratio:6.2f}"
    print(f"{name:14} {kernel:14} {times}", flush=True)


def nothing(a, x, y, z):
    pass


def measure_launches(name: str, queue: usmpy.Queue, peers: bool) -> None:
    """The time of a call with four arguments on an idle queue, of few work-items."""
    x, y, z = usmpy.zeros((3, 16), dtype="float32", queue=queue)
    source = "kernel void nothing(float a, global float *x, global float *y, global float *z) {}"
    own = (lambda: usmpy_kernel[16](1.5, x, y, z), wait)
    usmpy_kernel = usmpy.kernel(nothing)
    program = usmpy.Program(source, device=queue).nothing
    others = {"portable C": (lambda: program[16](1.5, x, y, z), wait)}
    if peers:
        import cupy
        from cupyx import jit

        from benchmarks import kernels_in_python_peer

        a, b, c = (cupy.from_dlpack(each) for each in (x, y, z))
        end = lambda _: kernels_in_python_peer.synchronize()  # noqa: E731
        of_cupy = jit.rawkernel()(nothing)
        others["cupyx.jit"] = (lambda: of_cupy[1, 16](1.5, a, b, c), end)
        if kernels_in_python_peer.cuda is not None:
            of_numba = kernels_in_python_peer.cuda.jit(nothing)
            views = [kernels_in_python_peer.cuda.as_cuda_array(each) for each in (a, b, c)]
            others["numba-cuda"] = (lambda: of_numba[1, 16](1.5, *views), end)
    for peer, other in others.items():
        times = [[seconds(launch, 1000, end) for launch, end in (own, other)] for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(row[k] for row in times) for k in (0, 1))
        show(name, "launch", ours, peer, theirs, ours / theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers", action="store_true", help="numba-cuda and cupyx.jit, on a CUDA device")
    parser.add_argument("device", nargs="*", default=["host"])
    given = parser.parse_args()
    for name in given.device:
        queue = usmpy.Queue(name)
        measure_launches(name, queue, given.peers)
        for case in cases(queue, given.quick):
            measure(name, queue, case, given.peers)


if __name__ == "__main__":
    main()
