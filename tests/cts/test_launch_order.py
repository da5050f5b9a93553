"""Order of kernels and other work: dependencies across queues, contexts and backends, and errors."""

import random
import threading

import numpy as np
import pytest
from kernel_sources import spun

import usmpy

PATIENCE = 60
N = 5000


class Trouble(Exception):
    pass


def fail():
    raise Trouble("mine")


def held(queue):
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


@pytest.fixture
def elsewhere(queue):
    """Queues that the driver of `queue` does not know: another context, and the host."""
    host = usmpy.Queue("host:cpu:0", in_order=False)
    return [host, usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))]


def settle(*queues):
    for queue in queues:
        with pytest.raises((Trouble, usmpy.UsmError)):
            queue.wait()


@pytest.mark.parametrize("in_order", [True, False])
def test_a_kernel_waits_for_host_work_of_any_queue(device, program, elsewhere, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    for other in [queue, usmpy.Queue(device), *elsewhere]:
        x = usmpy.zeros(4, dtype="int32", queue=queue)
        x.wait()
        gate, first = held(other)
        event = program.add_one[usmpy.Range(4), [first]](x)
        assert event.status == "submitted"
        gate.set()
        event.wait(PATIENCE)
        assert first.done
        assert x.tolist() == [1] * 4


def test_host_work_of_any_queue_waits_for_a_kernel(queue, program, elsewhere):
    for other in [queue, usmpy.Queue(queue.device), *elsewhere]:
        x = usmpy.zeros(4, dtype="uint32", queue=queue)
        event = program.spin[4](x, 2_000_000)
        seen = []
        other.host_task(lambda event=event, seen=seen: seen.append(event.done), depends=[event]).wait(
            PATIENCE
        )
        assert seen == [True]


def test_kernels_of_two_backends_wait_for_each_other(queue, program):
    host = usmpy.Queue("host:cpu:0")
    theirs = usmpy.Program("kernel void put(global int *x, int v) { x[get_global_id(0)] = v; }", device=host)
    x, y = usmpy.zeros(4, dtype="uint32", queue=queue), usmpy.zeros(4, dtype="int32", queue=host)
    first = program.spin[4](x, 1_000_000)
    second = theirs.put[4, [first]](y, 5)
    third = program.spin[usmpy.Range(4), second](x, 1)
    third.wait(PATIENCE)
    assert first.status == second.status == "complete"
    assert x.tolist() == [spun(0, 1_000_001)] * 4
    assert y.tolist() == [5] * 4


@pytest.mark.parametrize("in_order", [True, False])
def test_a_kernel_that_depends_on_failed_work_does_not_run(device, program, elsewhere, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    for other in [queue, *elsewhere]:
        for already in (False, True):
            x = usmpy.zeros(4, dtype="int32", queue=queue)
            x.wait()
            gate, first = held(other)
            failed = other.host_task(fail, depends=[first])
            if already:
                gate.set()
                assert isinstance(failed.exception() or wait_for(failed), Trouble)
            event = program.add_one[usmpy.Range(4), [failed]](x)
            after = program.add_one[usmpy.Range(4), [event]](x)
            gate.set()
            for e in (event, after):
                with pytest.raises(usmpy.UsmError, match="not run") as caught:
                    e.wait(PATIENCE)
                assert e.status == "error"
                first_cause = caught.value
                while first_cause.__cause__ is not None:
                    first_cause = first_cause.__cause__
                assert isinstance(first_cause, Trouble)
                del caught, first_cause
            assert x.tolist() == [0] * 4
            settle(*{id(q): q for q in (queue, other)}.values())


def wait_for(event):
    with pytest.raises(Trouble):
        event.wait(PATIENCE)
    return event.exception()


def test_a_kernel_that_reads_memory_of_failed_work(queue, program):
    x, y = (usmpy.zeros(4, dtype="float32", queue=queue) for _ in range(2))
    failed = queue.host_task(lambda _: fail(), x)
    event = program.scale[4](x, y, 2)
    with pytest.raises(usmpy.UsmError, match="not run"):
        event.wait(PATIENCE)
    with pytest.raises(Trouble):
        failed.wait()
    settle(queue)
    program.scale[4](x, y, 2).wait()


def test_order_alone_hands_no_failure_on(queue, program):
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    queue.host_task(fail)
    program.add_one[4](x).wait(PATIENCE)
    assert x.tolist() == [1] * 4
    settle(queue)


# Hazards: no dependency is named.


@pytest.mark.parametrize("in_order", [True, False])
def test_kernels_and_copies_of_several_queues_on_the_same_memory(device, program, in_order):
    queues = [usmpy.Queue(device, in_order=in_order) for _ in range(3)]
    x = usmpy.ones(N, dtype="float32", queue=queues[0])
    y = usmpy.zeros(N, dtype="float32", queue=queues[0])
    expected = 1.0
    for i in range(60):
        one, two = queues[i % 3], queues[(i + 1) % 3]
        one.submit(program.scale, (x, y, 2 if i % 2 else 0.5), N)
        two.memcpy(x, y)
        expected *= 2 if i % 2 else 0.5
    assert (x.asnumpy() == expected).all()


@pytest.mark.parametrize("in_order", [True, False])
def test_random_kernels_in_random_queues_are_as_if_in_order(device, program, in_order):
    random_numbers = random.Random(7)
    queues = [usmpy.Queue(device, in_order=in_order) for _ in range(3)]
    arrays = [usmpy.arange(N, dtype="float32", queue=queues[0]) for _ in range(4)]
    mirror = [np.arange(N, dtype="float32") for _ in range(4)]
    for _ in range(150):
        i, j = random_numbers.sample(range(4), 2)
        factor = random_numbers.choice([0.5, 1, 2, -1])
        queue = random_numbers.choice(queues)
        if random_numbers.random() < 0.5:
            queue.submit(program.scale, (arrays[i], arrays[j], factor), N)
            mirror[j] = mirror[i] * np.float32(factor)
        elif random_numbers.random() < 0.5:
            queue.memcpy(arrays[j], arrays[i])
            mirror[j] = mirror[i].copy()
        else:
            queue.fill(arrays[j], factor)
            mirror[j] = np.full(N, factor, "float32")
    for x, m in zip(arrays, mirror, strict=True):
        assert (x.asnumpy() == m).all()


def test_work_without_a_conflict_need_not_wait(device, program):
    queue = usmpy.Queue(device, in_order=False)
    gate, first = held(queue)
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    program.add_one[4](x).wait(PATIENCE)
    assert not first.done
    gate.set()


def test_reads_of_the_same_memory_need_not_wait_for_each_other(device, program):
    queues = [usmpy.Queue(device) for _ in range(2)]
    x, y = (usmpy.zeros(4, dtype="float32", queue=queues[0]) for _ in range(2))
    x.wait()
    read_only = usmpy.broadcast_to(x, (2, 4))
    gate = threading.Event()
    first = queues[1].host_task(lambda _: gate.wait(PATIENCE), read_only)
    queues[0].submit(program.scale, (x, y, 1), 4).wait(PATIENCE)
    assert not first.done
    second = queues[0].submit(program.scale, (y, x, 1), 4)
    assert second.status == "submitted"
    gate.set()
    second.wait(PATIENCE)


def test_launches_from_many_threads(queue, program):
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    kernel = program.add_one

    def launch():
        for _ in range(200):
            kernel[8](x)

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist() == [800] * 8


def test_arguments_of_launches_from_many_threads_do_not_mix(queue, program):
    """Arguments belong to the driver's kernel until its launch."""
    arrays = [usmpy.zeros(4, dtype="int64", queue=usmpy.Queue(queue.device)) for _ in range(4)]
    kernel = program.put_int64
    wrong = []

    def launch(x, first):
        for i in range(first, first + 100):
            kernel[4](x, i)
            if x.tolist() != [i] * 4:
                wrong.append(i)

    threads = [threading.Thread(target=launch, args=(x, 1000 * i)) for i, x in enumerate(arrays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
