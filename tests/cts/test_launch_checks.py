"""Checks before a launch: each mistake raises its error, and nothing is enqueued or leaked."""

import contextlib
import ctypes
import sys

import numpy as np
import pytest
from ids import steady
from together import together

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
        was = "was" if len(args) == 1 else "were"
        with refused(queue, TypeError, rf"scale takes 3 arguments \(x, y, a\), {len(args)} {was} given"):
            queue.submit(program.scale, args, 4)
        with refused(queue, TypeError, "scale takes 3 arguments"):
            program.scale[4](*args)


@pytest.mark.parametrize(
    ("named", "match"),
    [
        ({"z": 1}, r"scale takes 3 arguments \(x, y, a\), and none of the name 'z'"),
        ({"ä": 1}, "none of the name 'ä'"),
        ({"\ud800": 1}, "none of the name"),
        ({"a\0": 1}, "none of the name"),
        ({"y": 1}, r"scale takes 3 arguments \(x, y, a\), and two were given for 'y'"),
        ({}, r"scale takes 3 arguments \(x, y, a\), 2 were given"),
        ({"a": 1, "b": 2}, "none of the name 'b'"),
    ],
)
def test_arguments_by_wrong_names(queue, program, named, match):
    x = zeros(queue, 4, "float32")
    with refused(queue, TypeError, match):
        program.scale[4](x, x, **named)
    with refused(queue, TypeError, r"scale takes 3 arguments \(x, y, a\), and 'y' is missing"):
        program.scale[4](x, a=1)
    with refused(queue, TypeError, r"scale takes 3 arguments \(x, y, a\), 5 were given"):
        program.scale[4](x, x, 1, 2, a=1)
    unnamed = program.scale.with_parameters(["const float32*", "float32*", "float32"])
    with refused(queue, TypeError, "the program does not tell the name of every parameter; .* by position"):
        unnamed[4](x, x, a=1)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("y", lambda q: zeros(q, 4, "float64"), "USMArray of float64 was given for .*float.*astype"),
        ("y", lambda q: zeros(q, 4, "int32"), "USMArray of int32"),
        ("y", lambda q: 1.0, "a float was given for .*USMArray is allowed"),
        ("y", lambda q: 0, "an int was given for .*USMArray is allowed"),
        ("y", lambda q: np.zeros(4, "float32"), "a numpy.ndarray was given for .*a USMArray is allowed"),
        ("y", lambda q: b"abcd", "a bytes was given for .*a USMArray is allowed"),
        (
            "y",
            lambda q: usmpy.LocalMemory(16),
            "LocalMemory was given for .*, which is not local memory; a USMArray is",
        ),
        ("y", lambda q: "y", "a str was given for"),
        ("a", lambda q: zeros(q, 4, "float32"), "a USMArray was given for .*; pass a number"),
        ("a", lambda q: usmpy.LocalMemory(4), "LocalMemory was given for .*, which is not local memory"),
    ],
)
def test_the_types_of_arguments(queue, program, name, value, match):
    args = {"x": zeros(queue, 4, "float32"), "y": zeros(queue, 4, "float32"), "a": 2.0}
    args[name] = value(queue)
    with refused(queue, TypeError, rf"argument {list(args).index(name)} \({name}\) of scale: .*{match}"):
        program.scale[4](*args.values())


NO_NUMBERS = {
    "another byte order": np.array(1, ">i4" if sys.byteorder == "little" else "<i4"),
    "a view in another byte order": memoryview(np.array(1, ">i4" if sys.byteorder == "little" else "<i4")),
    "ctypes of another byte order": (
        ctypes.c_int32.__ctype_be__ if sys.byteorder == "little" else ctypes.c_int32.__ctype_le__
    )(1),
    "text": np.array("1"),
    "bytes of NumPy": np.array(b"1234"),
    "an object": np.array(1, object),
    "a record": np.void(b"1234"),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_of_this_machine_is_not_read_as_its_bytes(queue, program, name):
    x = zeros(queue, 4, "float32")
    with refused(queue, (TypeError, ValueError, BufferError)):
        program.scale[4](x, x, NO_NUMBERS[name])


@pytest.mark.parametrize("value", [16, b"0123", None, "array"])
def test_local_memory_is_asked_for_by_its_own_type(queue, program, value):
    x = zeros(queue, 4)
    match = r"argument 1 \(t\) of reverse: .*LocalMemory"
    if value == "array":
        value = x
        match = "the parameter is local memory: pass LocalMemory\\(nbytes\\), not an array"
    with refused(queue, TypeError, match):
        program.reverse[usmpy.NdRange(4, 4)](x, value)


@pytest.mark.parametrize("space", [4, usmpy.Range(4), usmpy.Range(2, 2)], ids=repr)
def test_local_memory_needs_the_size_of_a_group(queue, program, space):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    match = r"reverse was given LocalMemory.*; LocalMemory needs NdRange\(global, local\)"
    with refused(queue, ValueError, match):
        program.reverse[space](x, usmpy.LocalMemory(16))
    with refused(queue, ValueError, match):
        queue.submit(program.reverse, (x, usmpy.LocalMemory(16)), space)
    assert x.tolist() == [0, 1, 2, 3]


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
            queue, ValueError, r"argument 1 \(y\) of scale: a read-only USMArray .* t = y.copy\(\), and read"
        ):
            queue.submit(program.scale, (y, x, 1), 4)
    queue.submit(program.scale, (x, y, 1), 4).wait()
    assert y.tolist() == [3] * 4


