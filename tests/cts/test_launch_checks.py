"""What is checked before a launch: each mistake has its error, nothing is enqueued or left behind."""

import contextlib

import numpy as np
import pytest

import usmpy


def zeros(queue, n, dtype="int32"):
    return usmpy.zeros(n, dtype=dtype, queue=queue)


@contextlib.contextmanager
def refused(queue, error, match=None):
    """The launch in the block fails, and the queue does not notice."""
    queue.wait()
    with pytest.raises(error, match=match) as caught:
        yield
    caught.value.__traceback__ = None
    queue.wait()  # nothing failed in it
    assert queue.barrier().status == "complete"  # and it is idle: nothing was enqueued


# Counts and types.


def test_the_count_of_arguments(queue, program):
    x = zeros(queue, 4, "float32")
    for args in ((), (x,), (x, x), (x, x, 1, 1)):
        with refused(queue, TypeError, rf"scale takes 3 arguments \(x, y, a\), {len(args)} were given"):
            queue.submit(program.scale, args, 4)
        with refused(queue, TypeError, "scale takes 3 arguments"):
            program.scale[4](*args)
    with refused(queue, TypeError, "by position"):
        program.scale[4](x, x, a=1)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("y", lambda q: zeros(q, 4, "float64"), "USMArray of float64 was given for .*float.*astype"),
        ("y", lambda q: zeros(q, 4, "int32"), "USMArray of int32"),
        ("y", lambda q: 1.0, "a float was given for .*USMArray is allowed"),
        ("y", lambda q: 0, "an? int was given for .*USMArray is allowed"),
        ("y", lambda q: np.zeros(4, "float32"), "a numpy.ndarray was given for .*a USMArray is allowed"),
        ("y", lambda q: b"abcd", "a bytes was given for .*a USMArray is allowed"),
        ("y", lambda q: usmpy.LocalMemory(16), "LocalMemory was given for"),
        ("y", lambda q: "y", "a str was given for"),
        ("a", lambda q: zeros(q, 4, "float32"), "a USMArray was given for"),
        ("a", lambda q: usmpy.LocalMemory(4), "LocalMemory was given for"),
    ],
)
def test_the_types_of_arguments(queue, program, name, value, match):
    args = {"x": zeros(queue, 4, "float32"), "y": zeros(queue, 4, "float32"), "a": 2.0}
    args[name] = value(queue)
    with refused(queue, TypeError, rf"argument {list(args).index(name)} \({name}\) of scale: .*{match}"):
        program.scale[4](*args.values())


@pytest.mark.parametrize("value", [16, b"0123", None, "array"])
def test_local_memory_is_asked_for_by_its_own_type(queue, program, value):
    x = zeros(queue, 4)
    value = x if value == "array" else value
    with refused(queue, TypeError, r"argument 1 \(t\) of reverse"):
        program.reverse[usmpy.NdRange(4, 4)](x, value)


def test_more_local_memory_than_there_is(queue, program):
    x = zeros(queue, 4)
    too_much = usmpy.LocalMemory(queue.device.local_mem_size + 4)
    with refused(queue, ValueError, f"reverse was given {too_much.nbytes} bytes of LocalMemory"):
        program.reverse[usmpy.NdRange(4, 4)](x, too_much)


def test_a_read_only_array_is_for_pointers_to_const(queue, program):
    x = usmpy.broadcast_to(usmpy.full(1, 3, dtype="float32", queue=queue), (1, 4))
    x = usmpy.from_dlpack(read_only(queue)) if queue.device.backend == "host" else x.copy()
    y = zeros(queue, 4, "float32")
    if not x.flags.writable:
        with refused(
            queue, ValueError, r"argument 1 \(y\) of scale: a read-only USMArray .* not a pointer to const"
        ):
            queue.submit(program.scale, (y, x, 1), 4)
    queue.submit(program.scale, (x, y, 1), 4).wait()
    assert y.tolist() == [3] * 4


def read_only(queue):
    there = np.full(4, 3, "float32")
    there.flags.writeable = False
    return there


