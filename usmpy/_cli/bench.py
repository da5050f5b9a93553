"""python -m usmpy bench: bandwidth between places of memory, and the time of a launch."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import usmpy

from .._inspection.timeline.tasks import bytes_text, time_text
from .check import devices_of
from .screen import progress, table

ROUNDS = 4
BURST = 100
PAGEABLE = "any host memory"
KERNEL = "kernel void touch(global float *x) { x[get_global_id(0)] += 1.0f; }"
BAR = 30


class Place(NamedTuple):
    name: str
    memory: usmpy.USMArray | bytearray


def best(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The shortest of several rounds in seconds, after one warm-up round."""
    run()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def _places(devices: list[usmpy.Device], nbytes: int) -> list[Place]:
    """Plain host memory and memory of each device: all kinds for one device, kind device for several."""
    found = [Place(PAGEABLE, bytearray(nbytes))]
    for device in devices:
        for kind in ("device", "shared", "host") if len(devices) == 1 else ("device",):
            if getattr(device, f"has_usm_{kind}"):
                x = usmpy.empty(nbytes, dtype="uint8", usm_type=kind, device=device)
                x.queue.fill(x, 1).wait()  # allocate the pages
                found.append(Place(f"{device.filter_string} {kind}", x))
    return found


def _copy(to: Place, source: Place) -> Callable[[], object]:
    def run() -> None:
        usmpy.copyto(to.memory, source.memory)
        for place in (to, source):
            if isinstance(place.memory, usmpy.USMArray):
                place.memory.queue.wait()

    return run


def _bandwidths(places: list[Place], nbytes: int, step: Callable[[str], None]) -> list[list[float | None]]:
    """GB/s from each place (row) to each (column); None: between two pieces of plain memory."""
    matrix: list[list[float | None]] = []
    for source in places:
        row: list[float | None] = []
        for to in places:
            step(f"{source.name} to {to.name}")
            if source.name == PAGEABLE and to.name == PAGEABLE:
                row.append(None)
                continue
            target = to
            if to is source and isinstance(to.memory, usmpy.USMArray):
                target = Place(to.name, usmpy.empty_like(to.memory))
            row.append(nbytes / best(_copy(target, source)) / 1e9)
        matrix.append(row)
    return matrix


def _launches(device: usmpy.Device) -> dict[str, float] | str:
    """Time in nanoseconds, or the reason why there is none."""
    queue = usmpy.Queue(device)
    try:
        touch = usmpy.Program(KERNEL, device=queue)["touch"]
    except usmpy.UsmError as error:
        return str(error).partition("\n")[0]
    x = usmpy.zeros(64, dtype="float32", device=queue)
    launch = touch[usmpy.Range(64)]

    def burst() -> None:
        for _ in range(BURST):
            launch(x)
        queue.wait()

    def one_by_one() -> None:
        for _ in range(BURST):
            launch(x).wait()

    return {
        "launch_ns": best(burst) / BURST * 1e9,
        "launch_and_wait_ns": best(one_by_one) / BURST * 1e9,
    }


def _picture(path: str, names: list[str], matrix: list[list[float | None]], nbytes: int) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise ValueError("--picture needs matplotlib: python -m pip install 'usmpy[cli]'") from None
    side = 2.5 + 1.1 * len(names)
    figure, axes = pyplot.subplots(figsize=(side + 1.5, side), layout="constrained")
    numbers = [[float("nan") if value is None else value for value in row] for row in matrix]
    image = axes.imshow(numbers, cmap="viridis", vmin=0)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    axes.set_title(f"copies of {bytes_text(nbytes)}, GB/s")
    most = max((value for row in matrix for value in row if value is not None), default=1.0)
    for i, row in enumerate(matrix):
        for k, value in enumerate(row):
            if value is not None:
                colour = "black" if value > most / 2 else "white"
                axes.text(k, i, f"{value:.1f}", ha="center", va="center", color=colour)
    figure.colorbar(image, label="GB/s")
    figure.savefig(path)
    pyplot.close(figure)


def _bars(names: list[str], matrix: list[list[float | None]]) -> None:
    """The matrix as bars."""
    rows = [
        (value, f"{source} to {to}")
        for source, row in zip(names, matrix, strict=True)
        for to, value in zip(names, row, strict=True)
        if value is not None
    ]
    most = max((value for value, _ in rows), default=1.0)
    shown = [
        [what, f"{value:.2f}", "#" * max(1, round(BAR * value / most))] for value, what in sorted(rows)[::-1]
    ]
    table(["copy", "GB/s", ""], shown, right=(1,))


def run(selector: str | None, as_json: bool, nbytes: int, picture: str | None) -> int:
    devices = devices_of(selector)
    places = _places(devices, nbytes)
    names = [place.name for place in places]
    with progress(len(places) ** 2 + len(devices), "bench") as step:
        matrix = _bandwidths(places, nbytes, step)
        launches = {}
        for device in devices:
            step(f"launches on {device.filter_string}")
            launches[device.filter_string] = _launches(device)
    if picture is not None:
        _picture(picture, names, matrix, nbytes)
    if as_json:
        result = {"nbytes": nbytes, "places": names, "gb_per_s": matrix, "launches": launches}
        json.dump(result, sys.stdout, indent=2)
        print()
        return 0
    rows = [
        [name, *("" if value is None else f"{value:.2f}" for value in row)]
        for name, row in zip(names, matrix, strict=True)
    ]
    table(
        ["from \\ to", *names], rows, f"Copies of {bytes_text(nbytes)}, GB/s", right=range(1, len(names) + 1)
    )
    print()
    _bars(names, matrix)
    print()
    rows = []
    for name, times in launches.items():
        if isinstance(times, str):
            rows.append([name, "skipped", times])
        else:
            rows.append([name, time_text(times["launch_ns"]), time_text(times["launch_and_wait_ns"])])
    table(["device", f"launch, one of {BURST}", "launch and wait"], rows, "Launches", right=(1, 2))
    if picture is not None:
        print(f"\nwrote {picture}")
    return 0
