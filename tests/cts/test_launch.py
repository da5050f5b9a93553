"""Kernel launches: ways to write them, kinds of arguments, index spaces."""

import array
import asyncio
import ctypes
import enum
import fractions

import numpy as np
import pytest
from kernel_sources import C_TYPES
from together import together

import usmpy


def zeros(queue, n, dtype="int32"):
    return usmpy.zeros(n, dtype=dtype, queue=queue)


# Ways to write a launch.


@pytest.mark.parametrize(
    "space",
    [usmpy.Range(6), usmpy.Range((6,)), 6, np.int64(6), usmpy.NdRange(6, 2), usmpy.NdRange((6,), [3])],
    ids=repr,
)
def test_brackets_take_an_index_space(queue, program, space):
    x = zeros(queue, 6)
    event = program.add_one[space](x)
    assert isinstance(event, usmpy.Event)
    assert x.tolist() == [1] * 6
    assert event.status == "complete"


@pytest.mark.parametrize("depends", [(), [], None, "event", ("event",), ["event", "event"]], ids=repr)
def test_brackets_take_dependencies(queue, program, depends):
    x = zeros(queue, 6)
    e = queue.host_task(int)
    if depends == "event":
        depends = e
    elif depends:
        depends = type(depends)(e for _ in depends)
    program.add_one[usmpy.Range(6), depends](x).wait()
    assert x.tolist() == [1] * 6


def test_a_bound_kernel_is_called_often_also_with_an_iterator_of_events(queue, program):
    x = zeros(queue, 6)
    ran = []
    first = queue.host_task(ran.append, 1)
    launch = program.add_one[6, iter([first])]
    for _ in range(3):
        launch(x)
    assert x.tolist() == [3] * 6
    failed = usmpy.Queue(queue.device).host_task(int, "no number")
    launch = program.add_one[6, iter([failed])]
    for _ in range(2):
        with pytest.raises(usmpy.UsmError, match="not run"):
            launch(x).wait()
    with pytest.raises(usmpy.UsmError, match="not run"):
        queue.wait()
    assert x.tolist() == [3] * 6


def test_an_event_of_the_same_list_at_the_time_of_the_call(queue, program):
    x = zeros(queue, 6)
    events = []
    launch = program.add_one[6, events]
    for _ in range(4):
        events.append(launch(x))
    events[-1].wait()
    assert x.tolist() == [4] * 6


def test_submit_names_the_queue(queue, program):
    other = usmpy.Queue(queue.device)
    x = zeros(other, 6)
    e = other.barrier()
    queue.submit(program.add_one, (x,), 6).wait()
    queue.submit(kernel=program.add_one, args=[x], range=usmpy.Range(6), depends=[e]).wait()
    queue.submit(program.add_one, iter([x]), [3], depends=e).wait()
    assert x.tolist() == [3, 3, 3, 2, 2, 2]
    queue.submit(program.add_one, (x,), range=(3, 1)).wait()  # by name, several ints have one meaning
    assert x.tolist() == [4, 4, 4, 2, 2, 2]


@pytest.mark.parametrize(
    ("positional", "named"), [("", "xya"), ("", "ayx"), ("x", "ya"), ("x", "ay"), ("xy", "a"), ("xya", "")]
)
def test_arguments_by_name(queue, program, positional, named):
    x = usmpy.arange(4, dtype="float32", queue=queue)
    values = {"x": x, "y": zeros(queue, 4, "float32"), "a": 3}
    args = [values[name] for name in positional]
    program.scale[4](*args, **{name: values[name] for name in named}).wait()
    assert values["y"].tolist() == [0, 3, 6, 9]


def test_names_that_are_not_interned_and_many_of_them(queue, program):
    out = zeros(queue, 3)
    values = {"".join(["a", str(i)]): i for i in reversed(range(31))}
    for _ in range(2):
        program.many[3](out, **values).wait()
    assert out.tolist() == [sum((i + 1) * i for i in range(31))] * 3


def test_submit_runs_a_kernel_without_arrays(queue, program):
    queue.submit(program.nothing, (1,), 5).wait()
    queue.submit(program.nothing, [1], usmpy.NdRange(4, 2)).wait()


def test_brackets_find_no_queue_without_arrays(program):
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"queue\.submit"):
        program.nothing[5](1)


