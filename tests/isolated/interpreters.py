"""Sub-interpreters: their import, memory, garbage and ends.

    python tests/isolated/interpreters.py CASE

Each case runs in a process of its own.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))


def refused_sub_interpreter():
    """CPython 3.10 and 3.11 refuse usmpy in sub-interpreters, from any thread and again; the main one goes
    on.
    """

    from sub_interpreters import at_once, create, live, once, run

    MESSAGE = (
        "usmpy supports sub-interpreters from CPython 3.12 on, and this is CPython "
        f"3.{sys.version_info[1]}: import usmpy in the main interpreter, or use a later CPython"
    )
    # Threads take turns: if a package raises that several import at once, CPython may give some the
    # empty module.
    REFUSED = f"""
import threading

seen = []

def refused():
    try:
        import usmpy
    except ImportError as error:
        seen.append(str(error))
    assert not any(name.partition(".")[0] == "usmpy" for name in sys.modules)

for _ in range(2):
    refused()
    thread = threading.Thread(target=refused)
    thread.start()
    thread.join()
assert seen == 4 * [{MESSAGE!r}], seen
"""
    once("shared", REFUSED)

    import usmpy

    def work(i):
        """What a thread of the main interpreter does, while eight others have sub-interpreters try."""
        if i < 8:
            return [once("shared", REFUSED) for _ in range(4)]
        queue = usmpy.Queue("host")
        for n in range(200):
            x = usmpy.arange(100, device="host")
            assert (x + n).tolist() == list(range(n, n + 100))
            assert queue.host_task(lambda n=n: n).result() == n
            queue.memcpy(usmpy.empty(5, dtype="uint8", queue=queue), bytearray(5), blocking=False)

    work(8)
    before = live()
    at_once(9, work)
    assert live() == before, (before, live())
    run(create("shared"), REFUSED)  # alive at the end of the process
    work(8)
    print("ok")


def sub_interpreter_late_import():
    """usmpy imported again while its sub-interpreter ends: it takes no more Python functions as tasks."""

    from sub_interpreters import GILS, Pipe, once

    LATE = """
import atexit, os, sys

def late():  # after usmpy's own function, which was registered later
    for name in [name for name in sys.modules if name.partition(".")[0] == "usmpy"]:
        del sys.modules[name]
    import usmpy
    try:
        usmpy.Queue("host").host_task(int)
    except RuntimeError as error:
        os.write({fd}, str(error).encode())
    else:
        os.write({fd}, b"taken")
    os.close({fd})

atexit.register(late)
import usmpy
usmpy.Queue("host").host_task(int).wait()
"""

    for gil in GILS:
        pipe = Pipe()
        once(gil, LATE.format(fd=pipe.fd))
        with open(pipe.source, "rb") as file:
            said = file.read().decode()
        assert "while the interpreter shuts down" in said, said

    print("ok")


def sub_interpreter_garbage():
    """Objects that the collector finds with their classes and the extension, as a sub-interpreter ends."""
    import gc

    from sub_interpreters import GILS, live, once

    import usmpy

    KEPT = """
import sys, usmpy
from usmpy import _core

queue = usmpy.Queue("host")
event = queue.host_task(int)
kernel = usmpy.Kernel.from_pointer(1, [])
kept = [queue, event, kernel, queue.device, queue.context, usmpy.float32, usmpy.Range(3)]
kept += [usmpy.zeros(3, queue=queue), usmpy.zeros(3, queue=queue).flags, kernel[1, [event]], kernel[1, event]]
kept += [queue.host_task(len, kept), usmpy.borrow(kept[7]), usmpy.LocalMemory(3), event]
event.wait()
queue.wait()

def fail():  # the traceback of the error has this module's names
    raise LookupError("in a task")

sys.unraisablehook = lambda unraisable: None
failed = queue.host_task(fail)
while not failed.done:
    pass
_core.kept = kept  # so that they end with the module
kept.append(kept)
for item in (usmpy.Event, usmpy.Queue):
    kept.append([item, kept])
"""
    gc.collect()
    x = usmpy.arange(10, device="host")
    for gil in GILS:
        once(gil, KEPT)
        before = live()
        for _ in range(10):
            once(gil, KEPT)
        assert live() == before, (gil, before, live())
    assert x.tolist() == list(range(10))
    print("ok")


def sub_interpreter_memory():
    """A sub-interpreter that ended leaves no memory behind: its copy of the extension is freed."""
    import sysconfig

    from sub_interpreters import Pipe, once

    USE = """
import usmpy

