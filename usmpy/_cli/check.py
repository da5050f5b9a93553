"""python -m usmpy check: exchange, copies and kernels, each against what Python computes."""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Callable

import usmpy

from ..errors import BuildError
from .screen import progress, table

N = 1000
KERNELS = """
kernel void scale(global const float *x, global float *y, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + 1.0f;
}
kernel void reversed(global int *x, local int *t) {
    size_t i = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n;
    t[i] = x[first + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[first + i] = t[n - 1 - i];
}
"""


class Skipped(Exception):
    """The device does not support an optional feature."""


def same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"got {str(found)[:60]}, expected {str(expected)[:60]}")


def values(x: usmpy.USMArray) -> list[float]:
    return list(x.tolist())


def allocate(queue: usmpy.Queue) -> str:
    kinds = []
    for kind in ("device", "shared", "host"):
        if getattr(queue.device, f"has_usm_{kind}"):
            x = usmpy.full(N, 7, dtype="int32", usm_type=kind, queue=queue)
            same(values(x), [7] * N)
            same(x.usm_type, kind)
            kinds.append(kind)
    return " ".join(kinds)


def exchange_dlpack(queue: usmpy.Queue) -> str:
    x = usmpy.arange(N, dtype="float32", device=queue)
    y = usmpy.from_dlpack(x)
    same(y.data_ptr, x.data_ptr)
    same(values(y), [float(i) for i in range(N)])
    shown = usmpy.from_dlpack(x, device=(1, 0), copy=None)  # memory of the host, copied if necessary
    same(values(shown), [float(i) for i in range(N)])
    return "in place" if shown.data_ptr == x.data_ptr else "to the host by a copy"


def exchange_buffer(queue: usmpy.Queue) -> str:
    source = array("d", range(N))
    x = usmpy.asarray(source, device=queue)
    target = array("d", bytes(8 * N))
    usmpy.copyto(target, x)
    same(list(target), list(source))
    source[0] = -1.0  # the array is its own
    same(values(x), [float(i) for i in range(N)])
    return "by a copy"


def exchange_numpy(queue: usmpy.Queue) -> str:
    try:
        import numpy as np
    except ImportError:
        raise Skipped("NumPy is not installed") from None
    host = np.arange(N, dtype=np.int64).reshape(10, 100)[:, ::2]
    x = usmpy.asarray(host, device=queue)
    if not np.array_equal(x.asnumpy(), host):
        raise AssertionError("a NumPy array with strides came back changed")
    return f"NumPy {np.__version__}"


def copy_bytes(queue: usmpy.Queue) -> str:
    data = bytes(range(250)) * 400
    x = usmpy.empty(len(data), dtype="uint8", device=queue)
    y = usmpy.empty_like(x)
    back = bytearray(len(data))
    queue.memcpy(x, data)
    queue.memcpy(y, x)
    queue.memcpy(back, y).wait()
    same(bytes(back), data)
    queue.memcpy(x[1000:], x[:-1000]).wait()  # they overlap
    same(bytes(x.tolist()), data[:1000] + data[:-1000])
    return f"{len(data)} bytes"


def copy_strided(queue: usmpy.Queue) -> str:
    x = usmpy.reshape(usmpy.arange(N, dtype="int32", device=queue), (10, 100))
    y = usmpy.zeros((100, 10), dtype="float32", device=queue)
    y[...] = usmpy.astype(x.T, "float32")
    same(y.tolist(), [[float(100 * k + i) for k in range(10)] for i in range(100)])
    same(values(usmpy.flip(x[3, 10:50:4])), [float(i) for i in reversed(range(310, 350, 4))])
    return "transposed, cast, reversed"


def copy_to_host(queue: usmpy.Queue) -> str:
    x = usmpy.arange(N, dtype="int16", device=queue)
    y = x.to_device("host")
    z = y.to_device(queue)
    same((values(y), values(z)), (list(range(N)), list(range(N))))
    return "and back"


def fill(queue: usmpy.Queue) -> str:
    x = usmpy.zeros(N, dtype="int32", device=queue)
    queue.fill(x, -5).wait()
    same(values(x), [-5] * N)
    same(values(usmpy.linspace(0, 1, 5, dtype="float32", device=queue)), [0.0, 0.25, 0.5, 0.75, 1.0])
    return "fill, linspace"


