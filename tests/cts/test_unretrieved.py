"""Unretrieved errors: which calls retrieve an error, and which errors sys.unraisablehook reports."""

import asyncio
import contextlib
import gc
import io
import pdb
import sys
import threading
import time
import traceback

import numpy as np
import ordering
import pytest
from immortal import freed_elsewhere
from together import together

import usmpy

PATIENCE = 60
KINDS = ("device", "shared", "host")


class Trouble(Exception):
    pass


def fail(*_):
    raise Trouble("trouble")


@pytest.fixture
def reports(monkeypatch):
    """The reports to sys.unraisablehook as (class, message), once all work is done."""
    seen = []
    # Not the arguments themselves: the exception would hold what its frames held.
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append((args.exc_type, args.err_msg)))

    def collect(expected=0):
        gc.collect()
        deadline = time.monotonic() + PATIENCE
        while len(seen) < expected and time.monotonic() < deadline:
            time.sleep(0.001)
        ordering.run_another_task("host")  # for those that ought not to come
        taken = seen[:]
        seen.clear()
        return taken

    yield collect
    assert collect() == []


def spoiled(queue, usm_type="device"):
    """An array that a failed task was to write; the task has ended."""
    x = usmpy.zeros((4, 4), dtype="float32", queue=queue, usm_type=usm_type)
    event = queue.host_task(fail, x)
    while not event.done:
        time.sleep(0.001)
    return x


def kinds(device):
    return [kind for kind in KINDS if getattr(device, f"has_usm_{kind}")]


@pytest.mark.only_on("host-task", "host-accessible")
def test_consumers_that_drop_the_error_of_the_buffer_protocol_get_it_again(queue, reports):
    """mpi4py and NumPy try the next protocol then; they must not read what failed work left."""
    x = spoiled(queue)
    for _ in range(2):
        with pytest.raises(Trouble):
            memoryview(x)
    with pytest.raises(Trouble):
        x.__dlpack__()
    x = spoiled(queue)
    with pytest.raises(Trouble):
        np.asarray(x)


# Display retrieves no error.


@pytest.mark.parametrize("kind", KINDS)
def test_display_leaves_the_error_to_be_raised(device, queue, kind):
    if kind not in kinds(device):
        assert not getattr(device, f"has_usm_{kind}")
        return
    x = spoiled(queue, kind)
    for _ in range(2):
        assert "Trouble: trouble" in repr(x)
        assert "Trouble: trouble" in str(x)
        assert "Trouble: trouble" in x._repr_html_()
        assert "Trouble: trouble" in repr(x[1:, ::-1])
    with pytest.raises((Trouble, usmpy.UsmError)) as caught:
        x.tolist()
    assert isinstance(caught.value, Trouble) or isinstance(caught.value.__cause__, Trouble)
    with pytest.raises(Trouble):
        queue.wait()
    queue.wait()  # the display submitted nothing that was skipped


def attributes(thing):
    """All of them, as a debugger shows them."""
    for name in dir(thing):
        with contextlib.suppress(Exception):
            getattr(thing, name)


def test_properties_leave_the_error_to_be_raised(queue):
    x = spoiled(queue)
    event = queue.host_task(fail)
    while not event.done:
        time.sleep(0.001)
    for thing in (x, event, queue, queue.device):
        attributes(thing)
    with pytest.raises((Trouble, usmpy.UsmError)):
        x.tolist()
    with pytest.raises(Trouble):
        event.wait()
    with pytest.raises(Trouble):
        queue.wait()


def debugged(*arguments):
    """What Python's debugger shows of a call; its trace function holds the frame of its caller, this one."""

    def look(x, y, event):
        return repr((x, y, event))

    commands = "args\np x, y\npp event, event.status, x.queue\nwhatis x\ndisplay y\nnext\nretval\ncontinue\n"
    output = io.StringIO()
    pdb.Pdb(stdin=io.StringIO(commands), stdout=output, nosigint=True, readrc=False).runcall(look, *arguments)
    return output.getvalue()


def with_locals(x, y, event):
    """A traceback that shows local variables."""
    try:
        raise KeyError
    except KeyError as error:
        return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@pytest.mark.parametrize("show", [debugged, with_locals], ids=lambda show: show.__name__)
def test_debuggers_do_not_stop_the_report(device, reports, show):
    queue = usmpy.Queue(device)
    x = usmpy.zeros((4, 4), dtype="float32", queue=queue)
    event = queue.host_task(fail, x)
    while not event.done:
        time.sleep(0.001)
    assert "Trouble: trouble" in show(x, x + 1, event)
    for thing in (x, event, queue):
        attributes(thing)
    del thing, x, event, queue
    assert [kind for kind, _ in reports(1)] == [Trouble]


