"""Each call of devices, contexts, queues and events 1,000 times, also refused: no Python object is left."""

import array
import contextlib
import gc
import io
import pickle
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from asleep import until_others_sleep
from immortal import IMMORTAL

import usmpy
from usmpy import _core, selectors

ROUNDS = 1000
SLACK = 200  # blocks and references: what the interpreter and other threads allocate meanwhile

pytestmark = pytest.mark.not_sanitized("it counts Python's blocks")


class Trouble(Exception):
    pass


def fail(*_):
    raise Trouble


class Things:
    """Objects that the calls use; they are made once, so that a leaked reference to one is detected."""

    def __init__(self):
        self.device = usmpy.Device("host")
        self.cached = self.device.queue
        self.q = usmpy.Queue("host")
        self.loose = usmpy.Queue("host", in_order=False)
        self.timed = usmpy.Queue("host", profiling=True)
        self.context = usmpy.Context(self.device)
        self.own = usmpy.Queue("host", context=self.context)
        self.x = usmpy.zeros(16, dtype="int32", queue=self.q)
        self.part = self.x[::2]
        self.there = usmpy.zeros(16, dtype="int32", queue=self.cached)
        self.numpy = np.zeros(16, "int32")
        self.records = np.zeros(3, "i4,f4")
        self.bytes = bytearray(64)
        self.event = self.q.barrier()
        self.filled = self.timed.fill(self.bytes, 1)
        self.filled.wait()
        self.valued = self.q.host_task(lambda: 257)
        self.failed = self.q.host_task(fail)
        with contextlib.suppress(Trouble):
            self.q.wait()
        self.gate = threading.Event()
        self.stuck = usmpy.Queue("host").host_task(self.gate.wait)
        self.empty = ()

    def objects(self):
        shared = [usmpy.Queue, usmpy.Event, usmpy.Device, usmpy.Context, usmpy.USMArray, _core._Notifier]
        return [*vars(self).values(), *shared]


@pytest.fixture
def things():
    things = Things()
    yield things
    things.gate.set()
    things.stuck.wait()


def noop(*_):
    return None


class Iterable:
    def __iter__(self):
        raise Trouble


