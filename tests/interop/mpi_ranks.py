"""What each of two ranks does on one device: mpiexec -n 2 python tests/interop/mpi_ranks.py FILTER_STRING.

tests/interop/test_mpi4py.py runs it. Every function below is a test, of both ranks together.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

import usmpy

COMM = MPI.COMM_WORLD
RANK = COMM.rank
OTHER = 1 - RANK
N = 100_000
DTYPES = ["bool", "int8", "uint16", "int64", "float32", "complex64", "bfloat16", "float8_e4m3fn"]


def slow(queue, x):
    """Work on x that takes a moment."""
    queue.host_task(lambda x: time.sleep(0.05), x)


def transfer(x, y):
    """x of rank 0 to y of rank 1."""
    if RANK == 0:
        COMM.Send(x, OTHER)
    else:
        COMM.Recv(y, OTHER)


def kinds(device):
    return [kind for kind in ("device", "shared", "host") if getattr(device, f"has_usm_{kind}")]


def test_every_kind_of_memory_and_type(device):
    for kind in kinds(device):
        for dtype in DTYPES:
            x = usmpy.empty(1000, dtype=dtype, device=device, usm_type=kind)
            x.queue.memcpy(x, bytes(i % 2 for i in range(x.nbytes)))
            y = usmpy.zeros(1000, dtype=dtype, device=device, usm_type=kind)
            transfer(x, y)
            if RANK == 1:
                assert y.tobytes() == x.tobytes(), (kind, dtype)
    half = usmpy.full(10, RANK, dtype="float16", device=device)
    transfer([half, MPI.BYTE], [half, MPI.BYTE])  # not every MPI library has the type
    assert half.tolist() == [0] * 10


def test_column_major_arrays_and_parts(device):
    n = np.arange(12, dtype="int32").reshape(3, 4)
    x = usmpy.asarray(n, order="F", device=device, copy=True)
    y = usmpy.zeros((3, 4), dtype="int32", order="F", device=device)
    transfer(x, y)
    if RANK == 1:
        np.testing.assert_array_equal(y.asnumpy(), n)
    z = usmpy.zeros(6, dtype="int32", device=device)
    transfer(usmpy.ones(3, dtype="int32", device=device), z[2:5])
    if RANK == 1:
        assert z.tolist() == [0, 0, 1, 1, 1, 0]
    for gaps in (x[:, ::2], x[::2]):
        try:
            COMM.Send(gaps, OTHER)
        except BufferError:
            continue
        raise AssertionError("an array with gaps was sent")


def test_pending_work_is_in_what_is_sent(device):
    queue = usmpy.Queue(device)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    slow(queue, x)
    queue.fill(x, 7)
    transfer(x, y)
    if RANK == 1:
        assert (y.asnumpy() == 7).all()
    slow(queue, x)
    x += 1
    request = COMM.Isend(x, OTHER)
    COMM.Recv(y, OTHER)
    request.Wait()
    assert (y.asnumpy() == 8).all()


def test_what_arrives_is_ordered_between_our_work(device):
    queue = usmpy.Queue(device)
    x, y = (usmpy.full(N, RANK, dtype="int32", queue=queue) for _ in range(2))
    slow(queue, x)
    before = x + 10  # reads x after a moment, and MPI must not write before
    request = COMM.Isend(y, OTHER)
    COMM.Recv(x, OTHER)
    after = x + 10
    request.Wait()
    assert (before.asnumpy() == 10 + RANK).all()
    assert (after.asnumpy() == 10 + OTHER).all()
    request = COMM.Irecv(x, OTHER)
    COMM.Send(before, OTHER)
    request.Wait()
    assert ((x - 10).asnumpy() == OTHER).all()


def test_collectives(device):
    x = usmpy.full(N, RANK + 1, dtype="float32", device=device)
    total = usmpy.empty_like(x)
    slow(x.queue, x)
    x *= 2
    COMM.Allreduce(x, total)
    assert (total.asnumpy() == 6).all()
    COMM.Allreduce(MPI.IN_PLACE, total, op=MPI.MAX)
    COMM.Bcast(total, root=1)
    assert (total.asnumpy() == 6).all()
    both = usmpy.zeros((2, 3), dtype="float32", device=device)
    COMM.Allgather(x[:3], both)
    assert both.tolist() == [[2.0] * 3, [4.0] * 3]


def test_failed_work_is_not_sent(device):
    def fail(x):
        raise LookupError("mine")

    queue = usmpy.Queue(device)
    for dtype in ("float32", "bfloat16"):
        x = usmpy.zeros(10, dtype=dtype, queue=queue)
        queue.host_task(fail, x)
        for call in (lambda x=x: MPI.COMM_SELF.Isend(x, 0), queue.wait):
            try:
                call()
            except LookupError:
                continue
            raise AssertionError("the result of failed work was sent")


def test_read_only_arrays_are_sent_and_receive_nothing(device):
    x = usmpy.ones(3, dtype="int32", device=device)
    x.flags.writable = False
    y = usmpy.zeros(3, dtype="int32", device=device)
    transfer(x, y)
    if RANK == 1:
        assert y.tolist() == [1, 1, 1]
    try:
        COMM.Irecv(x, OTHER)
    except BufferError:
        return
    raise AssertionError("a read-only array was received into")


def main(name: str) -> None:
    device = usmpy.Device(name)
    assert COMM.size == 2
    for test, function in list(globals().items()):
        if test.startswith("test_"):
            function(device)
            COMM.Barrier()
    if RANK == 0:
        print(f"passed: {MPI.Get_library_version().splitlines()[0]}")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BaseException:
        import traceback

        traceback.print_exc()
        COMM.Abort(1)