def read_only(queue):
    there = np.full(4, 3, "float32")
    there.flags.writeable = False
    return there


def test_an_array_with_gaps(queue, program):
    x, y = zeros(queue, (4, 4), "float32"), zeros(queue, 4, "float32")
    for view in (x[:, ::2], x[::-1], x[1:, 1:]):
        with refused(
            queue, BufferError, r"argument 0 \(x\) of scale: .*not contiguous.*; pass x\.copy\(\)\Z"
        ):
            program.scale[4](view, y, 1)


# Advice: where the kernel writes, the results of a temporary array have to come back.


def follow(error, kernel, space, args, names):
    """Types in what the message says: three statements, of which one launches the kernel with t."""
    message = str(error)
    place = int(message.split("argument ")[1].split()[0])
    first, middle, last = message.split("bring the results back: ")[1].split("; ")
    assert middle == "launch the kernel with t"
    scope = dict(zip(names, args, strict=True), queue=args[0].queue, usmpy=usmpy)
    exec(first, scope)
    kernel[space](*args[:place], scope["t"], *args[place + 1 :]).wait()
    exec(last, scope)


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: x[:, ::2],
    "part": lambda x: x[1:, 1:],
    "permuted": lambda x: usmpy.permute_dims(usmpy.reshape(x, (4, 2, 3)), (1, 2, 0))[::-1],
}


