"""Makes each call of a backend fail in turn, over a list of scenarios.

    python tests/faults/sweep.py cuda                    the first, second and last call of each function
    python tests/faults/sweep.py level_zero --all        every call
    python tests/faults/sweep.py host --scenario share   of one scenario
    python tests/faults/sweep.py opencl --heap           memory of the core runs out
    python tests/faults/sweep.py cuda --tell             says what comes of each fault

The backends are host, whose fault backend fails entries of the backend's table, cuda and level_zero with the
drivers in software, which fail functions of the driver, and opencl, where memory of the core runs out, as it
does with all others. A line of JSON is printed for each scenario. After each fault the exception is one that
the caller can expect, no object of the core or of the driver is left, and the scenario then succeeds.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import pathlib
import pickle
import re
import sys
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = map(str, (TESTS / "support", TESTS, TESTS.parent))

import cuda_drivers  # noqa: E402, F401 (builds the driver in software)
import hang  # noqa: E402
import level_zero_drivers  # noqa: E402, F401 (the same)
import numpy as np  # noqa: E402
import opencl_drivers  # noqa: E402, F401 (makes the drivers visible to loaders)
from asleep import until_others_sleep  # noqa: E402

import usmpy  # noqa: E402
from usmpy import _core  # noqa: E402

N = 300
PATIENCE = 60
FEW = 2  # first calls of each function that fail if not all do
MOST = 200  # of one function
GROWS = 4  # times that what is left of the driver's may grow with one and the same fault
ALLOWED = (usmpy.UsmError, MemoryError, BufferError, pickle.PicklingError)
SOURCE = "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }"
SYMBOLS = TESTS.parent / "csrc" / "backends"
# Functions that give something back, and that enter the context for that: a driver that refuses keeps it.
ENDS = re.compile("Destroy|Free|Release|Unload|Unmap|MemPut|MemClose|HostReset|cuCtx(Get|Push|Pop)Current")
# How work ended: from then on the context is lost, and a new process is needed (cuda/test_cuda_failures.py).
LOSES = re.compile("cuEventQuery|cuStreamQuery|cuEventSynchronize|cuStreamSynchronize")


HOST = usmpy.Device("host")


class Place:
    """Where scenarios run: a device, a queue, and a second device where the backend has one."""

    def __init__(self, backend):
        devices = usmpy.get_devices(backend)
        if not devices:
            raise SystemExit(f"no device of {backend}: {usmpy.diagnose()}")
        # PoCL cannot share memory; Intel's runtime can.
        self.device = devices[-1] if backend == "opencl" else devices[0]
        self.other = devices[1] if len(devices) > 1 and backend != "opencl" else self.device
        self.queue = usmpy.Queue(self.device)
        self.theirs = np.arange(N, dtype="int32")
        self.program = usmpy.Program(SOURCE, device=self.device)


def same(x, expected):
    assert x.asnumpy().tolist() == list(expected), x


def exchange(place):
    """To another library and back; what the device cannot give in place is copied."""
    x = usmpy.asarray(place.theirs, queue=place.queue, copy=True)
    same(usmpy.from_dlpack(x), range(N))
    same(usmpy.from_dlpack(place.theirs[::-1]), reversed(range(N)))
    same(usmpy.from_dlpack(x, copy=True)[::2], range(0, N, 2))
    host = usmpy.empty(N, dtype="int32", usm_type="host", queue=place.queue)
    place.queue.memcpy(host, x)
    assert memoryview(host).tolist() == list(range(N))
    with usmpy.borrow(place.theirs) as borrowed:
        same(borrowed, range(N))


def launch(place):
    loose = usmpy.Queue(place.device, in_order=False, profiling=True)
    x = usmpy.zeros(N, dtype="int32", queue=place.queue)
    add = place.program["add"]
    first = add[usmpy.Range(N)](x, 1)
    second = loose.submit(add, (x, 2), usmpy.Range(N), depends=[first])
    third = loose.host_task(divmod, 17, 5, depends=[second])
    place.queue.wait_for(third)
    fourth = add[usmpy.NdRange(N, 1), [third]](x, 4)
    fourth.add_done_callback(lambda event: None)
    usmpy.Event.wait_all([first, second, third, fourth], PATIENCE)
    assert third.result() == (3, 2)
    assert second.end_time_ns >= second.start_time_ns
    same(x, [7] * N)


def pairs(place):
    x = usmpy.arange(N, dtype="int32", queue=place.queue)
    far = x.to_device(usmpy.Queue(place.other))
    home = far.to_device("host")
    back = home.copy().to_device(place.queue)
    back[1:] = back[:-1]  # they overlap
    target = usmpy.zeros((2, N), dtype="int32", queue=place.queue)
    usmpy.copyto(target[::-1, ::-1], back)
    assert home.tolist() == list(range(N))
    same(target[1, ::-1], [0, *range(N - 1)])
    wide = usmpy.zeros((2, 2, 2, 2, 2, 2, 3), dtype="int8", queue=place.queue)
    wide[:, ::-1, :, ::-1, :, ::-1] = 1
    same(usmpy.reshape(wide, (-1,)), [1] * 192)


def build(place):
    program = usmpy.Program(SOURCE, device=place.device)
    assert program.kernel_names == ["add"]
    x = usmpy.zeros(N, dtype="int32", queue=place.queue)
    program.add[N](x, 5)
    same(x, [5] * N)
    assert program["add"].parameters == ("int32*", "int32")


def compute(place):
    x = usmpy.arange(N, dtype="float32", queue=place.queue)
    y = usmpy.sqrt(x * x) + 1
    assert float(usmpy.sum(y).item()) == N * (N + 1) / 2
    assert int(usmpy.argmax(x).item()) == N - 1
    mask = usmpy.greater(x, 296)
    same(x[mask], [297, 298, 299])
    same(usmpy.concat([x[:2], x[-2:]]), [0, 1, 298, 299])
    same(usmpy.sort(usmpy.flip(x)), range(N))
    a = usmpy.ones((4, 4), dtype="float32", queue=place.queue)
    same(usmpy.matmul(a, a)[0], [4] * 4)


def share(place):
    x = usmpy.share(usmpy.arange(N, dtype="int32", queue=place.queue))
    with x.get_ipc_handle() as handle:
        with usmpy.IPCHandle.from_bytes(bytes(handle), handle.fds) as again:
            opened = again.open()
        same(opened, range(N))
    same(x, range(N))


def pickling(place):
    x = usmpy.arange(N, dtype="int32", queue=place.queue)
    same(pickle.loads(pickle.dumps(x)), range(N))
    program = pickle.loads(pickle.dumps(place.program))
    y = usmpy.zeros(4, dtype="int32", queue=pickle.loads(pickle.dumps(place.queue)))
    program["add"][4](y, 3)
    same(y, [3] * 4)


def queues(place):
    context = usmpy.Context([place.device])
    own = usmpy.Queue(place.device, context=context)
    high = usmpy.Queue(place.device, priority="high", in_order=False)
    kinds = [kind for kind in ("device", "shared", "host") if getattr(place.device, f"has_usm_{kind}")]
    arrays = [usmpy.full(N, 3, dtype="int16", usm_type=kind, queue=own) for kind in kinds]
    own.prefetch(arrays[0])
    own.keep_alive(arrays)
    for x in arrays:
        same(x, [3] * N)
    high.barrier([own.barrier()]).wait(PATIENCE)


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (exchange, launch, pairs, build, compute, share, pickling, queues)
}


class Host:
    """Entries of the backend's table: the fault backend stands in for the host's."""

    codes = (0,)
    word = "a test asked for it"

    def functions(self):
        return [entry for entry in _core._fault_entries() if entry not in ("python", "heap")]

    def begin(self):
        for entry in self.functions():
            _core._fault(entry, 0)

    def calls(self, function):
        return _core._fault_calls(function)

    def fail(self, function, n, code):
        _core._fault(function, n)

    def reached(self, function, n):
        return _core._fault_calls(function) >= n

    def live(self):
        return {}

    def misuse(self):
        return ""


class Heap(Host):
    """Memory of the core, and of all backends."""

    word = ""

    def functions(self):
        return ["heap"]


class Driver:
    """A driver in software that counts calls from the start of the process."""

    def begin(self):
        self.first = {function: self.calls(function) for function in self.functions()}

    def made(self, function):
        return self.calls(function) - self.first[function]

    def reached(self, function, n):
        return self.calls(function) - self.armed >= n


class Cuda(Driver):
    codes = (2, 999)  # no memory, and an unknown error; others mean that the context is lost
    word = "CUDA_ERROR"
    misuses = 0
    names = ("bytes", "allocations", "streams", "events", "modules", "graphs", "user objects")

    def __init__(self):
        self.sim = ctypes.CDLL(os.environ["USMPY_CUDA_LIBRARY"])
        self.sim.cudasim_calls.restype = ctypes.c_longlong
        self.sim.cudasim_function.restype = self.sim.cudasim_misuse.restype = ctypes.c_char_p
        self.sim.cudasim_fail.argtypes = [ctypes.c_char_p, ctypes.c_ulonglong, ctypes.c_int]
        # The first two name codes, also those of these faults.
        self.all = [
            name
            for i in range(self.sim.cudasim_functions())
            if not (name := self.sim.cudasim_function(i).decode()).startswith("cuGetError")
            and not LOSES.match(name)
        ]

    def functions(self):
        return self.all

    def calls(self, function):
        return self.sim.cudasim_calls(function.encode())

    def fail(self, function, n, code):
        self.armed = self.calls(function)
        assert self.sim.cudasim_fail(function.encode(), n, code) == 0

    def live(self):
        counts = (ctypes.c_ulonglong * 8)()
        self.sim.cudasim_counts(counts)
        return dict(zip(self.names, counts, strict=False))

    def misuse(self):
        """What is new since the last time."""
        counts = (ctypes.c_ulonglong * 8)()
        self.sim.cudasim_counts(counts)
        before, self.misuses = self.misuses, counts[7]
        return self.sim.cudasim_misuse().decode() if counts[7] > before else ""


class LevelZero(Driver):
    codes = (0x7FFFFFFE, 0x70000003)  # an unknown error, and no memory
    word = "ZE_RESULT"

    def __init__(self):
        self.sim = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"].split(",")[0])
        self.sim.zesimCalls.restype = ctypes.c_int64
        self.sim.zesimFail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32]
        text = (SYMBOLS / "level_zero" / "symbols.inc").read_text()
        self.all = re.findall(r"\((?:true, |false, )?(ze\w+)", text)

    def functions(self):
        return self.all

    def calls(self, function):
        return self.sim.zesimCalls(function.encode())

    def fail(self, function, n, code):
        self.armed = self.calls(function)
        assert self.sim.zesimFail(function.encode(), max(n, 1), 1 if n else 0, code) == 0

    def said(self, function):
        text = ctypes.create_string_buffer(4096)
        self.sim[function](text, ctypes.c_size_t(len(text)))
        return text.value.decode()

    def live(self):
        lines = (line.rsplit(None, 1) for line in self.said("zesimReport").splitlines())
        return {kind: int(n) for kind, n in lines}

    def misuse(self):
        return self.said("zesimMisuse")


class Sweep:
    def __init__(self, place, driver, asked):
        self.place, self.driver, self.asked = place, driver, asked
        self.unraisable = []
        # Not the arguments themselves: the exception would hold what its frames held.
        sys.unraisablehook = lambda args: self.unraisable.append(
            "".join(traceback.format_exception_only(args.exc_type, args.exc_value))
        )

    def settled(self, core, driver):
        """What is left, once it is no more than what was there before, or no thread does more about it."""
        seen = None
        while True:
            gc.collect()
            counts = _core._live_counts()
            # A queue of usmpy's own, of callbacks, keeps an error that was raised until its next error.
            counts["failures"] -= min(counts["failures"], counts["queues"])
            now = {name: n for name, n in counts.items() if n > core[name]}
            if driver is not None:
                now |= {name: n for name, n in self.driver.live().items() if n > driver.get(name, 0)}
            if not now or now == seen:
                return now
            seen = now
            until_others_sleep()

    def steady(self):
        """What is left, once all threads have come to rest."""
        seen = None
        while seen != (seen := (gc.collect(), _core._live_counts(), self.driver.live())[1:]):
            until_others_sleep()
        return seen

    def attempt(self, scenario):
        """The text of the error with its causes; None if there was none."""
        try:
            scenario(self.place)
        except ALLOWED as error:
            said = f"{type(error).__name__}: {error}"
            while (error := error.__cause__) is not None:
                said += f" <- {type(error).__name__}: {error}"
            return said
        return None

    def drain(self):
        """Queues that outlive the scenario keep the first error for their next wait."""
        for queue in (self.place.queue, self.place.device.queue, self.place.other.queue, HOST.queue):
            with contextlib.suppress(*ALLOWED):
                queue.wait(PATIENCE)

    def counted(self, scenario):
        """The calls of each function in one run."""
        gc.collect()
        self.driver.begin()
        error = self.attempt(scenario)
        assert error is None, error
        made = self.driver.made if isinstance(self.driver, Driver) else self.driver.calls
        return {function: n for function in self.driver.functions() if (n := made(function)) > 0}

    def again(self, scenario, core, where):
        """The process is usable."""
        said = self.attempt(scenario)
        assert said is None, f"{where}: the next run failed: {said}"
        left = self.settled(core, None)
        assert not left, f"{where}: left behind by the next run: {left}"

    def tries(self, calls):
        for function, n in calls.items():
            last = min(n, MOST)
            chosen = range(1, last + 1) if self.asked.all else sorted({*range(1, min(n, FEW) + 1), last})
            for i in chosen:
                codes = self.driver.codes
                for code in codes if self.asked.all else codes[i % len(codes) :][:1]:
                    yield function, i, code

    def run(self, name):
        scenario = SCENARIOS[name]
        for _ in range(3):  # creates what a process keeps
            assert self.attempt(scenario) is None
        calls = self.counted(scenario)
        core, driver = self.steady()
        figures = {"scenario": name, "functions": len(calls), "faults": 0, "raised": 0, "right": 0}
        for function, n, code in self.tries(calls):
            hang.limit(PATIENCE + 30)
            ends = ENDS.search(function) is not None
            where = f"{name}: call {n} of {function}, {code:#x}"
            self.driver.fail(function, n, code)
            try:
                said = self.attempt(scenario)
            except BaseException as error:
                raise AssertionError(f"{where}: this came out") from error
            finally:
                reached = self.driver.reached(function, n)
                self.driver.fail(function, 0, code)
            if self.asked.tell:
                print(f"{where}: {said if reached else 'not reached'}", file=sys.stderr, flush=True)
            reports, self.unraisable[:] = list(self.unraisable), []
            words = (self.driver.word, "MemoryError", "cannot share")  # what the driver seems not to have
            assert said is None or (reached and any(word in said for word in words)), (where, said)
            self.drain()
            left = self.settled(core, None)
            assert not left, f"{where}: left behind: {left}, before {core}; {said}"
            self.again(scenario, core, where)
            if self.settled(core, driver) and not ends:  # kept for later, but not each time
                for _ in range(GROWS):
                    driver = self.steady()[1]
                    self.driver.fail(function, n, code)
                    self.attempt(scenario)
                    self.driver.fail(function, 0, code)
                    self.drain()
                    self.again(scenario, core, where)
                    if not (left := self.settled(core, driver)):
                        break
                assert not left, f"{where}: left behind: {left}, before {driver}; {said}"
            driver = self.driver.live()
            assert not (misuse := self.driver.misuse()) or ends, f"{where}: {misuse}"
            for report in reports:
                assert self.driver.word in report or "MemoryError" in report or "UsmError" in report, report
            figures["faults"] += reached
            figures["raised"] += said is not None
            figures["right"] += said is None and reached
        return figures


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("backend", choices=["host", "cuda", "level_zero", "opencl"])
    parser.add_argument("--scenario", choices=SCENARIOS, action="append")
    parser.add_argument("--all", action="store_true", help="every call, with every code")
    parser.add_argument("--heap", action="store_true", help="memory of the core instead of the driver")
    parser.add_argument("--tell", action="store_true", help="on standard error: what comes of each fault")
    asked = parser.parse_args()
    hang.limit(PATIENCE)
    driver = {"host": Host, "cuda": Cuda, "level_zero": LevelZero, "opencl": Heap}[asked.backend]
    sweep = Sweep(Place(asked.backend), Heap() if asked.heap else driver(), asked)
    for name in asked.scenario or SCENARIOS:
        begin = time.monotonic()
        figures = sweep.run(name)
        figures["seconds"] = round(time.monotonic() - begin, 1)
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