def order(queue: usmpy.Queue) -> str:
    other = usmpy.Queue(queue.device, in_order=False)
    x = usmpy.zeros(N, dtype="int32", device=queue)
    seen: list[str] = []

    def late(word: str, seconds: float) -> None:
        time.sleep(seconds)
        seen.append(word)

    first = queue.host_task(late, "first", 0.01)
    second = other.host_task(late, "second", 0.0, depends=[first])
    third = other.fill(x, 3, depends=[second])
    third.wait()
    same((seen, values(x)), (["first", "second"], [3] * N))
    failed = queue.host_task(lambda: 1 // 0)
    same(type(failed.exception() or _after(failed)), ZeroDivisionError)
    return "two queues, host tasks, errors"


def _after(event: usmpy.Event) -> BaseException | None:
    """Wait for the task and return its exception."""
    try:
        event.wait()
    except Exception as error:
        return error
    return None


def _program(queue: usmpy.Queue) -> usmpy.Program:
    try:
        return usmpy.Program(KERNELS, device=queue)
    except BuildError:
        raise
    except usmpy.UsmError as error:  # no compiler is installed
        raise Skipped(str(error)) from None


def kernel(queue: usmpy.Queue) -> str:
    program = _program(queue)
    x = usmpy.arange(N, dtype="float32", device=queue)
    y = usmpy.empty_like(x)
    program["scale"][usmpy.Range(N)](x, y, 2.0).wait()
    same(values(y), [2.0 * i + 1.0 for i in range(N)])
    return "portable"


def kernel_groups(queue: usmpy.Queue) -> str:
    program = _program(queue)
    x = usmpy.arange(64, dtype="int32", device=queue)
    program["reversed"][usmpy.NdRange(64, 16)](x, usmpy.LocalMemory(64)).wait()
    same(values(x), [16 * (i // 16) + 15 - i % 16 for i in range(64)])
    return "local memory, barrier"


def kernel_errors(queue: usmpy.Queue) -> str:
    _program(queue)
    try:
        usmpy.Program("kernel void f(global int *x) { x[0] = nothing; }", device=queue)
    except BuildError as error:
        same("nothing" in str(error.log), True)
        return "the compiler's log"
    raise AssertionError("a program with an error was built")


def profile(queue: usmpy.Queue) -> str:
    timed = usmpy.Queue(queue.device, profiling=True)
    x = usmpy.empty(1 << 20, dtype="uint8", device=timed)
    event = timed.fill(x, 1)
    event.wait()
    same(event.submit_time_ns <= event.start_time_ns <= event.end_time_ns, True)
    return f"fill of 1 MiB: {(event.end_time_ns - event.start_time_ns) / 1e3:.0f} µs"


CHECKS: tuple[tuple[str, Callable[[usmpy.Queue], str]], ...] = (
    ("memory: allocation", allocate),
    ("exchange: DLPack", exchange_dlpack),
    ("exchange: buffers", exchange_buffer),
    ("exchange: NumPy", exchange_numpy),
    ("copies: bytes", copy_bytes),
    ("copies: strides and casts", copy_strided),
    ("copies: to the host", copy_to_host),
    ("copies: fills", fill),
    ("queues: order and errors", order),
    ("queues: profiling", profile),
    ("kernels: launch", kernel),
    ("kernels: work-groups", kernel_groups),
    ("kernels: errors", kernel_errors),
)


def _one(check: Callable[[usmpy.Queue], str], device: usmpy.Device) -> tuple[str, str]:
    try:
        return "ok", check(usmpy.Queue(device))
    except Skipped as reason:
        return "skipped", str(reason)
    except Exception as error:
        return "FAILED", f"{type(error).__name__:.80}: {' '.join(str(error).split())[:300]}"


def devices_of(selector: str | None) -> list[usmpy.Device]:
    return usmpy.get_devices() if selector is None else [usmpy.Device(selector)]


def run(selector: str | None, as_json: bool) -> int:
    rows = []
    devices = devices_of(selector)
    begin = time.perf_counter()
    with progress(len(devices) * len(CHECKS), "check") as step:
        for device in devices:
            for name, check in CHECKS:
                step(f"{device.filter_string} {name}")
                started = time.perf_counter()
                result, detail = _one(check, device)
                took = f"{(time.perf_counter() - started) * 1e3:.1f} ms"
                rows.append([device.filter_string, name, result, took, detail])
    failed = sum(row[2] == "FAILED" for row in rows)
    skipped = sum(row[2] == "skipped" for row in rows)
    seconds = time.perf_counter() - begin
    columns = ["device", "check", "result", "time", "detail"]
    if as_json:
        results = [dict(zip(columns, row, strict=True)) for row in rows]
        json.dump(
            {"failed": failed, "skipped": skipped, "seconds": seconds, "checks": results},
            sys.stdout,
            indent=2,
        )
        print()
    else:
        table(columns, rows, right=(3,))
        passed = len(rows) - failed - skipped
        print(f"{passed} passed, {failed} failed, {skipped} skipped, in {seconds:.1f} s")
    return 1 if failed else 0
