"""CPython 3.10 and 3.11 refuse usmpy in sub-interpreters, from any thread and again; the main one goes on."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import at_once, create, live, once, run

MESSAGE = (
    "usmpy supports sub-interpreters from CPython 3.12 on, and this is CPython "
    f"3.{sys.version_info[1]}: import usmpy in the main interpreter, or use a later CPython"
)
# Threads take turns: if a package raises that several import at once, CPython may give some the empty module.
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

import usmpy  # noqa: E402 (a sub-interpreter comes first)


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
