"""Arrays, views, queues, copies, kernels, exports and drops in any order, against NumPy arrays in sequence.

usmpy orders tasks by the memory that they use. So whatever the queues, each result must be what the same
calls give one after the other.
"""

import gc

import numpy as np
import pytest
from fuzz_settings import examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import usmpy

MOST_ARRAYS = 8
DTYPES = ["int32", "uint8", "int64", "float32"]
SOURCE = """
kernel void triple_plus(global int *x, int n, int add)
{
    int i = get_global_id(0);
    if (i < n) { x[i] = x[i] * 3 + add; }
}
kernel void sum_of(global const int *x, global int *y, int n)
{
    int i = get_global_id(0);
    if (i < n) { y[i] += x[i]; }
}
"""
numbers = st.integers(0, 100)


class Pair:
    """An array of usmpy and the NumPy array that it must equal; views share memory on both sides."""

    def __init__(self, ours, theirs, writable=True):
        self.ours, self.theirs, self.writable = ours, theirs, writable
        assert isinstance(theirs, np.ndarray)


class Machine(RuleBasedStateMachine):
    device: usmpy.Device
    program: usmpy.Program | None = None

    def __init__(self):
        super().__init__()
        self.queues = [usmpy.Queue(self.device), usmpy.Queue(self.device, in_order=False)]
        self.pairs, self.events = [], []

    def teardown(self):
        for pair in self.pairs:
            self.same(pair)
        self.pairs.clear()
        self.events.clear()
        self.queues.clear()
        gc.collect(0)

    def same(self, pair):
        np.testing.assert_array_equal(pair.ours.asnumpy(), pair.theirs)

    def pick(self, k, writable=False):
        fitting = [pair for pair in self.pairs if pair.writable or not writable]
        return fitting[k % len(fitting)] if fitting else None

    def keep(self, pair):
        self.pairs.append(pair)
        if len(self.pairs) > MOST_ARRAYS:
            self.same(self.pairs.pop(0))

    @rule(
        shape=st.lists(st.integers(0, 6), max_size=3),
        dtype=st.sampled_from(DTYPES),
        q=numbers,
        kind=st.sampled_from(["device", "shared", "host"]),
        seed=numbers,
    )
    def create(self, shape, dtype, q, kind, seed):
        theirs = np.random.default_rng(seed).integers(0, 50, shape).astype(dtype)
        queue = self.queues[q % len(self.queues)]
        self.keep(Pair(usmpy.asarray(theirs, queue=queue, usm_type=kind, copy=True), theirs))

    @rule(in_order=st.booleans())
    def another_queue(self, in_order):
        self.queues.append(usmpy.Queue(self.device, in_order=in_order))
        if len(self.queues) > 4:
            del self.queues[0]

    @precondition(lambda self: self.pairs)
    @rule(k=numbers, step=st.sampled_from([1, 2, -1]), first=st.integers(0, 3), turn=st.booleans())
    def view(self, k, step, first, turn):
        pair = self.pick(k)
        key = (slice(first, None, step),) if pair.theirs.ndim else ()
        ours, theirs = pair.ours[(*key, ...)], pair.theirs[(*key, ...)]
        if turn:
            ours, theirs = ours.T if ours.ndim == 2 else ours, theirs.T if theirs.ndim == 2 else theirs
        self.keep(Pair(ours, theirs, pair.writable))

    @precondition(lambda self: self.pairs)
    @rule(to=numbers, of=numbers)
    def copy(self, to, of):
        dst, src = self.pick(to, writable=True), self.pick(of)
        if dst is None or dst.theirs.shape != src.theirs.shape:
            return
        usmpy.copyto(dst.ours, src.ours, casting="unsafe")
        np.copyto(dst.theirs, src.theirs.copy(), casting="unsafe")

    @precondition(lambda self: self.pairs)
    @rule(k=numbers, value=st.integers(0, 50), some=st.booleans())
    def fill(self, k, value, some):
        pair = self.pick(k, writable=True)
        if pair is None:
            return
        key = (slice(1, None), ...) if some and pair.theirs.ndim else ...
        pair.ours[key] = value
        pair.theirs[key] = value

    @precondition(lambda self: self.pairs)
    @rule(k=numbers, other=numbers)
    def compute(self, k, other):
        a, b = self.pick(k), self.pick(other)
        if a.theirs.shape != b.theirs.shape or a.theirs.dtype != b.theirs.dtype:
            return
        if a.ours.queue != b.ours.queue:
            with pytest.raises(usmpy.ExecutionPlacementError):
                usmpy.maximum(a.ours, b.ours)
            return
        expected = np.asarray(np.maximum(a.theirs, b.theirs) + a.theirs)
        self.keep(Pair(usmpy.maximum(a.ours, b.ours) + a.ours, expected))

    @precondition(lambda self: self.pairs)
    @rule(k=numbers)
    def accumulate(self, k):
        pair = self.pick(k, writable=True)
        if pair is None:
            return
        pair.ours += 1
        pair.theirs += 1

    @precondition(lambda self: self.program is not None)
    @rule(q=numbers, n=st.integers(1, 40), add=st.integers(0, 9), late=st.booleans())
    def launch(self, q, n, add, late):
        queue = self.queues[q % len(self.queues)]
        theirs = np.arange(n, dtype="int32")
        x, y = (
            usmpy.asarray(theirs, queue=queue, copy=True),
            usmpy.zeros(n, dtype="int32", queue=self.queues[0]),
        )
        depends = [event for event in self.events if late]
        self.events.append(queue.submit(self.program["triple_plus"], (x, n, add), n, depends=depends))
        other = self.queues[(q + 1) % len(self.queues)]
        self.events.append(other.submit(self.program["sum_of"], (x, y, n), n))
        self.keep(Pair(x, theirs * 3 + add))
        self.keep(Pair(y, theirs * 3 + add))
        del self.events[:-4]

    @precondition(lambda self: self.pairs)
    @rule(k=numbers, writable=st.booleans())
    def export(self, k, writable):
        pair = self.pick(k)
        x = usmpy.from_dlpack(pair.ours)
        assert x.shape == pair.theirs.shape
        self.keep(Pair(x, pair.theirs, pair.writable))

    @rule(n=st.integers(0, 30), q=numbers)
    def adopt(self, n, q):
        """NumPy's memory, which usmpy reads in place where the device can."""
        theirs = np.arange(n, dtype="float32")
        self.keep(
            Pair(usmpy.asarray(theirs, queue=self.queues[q % len(self.queues)]), theirs, writable=False)
        )

    @precondition(lambda self: self.pairs)
    @rule(k=numbers, q=numbers)
    def move(self, k, q):
        pair = self.pick(k)
        moved = usmpy.asarray(pair.ours, queue=self.queues[q % len(self.queues)], copy=True)
        self.keep(Pair(moved, pair.theirs.copy()))

    @precondition(lambda self: self.events)
    @rule(k=numbers)
    def wait(self, k):
        event = self.events[k % len(self.events)]
        event.wait()
        assert event.done

    @rule(k=numbers)
    def wait_for_a_queue(self, k):
        self.queues[k % len(self.queues)].wait()

    @precondition(lambda self: self.pairs)
    @rule(k=numbers)
    def read(self, k):
        self.same(self.pick(k))

    @precondition(lambda self: self.pairs)
    @rule(k=numbers)
    def drop(self, k):
        del self.pairs[k % len(self.pairs)]


def test_any_order_of_calls(backend, device):
    try:
        program = usmpy.Program(SOURCE, device=device)
    except (usmpy.BuildError, NotImplementedError, BufferError):
        assert "minimal" in backend.name, "only that backend takes no programs"
        program = None
    made = type("Machine", (Machine,), {"device": device, "program": program})
    try:
        run_state_machine_as_test(made, settings=examples(8))
    finally:
        made.program = None  # hypothesis keeps the class