def test_a_kernel_without_parameters(queue):
    kernel = usmpy.Program("kernel void empty(void) {}", device=queue.device).empty
    queue.submit(kernel, (), 5).wait()
    queue.submit(kernel, [], usmpy.NdRange(4, 2)).wait()
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"queue\.submit"):
        kernel[5]()


def test_await_a_launch(queue, program):
    x = zeros(queue, 6)

    async def main():
        for _ in range(3):
            await program.add_one[6](x)

    asyncio.run(main())
    assert x.tolist() == [3] * 6


@pytest.mark.parametrize("in_order", [True, False])
def test_times_of_a_launch(device, program, in_order):
    queue = usmpy.Queue(device, profiling=True, in_order=in_order)
    x = zeros(queue, 64, "uint32")
    first = program.spin[64](x, 100_000)
    second = program.spin[64](x, 10)
    second.wait()
    for event in (first, second):
        assert event.submit_time_ns <= event.start_time_ns <= event.end_time_ns
    assert first.end_time_ns > first.start_time_ns
    assert first.end_time_ns <= second.end_time_ns


def test_times_of_many_launches_are_in_their_order(device, program):
    queue = usmpy.Queue(device, profiling=True)
    x = zeros(queue, 64)
    for _ in range(5):
        events = [program.add_one[64](x) for _ in range(50)]
        queue.wait()
        ends = [event.end_time_ns for event in events]
        assert ends == sorted(ends)
        starts = [event.start_time_ns for event in events]
        assert starts == sorted(starts)


# Index spaces.


@pytest.mark.parametrize("shape", [(5,), (1,), (4, 3), (1, 7), (2, 3, 4), (3, 1, 2)], ids=repr)
def test_entry_i_of_the_range_is_get_global_id_i(queue, program, shape):
    out = zeros(queue, int(np.prod(shape)))
    program.ids[usmpy.Range(*shape)](out).wait()
    i, j, k = np.indices(shape + (1,) * (3 - len(shape)))
    expected = (10000 * i + 100 * j + k).ravel(order="F")
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("everything", "local"), [((4, 6), (2, 3)), ((4, 2, 6), (1, 2, 3)), ((8,), (8,)), ((9,), (1,))], ids=repr
)
def test_the_space_in_groups_is_the_same_space(queue, program, everything, local):
    out = zeros(queue, int(np.prod(everything)))
    program.ids[usmpy.NdRange(everything, local)](out).wait()
    i, j, k = np.indices(everything + (1,) * (3 - len(everything)))
    assert out.tolist() == (10000 * i + 100 * j + k).ravel(order="F").tolist()


def test_groups_are_as_they_were_asked_for(queue, program):
    group, local_id, size = (zeros(queue, 12) for _ in range(3))
    program.groups[usmpy.NdRange(12, 4)](group, local_id, size).wait()
    assert group.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert local_id.tolist() == [0, 1, 2, 3] * 3
    assert size.tolist() == [4] * 12


@pytest.mark.parametrize("n", [1, 7, 64, 1000, 4099, 20_000])
def test_default_work_groups_fit(queue, program, n):
    group, local_id, size = (zeros(queue, n) for _ in range(3))
    program.groups[n](group, local_id, size).wait()
    assert (group.asnumpy() * size.asnumpy()[0] + local_id.asnumpy()).tolist() == list(range(n))
    assert n % size.tolist()[0] == 0
    assert size.tolist()[0] <= queue.device.max_work_group_size


def test_a_required_group_needs_not_be_asked_for(queue, program):
    x = zeros(queue, 8)
    program.fours[8](x).wait()
    assert x.tolist() == [4] * 8
    program.fours[usmpy.NdRange(4, 4)](x).wait()


def test_local_memory_of_a_required_group(queue, program):
    x = usmpy.arange(8, dtype="int32", queue=queue)
    program.reverse_fours[8](x, usmpy.LocalMemory(16)).wait()
    program.reverse_fours[usmpy.NdRange(4, 4)](x, usmpy.LocalMemory(16)).wait()
    assert x.tolist() == [0, 1, 2, 3, 7, 6, 5, 4]


def test_local_memory(queue, program):
    x = usmpy.arange(12, dtype="int32", queue=queue)
    program.reverse[usmpy.NdRange(12, 4)](x, usmpy.LocalMemory(16)).wait()
    assert x.tolist() == [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33])
