"""Launches of one kernel over and over: arguments that change, stay, come again, or do not fit."""

import asyncio
import threading
import time

import numpy as np
import pytest

import usmpy


def numbers(queue, values):
    return usmpy.asarray(np.asarray(values, dtype="float32"), queue=queue)


def habit(queue, program):
    """So many quick runs that the kernel is taken for a quick one."""
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    for _ in range(5):
        program.add_one[8](x).wait()


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("wait", [False, True])
def test_each_launch_has_its_own_arguments(queue, program, wait):
    xs = [numbers(queue, [i, i + 1]) for i in range(3)]
    ys = [usmpy.zeros(2, dtype="float32", queue=queue) for _ in range(3)]
    for a in (2.0, 2.0, -1.5):
        for i, j in ((0, 0), (0, 1), (1, 1), (2, 1), (2, 2), (2, 2), (0, 0)):
            event = program.scale[2](xs[i], ys[j], a)
            if wait:
                event.wait()
                assert ys[j].tolist() == [a * i, a * (i + 1)]
        assert [y.tolist() for y in ys] == [[0, a], [2 * a, 3 * a], [2 * a, 3 * a]]


def test_local_memory_of_another_size(queue, program):
    for n in (4, 4, 8, 2, 4):
        x = usmpy.arange(8, dtype="int32", queue=queue)
        program.reverse[usmpy.NdRange(8, n)](x, usmpy.LocalMemory(4 * n))
        assert x.tolist() == np.arange(8).reshape(-1, n)[:, ::-1].ravel().tolist()


def test_memory_that_went_and_came_again(queue, program):
    n = (3 << 20) // 4  # larger than pooled blocks
    for a in (1.0, 1.0, 2.0, 2.0, 2.0, 3.0):
        x = usmpy.ones(n, dtype="float32", queue=queue)
        y = usmpy.zeros(n, dtype="float32", queue=queue)
        program.scale[n](x, y, a).wait()
        assert (y.asnumpy() == a).all()
        del x, y


def test_threads_share_a_kernel(queue, program):
    wrong = []

    def run(a):
        mine = usmpy.Queue(queue.device)
        x, y = numbers(mine, range(16)), usmpy.zeros(16, dtype="float32", queue=mine)
        for _ in range(50):
            program.scale[16](x, y, a).wait()
            if y.tolist() != [a * i for i in range(16)]:
                wrong.append(a)

    threads = [threading.Thread(target=run, args=(float(a),)) for a in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_short_tasks_complete_without_a_waiter(queue, program):
    habit(queue, program)
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    events = [program.add_one[8](x) for _ in range(200)]
    wait_until(lambda: all(event.done for event in events))
    assert {event.status for event in events} == {"complete"}
    assert x.tolist() == [200] * 8


@pytest.mark.parametrize("in_order", [True, False])
def test_host_tasks_after_short_tasks(queue, program, in_order):
    habit(queue, program)
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    other = usmpy.Queue(queue.device, in_order=in_order)
    seen = []
    for i in range(50):
        event = program.add_one[8](x)
        other.host_task(seen.append, i, depends=event)
    wait_until(lambda: len(seen) == 50)
    assert sorted(seen) == list(range(50))
    other.wait()


def test_quick_tasks_are_awaited_and_waited_for_with_a_timeout(queue, program):
    habit(queue, program)
    x = usmpy.zeros(8, dtype="int32", queue=queue)

    async def run():
        for _ in range(20):
            await program.add_one[8](x)
            program.add_one[8](x).wait(timeout=30)
            queue.wait(timeout=30)

    asyncio.run(run())
    assert x.tolist() == [40] * 8


def test_threads_wait_for_quick_tasks_of_one_queue(queue, program):
    habit(queue, program)
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    failed = []

    def run():
        try:
            for _ in range(200):
                program.add_one[8](x).wait()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert x.tolist() == [800] * 8


def test_a_queue_is_freed_right_after_its_short_tasks(queue, program):
    habit(queue, program)
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    for _ in range(100):
        mine = usmpy.Queue(queue.device)
        for _ in range(3):
            mine.submit(program.add_one, (x,), 8)
        del mine
    assert x.tolist() == [300] * 8


def test_an_integer_pointer_takes_no_floats(queue, program):
    x = usmpy.zeros(4, dtype="float32", queue=queue)
    with pytest.raises(TypeError, match="a USMArray of float32 was given for"):
        program.add_one[4](x)


def test_half_floats_behind_a_pointer_to_their_bits(queue, program):
    x = usmpy.zeros(4, dtype="float16", queue=queue)
    program.put_uint16[4](x, 0x3C00).wait()
    assert x.tolist() == [1] * 4
    with pytest.raises(TypeError, match="a USMArray of float16 was given for"):
        program.put_int16[4](x, 0)


def test_a_buffer_with_gaps_is_no_value(queue, program):
    with pytest.raises(TypeError, match=r"argument 0 \(n\) of nothing: a memoryview was given for"):
        program.nothing[1](memoryview(bytes(8))[::2])


def test_bytes_of_no_length(queue, program):
    x = usmpy.zeros(5, dtype="float64" if queue.device.has_fp64 else "float32", queue=queue)
    with pytest.raises((ValueError, TypeError), match=r"0 bytes were given|float32 was given"):
        program.unpack[1](x, b"")


def test_a_program_with_many_kernels_names_some(queue):
    source = "".join(f"kernel void k{i}(global int *x) {{ x[0] = {i}; }}\n" for i in range(20))
    program = usmpy.Program(source, device=queue)
    with pytest.raises(KeyError, match=r"no kernel 'missing'; it has k\d+.*, \.\.\."):
        program["missing"]


def test_texts_without_utf8(queue):
    source = "kernel void a(int n) {}"
    for text, options in ((source + "// \udc80", ""), (source, "\udc80")):
        with pytest.raises(UnicodeEncodeError):
            usmpy.Program(text, device=queue, options=options)
    for language in ("spirv", "native"):  # ValueError too, where the device does not take it
        with pytest.raises(ValueError):
            usmpy.Program(b"source", device=queue, language=language, options="\udc80")


def test_questions_to_kernels_have_one_argument(program):
    with pytest.raises(TypeError, match="at most 1 positional"):
        program.add_one.max_work_group_size(1, 2)
