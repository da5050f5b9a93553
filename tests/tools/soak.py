"""Runs usmpy for long under load, and checks that memory, descriptors and live objects stay flat.

    python tests/tools/soak.py                             8 threads, 30 minutes, on a device of each platform
    python tests/tools/soak.py --minutes 5 --device cuda   on the first device of CUDA alone
    python tests/tools/soak.py --plot build/soak.png       the samples as a picture

Without --device, drivers in software take the places of drivers that the machine lacks, as in the tests.
For an NVIDIA GPU, set USMPY_CUDA_LIBRARY=libcuda.so.1. The phases:

    storm      each thread does random operations for --minutes: submit, wait, callback, depend, launch,
               export, import, share, move to another device, compute, fail, pickle, drop; all values are
               checked
    exchanges  arrays go to another library and back, without a copy
    queues     queues are made, used once, and dropped while their work is pending
    events     fills of a small array, with a wait now and then
    kernels    random programs, whose results have the same bits on all devices that build them

The numbers of exchanges, queues and events are split between the devices. If a thread makes no progress for
--hang seconds, the stacks of all threads are printed and the process ends. The last line is JSON with the
figures. The status is 1 if an operation failed, if kernels differ, if live objects or descriptors were left
behind, or if resident memory grew by more than --slack MiB between the second and the last quarter of a
phase.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pathlib
import pickle
import platform
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = map(str, (TESTS, TESTS / "support", TESTS / "portable", TESTS.parent))

import cuda_drivers  # noqa: E402, F401 (builds the driver in software)
import drawn  # noqa: E402
import hang  # noqa: E402
import level_zero_drivers  # noqa: E402, F401 (the same)
import numpy as np  # noqa: E402
import opencl_drivers  # noqa: E402, F401 (makes the drivers visible to loaders)

import usmpy  # noqa: E402
from usmpy import _core  # noqa: E402

MIB = 1 << 20
PATIENCE = 100  # seconds that one wait may take
PHASES = ("storm", "exchanges", "queues", "events")
# Descriptors that may be new after a phase: usmpy keeps events that it exported, one for each block that had
# one at the same time, and the driver of Level Zero in software takes memory in large files.
KEPT = 32
SOURCE = "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30, help="of the storm (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=8, help="of the storm (default: %(default)s)")
    parser.add_argument("--device", action="append", help="a filter string; again for several devices")
    parser.add_argument("--exchanges", type=int, default=1_000_000, help="(default: %(default)s)")
    parser.add_argument("--queues", type=int, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--events", type=int, default=10_000_000, help="(default: %(default)s)")
    parser.add_argument("--kernels", type=int, default=1000, help="(default: %(default)s)")
    parser.add_argument("--hang", type=float, default=200, help="seconds (default: %(default)s)")
    parser.add_argument("--slack", type=float, default=32, help="MiB (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random operations (default: %(default)s)")
    parser.add_argument("--plot", type=pathlib.Path, help="a PNG file for the samples; needs Matplotlib")
    return parser.parse_args()


def devices(selectors: list[str] | None) -> list[usmpy.Device]:
    """The first device of each platform, or of each selector."""
    if selectors:
        return [usmpy.Device(selector) for selector in selectors]
    first: dict[tuple[str, str], usmpy.Device] = {}
    for device in usmpy.get_devices():
        first.setdefault((device.backend, device.platform.name), device)
    return list(first.values())


def live_counts() -> dict[str, int]:
    """Live core objects, by kind: of builds with USMPY_TESTING=1 alone."""
    return _core._live_counts() if hasattr(_core, "_live_counts") else {}


def _handles() -> Callable[[], int]:
    """Bytes of ended handles, which the CUDA driver in software never forgets; 0 with other drivers."""
    with contextlib.suppress(OSError, AttributeError):
        found = ctypes.CDLL(os.environ["USMPY_CUDA_LIBRARY"]).cudasim_handles
        found.restype = ctypes.c_ulonglong
        return found
    return lambda: 0


handles = _handles() if "USMPY_CUDA_LIBRARY" in os.environ else lambda: 0


def resident() -> int:
    """Bytes of this process alone. Drivers in software keep the memory of their devices in files."""
    with open("/proc/self/status") as status:
        kib = int(next(line for line in status if line.startswith("RssAnon:")).split()[1])
    return kib * 1024 - handles()


_listing = threading.Lock()  # a listing has a descriptor of its own


def descriptors() -> collections.Counter[str]:
    """What the open descriptors lead to, without the numbers of sockets, pipes and files in memory."""
    found: collections.Counter[str] = collections.Counter()
    with _listing:
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the listing's own is closed
                found[os.readlink(f"/proc/self/fd/{number}").partition(":[")[0]] += 1
    return found


def take_and_return(name, x):
    """The library, which takes x and hands it back."""
    library = importlib.import_module(name)
    usmpy.from_dlpack(library.from_dlpack(x))
    return library


class Place:
    """A device with what the threads share of it."""

    def __init__(self, device: usmpy.Device):
        self.device = device
        self.queue = usmpy.Queue(device)
        self.loose = usmpy.Queue(device, in_order=False)
        self.lacks = []
        self.kernel = self.attempt("kernels", lambda: usmpy.Program(SOURCE, device=device)["add"])
        self.shares = self.attempt("share", lambda: usmpy.share(usmpy.zeros(4, device=device)).wait() or True)
        kinds = ("shared", "host", "device")
        self.kind = next(kind for kind in kinds if getattr(device, f"has_usm_{kind}"))
        x = usmpy.zeros(4, queue=self.queue, usm_type=self.kind)
        # The library that takes its arrays and hands them back; the software driver of CUDA has NumPy.
        for name in ("numpy", "cupy") if device.backend == "cuda" else ("numpy",):
            self.peer = self.attempt(f"exchange with {name}", lambda name=name: take_and_return(name, x))
            if self.peer is not None:
                break

    def attempt(self, what, call):
        """The value of the call; None for what this device cannot do, which the figures name."""
        try:
            return call()
        except (usmpy.UsmError, BufferError, ValueError, ImportError, RuntimeError) as error:
            self.lacks.append(f"{what}: {str(error).splitlines()[0][:120]}")
            return None


class Trouble(Exception):
    pass


def fail(*_):
    raise Trouble


class Storm:
    """The operations of one thread; each of them checks what it gets."""

    def __init__(self, places, seed):
        self.places = places
        self.chance = random.Random(seed)
        self.kept = collections.deque(maxlen=20)  # arrays that later operations find again, with their value
        self.pending = collections.deque()  # events that nobody waited for: without a bound, memory grows
        self.counts = collections.Counter()
        self.operations = [getattr(self, name) for name in dir(self) if name.startswith("do_")]

    def step(self):
        operation = self.chance.choice(self.operations)
        if operation(self.chance.choice(self.places)) is not False:
            self.counts[operation.__name__.removeprefix("do_")] += 1

    def size(self):
        return self.chance.choice((1, 7, 100, 1000, 30_000))

    def array(self, place, value=None):
        """An array with one value everywhere, whose work may be pending."""
        value = self.chance.randrange(1000) if value is None else value
        queue = self.chance.choice((place.queue, place.loose, usmpy.Queue(place.device)))
        x = usmpy.empty(self.size(), dtype="int32", queue=queue, usm_type=place.kind)
        self.later(queue.fill(x, value))
        return x, value

    def later(self, event):
        """Bounds the work that is pending."""
        self.pending.append(event)
        if len(self.pending) > 30:
            self.pending.popleft().wait(PATIENCE)

    def check(self, x, value):
        seen = x.asnumpy()
        if not (seen == value).all():
            raise AssertionError(f"{x.device}: {seen[:5]} ... instead of {value}")

    def do_submit(self, place):
        x, value = self.array(place)
        y = usmpy.zeros(x.shape, dtype="int32", queue=place.queue)
        event = y.queue.memcpy(y, x)
        if self.chance.random() < 0.5:
            event.wait(PATIENCE)
        self.check(y, value)

    def do_wait(self, place):
        x, value = self.array(place)
        self.chance.choice((x.queue.wait, x.wait, x.queue.barrier().wait))(PATIENCE)
        self.check(x, value)

    def do_callback(self, place):
        x, value = self.array(place)
        called = threading.Semaphore(0)
        events = [x.queue.fill(x, value), x.queue.barrier()]
        for event in events:
            event.add_done_callback(lambda _: called.release())
        for _ in events:
            if not called.acquire(timeout=PATIENCE):
                raise AssertionError("a callback was not called")

    def do_depend(self, place):
        other = self.chance.choice(self.places)
        x, _ = self.array(place)
        y, _ = self.array(other)
        first = x.queue.fill(x, 3)
        second = y.queue.fill(y, 4, depends=[first])
        third = other.loose.host_task(divmod, 17, 5, depends=[second])
        place.queue.wait_for(third)
        usmpy.Event.wait_all([place.queue.barrier([third]), first], PATIENCE)
        if third.result(PATIENCE) != (3, 2):
            raise AssertionError("a result is wrong")

    def do_launch(self, place):
        if place.kernel is None:
            return False
        x, value = self.array(place)
        for _ in range(3):
            place.kernel[usmpy.Range(x.size)](x, 5)
        self.check(x, value + 15)
        return None

    def do_export(self, place):
        x, value = self.array(place)
        taken = (place.peer or usmpy).from_dlpack(x)
        del x
        if place.peer is None:
            self.check(taken, value)
        elif not (taken == value).all():
            raise AssertionError(f"{place.peer.__name__} got {taken[:5]} instead of {value}")

    def do_import(self, place):
        theirs = np.full(self.size(), self.chance.randrange(1000), dtype="int32")
        x = usmpy.asarray(theirs, device=place.device, copy=True)
        self.check(x[::2], theirs[0])
        if not (usmpy.from_dlpack(theirs[::-1]).asnumpy() == theirs[0]).all():
            raise AssertionError("an import is wrong")

    def do_share(self, place):
        if not place.shares:
            return False
        x = usmpy.share(usmpy.full(self.size(), 9, dtype="int32", device=place.device))
        with x.get_ipc_handle() as handle, usmpy.IPCHandle.from_bytes(bytes(handle), handle.fds) as again:
            opened = again.open()
        del x
        self.check(opened, 9)
        return None

    def do_move(self, place):
        x, value = self.array(place)
        y = x.to_device(self.chance.choice(self.places).queue)
        del x
        self.check(y, value)

    def do_compute(self, place):
        x, value = self.array(place)
        y = usmpy.add(x, usmpy.full(x.shape, 2, dtype="int32", queue=x.queue))
        if int(usmpy.sum(y).item()) != (value + 2) * y.size:
            raise AssertionError("a sum is wrong")

    def do_fail(self, place):
        queue = usmpy.Queue(place.device)
        failed = queue.host_task(fail)
        skipped = queue.barrier([failed])
        for event, kind in ((skipped, usmpy.UsmError), (failed, Trouble)):
            try:
                event.wait(PATIENCE)
            except kind:
                continue
            raise AssertionError("an error was lost")
        with contextlib.suppress(Trouble):
            queue.wait(PATIENCE)

    def do_pickle(self, place):
        x, value = self.array(place)
        self.check(pickle.loads(pickle.dumps(x)), value)

    def do_keep(self, place):
        self.kept.append(self.array(place))

    def do_find(self, place):
        if self.kept:
            self.check(*self.chance.choice(self.kept))

    def do_drop(self, place):
        x, _ = self.array(place)
        queue = usmpy.Queue(place.device, in_order=self.chance.random() < 0.5)
        views = [x[i::3] for i in range(3)]
        queue.keep_alive(views)
        queue.host_task(len, x)
        self.later(queue.memcpy(usmpy.empty_like(x), x))
        if self.chance.random() < 0.002:
            gc.collect()


class Watch:
    """Samples once a second, and ends the process if a thread makes no progress."""

    def __init__(self, hang_seconds):
        self.hang_seconds = hang_seconds
        self.begin = time.monotonic()
        self.samples = []
        self.phase = "start"
        self.ends = threading.Event()
        self.progress = {}  # of each thread: when it made the last step
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def beat(self, name="main"):
        self.progress[name] = time.monotonic()

    def sample(self):
        kinds = live_counts()
        found = descriptors().total(), len(os.listdir("/proc/self/task"))
        now = time.monotonic()
        self.samples.append((now - self.begin, self.phase, resident(), *found, sum(kinds.values())))
        # The timer of hang.py needs no GIL: this thread only moves it on.
        late = min(list(self.progress.values()), default=now)
        hang.limit(max(late + self.hang_seconds - now, 0.001))

    def run(self):
        while not self.ends.wait(1):
            self.sample()

    def of(self, phase):
        return [sample for sample in self.samples if sample[1] == phase]


def settled(expected=None):
    """Live counts once they no longer change; workers release tasks shortly after their completion."""
    before, since = None, time.monotonic()
    deadline = since + 60
    while time.monotonic() < deadline:
        gc.collect()
        now = live_counts()
        if now == expected:
            return now
        if now != before:
            before, since = now, time.monotonic()
        elif expected is None and time.monotonic() - since > 1:
            return now
        time.sleep(0.02)
    return before


def storm(watch, places, minutes, n, seed):
    deadline = time.monotonic() + 60 * minutes
    failures = []
    counts = collections.Counter()

    def work(i):
        own = Storm(places, seed * 1000 + i)
        try:
            while time.monotonic() < deadline and not failures:
                own.step()
                watch.beat(i)
        except BaseException as error:
            failures.append(error)
        finally:
            watch.progress.pop(i, None)
            counts.update(own.counts)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    watch.progress.clear()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watch.beat()
    if failures:
        raise failures[0]
    return dict(sorted(counts.items()))


def exchanges(watch, place, n):
    x = usmpy.arange(8, dtype="int32", queue=place.queue, usm_type=place.kind)
    x.wait()
    for i in range(n):
        y = usmpy.from_dlpack(place.peer.from_dlpack(x) if place.peer else x)
        if i % 1000 == 0:
            watch.beat()
            assert y.tolist() == list(range(8))
            assert y.data_ptr == x.data_ptr


def queues(watch, place, n):
    x = usmpy.zeros(8, dtype="int32", device=place.device)
    for i in range(n):
        queue = usmpy.Queue(place.device, in_order=i % 3 != 0)
        queue.fill(x, i)
        if i % 100 == 0:
            watch.beat()
            del queue
            assert x[0].item() == i


def events(watch, place, n):
    x = usmpy.zeros(8, dtype="int32", queue=place.queue)
    fill = place.queue.fill
    for i in range(n):
        event = fill(x, 7)
        if i % 500 == 499:
            event.wait(PATIENCE)
            watch.beat()
    place.queue.wait(PATIENCE)
    assert x.tolist() == [7] * 8


def kernels(watch, places, n, seed):
    """Messages about kernels whose results differ between devices. A fifth of the programs have barriers."""
    devices = [place.device for place in places if place.kernel is not None]
    wrong = []
    for first in range(seed, seed + n, 10):
        seeds, barriers = range(first, min(first + 10, seed + n)), first // 10 % 5 == 0
        results = {}
        for device in (device for device in devices if drawn.runs(device, barriers)):
            try:
                results[str(device)] = drawn.run(seeds, device, barriers)
            except usmpy.BuildError as error:
                wrong.append(f"kernels {seeds} do not build on {device}: {str(error)[:500]}")
            watch.beat()
        for k, of_seed in enumerate(seeds):
            rows = {name: result[k] for name, result in results.items()}
            if any((row != next(iter(rows.values()))).any() for row in rows.values()):
                wrong.append(f"kernel {of_seed} differs: {rows}")
    return wrong


def grown(samples):
    """Bytes by which resident memory grew: the median of the last quarter against that of the second."""
    sizes = [sample[2] for sample in samples]
    if len(sizes) < 8:
        return 0
    quarter = len(sizes) // 4
    return round(statistics.median(sizes[-quarter:]) - statistics.median(sizes[quarter : 2 * quarter]))


def plot(watch, file, title):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    times = [sample[0] / 60 for sample in watch.samples]
    named = {"anonymous memory (MiB)": 2, "open descriptors": 3, "threads": 4, "live objects of the core": 5}
    figure, axes = plt.subplots(len(named), sharex=True, figsize=(9, 9), layout="constrained")
    for axis, (name, column) in zip(axes, named.items(), strict=True):
        axis.plot(times, [s[column] / (MIB if column == 2 else 1) for s in watch.samples], linewidth=1)
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        for phase in PHASES:
            found = watch.of(phase)
            if found:
                axis.axvspan(
                    found[0][0] / 60, found[-1][0] / 60, alpha=0.06 + 0.06 * (PHASES.index(phase) % 2)
                )
                if axis is axes[0]:
                    axis.text(found[0][0] / 60, axis.get_ylim()[1], phase, fontsize=8, va="top")
    axes[-1].set_xlabel("minutes")
    figure.suptitle(title, fontsize=10)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)


def main() -> int:
    asked = arguments()
    unraisable = []
    sys.unraisablehook = lambda args: unraisable.append(f"{args.exc_type.__name__}: {args.err_msg}")
    watch = Watch(asked.hang)
    watch.beat()
    places = [Place(device) for device in devices(asked.device)]
    figures = {
        "soak": "ok",
        "python": platform.python_version(),
        "devices": {p.device.filter_string: p.device.name for p in places},
        "lacks": {p.device.filter_string: p.lacks for p in places if p.lacks},
        "threads": asked.threads,
    }
    wrong = []

    def phase(name, call, warm):
        """One phase; `warm` runs first, and fills caches and pools."""
        watch.phase = "warm-up"
        watch.beat()
        warm()
        before = settled()
        opened = descriptors()
        watch.phase = name
        watch.beat()
        start = resident()
        begin = time.monotonic()
        result = call()
        seconds = time.monotonic() - begin
        watch.phase = "settle"
        watch.beat()
        after = settled(before)
        more = descriptors() - opened
        figures[name] = {
            **(result if isinstance(result, dict) else {"number": result}),
            "seconds": round(seconds, 1),
            "resident_mib": [round(size / MIB, 1) for size in (start, resident())],
            "grown_mib": round(grown(watch.of(name)) / MIB, 1),
            "descriptors": [opened.total(), descriptors().total()],
        }
        if after != before:
            wrong.append(f"{name}: live objects {before} became {after}")
        if more.total() > KEPT:
            wrong.append(f"{name}: descriptors were left open: {dict(more)}")
        if figures[name]["grown_mib"] > asked.slack:
            wrong.append(f"{name}: resident memory grew by {figures[name]['grown_mib']} MiB")
        if unraisable:
            wrong.append(f"{name}: {len(unraisable)} unraisable, first {unraisable[0]}")
            unraisable.clear()

    def storm_for(minutes):
        operations = storm(watch, places, minutes, asked.threads, asked.seed)
        return {"number": sum(operations.values()), "operations": operations}

    def counted(work, n):
        def run(part=1):
            for place in places:
                work(watch, place, n // len(places) // part)
            return n // len(places) * len(places)

        return run

    if asked.minutes:
        phase("storm", lambda: storm_for(asked.minutes), lambda: storm_for(min(asked.minutes / 10, 0.5)))
    for name, work, n in (
        ("exchanges", exchanges, asked.exchanges),
        ("queues", queues, asked.queues),
        ("events", events, asked.events),
    ):
        if n:
            run = counted(work, n)
            phase(name, run, lambda run=run: run(10))
    watch.phase = "kernels"  # whose memory is that of the drivers' compilers
    wrong += kernels(watch, places, asked.kernels, 10 * asked.seed)
    watch.ends.set()
    watch.thread.join()
    watch.sample()
    peak = max(sample[2] for sample in watch.samples)
    figures["peak_mib"] = round(peak / MIB, 1)
    figures["live"] = {kind: n for kind, n in live_counts().items() if n}
    if wrong:
        figures["soak"] = "; ".join(wrong)
    if asked.plot:
        plot(watch, asked.plot, f"{', '.join(figures['devices'])}: {figures['soak'][:60]}")
    print(json.dumps(figures), flush=True)
    hang.limit(asked.hang)  # for the end of the process, which waits for all queues
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
