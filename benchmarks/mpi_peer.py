"""Arrays between two ranks of MPI: the figures of processes.py that mpi4py has.

    mpiexec -n 2 python mpi_peer.py ROUNDS

Prints, as JSON, the best seconds of a message there and back, halved, for 64 MiB and for 8 bytes, and of a
sum over both ranks of 64 MiB, each of usmpy's and of NumPy's arrays, which take turns.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
from mpi4py import MPI

import usmpy

COMM = MPI.COMM_WORLD
OTHER = 1 - COMM.rank
MIB = 1 << 20


def there_and_back(send: Any, receive: Any, runs: int) -> float:
    COMM.Barrier()
    begin = time.perf_counter()
    for _ in range(runs):
        if COMM.rank == 0:
            COMM.Send(send, OTHER)
            COMM.Recv(receive, OTHER)
        else:
            COMM.Recv(receive, OTHER)
            COMM.Send(send, OTHER)
    return (time.perf_counter() - begin) / runs / 2


def all_reduce(send: Any, receive: Any, runs: int) -> float:
    COMM.Barrier()
    begin = time.perf_counter()
    for _ in range(runs):
        COMM.Allreduce(send, receive)
    return (time.perf_counter() - begin) / runs


def best(call: Callable[[Any, Any, int], float], n: int, runs: int, rounds: int) -> dict[str, float]:
    arrays: dict[str, tuple[Any, Any]] = {
        "usmpy": tuple(usmpy.ones(n, dtype="float64", device="host") for _ in range(2)),
        "numpy": tuple(numpy.ones(n) for _ in range(2)),
    }
    for x in arrays["usmpy"]:
        x.wait()
    figures = dict.fromkeys(arrays, float("inf"))
    for _ in range(rounds):
        for name, (send, receive) in arrays.items():
            figures[name] = min(figures[name], call(send, receive, runs))
    return figures


def main() -> None:
    rounds = int(sys.argv[1])
    large = 64 * MIB // 8
    figures = {
        "64 MiB": best(there_and_back, large, 2, rounds),
        "8 bytes": best(there_and_back, 1, 500, rounds),
        "sum of 64 MiB": best(all_reduce, large, 2, rounds),
    }
    if COMM.rank == 0:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