def test_local_memories_of_any_sizes_are_apart_and_aligned(device, queue, built_soon, n):
    source = """
    kernel void f(global int *out, local char *a, local long *b, local char *c, int n) {
        for (int i = 0; i < n; i++) {
            a[i] = i;
            c[i] = i + n;
        }
        b[0] = b[1] = -1;
        for (int i = 0; i < n; i++) {
            out[i] = a[i];
            out[i + n] = c[i];
        }
        out[2 * n] = (ulong)b % sizeof(long);
        out[2 * n + 1] = b[0] == -1 && b[1] == -1;
    }
    """
    out = zeros(queue, 2 * n + 2)
    local = [usmpy.LocalMemory(size) for size in (n, 16, n)]
    usmpy.Program(source, device=device, **built_soon).f[usmpy.NdRange(1, 1)](out, *local, n).wait()
    assert out.tolist() == [*range(2 * n), 0, 1]


def test_a_large_range(queue, program):
    n = 300_001
    x = usmpy.arange(n, dtype="float32", queue=queue)
    y = zeros(queue, n, "float32")
    program.scale[n](x, y, 2).wait()
    assert (y.asnumpy() == 2 * np.arange(n, dtype="float32")).all()


EMPTY = [
    0,
    usmpy.Range(0),
    usmpy.Range(0, 3),
    usmpy.Range((2, 0, 5)),
    usmpy.Range(2**62, 2**62, 0),
    usmpy.NdRange(0, 4),
    usmpy.NdRange((8, 0), (4, 2)),
]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("space", EMPTY, ids=repr)
def test_a_space_without_work_items_runs_nothing(device, program, space, in_order):
    queue = usmpy.Queue(device, in_order=in_order, profiling=True)
    x, nothing = zeros(queue, 6), zeros(queue, 0)
    ran = []
    first = queue.host_task(ran.append, 1)
    event = program.add_one[space, first](x)
    event.wait()
    assert ran == [1]  # the event follows `depends`
    queue.submit(program.add_one, (nothing,), space, depends=event).wait()
    if isinstance(space, usmpy.NdRange):
        program.reverse[space](x, usmpy.LocalMemory(32)).wait()
    program.fours[usmpy.NdRange((0, 3), (4, 1))](x).wait()  # it requires a size of its work-groups
    program.fours[0](x).wait()
    queue.submit(program.nothing, (1,), space).wait()
    assert event.start_time_ns <= event.end_time_ns
    assert x.tolist() == [0] * 6
    assert usmpy.Range(0).size == 0


@pytest.mark.parametrize("space", EMPTY, ids=repr)
def test_a_space_without_work_items_follows_failed_events(device, program, space):
    queue = usmpy.Queue(device)
    x = zeros(queue, 6)
    failed = usmpy.Queue(device).host_task(int, "no number")
    event = program.add_one[space, failed](x)
    with pytest.raises(usmpy.UsmError, match="not run"):
        event.wait()
    assert event.status == "error"
    assert x.tolist() == [0] * 6  # it was to write nothing
    with pytest.raises(usmpy.UsmError):
        queue.wait()
    with pytest.raises(ValueError):
        failed.wait()


@pytest.mark.parametrize("space", EMPTY, ids=repr)
def test_arguments_are_checked_for_a_space_without_work_items(device, queue, program, space):
    x, elsewhere = zeros(queue, 6), usmpy.Queue(device, context=usmpy.Context([device]))
    fixed = x[:]
    fixed.flags.writable = False
    for error, arguments in (
        (TypeError, ()),
        (TypeError, (x, x)),
        (TypeError, (1,)),
        (TypeError, (x.astype("float32"),)),
        (ValueError, (fixed,)),
    ):
        with pytest.raises(error):
            program.add_one[space](*arguments)
    with pytest.raises(OverflowError):
        program.scale[space](zeros(queue, 6, "float32"), zeros(queue, 6, "float32"), 1e300)
    with pytest.raises(usmpy.ExecutionPlacementError):
        elsewhere.submit(program.add_one, (x,), space)
    with pytest.raises(TypeError):
        program.add_one[space, "event"](x)
    if not isinstance(space, usmpy.NdRange):
        with pytest.raises(ValueError, match="LocalMemory needs NdRange"):
            program.reverse[space](x, usmpy.LocalMemory(32))
    with pytest.raises(ValueError, match="more work-items than add_one allows"):
        program.add_one[usmpy.NdRange(0, 2**20)](x)
    assert x.tolist() == [0] * 6