@pytest.mark.only_on("streams")
@pytest.mark.parametrize("readers", [False, True])
def test_streams_get_no_array_of_a_failed_task(device, queue, reports, readers):
    """Also where tasks that read the array are pending, for which a stream could wait."""
    x = spoiled(queue)
    gate, other = threading.Event(), usmpy.Queue(device)
    closed = other.host_task(lambda: gate.wait(PATIENCE))
    copies = [
        other.memcpy(bytearray(x.nbytes), x, depends=closed, blocking=False)
        for _ in range(3 if readers else 0)
    ]
    with pytest.raises(Trouble):
        x.__cuda_array_interface__  # noqa: B018 (a property, which a debugger reads: nothing is retrieved)
    assert "Trouble: trouble" in repr(x)
    with pytest.raises(Trouble):
        x.__dlpack__(stream=1)
    gate.set()
    for copy in copies:
        while not copy.done:
            time.sleep(0.001)


def test_a_trace_leaves_the_error_to_be_raised(queue):
    with usmpy.trace() as trace:
        x = spoiled(queue)
        x.copy()
    assert "error" in {task.state for task in trace.tasks}
    assert trace.to_svg()
    assert trace.to_dot()
    assert trace.to_chrome()
    assert repr(trace)
    with pytest.raises((Trouble, usmpy.UsmError)):
        x.tolist()
    with pytest.raises((Trouble, usmpy.UsmError)):
        queue.wait()


# What is reported.


def test_an_unretrieved_error_is_reported_when_its_queue_ends(device, reports):
    queue = usmpy.Queue(device)
    event = queue.host_task(fail)
    while not event.done:
        time.sleep(0.001)
    assert event.status == "error"
    del event
    assert reports() == []  # queue.wait() may come
    del queue
    ((kind, message),) = reports(1)
    assert kind is Trouble
    assert "usmpy" in message
    assert "nobody asked for its result; call event.wait() or queue.wait()" in message


def test_a_task_that_outlives_its_queue_is_reported(device, reports):
    gate = threading.Event()
    usmpy.Queue(device).host_task(lambda: (gate.wait(PATIENCE), fail()))
    assert reports() == []
    gate.set()
    assert [kind for kind, _ in reports(1)] == [Trouble]


def test_errors_of_one_queue_are_one_report(device, reports):
    queue = usmpy.Queue(device)
    for _ in range(3):
        queue.host_task(fail)
    with pytest.raises(Trouble):
        queue.wait()  # the first
    del queue
    ((kind, message),) = reports(1)
    assert kind is Trouble
    assert "2 tasks of one queue" in message


def test_display_does_not_stop_the_report(device, reports):
    queue = usmpy.Queue(device)
    x = spoiled(queue)
    assert "Trouble" in repr(x)
    del x, queue
    assert [kind for kind, _ in reports(1)] == [Trouble]


def test_skipped_work_is_not_reported(device, reports):
    queue, other = usmpy.Queue(device), usmpy.Queue(device)
    failed = queue.host_task(fail)
    later = [other.host_task(print, depends=failed) for _ in range(5)]
    while not all(event.done for event in later):
        time.sleep(0.001)
    del later
    del other
    assert reports() == []
    del failed, queue
    assert [kind for kind, _ in reports(1)] == [Trouble]


def test_a_task_that_is_skipped_for_an_error_that_was_raised(device, reports):
    queue = usmpy.Queue(device)
    failed = queue.host_task(fail)
    with pytest.raises(Trouble):
        failed.wait()
    queue.host_task(print, depends=failed)
    while not queue.barrier().done:
        time.sleep(0.001)


def wait_for_event(queue, event, x):
    event.wait()


def wait_for_queue(queue, event, x):
    queue.wait()


def wait_for_all(queue, event, x):
    usmpy.Event.wait_all([queue.barrier(), event])


def ask_for_the_exception(queue, event, x):
    while not event.done:
        time.sleep(0.001)
    assert isinstance(event.exception(), Trouble)
    raise Trouble


def ask_for_the_result(queue, event, x):
    event.result()


def await_the_event(queue, event, x):
    async def main():
        await event

    asyncio.run(main())


def read_a_list(queue, event, x):
    x.tolist()


def read_an_array(queue, event, x):
    x.asnumpy()


def read_an_item(queue, event, x):
    x[0, 0].item()


def wait_for_the_array(queue, event, x):
    x.wait()


def wait_for_a_skipped_task(queue, event, x):
    usmpy.Queue(queue.device).barrier([event]).wait()