@together("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "float64", "float16"])
def test_advice_brings_the_results_back(queue, program, layout, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("the device has no float64")
    y = LAYOUTS[layout](zeros(queue, (4, 6), dtype))
    x = usmpy.ones(y.size, dtype="float32", queue=queue)
    try:
        program.scale[y.size](x, y, 1).wait()
    except (TypeError, BufferError) as error:
        follow(error, program.scale, y.size, (x, y, 1), "xya")
    assert (y.asnumpy() == 1).all()


def test_advice_for_an_array_that_the_kernel_only_reads(queue, program):
    x, y = usmpy.ones(4, dtype="int32", queue=queue), zeros(queue, 4, "float32")
    with refused(queue, TypeError, r"a USMArray of int32 was given for .*; pass x\.astype\('float32'\)\Z"):
        program.scale[4](x, y, 1)


def test_no_advice_where_no_cast_is(queue, program):
    x, y = zeros(queue, 4, "complex128"), zeros(queue, 4, "float32")
    with refused(queue, TypeError, "a USMArray of complex128 was given for .*; one of float32 is allowed"):
        program.scale[4](x, y, 1)


# Placement.


def test_arrays_of_two_queues(queue, program):
    other = usmpy.Queue(queue.device)
    x, y = zeros(queue, 4, "float32"), zeros(other, 4, "float32")
    with refused(
        queue,
        usmpy.ExecutionPlacementError,
        r"  x: (.|\n)*  y: (.|\n)*y = y.to_device\(x\.queue\)\n.*may write to y: .*copyto\(original, y\)",
    ):
        program.scale[4](x, y, 1)
    with refused(queue, usmpy.ExecutionPlacementError, r"x = x.to_device\(y\.queue\)|y = y.to_device") as _:
        program.scale[4](y, x, 1)
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
        other = usmpy.Queue(device)  # not device.queue, which other tests may share with a library
        x = zeros(other, 4)
        with refused(other, usmpy.ExecutionPlacementError, "add_one was built for .* and the queue runs on"):
            program.add_one[4](x)
    if not others:
        pytest.skip("no other backend has a device")


def test_an_array_out_of_reach(queue, program):
    """Device memory of another context, where the queue does not reach it."""
    elsewhere = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
    x = zeros(elsewhere, 4)
    if str(usmpy.memory_connection(queue, elsewhere)).endswith("UNIFIED"):
        queue.submit(program.add_one, (x,), 4).wait()
        assert x.tolist() == [1] * 4
        return
    with pytest.raises(
        usmpy.ExecutionPlacementError, match=r"argument 0 \(x\) of add_one: the memory is on"
    ) as e:
        queue.submit(program.add_one, (x,), 4)
    scope = {"x": x, "queue": queue, "usmpy": usmpy}
    first, _, last = str(e.value).split("bring the results back: ")[1].split("; ")
    exec(first, scope)
    queue.submit(program.add_one, (scope["t"],), 4)
    exec(last, scope)
    e.value.__traceback__ = None
    assert x.tolist() == [1] * 4


# Index spaces.


@pytest.mark.parametrize(
    "make",
    [
        lambda: usmpy.Range(-1),
        lambda: usmpy.Range(0, -1),
        lambda: usmpy.Range(),
        lambda: usmpy.Range(1, 1, 1, 1),
        lambda: usmpy.Range(2**63),
        lambda: usmpy.Range(-(2**70)),
        lambda: usmpy.Range(2**40, 2**40),
        lambda: usmpy.NdRange(-1, 1),
        lambda: usmpy.NdRange(4, 0),
        lambda: usmpy.NdRange(0, 0),
        lambda: usmpy.NdRange(4, usmpy.Range(0)),
        lambda: usmpy.NdRange((0, 4), (1, 3)),
        lambda: usmpy.NdRange(4, 3),
        lambda: usmpy.NdRange(4, 8),
        lambda: usmpy.NdRange((4, 4), 2),
        lambda: usmpy.Range(()),
        lambda: usmpy.Range((1, 1, 1, 1)),
        lambda: usmpy.Range((4, -1)),
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
        lambda: usmpy.Range((4, 4), 4),
        lambda: usmpy.Range((4, (4,))),
        lambda: usmpy.Range({4: 4}),
        lambda: usmpy.Range({4, 3}),
        lambda: usmpy.Range(iter((4, 3))),
        lambda: usmpy.Range(usmpy.NdRange(4, 2)),
        lambda: usmpy.NdRange({4: 4}, 2),
        lambda: usmpy.NdRange((4, 4), {2: 3, 4: 5}),
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


@pytest.mark.parametrize("space", [-1, (), (0, -1), 2**64, (2**40, 2**40), (1, 1, 1, 1)], ids=repr)
def test_impossible_spaces_at_the_launch(queue, program, space):
    if isinstance(space, int):
        with refused(queue, ValueError):
            program.add_one[space]
    with refused(queue, ValueError):
        queue.submit(program.add_one, (zeros(queue, 4),), space)


@pytest.mark.parametrize("space", [None, "4", b"4", 4.0, {}, {4}, (usmpy.Range(4), 4), object()], ids=steady)
def test_other_types_at_the_launch(queue, program, space):
    with refused(queue, TypeError, r"add_one\[range, events\]"):
        program.add_one[space]
    with refused(queue, TypeError):
        queue.submit(program.add_one, (zeros(queue, 4),), space)


TWO = r"add_one\[{}\] has two meanings: write add_one\[{}\] .* or add_one\[{}\]"


@pytest.mark.parametrize(
    ("key", "match"),
    [
        ((4, 3), TWO.format("4, 3", r"Range\(4, 3\)", r"NdRange\(12, 3\)")),
        ((np.int64(4), np.int64(3)), TWO.format("4, 3", r"Range\(4, 3\)", r"NdRange\(12, 3\)")),
        ((4, 3, 2), TWO.format("4, 3, 2", r"Range\(4, 3, 2\)", r"NdRange\(12, 3\)")),
        (((4, 2), (3, 5)), r"Range\(4, 2\)\].*NdRange\(\(12, 10\), \(3, 5\)\)\]"),
        ((4, (3,)), r"add_one\[4\] .*NdRange\(12, 3\)\]"),
        ((4,), r"a tuple was given: write add_one\[4\]"),
        ([4], r"a list was given: write add_one\[4\]"),
        ([4, 3], r"a list was given: write add_one\[Range\(4, 3\)\]"),
        (((4, 3), []), r"a tuple was given: write add_one\[Range\(4, 3\), events\]"),
        (((4, 3), None), r"a tuple was given: write add_one\[Range\(4, 3\), events\]"),
        ((usmpy.Range(4), 3), "an int was given"),
        ((), "a tuple was given"),
        ((4, True), r"add_one\[range, events\].*a bool was given"),
    ],
    ids=repr,
)
def test_ints_in_brackets_have_two_meanings(queue, program, key, match):
    with refused(queue, TypeError, match):
        program.add_one[key]


@pytest.mark.parametrize("depends", [3.5, "e", [1], [None], object()], ids=steady)
def test_dependencies_of_other_types(queue, program, depends):
    x = zeros(queue, 4)
    with refused(queue, TypeError, "depends"):
        program.add_one[usmpy.Range(4), depends](x)
    with refused(queue, TypeError, "depends"):
        queue.submit(program.add_one, (x,), 4, depends=depends)
    assert x.tolist() == [0] * 4


def test_groups_beyond_the_limits(queue, program):
    x = zeros(queue, 4)
    most = program.add_one.max_work_group_size()
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
    assert usmpy.Range((4, 5)) == usmpy.Range([4, 5]) == usmpy.Range(usmpy.Range(4, 5)) == usmpy.Range(4, 5)
    assert usmpy.Range((4,)) == usmpy.Range(4)
    with pytest.raises(IndexError, match="index 1 is out of range for a Range with 1 dimension"):
        usmpy.Range(4)[1]
    with pytest.raises(
        ValueError, match="global_range has 1 dimension but local_range has 2; they must match"
    ):
        usmpy.NdRange(4, (2, 2))
    with pytest.raises(
        ValueError, match="global_range has 2 dimensions but local_range has 1; they must match"
    ):
        usmpy.NdRange((4, 4), 2)


def test_a_kernel_with_its_range_says_what_it_is(queue, program):
    e = queue.barrier()
    assert repr(program.add_one[4]) == "<BoundKernel add_one[Range(4)]; call it with (int32* x)>"
    text = repr(program.scale[usmpy.NdRange((4, 2), (2, 1)), [e]])
    assert text == (
        "<BoundKernel scale[NdRange((4, 2), (2, 1)), ...]; "
        "call it with (const float32* x, float32* y, float32 a)>"
    )


def test_local_memory_of_elements():
    assert usmpy.LocalMemory(3).nbytes == 3
    assert usmpy.LocalMemory(3, "float64").nbytes == usmpy.LocalMemory(n=3, dtype=np.float64).nbytes == 24
    assert usmpy.LocalMemory(5, usmpy.float4_e2m1fn).nbytes == 3
    with pytest.raises(ValueError, match="n is 536870912; 1 to 536870911 are allowed"):
        usmpy.LocalMemory(2**29, "float64")
    with pytest.raises(TypeError, match="float31"):
        usmpy.LocalMemory(3, "float31")
    with pytest.raises(TypeError, match=r"n is 4\.0; an int is allowed"):
        usmpy.LocalMemory(4.0, "int8")


def test_sizes_of_work_groups_that_suit_a_kernel(device, queue, program):
    most = program.reverse.max_work_group_size(device)
    multiple = program.reverse.preferred_work_group_size_multiple(device=device)
    assert 1 <= multiple <= most
    assert program.reverse.max_work_group_size() == most
    assert program.reverse.preferred_work_group_size_multiple() == multiple
    for method in (program.reverse.max_work_group_size, program.reverse.preferred_work_group_size_multiple):
        other = "minimal" if device.backend == "host" else "host"
        with pytest.raises(ValueError, match=r"device is .*; the kernel is built for"):
            method(usmpy.Device(other))
        with pytest.raises(TypeError, match="device is an int"):
            method(3)
    x = usmpy.arange(2 * multiple, dtype="int32", queue=queue)
    program.reverse[usmpy.NdRange(2 * multiple, multiple)](x, usmpy.LocalMemory(multiple, x.dtype)).wait()
    halves = [list(range(multiple)), list(range(multiple, 2 * multiple))]
    assert x.tolist() == halves[0][::-1] + halves[1][::-1]


def test_an_array_of_one_element_is_no_scalar(queue, program):
    x, y = zeros(queue, 4, "float32"), zeros(queue, 4, "float32")
    for value in (np.ones(1, "float32"), np.ones((1, 1), "float32")):
        with refused(queue, TypeError, "an object of 1 elements was given for"):
            program.scale[4](x, y, value)
