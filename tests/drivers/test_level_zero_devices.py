"""Root devices and their parts in each hierarchy, and what hides some; each in a process of its own."""

from __future__ import annotations

import ast
import shutil

import level_zero_drivers
import pytest
from level_zero_processes import needs_driver, run

pytestmark = needs_driver

LIST = """
def facts(device):
    return (device.filter_string, device.name[-1], device.max_compute_units, device.dlpack_device,
            device.global_mem_size >> 20, str(device.uuid)[-8:])
roots = usmpy.get_devices("level_zero")
units = roots[0].max_compute_units // int(os.environ["PARTS"])
parts = [part for root in roots for part in root.create_sub_devices(units)]
for device in [*roots, *parts]:
    again = usmpy.Device(device.filter_string)
    assert again == device and again.queue is device.queue and again.info() == device.info()
    same = [device, device.parent] if device.parent and units == device.parent.max_compute_units else [device]
    assert usmpy.Device.from_native("level_zero", device.native_handle) in same  # one handle: the whole
    array = usmpy.arange(1000, dtype="int32", device=device)
    assert array.device == device and int(array[-1]) == 999
    assert array.__dlpack_device__() == device.dlpack_device
assert [part.parent for part in parts] == [root for root in roots for _ in range(int(os.environ["PARTS"]))]
for part in parts:
    assert part.parent.parent is None
    assert part.uuid != part.parent.uuid or units == part.parent.max_compute_units
print([facts(device) for device in roots])
print([facts(device) for device in parts])
"""


def listed(parts, **variables):
    """The lists of get_devices() and create_sub_devices(), without and with the device's names."""
    lines = run(LIST, PARTS=str(parts), ZESIM_UNITS="4", ZESIM_MEMORY_MIB="64", **variables)
    return [ast.literal_eval(line) for line in lines.splitlines()]


def names(found):
    return [name for name, *_ in found]


@pytest.mark.parametrize("hierarchy", [None, "COMPOSITE"])
def test_composite_shows_cards_and_tiles_as_their_parts(hierarchy):
    roots, parts = listed(2, ZE_FLAT_DEVICE_HIERARCHY=hierarchy)
    assert [fact[:5] for fact in roots] == [
        ("level_zero:gpu:0", "0", 8, (14, 0), 64),
        ("level_zero:gpu:1", "1", 8, (14, 1), 64),
    ]
    assert [fact[:5] for fact in parts] == [
        (f"level_zero:gpu:{card}.{tile}@4", str(card), 4, (14, card), 32)
        for card in range(2)
        for tile in range(2)
    ]
    assert len({fact[5] for fact in roots + parts}) == 6