def wait_for_a_reader(queue, event, x):
    queue.memcpy(bytearray(x.nbytes), x).wait()


ASKS = [
    wait_for_event,
    wait_for_queue,
    wait_for_all,
    ask_for_the_exception,
    ask_for_the_result,
    await_the_event,
    read_a_list,
    read_an_array,
    read_an_item,
    wait_for_the_array,
    wait_for_a_skipped_task,
    wait_for_a_reader,
]


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.__name__)
def test_retrieved_errors_are_not_reported(device, reports, ask):
    queue = usmpy.Queue(device)
    x = usmpy.zeros((4, 4), queue=queue)
    event = queue.host_task(fail, x)
    with pytest.raises((Trouble, usmpy.UsmError)):
        ask(queue, event, x)
    # Where the host cannot read the memory, a read is a copy in the device's own queue: no error stays there.
    usmpy.zeros(1, device=device).queue.wait()


def test_wait_all_asks_for_every_event(device, reports):
    queues = [usmpy.Queue(device) for _ in range(3)]
    arrays = [usmpy.zeros(4, queue=queue) for queue in queues]
    events = [queue.host_task(fail, x) for queue, x in zip(queues, arrays, strict=True)]
    with pytest.raises(Trouble):
        usmpy.Event.wait_all(events)
    for x in arrays[1:]:  # no error of theirs was raised, so their memory is refused
        with pytest.raises((Trouble, usmpy.UsmError)):
            x.tolist()


def test_a_wait_that_did_not_get_the_error_asked_for_nothing(device, reports):
    queue = usmpy.Queue(device)
    gate = threading.Event()
    event = queue.host_task(lambda: (gate.wait(PATIENCE), fail()))
    with pytest.raises(TimeoutError):
        event.wait(0.01)
    with pytest.raises(TimeoutError):
        usmpy.Event.wait_all([event], timeout=0.01)
    assert event.exception() is None
    gate.set()
    del event, queue
    assert [kind for kind, _ in reports(1)] == [Trouble]


def test_a_hook_that_fails(device, capsys, monkeypatch):
    def hook(_):
        raise LookupError("mine")

    monkeypatch.setattr(sys, "unraisablehook", hook)
    usmpy.Queue(device).host_task(fail)
    deadline = time.monotonic() + PATIENCE
    text = ""
    while "LookupError" not in text and time.monotonic() < deadline:
        time.sleep(0.001)
        text += capsys.readouterr().err
    assert "LookupError: mine" in text


def test_reports_while_an_exception_is_handled(device, reports):
    """The report runs between two steps of the main thread, and is no part of what that does."""

    def work():
        try:
            raise KeyError("mine")
        except KeyError:
            usmpy.Queue(device).host_task(fail)
            assert [kind for kind, _ in reports(1)] == [Trouble]
            raise

    with pytest.raises(KeyError) as caught:
        work()
    assert caught.value.__context__ is None


def test_threads_with_failing_work(device, reports):
    def work():
        for i in range(20):
            queue = usmpy.Queue(device)
            event = queue.host_task(fail)
            if i % 2:
                with pytest.raises(Trouble):
                    event.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [kind for kind, _ in reports(40)] == [Trouble] * 40


def test_threads_that_look_at_failing_work(device, reports):
    """They show it while it runs and fails, and drop the last references together."""
    queue = usmpy.Queue(device)
    gate, drop = threading.Event(), threading.Barrier(4)
    x = usmpy.zeros((4, 4), queue=queue)
    event = queue.host_task(lambda *_: (gate.wait(PATIENCE), fail()), x)

    def look(queue, x, event):
        with usmpy.trace() as trace:
            y = x + 1
            gate.set()
            while not event.done:
                str(event)
            for _ in range(20):
                assert "Trouble: trouble" in repr(x)
                assert "did not run" in repr(y)
                attributes(event)
                attributes(x)
        assert trace.to_chrome()
        trace = None
        drop.wait(PATIENCE)

    threads = [threading.Thread(target=look, args=(queue, x, event)) for _ in range(4)]
    del queue, x, event
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    del thread, threads
    assert [kind for kind, _ in reports(1)] == [Trouble]


def test_threads_that_all_wait(device, reports):
    queue = usmpy.Queue(device)
    gate, raised = threading.Event(), []
    event = queue.host_task(lambda: (gate.wait(PATIENCE), fail()))

    def wait():
        with pytest.raises(Trouble):
            event.wait()
        raised.append(True)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert raised == [True] * 4


# Compute functions of an array that a failed task was to write.


