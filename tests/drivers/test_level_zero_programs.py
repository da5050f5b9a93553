"""Programs on Level Zero: specialization constants, binaries, logs, sizes of groups, local memory, limits."""

from __future__ import annotations

import level_zero_drivers
import pytest
import spirv_modules

import usmpy

DEVICES = usmpy.get_devices("level_zero")
pytestmark = [
    pytest.mark.skipif(not DEVICES, reason=level_zero_drivers.ABSENT or "there is no Level Zero device"),
    pytest.mark.leaves_objects("queues of devices are cached"),
]

PLACES = [*DEVICES[:2], *(part for root in DEVICES[:1] for part in root.create_sub_devices(1)[1:2])]
every_place = pytest.mark.parametrize("device", PLACES, ids=lambda device: device.filter_string)


def sums(program):
    x = usmpy.zeros(3, dtype="int32", device=program.device)
    program["add"][3](x, 1).wait()
    return x.tolist()


# Optimised by clang 14, the inner loop branches on a value that a pass has frozen.
MEDIAN = """
kernel void median(global const uchar *source, global uchar *target)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    uchar window[9];
    for (int i = 0; i < 9; i++) {
        int column = clamp(x + i % 3 - 1, 0, width - 1), row = clamp(y + i / 3 - 1, 0, height - 1);
        uchar value = source[row * width + column];
        int place = i;
        for (; place > 0 && window[place - 1] > value; place--)
            window[place] = window[place - 1];
        window[place] = value;
    }
    target[y * width + x] = window[4];
}
"""


def test_the_translator_refuses_the_optimised_form():
    source = usmpy.asarray([[5, 200, 7], [0, 9, 3]], dtype="uint8", device=PLACES[0])
    target = usmpy.empty_like(source)
    usmpy.Program(MEDIAN, device=PLACES[0]).median[usmpy.Range(3, 2)](source, target)
    assert target.tolist() == [[5, 7, 7], [5, 5, 7]]


# Specialization constants: their values are options, as they are compiled into the program.


@every_place
@pytest.mark.parametrize(
    ("options", "more"),
    [
        ("", 43210),
        ("-spec-constant 3=11", 43211),
        ("-spec-constant 3=-10", 43190),
        ("-spec-constant 3=0x20", 43232),
        ("-spec-constant 4=4294967296", 43010),
        ("-spec-constant 4=65536", 43010 + 65536),
        ("-spec-constant 5=1.5", 40211),
        ("-spec-constant 5=2e3", 42210),
        ("-spec-constant 6=0", 3210),
        ("-spec-constant 6=0 -spec-constant 3=1 -ze-opt-disable -spec-constant 5=0  -spec-constant\t4=0", 1),
    ],
)
def test_specialization_constants_are_set_by_options(device, options, more):
    program = usmpy.Program(
        spirv_modules.add(constants=True), device=device, language="spirv", options=options
    )
    assert sums(program) == [more + 1] * 3


def test_one_module_with_other_constants_is_another_program():
    module = spirv_modules.add(constants=True)
    found = [
        sums(usmpy.Program(module, device=PLACES[0], language="spirv", options=f"-spec-constant 3={n}"))[0]
        for n in (1, 2, 1, 3)
    ]
    assert found == [43202, 43203, 43202, 43204]


# Binaries.


@every_place
def test_a_native_binary_has_the_constants_and_the_parameters(device):
    module = spirv_modules.add(constants=True)
    program = usmpy.Program(module, device=device, language="spirv", options="-spec-constant 3=77")
    again = usmpy.Program(program.binary, device=device, language="native")
    assert again.kernel_names == ["add"]
    # Of a binary the driver tells the number of its parameters alone.
    x = usmpy.zeros(3, dtype="int32", device=device)
    again.add.with_parameters(["int32*", "int32"])[3](x, 1).wait()
    assert x.tolist() == [43278] * 3
    assert usmpy.Program(again.binary, device=device, language="native").binary == again.binary


# Logs.