CALLS = {
    # devices
    "Device": lambda s: usmpy.Device("host"),
    "Device of a device": lambda s: usmpy.Device(s.device),
    "Device of a platform": lambda s: usmpy.Device("host[usmpy]:cpu:0"),
    "create_device": lambda s: [usmpy.Device.create_device(v) for v in (None, "host", s.device, s.q, s.x)],
    "create_sub_devices": lambda s: s.device.create_sub_devices(1),
    "same_device": lambda s: [s.device.same_device(other=v) for v in ("host", s.device, s.q, s.x)],
    "has_aspect": lambda s: s.device.has_aspect("fp64"),
    "info": lambda s: s.device.info(),
    "properties of Device": lambda s: [getattr(s.device, n) for n in dir(s.device) if n[0] != "_"],
    "repr of Device": lambda s: (repr(s.device), repr(s.q.device)),
    "== and hash of Device": lambda s: (s.device == s.q.device, s.device != 1, hash(s.device)),
    "pickle a Device": lambda s: pickle.loads(pickle.dumps(s.device)),
    "get_devices": lambda s: usmpy.get_devices("host", "cpu"),
    "select_default_device": lambda s: usmpy.select_default_device(),
    "select_device": lambda s: selectors.select_device("accelerator:9,host"),
    "select_device_with_aspects": lambda s: usmpy.select_device_with_aspects(["cpu"], "gpu"),
    # contexts
    "Context": lambda s: (usmpy.Context(s.device), usmpy.Context([s.device])),
    "properties of Context": lambda s: [getattr(s.context, n) for n in dir(s.context) if n[0] != "_"],
    "repr of Context": lambda s: (repr(s.context), hash(s.context), s.context == s.device.context),
    # queues
    "Queue": lambda s: usmpy.Queue(),
    "Queue of everything": lambda s: usmpy.Queue(
        s.x, context=s.context, in_order=False, profiling=True, priority="low"
    ),
    "properties of Queue": lambda s: [
        getattr(q, n) for q in (s.q, s.cached) for n in dir(q) if n[0] != "_" and n != "native_handle"
    ],
    "repr of Queue": lambda s: (repr(s.q), hash(s.q), s.q == s.cached, s.q != None),  # noqa: E711
    "pickle a Queue": lambda s: pickle.loads(pickle.dumps(s.timed)),
    "pickle the cached Queue": lambda s: pickle.loads(pickle.dumps(s.cached)),
    "memcpy": lambda s: (s.q.memcpy(s.x, s.numpy), s.q.memcpy(s.bytes, s.x, nbytes=4, depends=s.event)),
    "memcpy without a wait": lambda s: s.q.memcpy(s.x, s.numpy, blocking=False),
    "memcpy and a wait": lambda s: s.q.memcpy(s.x, s.x, blocking=True),
    "memcpy of records": lambda s: s.q.memcpy(s.records, s.records.copy()),
    "fill": lambda s: (s.q.fill(s.x, 3), s.q.fill(s.numpy, value=-3), s.q.fill(s.bytes, b"x")),
    "fill with a scalar of NumPy": lambda s: s.q.fill(s.x, np.int16(257)),
    "prefetch": lambda s: s.q.prefetch(s.x),
    "barrier": lambda s: (s.q.barrier(), s.loose.barrier(depends=[s.event, s.filled])),
    "barrier of many": lambda s: s.loose.barrier([s.event] * 20),
    "depends of an iterator": lambda s: s.q.barrier(iter((s.event, s.valued))),
    "keep_alive": lambda s: s.q.keep_alive([s.x], depends=(s.event,)),
    "host_task": lambda s: s.q.host_task(noop, s.x, "text", depends=s.event),
    "host_task with a result": lambda s: s.q.host_task(list, (1, 2)).result(),
    "wait": lambda s: (s.q.wait(), s.q.wait(60), s.q.wait(timeout=None)),
    "wait_for": lambda s: (s.q.wait_for(s.loose), s.q.wait_for(s.event)),
    # events
    "properties of Event": lambda s: [
        getattr(s.filled, n) for n in ("status", "done", "submit_time_ns", "start_time_ns", "end_time_ns")
    ],
    "repr of Event": lambda s: (repr(s.event), hash(s.event)),
    "Event.wait": lambda s: (s.event.wait(), s.valued.wait(timeout=60)),
    "Event.result": lambda s: (s.event.result(), s.valued.result(timeout=60)),
    "Event.exception": lambda s: (s.event.exception(), s.failed.exception()),
    "Event.wait_all": lambda s: usmpy.Event.wait_all([s.event, s.valued], timeout=60),
    "callback of an event that has ended": lambda s: s.event.add_done_callback(noop),
    "callback of an event that has not": lambda s: s.q.host_task(noop).add_done_callback(noop),
    "results in a cycle": lambda s: (lambda box: box.append(s.q.host_task(noop, box) or box))([]),
    # the Python parts
    "diagnose": lambda s: usmpy.diagnose(),
    "repr of a failed array": lambda s: repr(s.there),
}
REFUSED = {
    "Device of a wrong type": (TypeError, lambda s: usmpy.Device(s.q)),
    "Device of a malformed string": (ValueError, lambda s: usmpy.Device("host:nonsense")),
    "Device that is not there": (usmpy.DeviceNotFound, lambda s: usmpy.Device("host:gpu,host:cpu:9")),
    "create_device of an int": (TypeError, lambda s: usmpy.Device.create_device(1)),
    "create_sub_devices of a str": (TypeError, lambda s: s.device.create_sub_devices("1")),
    "create_sub_devices of too many": (ValueError, lambda s: s.device.create_sub_devices(1 << 70)),
    "same_device of an int": (TypeError, lambda s: s.device.same_device(1)),
    "has_aspect of nonsense": (ValueError, lambda s: s.device.has_aspect("nonsense")),
    "has_aspect of an int": (TypeError, lambda s: s.device.has_aspect(1)),
    "from_native of the host": (ValueError, lambda s: usmpy.Device.from_native("host", 1)),
    "get_devices of nonsense": (ValueError, lambda s: usmpy.get_devices("nonsense")),
    "aspects that nothing has": (usmpy.DeviceNotFound, lambda s: usmpy.select_device_with_aspects("custom")),
    "Context of nothing": (ValueError, lambda s: usmpy.Context([])),
    "Context of an int": (TypeError, lambda s: usmpy.Context(1)),
    "Context of ints": (TypeError, lambda s: usmpy.Context([s.device, 1])),
    "Context of one device twice": (ValueError, lambda s: usmpy.Context([s.device] * 2)),
    "Context.from_native": (ValueError, lambda s: usmpy.Context.from_native("host", 1, owner=s.x)),
    "Queue of an int": (TypeError, lambda s: usmpy.Queue(1)),
    "Queue of a wrong context": (TypeError, lambda s: usmpy.Queue("host", context=s.device)),
    "Queue of a wrong priority": (ValueError, lambda s: usmpy.Queue("host", priority="urgent")),
    "Queue of a wrong bool": (TypeError, lambda s: usmpy.Queue("host", profiling=1)),
    "Queue.from_native": (ValueError, lambda s: usmpy.Queue.from_native("host", 1, owner=s.x)),
    "Queue.from_stream": (TypeError, lambda s: usmpy.Queue.from_stream("stream")),
    "pickle a Queue of a context": (pickle.PicklingError, lambda s: pickle.dumps(s.own)),
    "unknown keyword": (TypeError, lambda s: s.q.memcpy(s.x, s.x, nonsense=s.x)),
    "memcpy with a wrong blocking": (TypeError, lambda s: s.q.memcpy(s.x, s.numpy, blocking=1)),
    "fill with a wrong blocking": (TypeError, lambda s: s.q.fill(s.numpy, 1, blocking=s.x)),
    "memcpy to an int": (TypeError, lambda s: s.q.memcpy(1, s.bytes)),
    "memcpy from an int": (TypeError, lambda s: s.q.memcpy(s.bytes, 1)),
    "memcpy of strides": (BufferError, lambda s: s.q.memcpy(s.bytes, s.part)),
    "memcpy of strides of NumPy": (BufferError, lambda s: s.q.memcpy(s.numpy, s.numpy[::2])),
    "memcpy to bytes": (ValueError, lambda s: s.q.memcpy(b"1234", s.bytes)),
    "memcpy of two types": (TypeError, lambda s: s.q.memcpy(s.x, array.array("f", [0] * 16))),
    "memcpy of two types of arrays": (TypeError, lambda s: s.q.memcpy(s.x, s.x.astype("float32"))),
    "memcpy of other sizes": (ValueError, lambda s: s.q.memcpy(s.x, s.bytes[:3])),
    "memcpy of too many bytes": (ValueError, lambda s: s.q.memcpy(s.x, s.bytes, 1 << 70)),
    "memcpy of a wrong depends": (TypeError, lambda s: s.q.memcpy(s.x, s.numpy, depends=[s.event, s.x])),
    "fill of records": (TypeError, lambda s: s.q.fill(s.records, 1)),
    "fill with a str": (TypeError, lambda s: s.q.fill(s.numpy, "1")),
    "fill with too much": (OverflowError, lambda s: s.q.fill(s.bytes, 256)),
    "fill with other bytes": (ValueError, lambda s: s.q.fill(s.numpy, b"1")),
    "fill of text": (TypeError, lambda s: s.q.fill(io.StringIO(), 1)),
    "prefetch of a buffer": (TypeError, lambda s: s.q.prefetch(s.bytes)),
    "barrier of an int": (TypeError, lambda s: s.q.barrier(1)),
    "barrier of a broken iterable": (Trouble, lambda s: s.q.barrier(Iterable())),
    "barrier of many and an int": (TypeError, lambda s: s.q.barrier([s.event] * 20 + [1])),
    "keep_alive for an int": (TypeError, lambda s: s.q.keep_alive([s.x], 1)),
    "host_task of an int": (TypeError, lambda s: s.q.host_task(1, s.x)),
    "host_task of a wrong depends": (TypeError, lambda s: s.q.host_task(noop, s.x, depends=[1])),
    "host_task with a keyword": (TypeError, lambda s: s.q.host_task(noop, x=s.x)),
    "host_task of nothing": (TypeError, lambda s: s.q.host_task()),
    "host_task that fails": (Trouble, lambda s: s.q.host_task(fail, s.x).wait()),
    "host_task that is skipped": (usmpy.UsmError, lambda s: s.loose.barrier([s.failed]).wait()),
    "wait of a failed queue": (Trouble, lambda s: (s.q.host_task(fail), s.q.wait())),
    "wait of a wrong timeout": (ValueError, lambda s: s.q.wait(-1)),
    "wait of a str": (TypeError, lambda s: s.q.wait("1")),
    "wait_for an int": (TypeError, lambda s: s.q.wait_for("1")),
    "times without profiling": (usmpy.UsmError, lambda s: s.event.end_time_ns),
    "Event.wait of a timeout": (TimeoutError, lambda s: s.stuck.wait(0)),
    "Event.result of an error": (Trouble, lambda s: s.failed.result()),
    "Event.result of a timeout": (TimeoutError, lambda s: s.stuck.result(timeout=0)),
    "Event.wait_all of an error": (Trouble, lambda s: usmpy.Event.wait_all([s.event, s.failed])),
    "Event.wait_all of an int": (TypeError, lambda s: usmpy.Event.wait_all([s.event, 1])),
    "Event.wait_all of a timeout": (TimeoutError, lambda s: usmpy.Event.wait_all([s.stuck], 0)),
    "callback of an int": (TypeError, lambda s: s.stuck.add_done_callback(1)),
}


