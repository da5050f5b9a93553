"""The import of usmpy and its first uses.

    python tests/isolated/first_uses.py CASE

Each case runs in a process of its own.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))


def import_is_light():
    """Importing usmpy imports no NumPy and opens no driver library; neither does work on the host device."""

    def libraries():
        with open("/proc/self/maps") as maps:
            return {line.split()[-1] for line in maps if ".so" in line}

    before = libraries()
    import usmpy

    DRIVERS = ("libcuda", "libOpenCL", "libze_", "libnvrtc", "libsycl")

    assert "numpy" not in sys.modules
    assert "asyncio" not in sys.modules
    new = libraries() - before
    assert not [name for name in new if any(driver in name for driver in DRIVERS)], new
    assert [name for name in new if "usmpy/_core" in name], new

    x = usmpy.arange(10, device="host")
    x[::2] = 7
    assert repr(x)
    assert usmpy.concat([x, x]).tolist() == x.tolist() * 2
    assert memoryview(x)[0] == 7
    assert "numpy" not in sys.modules
    assert x.asnumpy().tolist() == x.tolist()
    assert "numpy" in sys.modules
    print("ok")


def needs_libc_alone():
    """The extension is linked with libc and its parts, and exports nothing but its init function."""
    import shutil
    import subprocess

    from usmpy import _core

    if shutil.which("readelf"):
        dynamic = subprocess.run(
            ["readelf", "-dW", _core.__file__], capture_output=True, text=True, check=True
        ).stdout
        needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line}
        assert needed <= {
            "libc.so.6",
            "libm.so.6",
            "libpthread.so.0",
            "libdl.so.2",
            "ld-linux-x86-64.so.2",
        }, needed
        symbols = subprocess.run(
            ["readelf", "--dyn-syms", "-W", _core.__file__], capture_output=True, text=True, check=True
        ).stdout
        defined = [
            words[7]
            for words in map(str.split, symbols.splitlines())
            if len(words) == 8 and words[4] == "GLOBAL" and words[6] != "UND"
        ]
        assert defined == ["PyInit__core"], defined
    print("ok")


def module_again():
    """usmpy removed from sys.modules and imported again: old and new objects go on working."""
    import gc

    import usmpy

    old = usmpy
    x = old.arange(10, device="host")
    event = x.queue.host_task(int)
    for name in [name for name in sys.modules if name.partition(".")[0] == "usmpy"]:
        del sys.modules[name]
    import usmpy

    assert usmpy is not old
    y = usmpy.arange(10, device="host")
    x[...] = 3
    y[...] = 4
    assert x.tolist() == [3] * 10
    assert y.tolist() == [4] * 10
    event.wait()
    assert usmpy.from_dlpack(x).tolist() == x.tolist()
    del old, x, event
    gc.collect()
    assert usmpy.Queue("host").host_task(int).wait() is None
    assert (repr(y), y.copy().tolist()) is not None
    print("ok")


def first_queues():
    """Threads that need the default queue, or that of the host, for the first time at once get one object."""
    import gc
    import threading

    import numpy as np

    import usmpy

    N = 8

    def at_once(function):
        results, barrier = [], threading.Barrier(N)

        def run():
            barrier.wait()
            results.append(function())

        threads = [threading.Thread(target=run) for _ in range(N)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    # The first thread starts the drivers without the GIL, so all come to the end of it.
    for function in (lambda: usmpy.empty(1), lambda: usmpy.from_dlpack(np.ones(1))):
        results = at_once(function)
        assert len(results) == N
        assert len({id(x.queue) for x in results}) == 1
        queue = results[0].queue
        results.clear()
        gc.collect()
        assert sys.getrefcount(queue) < N  # one for each place that keeps it, not one for each thread

    print("ok")


globals()[sys.argv[1]]()