@pytest.mark.parametrize("hierarchy", ["FLAT", "COMBINED"])
def test_flat_and_combined_show_each_tile_as_a_root_device(hierarchy):
    roots, parts = listed(1, ZE_FLAT_DEVICE_HIERARCHY=hierarchy)
    assert [fact[:5] for fact in roots] == [
        (f"level_zero:gpu:{i}", str(i // 2), 4, (14, i), 32) for i in range(4)
    ]
    assert len({fact[5] for fact in roots}) == 4
    # Of one piece: the whole is its only part.
    assert names(parts) == [f"level_zero:gpu:{i}.0@4" for i in range(4)]


@pytest.mark.parametrize(
    ("hierarchy", "mask", "expected"),
    [
        ("COMPOSITE", "1", [("level_zero:gpu:0", "1", 8)]),
        ("COMPOSITE", "1.0", [("level_zero:gpu:0", "1", 4)]),
        ("COMPOSITE", "1.1,0", [("level_zero:gpu:0", "0", 8), ("level_zero:gpu:1", "1", 4)]),
        ("FLAT", "0,3", [("level_zero:gpu:0", "0", 4), ("level_zero:gpu:1", "1", 4)]),
        ("COMBINED", "2", [("level_zero:gpu:0", "1", 4)]),
    ],
)
def test_the_affinity_mask_selects_the_named_devices(hierarchy, mask, expected):
    program = (
        "print([(d.filter_string, d.name[-1], d.max_compute_units) for d in usmpy.get_devices('level_zero')])"
    )
    text = run(program, ZE_FLAT_DEVICE_HIERARCHY=hierarchy, ZE_AFFINITY_MASK=mask, ZESIM_UNITS="4")
    assert ast.literal_eval(text) == expected


def test_sizes_that_are_no_tiles_are_refused_with_those_that_exist():
    run(
        """
        def refusal(device, units):
            try:
                device.create_sub_devices(units)
            except ValueError as error:
                return str(error)
        root, flat = usmpy.get_devices("level_zero")[0], os.environ["ZE_FLAT_DEVICE_HIERARCHY"] == "FLAT"
        assert [len(root.create_sub_devices(units)) for units in (16, 4)] == [1, 4]
        assert "can only be split into 4 parts of 4 compute units" in refusal(root, 3)
        assert "can only be split into 4 parts of 4 compute units" in refusal(root, 8)
        part = root.create_sub_devices(4)[2]
        assert "is one piece" in refusal(part, 2)
        assert part.create_sub_devices(4)[0].parent == part
        """,
        ZESIM_SUB_DEVICES="4",
        ZESIM_UNITS="4",
        ZE_FLAT_DEVICE_HIERARCHY="COMPOSITE",
    )
    run(
        """
        root = usmpy.get_devices("level_zero")[5]
        try:
            root.create_sub_devices(2)
        except ValueError as error:
            assert "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE shows tiles as parts" in str(error)
        else:
            raise AssertionError
        """,
        ZESIM_SUB_DEVICES="4",
        ZESIM_UNITS="4",
        ZE_FLAT_DEVICE_HIERARCHY="FLAT",
    )


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "level_zero:gpu:0"),
        ({"USMPY_DEVICE": "level_zero:gpu:1"}, "level_zero:gpu:1"),
        ({"USMPY_DEVICE": "level_zero:gpu:1.0@4"}, "level_zero:gpu:1.0@4"),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:1"}, "level_zero:gpu:1"),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu;host:*"}, "level_zero:gpu:0"),
        ({"ONEAPI_DEVICE_SELECTOR": "host:*"}, "host:cpu:0"),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:1", "USMPY_DEVICE": "level_zero:0"}, "level_zero:gpu:0"),
    ],
)
def test_the_default_device_follows_the_environment(variables, expected):
    program = "print(usmpy.select_default_device().filter_string, usmpy.empty(3).device.filter_string)"
    without = {"USMPY_DEVICE": None, "CUDA_VISIBLE_DEVICES": "", "USMPY_CUDA_LIBRARY": None}
    assert run(program, **{**without, "ZESIM_UNITS": "4", **variables}).split() == [expected, expected]


@pytest.mark.parametrize(("kind", "type_name"), [("npu", "accelerator"), ("cpu", "cpu")])
def test_drivers_of_other_types_of_devices(kind, type_name):
    run(
        f"""
        first, second = usmpy.get_devices("level_zero")
        assert first.filter_string == "level_zero:{type_name}:0"
        assert usmpy.get_devices("level_zero", "{type_name}") == [first, second]
        assert usmpy.get_devices("level_zero", "gpu") == []
        assert usmpy.ones(5, dtype="int32", device=first).tolist() == [1] * 5
        """,
        ZESIM_TYPE=kind,
    )


def test_two_drivers_have_one_list_and_no_common_context(tmp_path):
    """The same library under another name is another driver to the loader."""
    other = tmp_path / "libze_other.so"
    shutil.copy(level_zero_drivers.LIBRARY, other)
    run(
        """
        devices = usmpy.get_devices("level_zero")
        assert [device.dlpack_device for device in devices] == [(14, i) for i in range(4)]
        assert [device.name[-1] for device in devices] == ["0", "1", "0", "1"]
        try:
            usmpy.Context([devices[0], devices[2]])
        except ValueError as error:
            assert "devices[1] and devices[0] are of different drivers" in str(error)
        else:
            raise AssertionError
        assert usmpy.memory_connection(devices[0], devices[2]) == usmpy.MemoryConnection.NONE
        a = usmpy.arange(100_000, dtype="int64", device=devices[1])
        b = a.to_device(devices[2])
        c = usmpy.empty_like(a, device=devices[1])
        usmpy.copyto(c, b.to_device(devices[1]))
        assert b.device == devices[2] and b.asnumpy().sum() == 100_000 * 99_999 // 2
        assert c.asnumpy()[-1] == 99_999
        for device in devices:
            source = "kernel void f(global int *x) { x[get_global_id(0)] += 1; }"
            program = usmpy.Program(source, device=device)
            x = usmpy.zeros(10, dtype="int32", device=device)
            program.f[usmpy.Range(10)](x)
            assert x.tolist() == [1] * 10
        """,
        ZE_ENABLE_ALT_DRIVERS=f"{level_zero_drivers.LIBRARY},{other}",
    )
