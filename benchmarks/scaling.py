"""What limits many workers: constants of this machine, a formula, and a simulation that checks the formula.

    python benchmarks/scaling.py                 measures, and prints the tables of docs/scaling.md
    python benchmarks/scaling.py --quick         fewer tasks: to see that it runs, not for figures
    python benchmarks/scaling.py --json FILE     and the figures as JSON (- for standard output)

The work is a stencil: a task for each chunk and step, which needs its neighbours' borders of the step before.
Each worker has CHUNKS chunks. Tasks wait for the clock instead of computing, as the host does while a GPU
works. `formula` says how long a step takes; `simulate` runs the same tasks through a scheduler that handles
one message after another, with SimPy. Real clusters of one and two processes check both. Needs the packages
dask, distributed and simpy, and mpi4py with its mpiexec for the figures of MPI.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import usmpy

CHUNKS = 2
WORKERS = [10, 100, 1000]
SECONDS = [0.001, 0.01, 0.1, 1.0]


@dataclass(frozen=True)
class Constants:
    """Of one engine on one machine. Seconds, and bytes per second."""

    task: float  # that the scheduler is busy with one task, from its submission to the release of its result
    message: float  # until a small array has come from one worker to another
    bandwidth: float  # between two workers
    launch: float  # that a submission of usmpy takes


@dataclass(frozen=True)
class Work:
    """A step of one chunk."""

    seconds: float  # on the device
    border: int = 8192  # bytes that a neighbour needs
    launches: int = 3  # that the host submits


def worker_time(constants: Constants, work: Work, workers: int) -> float:
    """How long the busiest worker takes for a step: the borders of other workers, launches and the device.

    The host submits while the device works, so the longer one of the two counts.
    """
    borders = min(workers - 1, 2) * (constants.message + work.border / constants.bandwidth)
    return borders + CHUNKS * max(work.seconds, work.launches * constants.launch)


def formula(constants: Constants, work: Work, workers: int) -> float:
    """Seconds of one step: the busier one of a worker and the scheduler."""
    return max(worker_time(constants, work, workers), workers * CHUNKS * constants.task)


def most_workers(constants: Constants, work: Work) -> float:
    """As many workers as the scheduler keeps busy."""
    return worker_time(constants, work, 3) / (CHUNKS * constants.task)


def simulate(constants: Constants, work: Work, workers: int, steps: int) -> float:
    """Seconds of one step in a simulation of `steps` steps: the begin and the end are left out."""
    import simpy

    environment = simpy.Environment()
    scheduler = simpy.Resource(environment)
    hands = [simpy.Resource(environment) for _ in range(workers)]  # one task at a time
    count = workers * CHUNKS
    done = [[environment.event() for _ in range(count)] for _ in range(steps)]
    ends = [0.0] * steps
    border = constants.message + work.border / constants.bandwidth
    busy = max(work.seconds, work.launches * constants.launch)

    def handled() -> Any:
        """One of the two messages of a task: that it may run, and that it has completed."""
        with scheduler.request() as turn:
            yield turn
            yield environment.timeout(constants.task / 2)

    def task(step: int, chunk: int) -> Any:
        worker = chunk // CHUNKS
        neighbours = [n for n in (chunk - 1, chunk, chunk + 1) if 0 <= n < count]
        if step:
            yield environment.all_of([done[step - 1][n] for n in neighbours])
        yield from handled()
        with hands[worker].request() as turn:
            yield turn
            away = sum(n // CHUNKS != worker for n in neighbours) if step else 0
            yield environment.timeout(away * border + busy)
        yield from handled()
        done[step][chunk].succeed()
        ends[step] = max(ends[step], environment.now)

    for step in range(steps):
        for chunk in range(count):
            environment.process(task(step, chunk))
    environment.run()
    first = steps // 4
    return (ends[-1] - ends[first]) / (steps - 1 - first)


# -- measurements ------------------------------------------------------------------------------------------


def launch_time() -> float:
    """A fill of a small array in a queue that is busy: what the host's submission takes."""
    queue = usmpy.Queue("host")
    x = usmpy.empty(16, dtype="float32", queue=queue)
    queue.host_task(time.sleep, 0.2)
    runs = 1000
    begin = time.perf_counter()
    for _ in range(runs):
        queue.fill(x, 1)
    taken = time.perf_counter() - begin
    queue.wait()
    return taken / runs


def stencil(x: Any, *neighbours: Any, seconds: float = 0.0) -> Any:
    """A task: the border of a chunk. The work itself is a wait."""
    time.sleep(seconds)
    return x


def nothing(*_: Any) -> None:
    """A task without work."""


