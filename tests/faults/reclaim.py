"""Makes each call fail in turn with which memory, queues and programs go back to a driver.

    python tests/faults/reclaim.py cuda          the driver is one in software; also level_zero
    python tests/faults/reclaim.py cuda --tell   says what comes of each fault

The last reference to something goes, and one of the calls that follow fails; later ones succeed. Nothing is
freed while a stream of another library works on it. Nothing is lost in silence: it goes back in the end, or
the driver refused to take it, which is reported once. Then the process is usable. A line of JSON is printed
for each kind of thing. On the host nothing of this calls an entry that could fail, and no part of it asks the
core for memory.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
import threading
from typing import ClassVar

import sweep  # shows tests/support to what follows

# isort: split
import hang
from asleep import until_others_sleep

import usmpy
from usmpy import _core

sys.path.append(str(sweep.TESTS / "cuda"))
import cuda_peers
import producers

N = 1 << 20
LARGE = (32 << 20) + 1  # bytes that no pool keeps
FEW = 3  # the first calls of each function that fail, and the last one


class Thing:
    """What goes with drop(). Others may work on it from begin() to end()."""

    def __init__(self, place):
        self.queue = place.queue
        self.parts = self.made(place)
        place.queue.wait()

    def begin(self):
        pass

    def drop(self):
        del self.parts

    def end(self):
        pass

    def settle(self):
        """After all calls that may fail."""


class Large(Thing):
    """Blocks that no pool keeps."""

    def made(self, place):
        kinds = [kind for kind in ("device", "shared", "host") if getattr(place.device, f"has_usm_{kind}")]
        return [usmpy.zeros(LARGE, dtype="int8", usm_type=kind, queue=place.queue) for kind in kinds]


class Evicted(Thing):
    """Blocks of a size that nobody asks for any more, which leave a full pool."""

    def made(self, place):
        return [self.block(12) for _ in range(5)]

    def block(self, mebibytes):
        return usmpy.empty(mebibytes << 20, dtype="int8", usm_type="host", queue=self.queue)

    def drop(self):
        super().drop()
        for mebibytes in (31, 30, 29, 28) * 2:
            with contextlib.suppress(*sweep.ALLOWED):  # the call that fails may be one of these
                _ = [self.block(mebibytes) for _ in range(2)]


class Shared(Thing):
    """A block for several processes."""

    def made(self, place):
        return usmpy.share(usmpy.zeros(N, dtype="int8", queue=place.queue))


class Program(Thing):
    """A program with its kernel, and the queue and the context that it was built for."""

    def made(self, place):
        queue = usmpy.Queue(place.device, context=usmpy.Context([place.device]), profiling=True)
        program = usmpy.Program(sweep.SOURCE, device=queue)
        x = usmpy.zeros(sweep.N, dtype="int32", queue=queue)
        event = program["add"][sweep.N](x, 5)
        assert x.tolist() == [5] * sweep.N
        return [queue, program, x, event]


class Lent(Thing):
    """A block on which a stream works that may be destroyed before the loan ends."""

    driver = stream = None

    def __init__(self, place):
        if Lent.driver is None:
            Lent.driver = cuda_peers.Driver()
            with Lent.driver.on(0):
                Lent.stream = Lent.driver.stream()
        super().__init__(place)
        self.loan = producers.take(self.parts.__dlpack__(stream=self.stream, max_version=(1, 0)))

    def made(self, place):
        return usmpy.zeros(N, dtype="int8", queue=place.queue)

    def begin(self):
        with self.driver.on(0):
            self.semaphore = self.driver.waiting(self.stream)
            self.driver.fill(self.stream, self.parts.data_ptr, N, 7)
        self.nbytes = self.driver.counts()[0]

    def drop(self):
        super().drop()
        producers.delete(self.loan)

    def end(self):
        """Until here the stream works on the memory."""
        assert self.driver.counts()[0] >= self.nbytes, "freed while in use"
        cuda_peers._libc.sem_post(self.semaphore)


class LentShared(Lent):
    made = Shared.made


class Owner:
    """Of memory of another library."""

    def __init__(self, address, gone):
        self.address, self.gone = address, gone

    def __del__(self):
        self.gone.append(self.address)


class LentOwner(Lent):
    """Memory of another library, whose owner goes once no stream works on it."""

    gone: ClassVar = []

    def made(self, place):
        with self.driver.on(0):
            owner = Owner(self.driver.allocate(N), self.gone)
        return usmpy.USMArray.from_pointer(owner.address, (N,), "int8", queue=place.queue, owner=owner)

    def end(self):
        assert not self.gone, "released while in use"
        super().end()

    def settle(self):
        with self.driver.on(0):
            while self.gone:
                self.driver.call("cuMemFree_v2", cuda_peers._u64(self.gone.pop()))


THINGS = {
    "cuda": (Large, Evicted, Shared, Program, Lent, LentShared, LentOwner),
    "level_zero": (Large, Evicted, Shared, Program),
}


class Reclaim(sweep.Sweep):
    def goes(self, kind, fault=None):
        """One goes while a call fails: the calls of each function, and whether the fault was reached."""
        thing = kind(self.place)
        gc.collect()
        usmpy.trim()
        until_others_sleep()
        thing.begin()
        self.driver.begin()
        if fault is not None:
            self.driver.fail(*fault)
        thing.drop()
        gc.collect()
        trimming = threading.Thread(target=usmpy.trim)
        trimming.start()
        until_others_sleep()
        thing.end()
        trimming.join()
        calls = {function: n for function in self.driver.functions() if (n := self.driver.made(function)) > 0}
        reached = fault is not None and self.driver.reached(*fault[:2])
        if fault is not None:
            self.driver.fail(fault[0], 0, fault[2])
        usmpy.trim()
        until_others_sleep()
        _core._live_counts()  # owners go
        thing.settle()
        usmpy.trim()
        return calls, reached

    def run(self, kind):
        for _ in range(3):  # creates what a process keeps
            calls = self.goes(kind)[0]
            sweep.launch(self.place)
        core, driver = self.steady()
        figures = {"thing": kind.__name__, "functions": len(calls), "faults": 0, "kept": 0}
        for fault in self.tries(calls):
            hang.limit(sweep.PATIENCE + 30)
            where = f"{kind.__name__}: call {fault[1]} of {fault[0]}, {fault[2]:#x}"
            _core._forget_reports()
            self.unraisable.clear()
            try:
                _, reached = self.goes(kind, fault)
            except AssertionError as error:
                raise AssertionError(f"{where}: {error}") from error
            left = self.settled(core, driver)
            reports = list(self.unraisable)
            if self.asked.tell:
                print(f"{where}: left {left}, said {reports}", file=sys.stderr, flush=True)
            assert len(reports) <= 1, (where, reports)
            assert reports or not left, f"{where}: lost in silence: {left}"
            assert all(self.driver.word in report for report in reports), (where, reports)
            assert not (objects := self.settled(core, None)), f"{where}: objects of the core: {objects}"
            misuse = self.driver.misuse()
            assert reports or not misuse, f"{where}: {misuse}"  # a context ends with what it refused to free
            sweep.launch(self.place)
            core, driver = self.steady()
            figures["faults"] += reached
            figures["kept"] += bool(left)
        return figures


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("backend", choices=THINGS)
    parser.add_argument("--thing", action="append", help="these alone, such as Lent")
    parser.add_argument("--all", action="store_true", help="every call, with every code")
    parser.add_argument("--tell", action="store_true", help="on standard error: what comes of each fault")
    asked = parser.parse_args()
    hang.limit(sweep.PATIENCE)
    driver = {"cuda": sweep.Cuda, "level_zero": sweep.LevelZero}[asked.backend]
    reclaim = Reclaim(sweep.Place(asked.backend), driver(), asked)
    for kind in THINGS[asked.backend]:
        if asked.thing is None or kind.__name__ in asked.thing:
            print(json.dumps(reclaim.run(kind)), flush=True)


if __name__ == "__main__":
    main()
