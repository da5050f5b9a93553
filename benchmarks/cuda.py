"""The exchange, launches, memory, events and copies on an NVIDIA GPU: usmpy beside its peers.

    python benchmarks/cuda.py                  the table
    python benchmarks/cuda.py --json FILE      and the figures as JSON (- for standard output)
    python benchmarks/cuda.py --markdown       the table as Markdown (docs/gpu-report.md has the last one)
    python benchmarks/cuda.py --quick          fewer rounds: to see that it runs, not for figures

The peers are a C program that makes the same calls of the driver (cuda_raw.c), CuPy, PyTorch and cuda.core,
all in one process and in one context. Rows of a few microseconds count submissions: what was enqueued is
waited for between the batches, off the clock. Peers that are not installed are left out.

Needs a release build (no USMPY_TESTING), a C compiler and cuda.h. USMPY_CUDA_LIBRARY names another libcuda,
as it does for usmpy itself: with the software driver of the tests the benchmark shows that it runs, no more.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import timeit
from types import ModuleType
from typing import Any

import numpy as np
from timing import Batch, Row, best_batches, report

import usmpy
from usmpy import _core

HERE = pathlib.Path(__file__).resolve().parent
# This file's folder is the first on the path, where its name hides the package `cuda` of the peers.
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != HERE]
SMALL, LARGE = 8 << 10, 256 << 20  # bytes
ELEMENTS = 1024
IN_FLIGHT = 400  # submissions that a driver takes without waiting for the GPU
HOLD_NS = 5_000_000  # how long a stream is held up where work has to be pending

TOUCH = """
extern "C" __global__ void touch(const float *a, const float *b, float *c, unsigned n)
{
    if (n == 12345)
        c[0] = a[0] + b[0];
}
"""
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry touch(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .u32 %n;
    .reg .u64 %c;
    .reg .pred %other;
    ld.param.u32 %n, [n];
    setp.ne.u32 %other, %n, 12345;
    @%other bra end;
    ld.param.u64 %c, [c];
    st.global.u32 [%c], %n;
end:
    ret;
}
"""
SPIN = """
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


# -- the raw program ---------------------------------------------------------------------------------------


def headers() -> list[str]:
    """Compiler options that find cuda.h: of packages, then of the toolkit."""
    if "CUDA_INCLUDE" in os.environ:
        return [f"-I{os.environ['CUDA_INCLUDE']}"]
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec is not None else None
    found = [path.parent for place in places or () for path in pathlib.Path(place).glob("*/include/cuda.h")]
    return [
        f"-I{path}"
        for path in [*found, os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")]
    ]


@dataclasses.dataclass
class Raw:
    """cuda_raw.c on one GPU."""

    library: ctypes.CDLL
    handle: int

    def batch(self, function: str, *arguments: Any) -> Batch:
        function = getattr(self.library, f"raw_{function}")

        def run(n: int) -> float:
            start = time.perf_counter()
            function(self.handle, n, *arguments)
            return time.perf_counter() - start

        return run


def raw_library(folder: str) -> ctypes.CDLL:
    library = pathlib.Path(folder) / "cuda_raw.so"
    flags = ["-O3", "-shared", "-fPIC", *headers()]
    subprocess.run([os.environ.get("CC", "gcc"), *flags, HERE / "cuda_raw.c", "-o", library], check=True)
    ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    raw = ctypes.CDLL(str(library))
    pointer, size, count = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    raw.raw_open.argtypes, raw.raw_open.restype = [count, ctypes.c_char_p, size, count], pointer
    raw.raw_x.argtypes, raw.raw_x.restype = [pointer], ctypes.c_uint64
    raw.raw_stream.argtypes, raw.raw_stream.restype = [pointer], pointer
    for name in ("enter", "synchronize"):
        getattr(raw, f"raw_{name}").argtypes = [pointer]
    raw.raw_hold.argtypes = [pointer, pointer, ctypes.c_uint64]
    raw.raw_peer_enable.argtypes = [pointer, pointer]
    for name in ("launches", "launch_wait", "record", "wait_event", "query"):
        getattr(raw, f"raw_{name}").argtypes = [pointer, count]
    for name in ("allocate", "fills", "copies", "fill_wait"):
        getattr(raw, f"raw_{name}").argtypes = [pointer, count, size]
    raw.raw_copy_wait.argtypes = [pointer, count, size, count]
    raw.raw_peer_copy_wait.argtypes = [pointer, count, size, pointer]
    return raw


# -- batches -----------------------------------------------------------------------------------------------


class Bench:
    """What the rows share: the names that statements use, and the pauses between batches."""

    def __init__(self, device: Any, raw: Raw, rounds: int, only: str, large: int, software: bool):
        self.device, self.raw, self.rounds, self.only, self.large = device, raw, rounds, only, large
        self.software = software
        self.rows: list[Row] = []
        self.modules: list[ModuleType] = [usmpy, np]
        self.names: dict[str, Any] = {"usmpy": usmpy, "device": device, "queue": device.queue}

    def settle(self) -> None:
        """Off the clock: all that was enqueued has ended."""
        self.device.queue.wait()
        self.raw.library.raw_synchronize(self.raw.handle)
        for name in ("torch", "cupy"):
            if name in self.names:
                synchronize = {
                    "torch": lambda: self.names["torch"].cuda.synchronize(),
                    "cupy": lambda: self.names["cupy"].cuda.runtime.deviceSynchronize(),
                }[name]
                synchronize()
                return

    def submissions(self, run: Batch) -> Batch:
        """A batch in parts that the driver takes without waiting for the GPU."""

        def batch(n: int) -> float:
            seconds = 0.0
            while n > 0:
                part = min(n, IN_FLIGHT)
                seconds += run(part)
                self.settle()
                n -= part
            return seconds

        return batch

    def best_held(self, batches: dict[str, Batch], streams: dict[str, int]) -> dict[str, float]:
        """Seconds a run, where the candidate's stream is held up so that all of it is pending."""
        best = dict.fromkeys(batches, float("inf"))
        for _ in range(self.rounds):
            for name, run in batches.items():
                self.raw.library.raw_hold(self.raw.handle, streams[name], HOLD_NS)
                best[name] = min(best[name], run(IN_FLIGHT) / IN_FLIGHT)
                self.settle()
        return best

    def timer(self, statement: str) -> Batch:
        return timeit.Timer(statement, globals=self.names).timeit

    def row(
        self,
        title: str,
        ours: str,
        peers: dict[str, str | Batch],
        target: str | None = None,
        limit: float | None = None,
        also: dict[str, float] | None = None,
        *,
        waits: bool = False,
        hold: dict[str, int] | None = None,
        rounds: int | None = None,
    ) -> None:
        """One line, unless a name in `ours` is missing here. Statements of absent peers are left out."""
        if self.only not in title:
            return
        batches: dict[str, Batch] = {}
        for name, work in {"usmpy": ours, **peers}.items():
            run = self.timer(work) if isinstance(work, str) else work
            try:
                run(1)
            except NameError:  # not installed
                if name == "usmpy":
                    return
                continue
            except Exception as error:
                print(f"{title}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
                if name == "usmpy":
                    return
                continue
            batches[name] = run if waits or hold else self.submissions(run)
        self.settle()
        best = self.best_held(batches, hold) if hold else best_batches(batches, rounds or self.rounds)
        self.settle()
        mine = best.pop("usmpy")
        also = {name: most for name, most in (also or {}).items() if name in best}
        if target not in best:
            target, limit = next(iter(also.items())) if also else (None, None)
        self.rows.append(Row(title, mine, best, target, limit, also=also))


# -- peers -------------------------------------------------------------------------------------------------


def add_torch(bench: Bench) -> None:
    torch = importlib.import_module("torch")
    bench.names |= {
        "torch": torch,
        "t": torch.zeros(ELEMENTS, device="cuda"),
        "torch_event": torch.cuda.Event(),
        "torch_stream": torch.cuda.Stream(),
    }
    bench.modules.append(torch)


def add_cupy(bench: Bench) -> None:
    cupy = importlib.import_module("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    kernel = cupy.RawKernel(TOUCH, "touch")
    c = cupy.zeros(ELEMENTS, dtype="float32")
    kernel((4,), (256,), (c, c, c, np.uint32(ELEMENTS)))
    bench.names |= {
        "cupy": cupy,
        "c": c,
        "c_reversed": c[::-1],
        "cupy_kernel": kernel,
        "cupy_stream": stream,
        "cupy_pool": cupy.get_default_memory_pool(),
        "n32": np.uint32(ELEMENTS),
        "grid": (4,),
        "block": (256,),
    }
    bench.modules.append(cupy)


def add_cuda_core(bench: Bench) -> None:
    core = importlib.import_module("cuda.core")
    view = (
        getattr(core, "StridedMemoryView", None)
        or importlib.import_module("cuda.core.utils").StridedMemoryView
    )
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    program = core.Program(TOUCH, "c++", core.ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    bench.names |= {
        "core": core,
        "view": view,
        "core_device": device,
        "core_stream": stream,
        "core_pointer": int(stream.handle),
        "core_view": view.from_any_interface(usmpy.zeros(ELEMENTS, device=bench.device), stream_ptr=-1),
        "core_kernel": program.compile("cubin").get_kernel("touch"),
        "core_config": core.LaunchConfig(grid=4, block=256),
        "core_launch": core.launch,
        "pointer": bench.raw.library.raw_x(bench.raw.handle),
        "n32": np.uint32(ELEMENTS),
    }
    bench.modules.append(core)


def add_peers(bench: Bench) -> None:
    for add in (add_torch, add_cupy, add_cuda_core):
        try:
            add(bench)
        except Exception as error:  # not installed, or without CUDA
            print(f"left out: {add.__name__.removeprefix('add_')}: {error}", file=sys.stderr)


# -- rows --------------------------------------------------------------------------------------------------


def add_ours(bench: Bench) -> None:
    queue = bench.device.queue
    program = usmpy.Program(PTX, device=bench.device, language="ptx")
    touch = program["touch"].with_parameters(["const float32*", "const float32*", "float32*", "uint32"])
    bench.names |= {
        "u": usmpy.zeros(ELEMENTS, dtype="float32", queue=queue),
        "a": usmpy.zeros(ELEMENTS, dtype="float32", queue=queue),
        "b": usmpy.zeros(ELEMENTS, dtype="float32", queue=queue),
        "bound": touch[usmpy.NdRange(ELEMENTS, 256)],
        "touch": touch,
        "r": usmpy.NdRange(ELEMENTS, 256),
        "small_x": usmpy.zeros(SMALL, dtype="uint8", queue=queue),
        "small_y": usmpy.zeros(SMALL, dtype="uint8", queue=queue),
        "other": usmpy.Queue(bench.device),
        "version": (1, 3),
    }
    queue.wait()


def exchange_rows(bench: Bench) -> None:
    core = "view.from_any_interface({0}, stream_ptr=core_pointer)"
    unordered = "view.from_any_interface({0}, stream_ptr=-1)"
    # A view without an order of its own is the least that anybody does: it says nothing of pending work.
    limits = {"torch": {"cuda.core": 0.5}, "cupy": {"cuda.core": 0.6, "cuda.core, no order": 0.8}}
    for name, array in (("torch", "t"), ("cupy", "c")):
        bench.row(
            f"usmpy.from_dlpack({name})",
            f"usmpy.from_dlpack({array})",
            {
                "cuda.core": core.format(array),
                "cuda.core, no order": unordered.format(array),
                "cupy": f"cupy.from_dlpack({array})",
                "torch": f"torch.from_dlpack({array})",
            },
            also=limits[name],
        )
    bench.row("usmpy.from_dlpack(cupy), reversed", "usmpy.from_dlpack(c_reversed)", {})
    bench.row("usmpy.asarray(cupy)", "usmpy.asarray(c)", {})
    bench.row(
        "torch.from_dlpack(usmpy)",
        "torch.from_dlpack(u)",
        {
            "of cupy": "torch.from_dlpack(c)",
            "of torch": "torch.from_dlpack(t)",
            # What PyTorch spends on it, whoever the producer is.
            "torch.cuda.current_stream": "torch.cuda.current_stream('cuda:0').cuda_stream",
            "of cuda.core": "torch.from_dlpack(core_view)",
        },
        "of cupy",
        0.6,
    )
    bench.row(
        "cupy.from_dlpack(usmpy)",
        "cupy.from_dlpack(u)",
        {"of cupy": "cupy.from_dlpack(c)", "of torch": "cupy.from_dlpack(t)"},
        "of cupy",
        1.0,
    )
    bench.row(
        "cuda.core's view of usmpy",
        core.format("u"),
        {"of torch": core.format("t"), "of cupy": core.format("c")},
        "of cupy",
    )
    bench.row("usmpy.from_dlpack(usmpy)", "usmpy.from_dlpack(u)", {})
    bench.row(
        "x.__dlpack__(stream=1, max_version=(1, 3))",
        "u.__dlpack__(stream=1, max_version=version)",
        {
            "cupy": "c.__dlpack__(stream=1, max_version=version)",
            "torch": "t.__dlpack__(stream=1, max_version=version)",
        },
        "cupy",
    )
    for name, array in (("torch", "t"), ("cupy", "c")):
        # The import orders nothing until the array is used: this is what order and use cost together.
        bench.row(
            f"from_dlpack({name}), and a launch on it",
            f"x = usmpy.from_dlpack({array}); touch[r](x, b, a, 1024)",
            {
                "cuda.core": f"x = {core.format(array)}; "
                "core_launch(core_stream, core_config, core_kernel, x.ptr, pointer, pointer, n32)"
            },
            "cuda.core",
        )
    bench.row(
        "borrow(torch), and a launch on it",
        "with usmpy.borrow(t) as x: touch[r](x, b, a, 1024)",
        {},
    )
    bench.row("Queue.from_stream(torch stream)", "usmpy.Queue.from_stream(torch_stream)", {})


def launch_rows(bench: Bench) -> None:
    handle = bench.raw
    launches = {
        "raw C": handle.batch("launches"),
        "cuda.core": "core_launch(core_stream, core_config, core_kernel, pointer, pointer, pointer, n32)",
        "cupy": "cupy_kernel(grid, block, (c, c, c, n32))",
    }
    limits = {"raw C": 1.25, "cuda.core": 1.0, "cupy": 1.0}
    bench.row("launch, 4 arguments", "touch[r](a, b, u, 1024)", launches, "raw C", 1.25, limits)
    bench.row("launch, range bound before", "bound(a, b, u, 1024)", launches, "raw C", 1.25, limits)
    bench.row(
        "launch, events kept", "kept.append(touch[r](a, b, u, 1024))", {"raw C": launches["raw C"]}, "raw C"
    )
    waits = {"raw C": handle.batch("launch_wait")}
    waits["cuda.core"] = f"{launches['cuda.core']}; core_stream.sync()"
    waits["cupy"] = f"{launches['cupy']}; cupy.cuda.Stream.null.synchronize()"
    bench.row("launch and wait", "touch[r](a, b, u, 1024).wait()", waits, "raw C", waits=True)


def event_rows(bench: Bench) -> None:
    peers = {
        "raw C": bench.raw.batch("record"),
        "cuda.core": "core_stream.record()",
        "cupy": "cupy_stream.record()",
        "torch": "torch_event.record(torch_stream)",
    }
    bench.row("event of an idle queue", "queue.barrier()", peers, "raw C", 2.0)
    if not bench.software:
        raw = bench.raw.library.raw_stream(bench.raw.handle)
        hold = {"usmpy": bench.device.queue.native_handle, "raw C": raw}
        if "core_pointer" in bench.names:
            hold["cuda.core"] = bench.names["core_pointer"]
        bench.row(
            "event of a busy queue",
            "shared.barrier()",
            {name: peers[name] for name in ("raw C", "cuda.core")},
            "raw C",
            2.0,
            hold={**hold, "usmpy": bench.names["shared"].native_handle},
        )
    bench.row("event that has ended: done", "ended.done", {"raw C": bench.raw.batch("query")}, "raw C", 2.0)
    bench.row(
        "wait_for of an idle queue",
        "other.wait_for(queue)",
        {
            "raw C, record and wait": bench.raw.batch("wait_event"),
            "cuda.core": "core_stream.wait(core_stream.record())",
            "torch": "torch_stream.wait_event(torch_event)",
        },
    )


def memory_rows(bench: Bench) -> None:
    peers = {
        "cupy pool": f"cupy_pool.malloc({SMALL})",
        "raw C": bench.raw.batch("allocate", SMALL),
        "cuda.core": f"core_device.allocate({SMALL}, stream=core_stream).close(core_stream)",
        "cupy": f"cupy.empty({SMALL}, 'u1')",
        "torch": f"torch.empty({SMALL}, dtype=torch.uint8, device='cuda')",
    }
    bench.row(
        "empty(8 KiB), and free",
        f"usmpy.empty({SMALL}, dtype='uint8', queue=queue)",
        peers,
        "cupy pool",
        0.5,
    )
    bench.row(
        "memcpy of 8 KiB",
        "queue.memcpy(small_y, small_x)",
        {"raw C": bench.raw.batch("copies", SMALL), "cupy": "cupy.copyto(c, c)", "torch": "t.copy_(t)"},
        "raw C",
    )
    bench.row("fill of 8 KiB", "queue.fill(small_y, 7)", {"raw C": bench.raw.batch("fills", SMALL)}, "raw C")


def large_rows(bench: Bench, others: list[Raw]) -> None:
    """Speeds: 0.95 of the driver's is 1 / 0.95 of its time."""
    n, device = bench.large, bench.device
    size = f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB"
    few = max(3, bench.rounds // 6)
    bench.names |= {
        "large_x": usmpy.zeros(n, dtype="uint8", device=device),
        "large_y": usmpy.zeros(n, dtype="uint8", device=device),
        "pinned": usmpy.zeros(n, dtype="uint8", usm_type="host", device=device),
        "pageable": np.zeros(n, dtype="uint8"),
        "n": n,
    }
    if "torch" in bench.names:
        torch = bench.names["torch"]
        bench.names |= {
            "torch_x": torch.zeros(n, dtype=torch.uint8, device="cuda"),
            "torch_y": torch.zeros(n, dtype=torch.uint8, device="cuda"),
            "torch_pinned": torch.zeros(n, dtype=torch.uint8).pin_memory(),
        }
    sync = "; torch.cuda.synchronize()"
    for direction, (title, to, source, theirs) in enumerate(
        (
            ("on the device", "large_y", "large_x", "torch_y.copy_(torch_x)"),
            ("from pinned memory", "large_x", "pinned", "torch_x.copy_(torch_pinned, non_blocking=True)"),
            ("to pinned memory", "pinned", "large_x", "torch_pinned.copy_(torch_x, non_blocking=True)"),
        )
    ):
        ours = f"queue.memcpy({to}, {source}).wait()"
        raw = {"raw C": bench.raw.batch("copy_wait", n, direction), "torch": theirs + sync}
        bench.row(f"memcpy of {size} {title}", ours, raw, "raw C", 1 / 0.95, waits=True, rounds=few)
    bench.row(
        f"fill of {size}",
        "queue.fill(large_y, 7).wait()",
        {"raw C": bench.raw.batch("fill_wait", n), "torch": f"torch_y.fill_(7){sync}"},
        "raw C",
        waits=True,
        rounds=few,
    )
    bench.row(
        f"memcpy of {size} from pageable memory",
        "queue.memcpy(large_x, pageable).wait()",
        {"torch": f"torch_x.copy_(torch_pageable){sync}"},
        waits=True,
        rounds=max(3, few // 2),
    )
    if others:
        (other,) = others
        bench.names["far"] = usmpy.zeros(n, dtype="uint8", device=usmpy.get_devices("cuda")[1])
        bench.names["far"].wait()
        peers = {"raw C": bench.raw.batch("peer_copy_wait", n, other.handle)}
        both = "torch.cuda.synchronize(); torch.cuda.synchronize(1)"
        if "torch" in bench.names:
            bench.names["torch_far"] = torch.zeros(n, dtype=torch.uint8, device="cuda:1")
            peers["torch"] = f"torch_far.copy_(torch_x); {both}"
        if "cupy" in bench.names:
            cupy = bench.names["cupy"]
            bench.names["cupy_near"] = cupy.zeros(n, dtype="uint8")
            with cupy.cuda.Device(1):
                bench.names["cupy_far"] = cupy.zeros(n, dtype="uint8")
            peers["cupy"] = (
                "cupy_far.data.copy_from_device_async(cupy_near.data, n, cupy.cuda.Stream.null); "
                "cupy.cuda.Stream.null.synchronize()"
            )
        bench.row(
            f"memcpy of {size} to another GPU",
            "queue.memcpy(far, large_x).wait()",
            peers,
            "raw C",
            1 / 0.95,
            waits=True,
            rounds=few,
        )
        ring_rows(bench, size, n, few)


def ring_rows(bench: Bench, size: str, n: int, rounds: int) -> None:
    """
    A block that travels from GPU to GPU and back to the first, in pieces: each hop of a piece waits for the
    one before it alone, so that all links are busy. A piece is an allocation, which usmpy orders work by.
    """
    pieces = 16
    devices = usmpy.get_devices("cuda")
    queues = [usmpy.Queue(device) for device in devices]
    stops = [*devices, devices[0]]
    # Each with a value of its own, so that the end can be told.
    blocks = [
        [usmpy.full(n // pieces, i if hop == 0 else 255, dtype="uint8", device=device) for i in range(pieces)]
        for hop, device in enumerate(stops)
    ]

    def ring() -> None:
        ends = []
        for i in range(pieces):
            for hop, queue in enumerate(queues):
                end = queue.memcpy(blocks[hop + 1][i], blocks[hop][i])
            ends.append(end)
        usmpy.Event.wait_all(ends)

    def hops() -> None:
        for hop, queue in enumerate(queues):
            usmpy.Event.wait_all([queue.memcpy(blocks[hop + 1][i], blocks[hop][i]) for i in range(pieces)])

    ring()
    for i, piece in enumerate(blocks[-1]):
        if not usmpy.all(piece == i):
            raise SystemExit(f"piece {i} of the ring is not what was sent")
    bench.names |= {"ring": ring, "hops": hops}
    peers: dict[str, Any] = {"usmpy, one hop after the other": "hops()"}
    if "torch" in bench.names:
        torch = bench.names["torch"]
        places = [*range(len(devices)), 0]
        tensors = [
            [torch.zeros(n // pieces, dtype=torch.uint8, device=f"cuda:{place}") for _ in range(pieces)]
            for place in places
        ]

        def torch_ring() -> None:
            for i in range(pieces):
                for hop in range(len(devices)):
                    tensors[hop + 1][i].copy_(tensors[hop][i], non_blocking=True)
            for place in range(len(devices)):
                torch.cuda.synchronize(place)

        bench.names["torch_ring"] = torch_ring
        peers["torch"] = "torch_ring()"
    title = f"{size} around a ring of {len(devices)} GPUs, in {pieces} pieces"
    bench.row(title, "ring()", peers, "torch", 1.0, waits=True, rounds=rounds)


def process_rows(bench: Bench, library: pathlib.Path) -> None:
    """Memory of two processes (cuda_peer.py)."""
    n = bench.large
    size = f"{n >> 20} MiB"
    rows = {
        "handle": ("CUDA handle, export + open", "raw C", 1.1),
        "queue": (f"CUDA array of {size} through a multiprocessing queue, shared", "torch", 0.8),
    }
    if not any(bench.only in title for title, _, _ in rows.values()):
        return
    command = [sys.executable, HERE / "cuda_peer.py", library, str(n), str(max(3, bench.rounds // 2))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    if done.returncode != 0:
        print(f"cuda_peer.py ended with {done.returncode}", file=sys.stderr)
        return
    for name, best in json.loads(done.stdout).items():
        title, peer, most = rows[name]
        ours = best.pop("usmpy")
        target, limit = (peer, most) if peer in best else (None, None)
        if bench.only in title:
            bench.rows.append(Row(title, ours, best, target, limit))


def run(arguments: argparse.Namespace, folder: str) -> Bench:
    devices = usmpy.get_devices("cuda")
    if not devices:
        sys.exit(f"there is no CUDA device:\n{usmpy.diagnose()}")
    software = "USMPY_CUDA_LIBRARY" in os.environ
    large = 1 << 20 if software else LARGE
    library = raw_library(folder)
    ptx = (PTX if software else PTX + SPIN).encode()
    opened = [
        Raw(library, library.raw_open(i, ptx, large, not software)) for i in range(min(2, len(devices)))
    ]
    library.raw_enter(opened[0].handle)  # the raw program's current context, as cuda.core's and the others'
    bench = Bench(devices[0], opened[0], 3 if arguments.quick else 40, arguments.only, large, software)
    add_peers(bench)
    add_ours(bench)
    shared = usmpy.Queue(devices[0])
    bench.names |= {"kept": Last(), "ended": devices[0].queue.barrier(), "shared": shared}
    bench.names["ended"].wait()
    if "torch" in bench.names:
        bench.names["torch_pageable"] = bench.names["torch"].zeros(large, dtype=bench.names["torch"].uint8)
    for rows in (exchange_rows, launch_rows, event_rows, memory_rows):
        rows(bench)
    if len(opened) > 1:
        library.raw_peer_enable(opened[0].handle, opened[1].handle)
    large_rows(bench, opened[1:])
    process_rows(bench, pathlib.Path(folder) / "cuda_raw.so")
    return bench


class Last(list):
    """Keeps the last few hundred, so that a benchmark holds events and its memory does not grow."""

    def append(self, item: object) -> None:
        if len(self) >= IN_FLIGHT:
            self.clear()
        super().append(item)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures here, too; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it runs, gives no figures"
    )
    parser.add_argument("--only", metavar="WORDS", default="", help="only rows whose name has these words")
    arguments = parser.parse_args()
    if hasattr(_core, "_live_counts") and not arguments.quick:
        parser.error(
            f"{_core.__file__} is built for tests (USMPY_TESTING=1) and slower; install a release build"
        )
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if "USMPY_CACHE_DIR" not in os.environ:
            os.environ["USMPY_CACHE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory())
        bench = run(arguments, folder)
        device = bench.device
        title = f"CUDA: {device.name}, driver {device.driver_version}"
        report(title, bench.rows, bench.modules, arguments.json, arguments.markdown)
        missed = [row.name for row in bench.rows if row.reached is False]
        print(f"{title}; missed: {', '.join(missed) or 'nothing'}", file=sys.stderr)


if __name__ == "__main__":
    main()
