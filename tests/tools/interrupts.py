"""Calls that wait, and how soon Ctrl-C ends them.

    python tests/tools/interrupts.py               on the devices of backends.py; prints a Markdown table
    python tests/tools/interrupts.py --rounds 20 host

The times are those from the signal to KeyboardInterrupt. ``cts/test_interrupts.py`` makes the same calls, and
checks that they end while the work is pending.
"""

from __future__ import annotations

import argparse
import asyncio
import operator
import pathlib
import pickle
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests"), str(ROOT)]

import numpy as np  # noqa: E402
from asleep import until_asleep  # noqa: E402

import usmpy  # noqa: E402
import usmpy.dask  # noqa: E402

PATIENCE = 30  # seconds after which the work ends by itself


class Scene:
    """A task that ends when the scene is closed, the arrays that it is to write, and one that is ready."""

    def __init__(self, device: usmpy.Device) -> None:
        self.queue = usmpy.Queue(device)
        self.x = usmpy.ones(8, dtype="int32", queue=self.queue)
        self.mask = usmpy.ones(8, dtype="bool", queue=self.queue)
        self.y = usmpy.ones(8, dtype="int32", queue=self.queue)
        self.queue.wait()
        self._gate = threading.Event()
        self.event = self.queue.host_task(self._hold, self.x, self.mask)

    def _hold(self, *_: usmpy.USMArray) -> None:
        self._gate.wait(PATIENCE)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.set()
        self.queue.wait()


async def wait_for(event: usmpy.Event) -> object:
    return await event


Call = Callable[[Scene], object]
NUMBERS = {f"{f.__name__}(x[0])": lambda s, f=f: f(s.x[0]) for f in (bool, int, float, complex)}
# By the tag that a device needs (tests/support/backends.py).
CALLS: dict[str, dict[str, Call]] = {
    "host-task": {
        "event.wait()": lambda s: s.event.wait(),
        "event.wait(timeout)": lambda s: s.event.wait(PATIENCE),
        "event.result()": lambda s: s.event.result(),
        "Event.wait_all()": lambda s: usmpy.Event.wait_all([s.event]),
        "Event.wait_all(timeout)": lambda s: usmpy.Event.wait_all([s.event], timeout=PATIENCE),
        "asyncio.run(), await event": lambda s: asyncio.run(wait_for(s.event)),
        "queue.wait()": lambda s: s.queue.wait(),
        "queue.wait(timeout)": lambda s: s.queue.wait(PATIENCE),
        "queue.wait_for(), queue.wait()": lambda s: (
            (q := usmpy.Queue(s.queue.device), q.wait_for(s.queue)) and q.wait()
        ),
        "queue.memcpy().wait()": lambda s: s.queue.memcpy(bytearray(32), s.x, blocking=False).wait(),
        "queue.memcpy(buffer, x)": lambda s: s.queue.memcpy(bytearray(32), s.x),
        "queue.memcpy(x, buffer)": lambda s: s.queue.memcpy(s.x, bytes(32)),
        "queue.memcpy(y, x, blocking=True)": lambda s: s.queue.memcpy(s.y, s.x, blocking=True),
        "queue.fill(buffer)": lambda s: s.queue.fill(bytearray(32), 1),
        "x.wait()": lambda s: s.x.wait(),
        "x.tolist()": lambda s: s.x.tolist(),
        "x.asnumpy()": lambda s: s.x.asnumpy(),
        "x.tobytes()": lambda s: s.x.tobytes(),
        "x.item()": lambda s: s.x.item(0),
        **NUMBERS,
        "index(x[0])": lambda s: operator.index(s.x[0]),
        "1 in x": lambda s: 1 in s.x,
        "bool(any(x))": lambda s: bool(usmpy.any(s.x)),
        "repr(x)": lambda s: repr(s.x),
        "x._repr_html_()": lambda s: s.x._repr_html_(),
        "np.from_dlpack(x)": lambda s: np.from_dlpack(s.x),
        "x.__dlpack__()": lambda s: s.x.__dlpack__(),
        "x.__dlpack__(), to the host": lambda s: s.x.__dlpack__(
            dl_device=(1, 0), max_version=(1, 0), copy=True
        ),
        "x.__arrow_c_device_array__()": lambda s: s.x.__arrow_c_device_array__(),
        "from_dlpack(device='host')": lambda s: usmpy.from_dlpack(s.x, device="host").tolist(),
        "x.lend()": lambda s: s.x.lend().__enter__(),
        "y[mask]": lambda s: s.y[s.mask],
        "y[mask] = y": lambda s: operator.setitem(s.y, s.mask, s.y),
        "y[x]": lambda s: s.y[s.x],
        "y[x] = 1": lambda s: operator.setitem(s.y, s.x, 1),
        "put(y, x, y)": lambda s: usmpy.put(s.y, s.x, s.y),
        "repeat(y, x)": lambda s: usmpy.repeat(s.y, s.x),
        "nonzero(x)": lambda s: usmpy.nonzero(s.x),
        "extract(mask, y)": lambda s: usmpy.extract(s.mask, s.y),
        "place(y, mask, y)": lambda s: usmpy.place(s.y, s.mask, s.y),
        "unique_values(x)": lambda s: usmpy.unique_values(s.x),
        "x[...] = numpy array": lambda s: operator.setitem(s.x, ..., np.ones(8, "int32")),
        "copyto(x, numpy array)": lambda s: usmpy.copyto(s.x, np.ones(8, "int8")),
        "pickle.dumps(x)": lambda s: pickle.dumps(s.x),
        "pickle.dumps(x), out of band": lambda s: pickle.dumps(s.x, 5, buffer_callback=lambda _: None),
        "usmpy.dask.serialize(x)": lambda s: usmpy.dask.serialize(s.x),
    },
    "host-accessible": {
        "memoryview(x)": lambda s: memoryview(s.x),
        "np.asarray(x)": lambda s: np.asarray(s.x),
        "np.array([x, x])": lambda s: np.array([s.x, s.x]),
        "x.__array_interface__": lambda s: s.x.__array_interface__,
        "x.__arrow_c_array__()": lambda s: s.x.__arrow_c_array__(),
        "take(y, x)": lambda s: usmpy.take(s.y, s.x),
        "take_along_axis(y, x)": lambda s: usmpy.take_along_axis(s.y, s.x.astype("int64"), axis=0),
    },
    "shares": {"share(x).get_ipc_handle()": lambda s: usmpy.share(s.x).get_ipc_handle()},
    "streams": {
        "queue.__cuda_stream__()": lambda s: s.queue.__cuda_stream__(),
        "x.__cuda_array_interface__": lambda s: s.x.__cuda_array_interface__,
    },
}