# Arguments.


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_arrays_of_all_kinds(queue, program, usm_type):
    if not getattr(queue.device, f"has_usm_{usm_type}"):
        pytest.skip(f"the device has no {usm_type} memory")
    x = usmpy.zeros(6, dtype="int32", usm_type=usm_type, queue=queue)
    program.add_one[6](x).wait()
    assert x.tolist() == [1] * 6


def test_views_begin_at_their_first_element(queue, program):
    x = usmpy.zeros((4, 3), dtype="int32", queue=queue)
    program.add_one[6](x[1:3])
    program.add_one[12](x.T).wait()
    assert x.tolist() == [[1] * 3, [2] * 3, [2] * 3, [1] * 3]


def test_an_array_without_elements_and_none_are_null_pointers(queue, program):
    out = zeros(queue, 1)
    program.is_null[1](None, out).wait()
    assert out.tolist() == [1]
    program.is_null[1](usmpy.zeros(1, dtype="float32", queue=queue), out).wait()
    assert out.tolist() == [0]
    program.is_null[1](usmpy.zeros(0, dtype="float32", queue=queue), out).wait()
    assert out.tolist() == [1]


class Color(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize("dtype", list(C_TYPES))
def test_numbers_of_all_types_are_converted(queue, program, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("the device has no float64")
    kernel = program[f"put_{dtype}"]
    ctype = {"float32": ctypes.c_float, "float64": ctypes.c_double}.get(dtype) or getattr(
        ctypes, f"c_{dtype}"
    )
    info = None if "float" in dtype else np.iinfo(dtype)
    numbers = [3, True, Color.RED, np.array(3, dtype=dtype), usmpy.DType(dtype).itemsize]
    numbers += [np.dtype(t).type(3) for t in ("bool", *C_TYPES) if info is None or "float" not in t]
    numbers += [getattr(ctypes, f"c_{t}")(3) for t in C_TYPES if "float" not in t] + [ctype(3)]
    numbers += [info.min, info.max] if info else [2.5, np.float16(0.5), ctypes.c_float(-1), float("inf")]
    for number in numbers:
        out = zeros(queue, 2, dtype)
        kernel[2](out, number).wait()
        value = getattr(number, "value", number)
        assert out.tolist() == [value] * 2, number


def test_bytes_are_the_value_itself(queue, program):
    out = zeros(queue, 1, "int32")
    for data in (b"\1\2\3\4", bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4")):
        program.put_int32[1](out, data).wait()
        assert out.tolist() == [0x04030201]


class Record(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float), ("c", ctypes.c_double * 4), ("d", ctypes.c_ubyte))


def test_structures(queue, program):
    if not queue.device.has_fp64:
        pytest.skip("the device has no float64")
    record = Record(7, 0.5, (1, 2, 3, 4), 9)
    numpy_record = np.zeros((), dtype=[("a", "i4"), ("b", "f4"), ("c", "f8", 4), ("d", "u1")], order="C")
    aligned = np.zeros((), dtype=np.dtype(numpy_record.dtype.descr, align=True))
    aligned[()] = (7, 0.5, (1, 2, 3, 4), 9)
    for value in (record, bytes(record), bytearray(record), aligned, aligned[()]):
        out = zeros(queue, 5, "float64")
        program.unpack[1](out, value).wait()
        assert out.tolist() == [7, 0.5, 1, 4, 9]


def test_an_array_module_array_is_bytes_of_a_structure(queue, program):
    if not queue.device.has_fp64:
        pytest.skip("the device has no float64")
    out = zeros(queue, 5, "float64")
    program.unpack[1](out, array.array("B", bytes(Record(1, 2, (3, 0, 0, 4), 5)))).wait()
    assert out.tolist() == [1, 2, 3, 4, 5]


def test_32_parameters(queue, program):
    out = zeros(queue, 3)
    values = list(range(100, 131))
    program.many[3](out, *values).wait()
    assert out.tolist() == [sum((i + 1) * value for i, value in enumerate(values))] * 3


def test_complex_elements_are_pairs_and_bool_elements_bytes(queue, program):
    x = usmpy.full(3, 1 + 2j, dtype="complex64", queue=queue)
    y = zeros(queue, 3, "complex64")
    program.scale[6](x, y, 2).wait()
    assert y.tolist() == [2 + 4j] * 3
    flags = zeros(queue, 3, "bool")
    program.put_uint8[3](flags, 1).wait()
    assert flags.tolist() == [True] * 3


def test_imported_memory(queue, program):
    """NumPy's memory lives on the host's queue: a kernel of that queue takes it as it is."""
    there = np.arange(6, dtype="int32")
    if queue.device.backend != "host":
        x = usmpy.asarray(there, queue=queue)
        program.add_one[6](x).wait()
        assert x.tolist() == [1, 2, 3, 4, 5, 6]
        return
    x = usmpy.from_dlpack(there)
    queue.submit(program.add_one, (x,), 6).wait()
    assert there.tolist() == [1, 2, 3, 4, 5, 6]


# Numbers that would change are refused, and the message says which parameter.

LOST = [
    ("put_int32", 2**31, OverflowError),
    ("put_int32", -(2**31) - 1, OverflowError),
    ("put_uint8", -1, OverflowError),
    ("put_uint8", 256, OverflowError),
    ("put_uint64", 2**64, OverflowError),
    ("put_uint32", np.int64(-1), OverflowError),
    ("put_int8", ctypes.c_int(128), OverflowError),
    ("put_int32", 2.0, TypeError),
    ("put_int32", np.float32(2), TypeError),
    ("put_int32", 1j, TypeError),
    ("put_float32", 2**24 + 1, OverflowError),
    ("put_float32", np.int64(2**53 + 1), OverflowError),
    ("put_float32", 1e300, OverflowError),
    ("put_float32", np.float64(-1e300), OverflowError),
    ("put_float32", 10**400, OverflowError),
    ("put_float32", 1 + 0j, TypeError),
    ("put_float32", fractions.Fraction(1, 2), TypeError),
    ("put_int32", "1", TypeError),
    ("put_int64", np.str_("ab"), TypeError),
    ("put_int32", None, TypeError),
    ("put_int32", [1], TypeError),
    ("put_int32", np.array([1], dtype="int32"), TypeError),
    ("put_int32", np.array([1, 2], dtype="int32"), TypeError),
    ("put_int32", (ctypes.c_int * 1)(1), TypeError),
    ("put_int32", np.datetime64(0, "s"), TypeError),
    ("put_int32", b"\1\2\3", ValueError),
    ("put_int32", b"\1\2\3\4\5", ValueError),
    ("put_int32", b"", ValueError),
    ("put_int32", usmpy.LocalMemory(4), TypeError),
    ("put_int32", object(), TypeError),
]


@together("name, value, error", LOST, thin=True)
def test_values_out_of_range_of_a_parameter_are_refused(queue, program, name, value, error):
    out = zeros(queue, 1, name[4:])
    with pytest.raises(error, match=rf"argument 1 \(v\) of {name}"):
        program[name][1](out, value)
    with pytest.raises(error, match=rf"argument 1 \(v\) of {name}"):
        queue.submit(program[name], (out, value), 1)
    queue.wait()
    assert out.tolist() == [0]


def test_floats_are_rounded_and_not_refused(queue, program):
    out = zeros(queue, 1, "float32")
    program.put_float32[1](out, 0.1).wait()
    assert out.tolist() == [float(np.float32(0.1))]


class Interrupted:
    """An argument whose methods fail in their own way."""

    def __init__(self, error):
        self.error = error

    @property
    def ndim(self):
        raise self.error


class FailsToExport:
    """A scalar of another library."""

    ndim = 0

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **options):
        raise self.error


def test_an_argument_that_cannot_be_exported_is_named_and_has_the_cause(queue, program):
    error = LookupError("mine")
    with pytest.raises(BufferError, match=r"^argument 1 \(\w+\) of .*LookupError: mine$") as caught:
        program.put_int32[1](zeros(queue, 1), FailsToExport(error))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, LookupError])
def test_errors_of_the_argument_are_its_own(queue, program, kind):
    error = kind("mine")
    try:
        with pytest.raises(kind) as caught:
            program.put_int32[1](zeros(queue, 1), Interrupted(error))
        assert caught.value is error
    finally:
        error.__traceback__ = None
        del caught
