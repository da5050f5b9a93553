"""Processes that lack descriptors or memory, or have very many tasks.

    python tests/isolated/limits.py CASE

Each case runs in a process of its own.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))


def no_descriptors_left():
    """A process that has as many descriptors as it may have: shares are refused with the reason, work goes
    on.
    """
    import contextlib
    import gc
    import multiprocessing.reduction
    import resource
    import subprocess
    import time

    from another import no_descriptors

    import usmpy
    from usmpy import _core

    EXPORT = "import sys, usmpy; h = usmpy.share(usmpy.arange(6, device='host')).get_ipc_handle()"
    EXPORTER = f"{EXPORT}; print(bytes(h).hex(), flush=True); sys.stdin.read()"
    LACKING = "Too many open files"

    def settled(before):
        deadline = time.monotonic() + 30
        while _core._live_counts() != before:
            assert time.monotonic() < deadline, (before, _core._live_counts())
            time.sleep(0.005)
            gc.collect()

    def refused(call, *arguments):
        try:
            call(*arguments)
        except (MemoryError, OSError) as error:
            if LACKING not in str(error) or (
                isinstance(error, MemoryError) and "ulimit -n" not in str(error)
            ):
                raise
        else:
            raise AssertionError(f"{call} needs a descriptor")

    def exhausted(call, *arguments):
        """Calls while no descriptor is left."""
        with no_descriptors():
            call(*arguments)

    def read_other(data):
        """A handle is refused, not believed to come from another machine or from a process that has ended."""
        refused(usmpy.IPCHandle.from_bytes, data)

    def use(x, shared, handle):
        refused(usmpy.share, x)
        refused(shared.get_ipc_handle)
        refused(usmpy.IPCHandle.from_bytes, bytes(handle), handle.fds)
        refused(multiprocessing.reduction.ForkingPickler.dumps, shared)
        assert handle.open().tolist() == shared.tolist()
        assert usmpy.sum(usmpy.sort(x, descending=True) + 1).item() == 500_000_500_000
        ran = []
        queue = usmpy.Queue("host")
        queue.host_task(ran.append, 1).wait()
        assert ran == [1]
        assert usmpy.get_devices("host")

    child = subprocess.Popen([sys.executable, "-c", EXPORTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    data = bytes.fromhex(child.stdout.readline().decode())
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, hard), hard))
    x = usmpy.arange(1_000_000, device="host")
    usmpy.Queue("host").host_task(len, "").wait()
    settled({**_core._live_counts(), "events": 0})  # the worker has released the task
    before = _core._live_counts()
    exhausted(read_other, data)  # the first handle of this process
    handle = usmpy.share(x).get_ipc_handle()
    shared = handle.open()
    exhausted(read_other, data)  # what is known of this process is known by now
    exhausted(use, x, shared, handle)
    with contextlib.suppress(BufferError):  # the kernel's rules, not a lack
        assert usmpy.IPCHandle.from_bytes(data).open().tolist() == [0, 1, 2, 3, 4, 5]
    child.communicate(b"")
    assert child.wait() == 0
    del handle, shared
    settled(before)
    print("ok")


def little_memory():
    """A process whose address space may not grow: calls are refused with the reason, and leave nothing
    behind.

    Products of matrices are left out: OpenBLAS ends the process where it gets no memory.
    """
    import gc
    import resource
    import time

    import usmpy
    from usmpy import _core

    def run(call):
        """What a call gives, or None for a refusal that says why."""
        try:
            return call()
        except MemoryError:
            return None
        except usmpy.UsmError as error:
            if "the system refused a thread" not in str(error):
                raise
            return None

    large = usmpy.zeros(1 << 22, device="host")
    usmpy.sum(large + 1).item()
    queue = usmpy.Queue("host")
    queue.host_task(len, "").wait()
    while _core._live_counts()["events"] > 0:  # the worker releases the task
        time.sleep(0.005)
    before = _core._live_counts()
    with open("/proc/self/statm") as pages:
        size = int(pages.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    calls = {
        "empty": lambda: usmpy.empty(1 << 28, device="host"),
        "zeros": lambda: usmpy.zeros(1 << 28, device="host"),
        "share": lambda: usmpy.share(large),
        "tolist": lambda: large[: 1 << 19].tolist(),
        "asarray": lambda: usmpy.asarray(range(300_000), device="host"),
        "add": lambda: large + 1,
        "sort": lambda: usmpy.sort(large),
        "sum": lambda: usmpy.sum(large).item() + 1,
        "nonzero": lambda: usmpy.nonzero(large == 0),
        "cumulative_sum": lambda: usmpy.cumulative_sum(large),
        "pickle": lambda: large.__reduce_ex__(2),
        "queues": lambda: [usmpy.Queue("host").host_task(len, "").wait() or 1 for _ in range(8)],
        "waiting queue": lambda: queue.host_task(len, "").wait() or 1,
    }
    # Without a byte more than there is, and with room for a part of what the calls need. Lists are
    # not longer:
    # where pages are refused, each further object costs several calls of the system.
    for room in (0, 1 << 20, 20 << 20):
        resource.setrlimit(resource.RLIMIT_AS, (size + room, hard))
        missed = [name for name, call in calls.items() if run(call) is None]
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        assert {"empty", "zeros"} <= {*missed}, missed
        assert all(run(call) is not None for name, call in calls.items() if name not in ("empty", "zeros"))
        run(queue.wait)  # which keeps the first failure until then
        deadline = time.monotonic() + 30
        while _core._live_counts() != before:
            assert time.monotonic() < deadline, (before, _core._live_counts())
            time.sleep(0.005)
            gc.collect()
    print("ok")


def leak_of_submissions():
    """50,000 submissions and 5,000 queues: memory and the counts of live objects stay flat."""
    import contextlib
    import gc
    import time

    import usmpy
    from usmpy import _core

    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    def submissions(n):
        queue = usmpy.Queue("host")
        x = usmpy.zeros(1000, queue=queue)
        y = usmpy.zeros(1000, queue=queue)
        for i in range(n):
            queue.fill(x, i)
            queue.memcpy(y, x, depends=queue.barrier())
            if i % 4 == 0:
                queue.host_task(int, i)
                queue.keep_alive([i])
            if i % 100 == 0:
                queue.wait()
        queue.wait()

    def queues(n):
        for i in range(n):
            queue = usmpy.Queue("host", in_order=i % 3 != 0, profiling=i % 2 == 0)
            x = usmpy.full(10, i, queue=queue)
            if i % 8 == 0:
                queue.host_task(len, x)
                assert x[0].item() == i

    def failures(n):
        def fail(x):
            raise ValueError(len(x))

        queue = usmpy.Queue("host")
        for _ in range(n):
            event = queue.host_task(fail, usmpy.zeros(100, queue=queue))
            late = queue.host_task(int, depends=event)
            for each in (event, late):
                with contextlib.suppress(ValueError, usmpy.UsmError):
                    each.wait()
        with contextlib.suppress(ValueError):
            queue.wait()

    def arrays(n):
        x = usmpy.arange(1000, device="host")
        for i in range(n):
            views = [x[i % 900 :], x[::2], usmpy.reshape(x, (10, 100)).T, usmpy.flip(x)]
            views.append(usmpy.from_dlpack(x))
            views.append(usmpy.concat(views[:2]))
            assert memoryview(views[0])[0] == i % 900
            repr(x)

    def settled():
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            gc.collect()
            counts = _core._live_counts()
            if counts["events"] == 0 and counts["queues"] <= 1:
                break
            time.sleep(0.01)
        return _core._live_counts()

    for work, warm, n in (
        (submissions, 5_000, 50_000),
        (queues, 1_000, 5_000),
        (failures, 500, 5_000),
        (arrays, 500, 5_000),
    ):
        work(warm)
        counts = settled()
        before = resident()
        work(n)
        assert settled() == counts, (work.__name__, counts, settled())
        grown = resident() - before
        assert grown < 8 << 20, (work.__name__, grown)
    print("ok")


def chain_of_a_million():
    """A chain of a million dependent tasks ends, fails and is freed without recursion, on small stacks."""
    import os
    import resource
    import threading
    import time

    KIB = 1024
    STACK = 512 * KIB  # also of the threads that usmpy starts: glibc takes the limit of the process

    if resource.getrlimit(resource.RLIMIT_STACK)[0] != STACK:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        os.execv(sys.executable, [sys.executable, *sys.argv])

    import usmpy
    from usmpy import _core

    N = 1_000_000

    class Trouble(Exception):
        pass

    def chain(in_order, fails, n, hold=False):
        """The last event of a chain that began behind a closed gate, and the gate."""
        gate = threading.Event()
        queues = [usmpy.Queue("host", in_order=in_order) for _ in range(2)]

        def first():
            gate.wait()
            if fails:
                raise Trouble

        event = queues[0].host_task(first)
        kept = [event] if hold else None
        for i in range(n):
            event = queues[i & 1].barrier(depends=event)
            if hold:
                kept.append(event)
        return event, gate, kept

    def cause(event):
        try:
            event.wait()
        except usmpy.UsmError as error:
            return error.__cause__
        raise AssertionError("no error came through the chain")

    def settled(before):
        deadline = time.monotonic() + 60
        while _core._live_counts() != before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert _core._live_counts() == before, (before, _core._live_counts())

    def run():
        usmpy.Queue("host").barrier().wait()
        before = _core._live_counts()
        # Out of order, so that the dependencies alone make the order.
        event, gate, _ = chain(in_order=False, fails=False, n=N)
        gate.set()
        event.wait()
        del event
        settled(before)
        # In order, on two queues by turns; every event is held, and all are dropped at once.
        event, gate, kept = chain(in_order=True, fails=False, n=N // 10, hold=True)
        gate.set()
        event.wait()
        del event, kept
        settled(before)
        # Dropped while everything is pending.
        event, gate, _ = chain(in_order=False, fails=False, n=N // 10)
        del event
        gate.set()
        settled(before)
        # The first one fails, so that all others are skipped.
        event, gate, _ = chain(in_order=False, fails=True, n=N // 10)
        gate.set()
        assert isinstance(cause(event), Trouble)
        del event
        settled(before)

    failures = []

    def guarded():
        try:
            run()
        except BaseException as error:
            failures.append(error)
            raise

    # The tasks also run in the thread that waits.
    threading.stack_size(STACK)
    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    assert not failures
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 2_000_000, peak
    print("ok")


globals()[sys.argv[1]]()
