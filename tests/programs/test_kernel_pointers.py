"""Kernel.from_pointer: functions in memory as kernels of the host device."""

import ctypes
import gc
import itertools
import random
import threading
import weakref

import pytest

import usmpy

HOST = usmpy.Device("host:cpu:0")
PATIENCE = 60
C = {
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


def ctype(word):
    return ctypes.c_void_p if "*" in word else C[word.split()[0]]


def kernel_of(function, *words, **keywords):
    made = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, *map(ctype, words))(function)
    return usmpy.Kernel.from_pointer(
        ctypes.cast(made, ctypes.c_void_p).value, words, **{"owner": made, **keywords}
    )


@pytest.mark.parametrize("n", [1, 511, 513, 10_000, 100_001])
def test_parts_cover_the_range_once(n):
    parts = []
    kernel = kernel_of(lambda begin, end: parts.append((begin, end)))
    HOST.queue.submit(kernel, (), usmpy.Range(n)).wait(PATIENCE)
    parts.sort()
    assert parts[0][0] == 0
    assert parts[-1][1] == n
    assert all(a[1] == b[0] and a[0] < a[1] for a, b in itertools.pairwise(parts))


@pytest.mark.parametrize("seed", range(12))
def test_values_arrive_in_registers_and_on_the_stack(seed):
    numbers = random.Random(seed)
    count = [0, 1, 6, 8, 9, 15, 16, 20, 24, 30, 31, 32][seed]
    words = [numbers.choice(sorted(C)) for _ in range(count)]
    if seed % 3 == 1:
        words = [numbers.choice(["float32", "float64"]) for _ in words]
    values = [
        numbers.choice([True, False]) if word == "bool"
        else numbers.randint(-1000, 1000) / 4 if "float" in word
        else numbers.randint(0, 255) if word[0] == "u"
        else numbers.randint(-128, 127)
        for word in words
    ]  # fmt: skip
    got = []
    kernel = kernel_of(lambda begin, end, *rest: got.append(rest), *words)
    HOST.queue.submit(kernel, values, 1).wait(PATIENCE)
    assert got == [tuple(values)]


@pytest.mark.parametrize("words", [["int8", "int16", "int32"], ["uint8", "uint16", "uint32"]])
@pytest.mark.parametrize(
    "of", [lambda bits: 0, lambda bits: 1, lambda bits: 2 ** (bits - 1) - 1], ids=[0, 1, "most"]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_small_integers_are_extended_with_their_sign(words, of, sign):
    """To the whole register: compiled functions may rely on it."""
    got = []
    wide = [ctypes.c_size_t] * 2 + [ctypes.c_int64] * len(words)
    made = ctypes.CFUNCTYPE(None, *wide)(lambda begin, end, *rest: got.extend(rest))
    kernel = usmpy.Kernel.from_pointer(ctypes.cast(made, ctypes.c_void_p).value, words, owner=made)
    values = [of(8 * ctypes.sizeof(C[word])) for word in words]
    if words[0] == "int8":
        values = [sign * value - (sign < 0) for value in values]  # -1, and the least
    elif sign < 0:
        values = [
            2 ** (8 * ctypes.sizeof(C[word])) - 1 - value for word, value in zip(words, values, strict=True)
        ]
    HOST.queue.submit(kernel, values, 1).wait(PATIENCE)
    assert got == values


def test_pointers_are_those_of_the_arrays():
    got = []
    kernel = kernel_of(lambda begin, end, *rest: got.extend(rest), "const float32* x", "void* y", "int64* z")
    x = usmpy.zeros(4, dtype="float32", device=HOST)
    y = usmpy.zeros(4, dtype="uint8", device=HOST)
    kernel[4](x, y[1:], None).wait(PATIENCE)
    assert got == [x.data_ptr, y.data_ptr + 1, None]
    with pytest.raises(TypeError, match=r"argument 2 \(z\) of from_pointer"):
        kernel[4](x, y, x)


def test_it_runs_in_every_queue_of_the_host():
    ran = []
    kernel = kernel_of(lambda begin, end, x: ran.append(x), "int32*")
    places = [usmpy.Queue(HOST), usmpy.Queue(HOST, in_order=False)]
    places.append(usmpy.Queue(HOST, context=usmpy.Context([HOST])))
    if HOST.max_compute_units > 1:
        places.append(usmpy.Queue(HOST.create_sub_devices(1)[0]))
    for queue in places:
        x = usmpy.zeros(3, dtype="int32", queue=queue)
        kernel[3](x).wait(PATIENCE)
        assert ran.pop() == x.data_ptr


@pytest.mark.parametrize(
    "device", usmpy.get_devices("opencl"), ids=lambda device: getattr(device, "filter_string", "absent")
)
@pytest.mark.leaves_objects("queues of devices are cached")
def test_it_does_not_run_elsewhere(device):
    kernel = kernel_of(lambda begin, end, x: None, "int32*")
    x = usmpy.zeros(3, dtype="int32", device=device)
    with pytest.raises(usmpy.ExecutionPlacementError, match="was built for host"):
        kernel[3](x)


def test_its_owner_lives_until_the_last_launch_has_ended():
    class Owner:
        pass

    ran = []

    def make():
        owner = Owner()
        owner.function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t)(lambda b, e: ran.append(b))
        address = ctypes.cast(owner.function, ctypes.c_void_p).value
        return usmpy.Kernel.from_pointer(address, [], name="mine", owner=owner), weakref.ref(owner)

    kernel, owner = make()
    queue = usmpy.Queue(HOST)
    gate = threading.Event()
    first = queue.host_task(gate.wait, PATIENCE)
    event = queue.submit(kernel, (), 1, depends=[first])
    again = kernel.with_parameters([])
    assert kernel.name == again.name == "mine"
    assert kernel.program is None
    del kernel, again
    gc.collect()
    assert owner() is not None
    gate.set()
    event.wait(PATIENCE)
    queue.wait()
    assert ran == [0]
    assert owner() is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0, []), ValueError),
        (("f", []), TypeError),
        ((2**70, []), OverflowError),
        ((1, ["float16"]), ValueError),
        ((1, ["complex64"]), ValueError),
        ((1, ["bytes[8]"]), ValueError),
        ((1, ["local int32*"]), ValueError),
        ((1, ["unknown"]), ValueError),
        ((1, ["nonsense"]), ValueError),
        ((1, ["int32"] * 33), ValueError),
        ((1, "int32"), TypeError),
        ((1, [int]), TypeError),
        ((1, None), TypeError),
        ((1,), TypeError),
    ],
)
def test_wrong_arguments(arguments, error):
    with pytest.raises(error):
        usmpy.Kernel.from_pointer(*arguments)