def settle(things):
    """Ends all work, and releases what it held."""
    for queue in (things.q, things.loose, things.timed, things.own, things.cached):
        with contextlib.suppress(Trouble, usmpy.UsmError):
            queue.wait()
    gc.collect()
    until_others_sleep()  # workers release the last task shortly after its completion is visible
    _core._live_counts()  # runs what workers put off


def counts(things):
    settle(things)
    return sys.getallocatedblocks(), [sys.getrefcount(thing) for thing in things.objects()]


def grown(things, call, rounds):
    """Blocks and references that a number of calls leaked."""
    blocks, references = counts(things)
    for _ in range(rounds):
        call(things)
    more_blocks, more_references = counts(things)
    return more_blocks - blocks, [b - a for a, b in zip(references, more_references, strict=True)]


def check(things, call):
    for _ in range(40):  # caches and free lists fill
        call(things)
    for _ in range(3):  # a real leak is there each time
        blocks, references = grown(things, call, ROUNDS)
        if blocks <= SLACK and max(references) <= SLACK:
            return
    names = [*vars(things), *("type",) * 6]
    wrong = {name: n for name, n in zip(names, references, strict=True) if n > SLACK}
    raise AssertionError(f"{ROUNDS} calls left {blocks} blocks and references {wrong}")