def test_an_array_with_gaps(queue, program):
    x = zeros(queue, (4, 4), "float32")
    for view in (x[:, ::2], x[::-1], x[1:, 1:]):
        with refused(queue, BufferError, r"argument 0 \(x\) of scale: .*not contiguous.*copy\(\)"):
            program.scale[4](view, zeros(queue, 4, "float32"), 1)


# Placement.


def test_arrays_of_two_queues(queue, program):
    other = usmpy.Queue(queue.device)
    x, y = zeros(queue, 4, "float32"), zeros(other, 4, "float32")
    with refused(queue, usmpy.ExecutionPlacementError, r"args\[0\](.|\n)*args\[1\](.|\n)*to_device"):
        program.scale[4](x, y, 1)
    queue.submit(program.scale, (x, y, 1), 4).wait()  # the queue is named, and reaches both


def test_a_program_of_another_context(queue, program):
    elsewhere = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
    x = zeros(elsewhere, 4)
    with refused(
        elsewhere,
        usmpy.ExecutionPlacementError,
        "add_one was built for .*build the program with device=queue",
    ):
        program.add_one[4](x)
    with refused(elsewhere, usmpy.ExecutionPlacementError, "add_one was built for"):
        elsewhere.submit(program.add_one, (x,), 4)
    own = usmpy.Program("kernel void one(global int *x) { x[get_global_id(0)] = 1; }", device=elsewhere)
    own.one[4](x).wait()
    assert x.tolist() == [1] * 4


def test_a_program_of_another_device(queue, program):
    others = [d for d in usmpy.get_devices() if d.backend != queue.device.backend]
    for device in others:
        x = zeros(device.queue, 4)
        with refused(
            device.queue, usmpy.ExecutionPlacementError, "add_one was built for .* and the queue runs on"
        ):
            program.add_one[4](x)
    if not others:
        pytest.skip("there is one device alone")


def test_an_array_out_of_reach(queue, program):
    """Device memory of another context, where the queue does not reach it."""
    elsewhere = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
    x = zeros(elsewhere, 4)
    if str(usmpy.memory_connection(queue, elsewhere)).endswith("UNIFIED"):
        queue.submit(program.add_one, (x,), 4).wait()
        assert x.tolist() == [1] * 4
        return
    with refused(queue, usmpy.ExecutionPlacementError, "array argument 0 of add_one lives on .*to_device"):
        queue.submit(program.add_one, (x,), 4)
    assert x.tolist() == [0] * 4


# Index spaces.