def run_steps(client: Any, workers: list[str], work: Work, steps: int) -> float:
    """Seconds of one step on a real cluster; the submission of all tasks is part of it."""
    from distributed import wait

    count = len(workers) * CHUNKS
    border = usmpy.zeros(work.border, dtype="uint8", device="host")
    state = [client.submit(stencil, border, workers=workers[i // CHUNKS], pure=False) for i in range(count)]
    wait(state)
    begin = time.perf_counter()
    for _ in range(steps):
        state = [
            client.submit(
                stencil,
                *(state[n] for n in (i, i - 1, i + 1) if 0 <= n < count),
                seconds=work.seconds,
                workers=workers[i // CHUNKS],
                pure=False,
            )
            for i in range(count)
        ]
    wait(state)
    return (time.perf_counter() - begin) / steps


def move_time(client: Any, source: str, target: str, nbytes: int) -> float:
    """Seconds until an array has come to another worker, the task there included."""
    x = client.submit(usmpy.zeros, nbytes, dtype="uint8", device="host", workers=source, pure=False)
    x.result().wait()
    begin = time.perf_counter()
    client.submit(nothing, x, workers=target, pure=False).result()
    return time.perf_counter() - begin


def round_trip(client: Any, worker: str) -> float:
    begin = time.perf_counter()
    client.submit(nothing, workers=worker, pure=False).result()
    return time.perf_counter() - begin


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def measure_dask(quick: bool) -> tuple[Constants, list[dict[str, float]]]:
    """The constants, and seconds of a step on one and two workers: measured, simulated, by the formula."""
    from distributed import Client, LocalCluster

    rounds, tasks = (3, 200) if quick else (15, 4000)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        Client(cluster) as client,
    ):
        workers = sorted(client.scheduler_info()["workers"])
        one, two = workers
        empty = []
        for _ in range(3):
            begin = time.perf_counter()
            client.gather(client.map(nothing, range(tasks), pure=False))
            empty.append((time.perf_counter() - begin) / tasks)
        small, trip = [], []
        for _ in range(rounds):
            small.append(move_time(client, one, two, 8192))
            trip.append(round_trip(client, two))
        large = 256 << 20
        moved = [move_time(client, one, two, large) for _ in range(3 if quick else 5)]
        message = max(median(small) - median(trip), 1e-6)
        constants = Constants(
            task=median(empty),
            message=message,
            bandwidth=large / max(median(moved) - median(small), 1e-6),
            launch=launch_time(),
        )
        checks = []
        for seconds in SECONDS[1:3] if quick else SECONDS[:3]:
            work = Work(seconds=seconds)
            steps = 10 if quick else max(20, min(200, int(4 / seconds)))
            for chosen in ([one], workers):
                run_steps(client, chosen, work, 2)
                taken = [run_steps(client, chosen, work, steps) for _ in range(1 if quick else 3)]
                checks.append(
                    {
                        "workers": len(chosen),
                        "task": seconds,
                        "measured": median(taken),
                        "simulated": simulate(constants, work, len(chosen), steps),
                        "formula": formula(constants, work, len(chosen)),
                    }
                )
    return constants, checks


MPI_RANK = """
import time
from mpi4py import MPI
import usmpy
comm, best = MPI.COMM_WORLD, {}
for nbytes in 8192, 64 << 20:
    x = usmpy.zeros(nbytes, dtype="uint8", device="host")
    seconds = []
    for _ in range(30):
        comm.Barrier()
        begin = time.perf_counter()
        comm.Send(x, 1) if comm.rank == 0 else comm.Recv(x, 0)
        comm.Recv(x, 1) if comm.rank == 0 else comm.Send(x, 0)
        seconds.append((time.perf_counter() - begin) / 2)
    best[nbytes] = sorted(seconds)[15]
if comm.rank == 0:
    print(*best.values())
"""


def measure_mpi() -> Constants | None:
    """MPI has no scheduler: a task costs nothing of another process."""
    launcher = pathlib.Path(sys.executable).parent / "mpiexec"
    if not launcher.exists():
        return None
    done = subprocess.run(
        [launcher, "-n", "2", sys.executable, "-c", MPI_RANK],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    small, large = map(float, done.stdout.split())
    return Constants(
        task=0.0, message=small, bandwidth=(64 << 20) / max(large - small, 1e-6), launch=launch_time()
    )


# -- tables ------------------------------------------------------------------------------------------------


def shown(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def efficiency(step: float, work: Work) -> str:
    """The part of the time in which devices work."""
    return f"{min(CHUNKS * work.seconds / step, 1):.2f}"


def print_constants(engines: dict[str, Constants]) -> None:
    print("| engine | task | message of 8 KiB | bandwidth | submission of usmpy |")
    print("| --- | --- | --- | --- | --- |")
    for name, c in engines.items():
        task = shown(c.task) if c.task else "none"
        print(f"| {name} | {task} | {shown(c.message)} | {c.bandwidth / 1e9:.2g} GB/s | {shown(c.launch)} |")


def print_checks(checks: list[dict[str, float]]) -> None:
    print("\n| workers | task | step, measured | simulated | formula |")
    print("| --- | --- | --- | --- | --- |")
    for c in checks:
        times = " | ".join(shown(c[name]) for name in ("task", "measured", "simulated", "formula"))
        print(f"| {c['workers']:.0f} | {times} |")


def print_predictions(constants: Constants, quick: bool) -> list[dict[str, float]]:
    print("\n| task | most workers | " + " | ".join(f"{n:,} workers" for n in WORKERS) + " |")
    print("| --- | --- " + "| --- " * len(WORKERS) + "|")
    rows = []
    for seconds in SECONDS:
        work = Work(seconds=seconds)
        cells = []
        for workers in WORKERS[:2] if quick else WORKERS:
            simulated = simulate(constants, work, workers, 10 if workers >= 1000 else 20)
            expected = formula(constants, work, workers)
            rows.append({"task": seconds, "workers": workers, "simulated": simulated, "formula": expected})
            cells.append(f"{efficiency(expected, work)} ({efficiency(simulated, work)})")
        print(f"| {shown(seconds)} | {most_workers(constants, work):.0f} | " + " | ".join(cells) + " |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the figures; '-' is standard output")
    parser.add_argument("--quick", action="store_true", help="fewer tasks: does it run at all?")
    options = parser.parse_args()
    constants, checks = measure_dask(options.quick)
    engines = {"Dask": constants}
    if (mpi := measure_mpi()) is not None:
        engines["MPI"] = mpi
    print_constants(engines)
    print_checks(checks)
    rows = print_predictions(constants, options.quick)
    if options.json:
        text = json.dumps(
            {
                "constants": {name: asdict(c) for name, c in engines.items()},
                "checks": checks,
                "predictions": rows,
            },
            indent=1,
        )
        if options.json == "-":
            print(text)
        else:
            pathlib.Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
