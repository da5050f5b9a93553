"""Launches, events and memory on Level Zero: usmpy beside a C program that makes the same calls.

    python benchmarks/level_zero.py [--json FILE] [--markdown] [--quick] [--only WORDS]

The rows and options are those of launch.py, the C program is level_zero_raw.c; both use the first device.
Unless --system is given, that is the software driver of the tests (tests/level_zero_driver), which the loader
finds as it finds any other: what is compared is what stands around the driver's work, in both alike. Its
engines have the last processor for themselves, and do not sleep: threads that share one with the program, or
are woken across the machine, make a device that is quick at one time and slow at another.

Needs a release build (no USMPY_TESTING), a C compiler, libze1 and libze-dev.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable

from launch import (
    ELEMENTS,
    LAUNCHES,
    RAW,
    Peer,
    arguments_of,
    compiled,
    measured,
    refuse_slow_build,
    usmpy_peer,
)
from timing import Batch, Row, best_batches, report

TREE = pathlib.Path(__file__).resolve().parent.parent
SPIRV = TREE / "tests" / "level_zero_programs" / "kernels.spv"


def show_software_driver() -> None:
    sys.path.append(str(TREE / "tests" / "support"))
    import level_zero_sim

    # This tree's: the package that is measured may be an installed wheel, which has no sources of the driver.
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) > 1:
        os.sched_setaffinity(0, processors[:-1])
        os.environ |= {"ZESIM_PROCESSOR": str(processors[-1]), "ZESIM_LOOK_US": "1000"}
    library = level_zero_sim.build(TREE / "tests" / "level_zero_driver", TREE / "build" / "level_zero_sim")
    os.environ.update(level_zero_sim.environment(library))


def submission_row(ours: Peer, raw: ctypes.CDLL, handle: int, rounds: int) -> Row:
    """What a launch costs the thread that asks for it: nothing runs meanwhile, the wait is off the clock."""
    try:
        pause = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"]).zesimPause
    except (KeyError, OSError, AttributeError):
        pause = int  # another driver, which cannot be told to wait

    def apart(submit: Callable[[], object], wait: Callable[[], object]) -> Batch:
        def batch(n: int) -> float:
            seconds = 0.0
            for _ in range(n):
                pause(1)
                start = time.perf_counter()
                submit()
                seconds += time.perf_counter() - start
                pause(0)
                wait()
            return seconds

        return batch

    axpy, r, x, y = (ours.names[name] for name in ("axpy", "r", "x", "y"))

    def launches() -> None:
        for _ in range(LAUNCHES):
            axpy[r](x, y, 2.0, ELEMENTS)

    batches = {
        "usmpy": apart(launches, ours.names["queue"].wait),
        "raw C": apart(lambda: raw.raw_submit(handle), lambda: raw.raw_submit_end(handle)),
    }
    best = {name: seconds / LAUNCHES for name, seconds in best_batches(batches, rounds).items()}
    return Row("launch, what its submission takes", best.pop("usmpy"), best, "raw C", None)


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument(
        "--system", action="store_true", help="the machine's own driver, not the one in software"
    )
    arguments = parser.parse_args()
    if not arguments.system and "ZE_ENABLE_ALT_DRIVERS" not in os.environ:
        show_software_driver()
    import usmpy

    refuse_slow_build(parser, arguments.quick)
    with tempfile.TemporaryDirectory() as folder:
        include = os.environ.get("LEVEL_ZERO_INCLUDE")
        loader = os.environ.get("USMPY_LEVEL_ZERO_LOADER") or "libze_loader.so.1"
        raw = compiled(folder, "level_zero_raw.c", loader, [f"-I{include}"] if include else [])
        raw.raw_open.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, *[ctypes.c_void_p] * 4]
        raw.raw_open.restype = ctypes.c_void_p
        device = usmpy.get_devices("level_zero")[0]
        spirv = SPIRV.read_bytes()
        raw.raw_submit.argtypes = raw.raw_submit_end.argtypes = raw.raw_close.argtypes = [ctypes.c_void_p]
        rounds = 3 if arguments.quick else 60
        ours = usmpy_peer(usmpy, device, usmpy.Program(spirv, device=device, language="spirv"))
        # The same memory: what a copy of a few KiB takes is a matter of where the two lie in a page.
        memory = [ours.names[name] for name in ("large_x", "large_y")]
        ours.names |= {
            "small_x": memory[0][: ours.names["small_x"].size],
            "small_y": memory[1][: ours.names["small_y"].size],
        }
        for array in memory:
            array.wait()
        context = memory[0].queue.context.native_handle
        places = [array.data_ptr for array in memory]
        handle = raw.raw_open(spirv, len(spirv), b"axpy", context, device.native_handle, *places)
        rows = measured(ours, raw, handle, [], arguments.only, rounds, RAW)
        if arguments.only in "launch, what its submission takes":
            rows.insert(0, submission_row(ours, raw, handle, rounds))
        raw.raw_close(handle)
        modules = [sys.modules[name] for name in ("usmpy", "numpy") if name in sys.modules]
        report(f"Level Zero: {device.name.strip()}", rows, modules, arguments.json, arguments.markdown)


if __name__ == "__main__":
    main()