def other_device(x):
    others = [device for device in usmpy.get_devices() if device not in (x.device, x.device.parent)]
    return others[-1] if others else x.device


FUNCTIONS = {
    "x + 1": lambda x: x + 1,
    "x += 1": lambda x: x.__iadd__(1),
    "y += x": lambda x: usmpy.ones_like(x).__iadd__(x),
    "add(x, 1, out)": lambda x: usmpy.add(x, 1, out=usmpy.ones_like(x)),
    "chain": lambda x: (((x + 1) * 2 - x) @ x).sum(axis=0),
    "x.T.copy()": lambda x: x.T.copy(),
    "astype": lambda x: x.astype("int8"),
    "asarray": lambda x: usmpy.asarray(x, copy=True),
    "to_device": lambda x: x.to_device(other_device(x)),
    "x[1] = x[0]": lambda x: x.__setitem__(1, x[0]),
    "y[...] = x": lambda x: usmpy.zeros_like(x).__setitem__(..., x),
    "where": lambda x: usmpy.where(x > 0, x, -x),
    "sum": usmpy.sum,
    "std": lambda x: usmpy.std(x, axis=1),
    "cumulative_sum": lambda x: usmpy.cumulative_sum(x, axis=0),
    "matmul": lambda x: x @ x,
    "sort": usmpy.sort,
    "take": lambda x: usmpy.take(x, usmpy.zeros(2, dtype="int64", queue=x.queue), axis=0),
}


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_failed_task_before_a_function(device, reports, name, pending):
    """Nobody waits for the result: the task's error is reported, and nothing else."""
    queue = usmpy.Queue(device)
    gate = threading.Event()
    x = usmpy.ones((4, 4), dtype="float32", queue=queue)
    event = queue.host_task(lambda *_: (gate.wait(PATIENCE), fail()), x)
    if not pending:
        gate.set()
        while not event.done:
            time.sleep(0.001)
    result = FUNCTIONS[name](x)
    gate.set()
    assert "Trouble: trouble" in repr(x) or name in ("x += 1", "x[1] = x[0]")
    assert result is None or "<" in repr(result)
    other = result.queue if name == "to_device" else None
    del x, queue, event, result
    assert [kind for kind, _ in reports(1)] == [Trouble]
    if other is not None:
        # A copy that did not run is an error of the other device's cached queue, which outlives this test.
        with contextlib.suppress(Trouble, usmpy.UsmError):
            other.wait()


# What functions make of an array that a failed task was to write is refused, as that array is. `w` is intact.
RESULTS = """
concat([x, w]); concat([w, x]); concat([w, w, x, w], axis=1); stack([x, w]); stack([w, x, w]);
asarray([w, x]); asarray([[w[0], x[1]], [w[2], w[3]]]); tril(x); triu(x, k=1); tril(x.copy()); roll(x, 1);
roll(x, (1, 2), axis=(0, 1)); flip(x).copy(); repeat(x, 2); repeat(x, i, axis=0); tile(x, (2, 2));
reshape(x.T, (16,)); x.T.copy("C"); meshgrid(x[0], w[0])[0].copy(); broadcast_to(x[1], (3, 4)).copy();
unstack(x)[1].copy(); moveaxis(x, 0, 1).copy(); take(x, i, axis=0); take(w, i, axis=1) + take(x, i, axis=1);
take_along_axis(x, i[:, None] * ones_like(i), axis=1); x[i]; x[i, i]; where(w > 0, x, w);
where(w > 0, w, x); where(x > 0, w, w); x.astype("int8"); x[1, 2].copy(); x[::2, ::-1].copy(); sum(x);
prod(x, axis=0); max(x); min(x, axis=1); mean(x); std(x); var(x, axis=0); any(x); all(x, axis=1); argmax(x);
argmin(x, axis=0); count_nonzero(x); cumulative_sum(x, axis=0);
cumulative_prod(x, axis=1, include_initial=True); cumulative_sum(x, axis=1, include_initial=True); diff(x);
sort(x); sort(x, axis=0, descending=True); argsort(x); searchsorted(w[0], x[1]); searchsorted(x[0], w[1]);
x @ w; w @ x; tensordot(x, w, axes=2); vecdot(w, x); clip(x, 0, 1); clip(w, x, 3); isin(x, w); isin(w, x);
unique_values(x); unique_counts(x).counts; nonzero(x)[0]; x[w > 0]; w[x > 0]; abs(x); x + w; w - x; x == w;
~(x > 0); hypot(w, x); add(x, w, out=empty_like(w)); full_like(w, 3, order="F") * x; np.median(x);
np.concatenate([w, x]); np.quantile(x, 0.5); np.histogram(x, 3)[0]; np.digitize(x, w[0]);
np.select([w > 0, w > 9], [x, w]); np.percentile(x, 30, axis=0); np.nansum(x); np.stack([w, x]);
into(lambda: w.__setitem__(0, x[0]));
into(lambda: w.__setitem__((slice(1, 3), slice(None, None, 2)), x[:2, :2]));
into(lambda: w.__setitem__(w > 0, x[w > 0])); into(lambda: w.__setitem__(i, x));
into(lambda: w.__iadd__(x)); into(lambda: w[1].__iadd__(x[0])); into(lambda: w.__setitem__(..., x.T));
into(lambda: w.queue.memcpy(w, x)); into(lambda: w.queue.memcpy(w[2], x[2])); into(lambda: put(w, i, x[0]));
into(lambda: place(w, w > 0, x));
into(lambda: w[:2].__setitem__(..., x[:2]), lambda: w[2:].__setitem__(..., 5));
into(lambda: w[:2].__setitem__(..., x[:2]), lambda: w.queue.fill(w[2:], 5),
    lambda: w[3].__setitem__(..., w[2]));
into(lambda: w[0].__setitem__(..., x[0]), lambda: w.queue.memcpy(w[1], bytes(16)),
    lambda: w.__setitem__(15 // 4, 1));
into(lambda: w[:, 1].__setitem__(..., x[0]), lambda: w[::2].__setitem__(..., arange(4)));
into(lambda: w[0].__setitem__(..., x[0]), lambda: add(w[2], 1, out=w[1]),
    lambda: multiply(w[2], 2, out=w[3]));
into(lambda: w[0].__setitem__(..., x[0]), lambda: w.queue.memcpy(w, bytearray(0), 0),
    lambda: w[1].__iadd__(1))
"""