@pytest.mark.parametrize("name", CALLS)
def test_calls_leave_nothing(things, name):
    if IMMORTAL and name == "diagnose":
        pytest.skip("ctypes.CDLL makes a class, which is immortal there")
    check(things, CALLS[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused_calls_leave_nothing(things, name):
    error, call = REFUSED[name]

    def refused(things):
        try:
            call(things)
        except error:
            return
        raise AssertionError(f"no {error.__name__}")

    check(things, refused)


def test_leaks_are_found(things):
    kept = []
    with pytest.raises(AssertionError, match="blocks"):
        check(things, lambda s: kept.append(object()))
    with pytest.raises(AssertionError, match="references"):
        check(things, lambda s: kept.append(s.device))


def test_a_call_on_any_thread_releases_what_tasks_kept():
    """Also while the main thread, which CPython asks for such work, is in a call that does not end."""
    left = []

    def run():
        kept = Trouble()
        gone = weakref.ref(kept)
        gate = threading.Event()
        queue = usmpy.Queue("host")
        event = queue.keep_alive([kept], depends=queue.host_task(gate.wait))
        gate.set()
        event.wait()
        del kept
        left.append(gone)
        end = time.monotonic() + 60
        while gone() is not None and time.monotonic() < end:
            usmpy.can_cast("int8", "int16")  # makes no object of usmpy, whose end would release too
            time.sleep(0.001)
        left.append(gone())
        event.wait()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert left[1:] == [None]