@pytest.mark.parametrize(
    "make",
    [
        lambda: usmpy.Range(0),
        lambda: usmpy.Range(-1),
        lambda: usmpy.Range(4, 0),
        lambda: usmpy.Range(),
        lambda: usmpy.Range(1, 1, 1, 1),
        lambda: usmpy.Range(2**63),
        lambda: usmpy.Range(-(2**70)),
        lambda: usmpy.Range(2**40, 2**40),
        lambda: usmpy.NdRange(0, 1),
        lambda: usmpy.NdRange(4, 0),
        lambda: usmpy.NdRange(4, 3),
        lambda: usmpy.NdRange(4, 8),
        lambda: usmpy.NdRange((4, 4), 2),
        lambda: usmpy.NdRange(4, -2),
        lambda: usmpy.LocalMemory(0),
        lambda: usmpy.LocalMemory(-1),
        lambda: usmpy.LocalMemory(2**40),
    ],
)
def test_impossible_spaces(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: usmpy.Range("4"),
        lambda: usmpy.Range(4.0),
        lambda: usmpy.Range(True),
        lambda: usmpy.Range((4, 4)),
        lambda: usmpy.Range(global_range=4),
        lambda: usmpy.NdRange(4),
        lambda: usmpy.NdRange("4", "2"),
        lambda: usmpy.LocalMemory(4.0),
        lambda: usmpy.LocalMemory(),
    ],
)
def test_spaces_of_other_types(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("space", [0, -1, (), (0, 1), 2**64, (2**40, 2**40), (1, 1, 1, 1)], ids=repr)
def test_impossible_spaces_in_brackets(queue, program, space):
    with refused(queue, ValueError):
        program.add_one[space]
    with refused(queue, ValueError):
        queue.submit(program.add_one, (zeros(queue, 4),), space)


@pytest.mark.parametrize("space", [None, "4", b"4", 4.0, {}, (usmpy.Range(4), 4), object()], ids=repr)
def test_other_types_in_brackets(queue, program, space):
    error = ValueError if space == {} else TypeError  # no extents
    with refused(queue, error):
        program.add_one[space]
    with refused(queue, error):
        queue.submit(program.add_one, (zeros(queue, 4),), space)


@pytest.mark.parametrize("depends", [3.5, "e", [1], [None], object()], ids=repr)
def test_dependencies_of_other_types(queue, program, depends):
    x = zeros(queue, 4)
    with refused(queue, TypeError, "depends"):
        program.add_one[usmpy.Range(4), depends](x)
    with refused(queue, TypeError, "depends"):
        queue.submit(program.add_one, (x,), 4, depends=depends)
    assert x.tolist() == [0] * 4


def test_groups_beyond_the_limits(queue, program):
    x = zeros(queue, 4)
    most = program.add_one.max_work_group_size
    with refused(queue, ValueError, rf"local_range .* more work-items than add_one allows on .*: {most}"):
        program.add_one[usmpy.NdRange(2 * most, 2 * most)](x)
    with refused(queue, ValueError, "local_range"):
        program.add_one[usmpy.NdRange((most, 2), (most, 2))](x)
    with refused(queue, ValueError, "local_range"):
        program.add_one[usmpy.NdRange((2**31, 2**31), (2**31, 2**31))](x)


def test_groups_that_the_kernel_does_not_take(queue, program):
    x = zeros(queue, 8)
    with refused(queue, ValueError, r"local_range is \(2, 1, 1\), and fours requires \(4, 1, 1\)"):
        program.fours[usmpy.NdRange(8, 2)](x)
    with refused(queue, ValueError, r"range\[0\] is 7, and fours requires work-groups of \(4, 1, 1\)"):
        program.fours[7](x)
    assert x.tolist() == [0] * 8


def test_arguments_of_submit(queue, program):
    x = zeros(queue, 4)
    for args in ((program, (x,), 4), ("add_one", (x,), 4), (None, (x,), 4)):
        with refused(queue, TypeError, "kernel is a"):
            queue.submit(*args)
    for args in (3, "ab", b"ab", None):
        with refused(queue, TypeError, "args is a"):
            queue.submit(program.add_one, args, 4)
    with refused(queue, TypeError):
        queue.submit(program.add_one, (x,))
    with refused(queue, ZeroDivisionError):
        queue.submit(program.add_one, (1 // 0 for _ in range(3)), 4)


def test_spaces_compare_and_show(queue):
    assert usmpy.Range(4) == usmpy.Range(4) != usmpy.Range(4, 1)
    assert hash(usmpy.Range(4)) == hash(usmpy.Range(4))
    assert usmpy.NdRange(4, 2) == usmpy.NdRange((4,), (2,)) != usmpy.NdRange(4, 4)
    assert usmpy.NdRange(4, 2) != usmpy.Range(4)
    assert repr(usmpy.Range(4)) == "Range(4)"
    assert repr(usmpy.Range(4, 5)) == "Range(4, 5)"
    assert repr(usmpy.NdRange((4, 6), (2, 3))) == "NdRange((4, 6), (2, 3))"
    assert repr(usmpy.LocalMemory(3)) == "LocalMemory(3)"
    assert list(usmpy.Range(4, 5)) == [4, 5]
    assert len(usmpy.Range(4, 5)) == 2
    assert usmpy.Range(4, 5, 6).size == 120 == usmpy.NdRange((4, 5, 6), 3 * (1,)).size
    assert usmpy.NdRange((4, 6), (2, 3)).global_range == (4, 6)
    assert usmpy.NdRange((4, 6), (2, 3)).local_range == (2, 3)
    with pytest.raises(IndexError):
        usmpy.Range(4)[1]