@freed_elsewhere
@together("expression", [" ".join(text.split()) for text in RESULTS.split(";")], thin=True)
def test_what_comes_of_a_failed_task_is_refused(queue, expression):
    x = spoiled(queue)
    w = usmpy.arange(1, 17, dtype="float32", queue=queue).reshape(4, 4).copy()
    i = usmpy.asarray([3, 0, 2, 1], queue=queue)

    def into(*steps):
        for step in steps:
            step()
        return w

    names = {"np": np, "into": into, "w": w, "x": x, "i": i}
    with pytest.raises((Trouble, usmpy.UsmError)):
        eval(expression, vars(usmpy) | names).tolist()
    queue.barrier()
    with contextlib.suppress(Trouble, usmpy.UsmError):
        queue.wait()


def test_a_write_to_all_of_the_memory_ends_the_failure(queue):
    for write in (
        lambda x: x.__setitem__(..., 7),
        lambda x: x.T.__setitem__(..., 7),
        lambda x: queue.fill(x, 7),
        lambda x: queue.memcpy(x, usmpy.full_like(x, 7)),
        lambda x: usmpy.add(usmpy.full_like(x, 3), 4, out=x),
        lambda x: x.__setitem__(..., usmpy.full((4, 4), 7, dtype="int8", queue=queue)),
    ):
        x = spoiled(queue)
        x[1] = 7
        assert "UsmError" in repr(x) or "Trouble" in repr(x)
        write(x)
        assert set(usmpy.reshape(x, (16,)).tolist()) == {7}
        with pytest.raises(Trouble):
            queue.wait()


@pytest.mark.only_on("system-usm")
def test_a_write_to_all_of_imported_memory_ends_the_failure(queue):
    """Its size is that of the import, whatever the record of the allocation held before."""
    for _ in range(20):
        x = usmpy.from_dlpack(np.zeros(16, "float32"), device=queue)
        event = queue.host_task(fail, x)
        half, whole = queue.fill(x[8:], 7), queue.fill(x, 7)
        whole.wait()
        assert half.status == "error"
        assert x.tolist() == [7] * 16
        with pytest.raises(Trouble):
            event.wait()
        with pytest.raises(Trouble):
            queue.wait()


def test_retrieved_errors_leave_room_for_later_ones(device, reports):
    """A queue keeps some errors at most until they are retrieved."""
    queue = usmpy.Queue(device, in_order=False)
    for _ in range(100):
        with pytest.raises(Trouble):
            queue.host_task(fail).result(PATIENCE)
    event = queue.host_task(fail)
    ordering.run_another_task("host")
    with pytest.raises(Trouble):
        queue.wait(PATIENCE)
    assert event.done
    event = queue.host_task(fail)
    while not event.done:
        time.sleep(0.001)
    del event, queue
    assert [kind for kind, _ in reports(1)] == [Trouble]