def test_a_build_error_has_the_driver_s_log():
    """A module that is whole, of which an instruction asks for a type that is not there."""
    module = bytearray(spirv_modules.add())
    at = module.index(bytes.fromhex("3e00"), 20)  # OpFunctionParameter's opcode is 55, OpStore's 62
    module[at + 4 : at + 8] = (16).to_bytes(4, "little")
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(bytes(module), device=PLACES[0], language="spirv")
    assert caught.value.backend == "level_zero"
    assert caught.value.name == "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"
    assert caught.value.log
    assert "does not build this program: zeModuleCreate returned" in str(caught.value)


# Groups.

GROUPS = """
kernel void sizes(global uint *sizes, global uint *counts) {
    size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    sizes[i] = get_local_size(0) * 65536 + get_local_size(1);
    atomic_inc(&counts[i]);
}
"""


@every_place
@pytest.mark.parametrize("size", [(1,), (7,), (1009,), (4096,), (100_000,), (33, 5), (64, 64)])
def test_suggested_groups_divide_the_range(device, size):
    kernel = usmpy.Program(GROUPS, device=device).sizes
    n = size[0] * (size[1] if len(size) > 1 else 1)
    sizes, counts = (usmpy.zeros(n, dtype="uint32", device=device) for _ in range(2))
    kernel[usmpy.Range(*size)](sizes, counts)
    assert set(counts.tolist()) == {1}
    group = set(sizes.tolist())
    assert len(group) == 1  # no group is smaller than the others
    first, second = divmod(group.pop(), 65536)
    assert size[0] % first == 0
    assert (size[1] if len(size) > 1 else 1) % second == 0
    assert first * second <= device.max_work_group_size
    if n == 4096:
        assert first * second >= 8  # the driver's word, and not one by one


LOCAL = """
kernel void sums(global const int *x, global int *out, local int *scratch) {
    size_t i = get_local_id(0), n = get_local_size(0);
    scratch[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = n / 2; step > 0; step /= 2) {
        if (i < step) scratch[i] += scratch[i + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0) out[get_group_id(0)] = scratch[0];
}
"""


@every_place
@pytest.mark.parametrize("local", [1, 16, 256])
def test_local_memory_of_a_size_given_at_the_launch(device, local):
    kernel = usmpy.Program(LOCAL, device=device).sums
    x = usmpy.arange(1024, dtype="int32", device=device)
    out = usmpy.zeros(1024 // local, dtype="int32", device=device)
    kernel[usmpy.NdRange((1024,), (local,))](x, out, usmpy.LocalMemory(4 * local))
    assert out.tolist() == [sum(range(i, i + local)) for i in range(0, 1024, local)]


def test_limits_of_a_launch_are_named():
    device = PLACES[0]
    program = usmpy.Program(LOCAL + GROUPS, device=device)
    x = usmpy.zeros(4096, dtype="int32", device=device)
    y = usmpy.zeros(4096, dtype="uint32", device=device)
    z = usmpy.zeros(4096, dtype="uint32", device=device)
    most, local = device.max_work_group_size, device.local_mem_size
    with pytest.raises(ValueError, match=f"{most}"):
        program.sizes[usmpy.NdRange((2 * most,), (2 * most,))](y, z)
    with pytest.raises(ValueError, match=f"{local}"):
        program.sums[usmpy.NdRange((16,), (16,))](x, x[:16], usmpy.LocalMemory(local + 4))
    program.sums[usmpy.NdRange((16,), (16,))](x, x[:16], usmpy.LocalMemory(local)).wait()


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_more_groups_than_the_device_counts_are_refused(dimension):
    """Their numbers have 32 bits; in the first dimension the groups are of 256 work-items."""
    kernel = usmpy.Program("kernel void none(global int *x) {}", device=PLACES[0]).none
    x = usmpy.zeros(1, dtype="int32", device=PLACES[0])
    sizes = [1, 1, 1]
    sizes[dimension] = 1 << 42
    with pytest.raises(ValueError, match=f"groups of .* along dimension {dimension} are more than the 42949"):
        kernel[usmpy.Range(*sizes)](x)
    kernel[usmpy.Range(3)](x).wait()
