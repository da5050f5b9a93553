"""Eight sub-interpreters at once, on eight threads, while the main one works on."""

import pathlib
import sys
import threading

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, at_once, create, destroy, live, once, run

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