def test_a_name_is_a_str():
    with pytest.raises(TypeError, match="name is an int"):
        usmpy.Kernel.from_pointer(1, [], name=3)


def test_it_knows_neither_groups_nor_more_dimensions():
    kernel = kernel_of(lambda begin, end: None)
    with pytest.raises(ValueError, match=r"the range has 2 dimensions; .* takes 1"):
        HOST.queue.submit(kernel, (), (2, 2))
    with pytest.raises(ValueError, match="work-groups"):
        HOST.queue.submit(kernel, (), usmpy.NdRange(4, 2))


def test_a_name_without_utf8():
    with pytest.raises(UnicodeEncodeError):
        usmpy.Kernel.from_pointer(1, [], name="\udc80")


@pytest.mark.parametrize(
    "word", ["int32*", "int32 *", " int32  * x ", " const int32 * x", "int32 x", "int32  x "]
)
def test_blanks_between_the_words_of_a_parameter(word):
    x = usmpy.ones(1, dtype="int32", device=HOST)
    kernel = kernel_of(lambda begin, end, value: None, word)
    HOST.queue.submit(kernel, (x if "*" in word else 1,), usmpy.Range(1)).wait(PATIENCE)


@pytest.mark.parametrize("count", range(12))
@pytest.mark.parametrize("word", ["int32", "float64"])
def test_each_number_of_values_arrives(word, count):
    """Registers are used up at some number of them, and the next one is the first on the stack."""
    seen = []
    values = [3 + i for i in range(count)]
    kernel = kernel_of(lambda begin, end, *given: seen.append(list(given)), *[word] * count)
    HOST.queue.submit(kernel, values, usmpy.Range(1)).wait(PATIENCE)
    assert seen == [values]


@pytest.mark.parametrize("word", ["float 32 *x", "float32*x", "x" * 40, "x" * 40 + " *y"])
def test_words_that_are_no_parameters(word):
    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    with pytest.raises(ValueError, match="is not known; allowed are pointers"):
        usmpy.Kernel.from_pointer(address, [word], owner=function)


@pytest.mark.parametrize("word", ["float32*", "  const float32 *  ", "float32* x\t"])
def test_blanks_around_parameters(word):
    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, [word], owner=function)
    assert "float32*" in repr(kernel)


@pytest.mark.leaves_objects("queues of devices are cached")
@pytest.mark.parametrize(
    ("word", "value"), [("int8", -1), ("int16", -2), ("int32", -3), ("int32", -(2**31)), ("int32", 5)]
)
def test_small_integers_fill_their_register_with_the_sign(word, value):
    got = []
    # The function reads the whole register, as code does that relies on the caller's extension.
    made = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int64)(
        lambda begin, end, wide: got.append(wide)
    )
    kernel = usmpy.Kernel.from_pointer(ctypes.cast(made, ctypes.c_void_p).value, (word,), owner=made)
    usmpy.Device("host").queue.submit(kernel, (value,), 1).wait(PATIENCE)
    assert got == [value]
