"""Ends of a process.

    python tests/isolated/exits.py CASE

Names of a case are global, since some must live until the end of the process.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))


def exit_by_signal():
    """Ctrl-C while the exit waits for a task that does not end: the process ends now."""
    global interrupt, os, queue, signal, threading, until_asleep, usmpy
    import os
    import signal
    import threading

    from asleep import until_asleep

    import usmpy

    # A shell that starts this in the background may have switched Ctrl-C off.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    queue = usmpy.Queue("host")
    queue.host_task(threading.Event().wait)

    def interrupt():
        until_asleep()  # the main thread, in the exit
        sys.stdout.write("ok\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


def exit_order():
    """Hooks registered after the import run first and may use all; then host tasks are refused."""
    global after, atexit, before, queue, seen, usmpy, x
    import atexit

    def after():  # registered before the import of usmpy: runs after its hook
        said = ""
        try:
            queue.host_task(print)
        except RuntimeError as error:
            said = str(error)
        assert "shuts down" in said
        x[...] = 4  # work without Python continues
        assert x.tolist() == [4, 4, 4]
        y = usmpy.concat([x, x])
        assert y.tolist() == [4] * 6
        sys.stdout.write("ok\n")

    atexit.register(after)

    import usmpy

    queue = usmpy.Queue("host")
    x = usmpy.zeros(3, queue=queue)
    seen = []

    def before():
        queue.host_task(seen.append, 1).wait()
        assert seen == [1]
        x[...] = 3

    atexit.register(before)


def exit_with_exports_alive():
    """Arrays that NumPy, memoryview and capsules hold at the exit, in globals, cycles and modules."""
    global Late, both, capsule, cycle, late, m, mine, n, np, usmpy, x

    import numpy as np

    import usmpy

    x = usmpy.arange(100_000, device="host")
    n = np.from_dlpack(x)
    m = memoryview(x)
    capsule = x.__dlpack__(max_version=(1, 3))
    mine = usmpy.from_dlpack(np.arange(10))
    both = usmpy.from_dlpack(n)
    cycle = [x, n, m, mine]
    cycle.append(cycle)
    sys.usmpy_array = (usmpy.arange(3, device="host"), np.from_dlpack(usmpy.arange(3, device="host")))
    np.usmpy_array = usmpy.asarray(np.arange(4))

    class Late:
        """Finalised when most of the interpreter is gone."""

        def __init__(self):
            self.x = usmpy.arange(1000, device="host")
            self.n = np.from_dlpack(self.x)

        def __del__(self):
            self.n[0] = 5
            assert self.x is not None

    late = Late()
    late.itself = late
    print("ok")


def exit_with_failed_work():
    """Unretrieved errors do not disturb the exit."""
    global event, fail, later, queue, spoilt, usmpy, x
    import usmpy

    queue = usmpy.Queue("host")
    x = usmpy.zeros(1000, queue=queue)

    def fail(x):
        raise KeyboardInterrupt

    event = queue.host_task(fail, x)
    later = queue.host_task(print, x, depends=event)
    spoilt = x.copy()
    print("ok")


def exit_with_kernels_running():
    """The interpreter ends while kernels run whose arguments and queues are gone: all is done first."""
    global ROUNDS, SOURCE, check, device, devices, launch, opencl_drivers, results, spun, usmpy

    import opencl_drivers
    from kernel_sources import spun

    import usmpy

    SOURCE = """
kernel void spin(global uint *x, ulong n) {
    uint seed = x[get_global_id(0)];
    for (ulong i = 0; i < n; i++) { seed = seed * 1664525u + 1013904223u; }
    x[get_global_id(0)] = seed;
}
"""
    ROUNDS = 100_000_000  # a good part of a second
    results = []

    def launch(device):
        queue = usmpy.Queue(device)
        x, y = usmpy.ones(1, dtype="uint32", queue=queue), usmpy.zeros(1, dtype="uint32", queue=queue)
        usmpy.Program(SOURCE, device=queue).spin[1](x, ROUNDS)
        event = queue.memcpy(y, x)
        queue.host_task(check, y)
        assert not event.done
        for i in range(100):
            usmpy.Program(SOURCE, device=queue).spin[1](usmpy.full(1, i, dtype="uint32", queue=queue), 10)

    def check(y):
        results.append(y.tolist() == [spun(1, ROUNDS)])
        if len(results) == len(devices):
            sys.stdout.write("ok\n" if all(results) else "wrong\n")
            sys.stdout.flush()

    # A task reads what the host reads in place.
    devices = [
        each for each in usmpy.get_devices("host") + usmpy.get_devices("opencl") if each.has_usm_shared
    ]
    for device in devices:
        launch(device)


def exit_with_work_running():
    """The interpreter ends while copies, fills and tasks are pending: all of it is done first."""
    global arrays, atexit, check, done, last, queue, queues, round_, until_asleep, usmpy, x
    import atexit

    from asleep import until_asleep

    import usmpy

    done = []

    def check():
        # Registered after usmpy was imported, so this runs before usmpy's own hook: work may still be
        # pending.
        done.append("mine")

    atexit.register(check)

    queues = [usmpy.Queue("host", in_order=i % 2 == 0) for i in range(6)]
    arrays = [usmpy.zeros(3_000_000, queue=queue) for queue in queues]
    for queue in queues:
        queue.host_task(until_asleep)  # until the main thread waits for the tasks
    for round_ in range(5):
        for queue, x in zip(queues, arrays, strict=True):
            queue.fill(x, round_)
            usmpy.copyto(x[::2], x[1::2])

    def last():
        sys.stdout.write("ok\n")
        sys.stdout.flush()

    queues[0].host_task(last)


def daemon_threads():
    """Daemon threads that submit and wait while the interpreter ends."""
    global _, ends, held, stuck, target, threading, turns, until_asleep, usmpy, wait_for_exit
    global work
    import threading

    from asleep import until_asleep

    import usmpy

    turns, held, ends = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def work():
        queue = usmpy.Queue("host")
        x = usmpy.zeros(1000, queue=queue)
        try:
            while True:
                queue.fill(x, 1)
                queue.host_task(len, x)
                x.tolist()
                turns.release()
        except RuntimeError as error:  # host tasks are refused from a certain moment on
            if "shuts down" not in str(error):
                raise

    def stuck():
        usmpy.Queue("host").barrier().wait()
        usmpy.Queue("host").host_task(wait_for_exit).wait()

    def wait_for_exit():
        held.release()
        ends.wait()
        until_asleep()  # the main thread waits for this task

    for target in [work] * 3 + [stuck] * 3:
        threading.Thread(target=target, daemon=True).start()
    for _ in range(3):
        held.acquire()
    for _ in range(100):
        turns.acquire()
    ends.set()
    print("ok", flush=True)


globals()[sys.argv[1]]()