def interrupt(call: Callable[[], object], waits: Callable[[], bool] | None = None) -> float | None:
    """Seconds from SIGINT to the KeyboardInterrupt that ends the call; None: the call ended by itself.

    The signal is sent once `waits` is true and this thread, which must be the main one, sleeps.
    """
    sent: list[float] = []
    main = threading.main_thread().ident
    assert main is not None

    def send() -> None:
        while not (waits is None or waits()):
            time.sleep(0.001)
        until_asleep()
        sent.append(time.perf_counter())
        signal.pthread_kill(main, signal.SIGINT)

    sender = threading.Thread(target=send)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = False
    try:
        sender.start()
        call()
        ended = True
        sender.join()
        signal.pthread_sigmask(signal.SIG_BLOCK, ())  # handles a signal that came after the call
    except KeyboardInterrupt:
        took = time.perf_counter() - sent[0]
    finally:
        signal.signal(signal.SIGINT, before)
        sender.join()
    return None if ended else took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="signals for each call (default: %(default)s)")
    parser.add_argument(
        "devices", nargs="*", help="names of tests/support/backends.py; all but parts by default"
    )
    arguments = parser.parse_args()
    from backends import BACKENDS

    print("| device | calls | signals | median | longest | which |")
    print("| --- | --- | --- | --- | --- | --- |")
    for backend in BACKENDS:
        chosen = backend.name in arguments.devices if arguments.devices else backend.files is None
        if not chosen:
            continue
        device = backend.device()
        calls = {name: call for tag in CALLS if tag in backend.tags for name, call in CALLS[tag].items()}
        times = []
        for name, call in calls.items():
            for _ in range(arguments.rounds):
                with Scene(device) as scene:
                    took = interrupt(lambda call=call, scene=scene: call(scene))
                    assert took is not None, f"{name} was not interrupted on {backend.name}"
                    times.append((took * 1e3, name))
        median = statistics.median(took for took, _ in times)
        print(
            f"| {backend.name} | {len(calls)} | {len(times)} | {median:.0f} ms "
            f"| {max(times)[0]:.0f} ms | `{max(times)[1]}` |",
            flush=True,
        )


if __name__ == "__main__":
    import cuda_drivers  # noqa: F401 (builds the driver in software)
    import level_zero_drivers  # noqa: F401 (the same)
    import opencl_drivers  # noqa: F401 (makes the drivers visible to loaders)

    main()