x = usmpy.arange(10, device="host")
assert (x + x[::-1]).tolist() == [9] * 10
usmpy.finfo("float32"), usmpy.iinfo("int8"), usmpy.asarray([1, 2]), usmpy.get_devices()
queue = usmpy.Queue("host")
assert queue.host_task(int).result() == 0
kept = [queue, queue.context, queue.device, x, x.dtype, x.queue]
"""
    # KiB that an interpreter may keep beyond one that imports the same modules without usmpy. CPython itself
    # keeps 50 to 65, of names in usmpy's code; a module took about 180.
    MOST = 120

    def anonymous():
        with open("/proc/self/status") as status:
            return int(next(line for line in status if line.startswith("RssAnon:")).split()[1])

    def kept_by(code):
        for _ in range(10):  # caches and spare blocks fill
            once("shared", code)
        before = anonymous()
        for _ in range(30):
            once("shared", code)
        return (anonymous() - before) / 30

    # CPython keeps whole arenas of an interpreter with a GIL, and thus an allocator, of its own.
    pipe = Pipe()
    once("shared", f"{USE}\nimport os\nos.write({pipe.fd}, repr(list(sys.modules)).encode())")
    others = [name for name in eval(pipe.read()) if name.partition(".")[0] not in ("usmpy", "__main__")]
    bare = kept_by(f"for name in {others!r}:\n    __import__(name)")
    used = kept_by(USE)
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # their limit is not known
        assert used < bare + MOST, (used, bare)
    print("ok")


def sub_interpreter_cycles():
    """12 sub-interpreters, one after another: import, use, exchange, end with work pending. Nothing stays."""
    import threading

    from sub_interpreters import GILS, live, once

    import usmpy

    CYCLES = 12
    PENDING = """
import usmpy
from asleep import until_asleep

# Use, and exchange both ways.
x = usmpy.arange(1000, device="host")
assert (x * 2).tolist()[-1] == 1998
data = bytearray(range(100))
imported = usmpy.asarray(memoryview(data))
again = usmpy.from_dlpack(usmpy.from_dlpack(x))
capsule = x.__dlpack__(max_version=(1, 3))  # never consumed
view = memoryview(x)

# Work that is pending when the interpreter ends: functions, callbacks, and copies that keep objects.
queue = usmpy.Queue("host")
done = []
queue.host_task(until_asleep)  # until the main thread waits for the tasks
event = queue.host_task(done.append, data)
event.add_done_callback(done.append)
queue.memcpy(usmpy.empty(100, dtype="uint8", queue=queue), imported)
other = usmpy.zeros(100, dtype="uint8", queue=queue)
queue.memcpy(other, data, blocking=False)
y = usmpy.ones(100_000, queue=queue)
y += y
cycle = [queue, event, y]
cycle.append(cycle)
"""
    x = usmpy.arange(10, device="host")
    for gil in GILS:
        for _ in range(3):  # caches and spare blocks fill
            once(gil, PENDING)
        n_threads = threading.active_count()
        before = live()
        for i in range(CYCLES):
            once(gil, PENDING)
            assert (x + i).tolist() == list(range(i, i + 10))
        after = live()
        assert after == before, (gil, before, after)
        assert threading.active_count() == n_threads
    print("ok")


def sub_interpreters_at_once():
    """Eight sub-interpreters at once, on eight threads, while the main one works on."""
    import threading

    from sub_interpreters import GILS, at_once, create, destroy, live, once, run

    import usmpy

    WORK = """
import usmpy

queue = usmpy.zeros(1, device="host").queue  # one for the process
own = usmpy.Queue("host")
seen = []
for i in range(20):
    x = usmpy.full(500, i, device="host")
    data = bytearray([i] * 100)
    y = usmpy.asarray(memoryview(data))
    event = own.host_task(seen.append, (i, y))
    event.add_done_callback(seen.append)
    assert usmpy.sum(usmpy.from_dlpack(x)).item() == 500 * i
    assert queue.host_task(lambda i=i: i + {n}).result() == i + {n}
    assert y.tolist() == [i] * 100
    del event, y

def fail():
    raise KeyError({n})

try:
    own.host_task(fail).wait()
except KeyError as error:
    assert error.args == ({n},)
else:
    raise AssertionError("no error")
own.host_task(seen.append, 0)  # pending at the end
"""
    stop = threading.Event()
    problems = []

    def work():
        """What the main interpreter does meanwhile."""
        try:
            queue = usmpy.Queue("host")
            while not stop.is_set():
                x = usmpy.arange(100, device="host")
                assert (x + x).tolist() == list(range(0, 200, 2))
                assert queue.host_task(lambda: 11).result() == 11
                assert usmpy.asarray(memoryview(bytearray(5))).tolist() == [0] * 5
        except BaseException as error:
            problems.append(error)

    for gil in GILS:
        once(gil, WORK.format(n=0))
        before = live()
        stop.clear()
        worker = threading.Thread(target=work)
        worker.start()
        # 16, born and ended by eight threads at once; and eight that live at the same time.
        at_once(8, lambda i, gil=gil: [once(gil, WORK.format(n=i)) for _ in range(2)])
        interpreters = [create(gil) for _ in range(8)]
        at_once(8, lambda i, some=interpreters: run(some[i], WORK.format(n=i)))
        at_once(8, lambda i, some=interpreters: run(some[i], WORK.format(n=i + 8)))
        for interpreter in interpreters:
            destroy(interpreter)
        stop.set()
        worker.join()
        assert not problems, problems
        after = live()
        assert after == before, (gil, before, after)
    print("ok")


globals()[sys.argv[1]]()
