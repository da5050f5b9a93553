"""Device: what it says of itself, how it is named, when two are equal, its parts."""

import ast
import re
from pathlib import Path

import pytest
from together import together

import usmpy

TYPES = {"_Backend": "str", "_DeviceType": "str", "_CacheType": "str"}
BACKENDS = {"host": "the host", "opencl": "OpenCL", "level_zero": "Level Zero", "cuda": "CUDA", "minimal": ""}
NOT_IN_INFO = {"queue", "context", "native_handle", "parent", "platform"}


def facts():
    """{property of Device that is in info(): (its class, the sentence about None)}, from the stub."""
    stub = ast.parse(Path(usmpy.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    (device,) = (node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Device")
    for node in device.body:
        if not isinstance(node, ast.FunctionDef) or node.name in NOT_IN_INFO:
            continue
        if [ast.unparse(decorator) for decorator in node.decorator_list] == ["property"]:
            kind, optional, _ = ast.unparse(node.returns).partition(" | None")
            kind = TYPES.get(kind, kind).partition("[")[0].rpartition(".")[2]
            said = " ".join(ast.get_docstring(node).split())
            yield node.name, (kind, re.search(r"None (?:on|if|for) [^.]*|$", said)[0] if optional else None)


FACTS = dict(facts())


# SYCL 2020, 4.6.4.5, and dpctl's names behind has_aspect_.
ASPECTS = [
    *("cpu", "gpu", "accelerator", "custom", "fp16", "fp64", "atomic64", "image"),
    *("online_compiler", "online_linker", "queue_profiling", "host_debuggable", "emulated"),
    *(f"usm_{kind}_allocations" for kind in ("device", "host", "shared", "system")),
    *(f"usm_atomic_{kind}_allocations" for kind in ("host", "shared")),
]


@together("name", FACTS)
def test_a_fact_has_its_type_and_is_in_info(device, name):
    """None stands for a fact that a backend does not tell, if the docstring names the backend."""
    value, (kind, untold) = getattr(device, name), FACTS[name]
    assert device.info()[name] == value
    if value is None and untold is not None:
        assert BACKENDS[device.backend] in untold
        return
    assert type(value).__name__ == kind
    if kind == "int":
        assert 0 <= value < 1 << 40 or untold is None


def test_info_has_exactly_the_facts(device):
    assert set(device.info()) == set(FACTS)


def test_limits_are_plausible(device):
    assert device.max_work_item_dims >= 3
    assert len(device.max_work_item_sizes) == 3
    assert all(1 <= size <= 1 << 31 for size in device.max_work_item_sizes)
    assert max(device.max_work_item_sizes) <= device.max_work_group_size <= 1 << 20
    assert device.address_bits in (32, 64)
    assert device.global_mem_cache_type in (None, "none", "read_only", "read_write")
    assert device.max_clock_frequency is None or 100 <= device.max_clock_frequency <= 20_000
    assert device.partition_max_sub_devices <= device.max_compute_units
    sizes = device.sub_group_sizes
    if device.max_num_sub_groups is not None and sizes:
        assert (
            device.max_num_sub_groups * max(sizes) >= device.max_work_group_size >= device.max_num_sub_groups
        )
    for word, aspect in (("double", "fp64"), ("half", "fp16")):
        width = getattr(device, f"native_vector_width_{word}")
        assert width is None or (width > 0) == device.has_aspect(aspect)


# Aspects.


def test_aspects_agree_with_properties(device):
    assert device.aspects <= set(ASPECTS)
    assert device.device_type in device.aspects
    assert len(device.aspects & {"cpu", "gpu", "accelerator"}) == 1
    for aspect, name in {
        "fp16": "has_fp16",
        "fp64": "has_fp64",
        "usm_device_allocations": "has_usm_device",
        "usm_shared_allocations": "has_usm_shared",
        "usm_host_allocations": "has_usm_host",
        "usm_system_allocations": "has_usm_system",
    }.items():
        assert device.has_aspect(aspect) is getattr(device, name) is (aspect in device.aspects)
    assert device.has_aspect("queue_profiling")
    assert device.has_aspect("image") == (device.image_2d_max_width > 0)


@together("aspect", ASPECTS)
def test_each_aspect_has_an_answer(device, aspect):
    assert device.has_aspect(aspect) is (aspect in device.aspects)


@pytest.mark.parametrize("aspect", ["", "FP64", "fp64 ", "has_aspect_fp64", "nonsense", "cpu\0"])
def test_words_that_are_no_aspect(device, aspect):
    with pytest.raises(ValueError, match="aspect is") as caught:
        device.has_aspect(aspect)
    assert all(name in str(caught.value) for name in ASPECTS)


@pytest.mark.parametrize("aspect", [None, 1, b"fp64", ["fp64"]])
def test_an_aspect_of_a_wrong_type(device, aspect):
    with pytest.raises(TypeError, match="aspect"):
        device.has_aspect(aspect)


# Platforms.


def test_a_platform_has_name_vendor_and_version(device):
    platform = device.platform
    name, vendor, version = platform
    assert (platform.name, platform.vendor, platform.version) == (name, vendor, version)
    assert all(type(text) is str for text in platform)
    assert name.strip() == name != ""
    assert version
    assert platform == device.platform
    assert hash(platform) == hash(device.platform)
    assert usmpy.Device(f"{device.backend}[{name}]").platform.name == name


# Comparison without the queue.


def test_the_same_device_on_another_queue(device, queue):
    array = usmpy.empty(1, queue=queue)
    for other in (device, device.filter_string, queue, queue.device, array, array.device, device.queue):
        assert device.same_device(other) is True
    assert queue.device != device
    assert queue.device.same_device(other=device) is True
    assert usmpy.Device(device.filter_string).same_device(device)
    others = [each for each in usmpy.get_devices() if each.filter_string != device.filter_string]
    assert not any(device.same_device(each) for each in others)


def test_a_part_is_another_device(device):
    if device.partition_max_sub_devices == 0:
        with pytest.raises(usmpy.UsmError if device.backend == "opencl" else ValueError):
            device.create_sub_devices(1 if device.max_compute_units > 1 else 2)
        return
    part = device.create_sub_devices(device.max_compute_units)[0]
    assert not part.same_device(device)
    assert part.same_device(usmpy.Queue(part))


@pytest.mark.parametrize("other", [1, object(), [], b"cpu"])
def test_same_device_of_other_objects(device, other):
    with pytest.raises(TypeError, match="other"):
        device.same_device(other)


def test_facts_are_plausible(device):
    assert device.backend in BACKENDS
    assert device.device_type in ("cpu", "gpu", "accelerator")
    assert device.name.strip() == device.name != ""
    assert device.vendor
    assert device.driver_version
    assert device.max_compute_units >= 1
    assert device.max_work_group_size >= 1
    assert all(type(size) is int and size >= 1 for size in device.sub_group_sizes)
    assert device.global_mem_size >= device.max_alloc_size >= 1 << 20
    assert device.local_mem_size >= 1024
    assert device.uuid.int != 0
    assert len(device.dlpack_device) == 2


@together("name", [*FACTS, "queue", "context", "parent", "platform"])
def test_facts_are_read_only(device, name):
    with pytest.raises(AttributeError):
        setattr(device, name, None)


def test_facts_do_not_change(device):
    assert device.info() == device.info()


def test_filter_string_makes_the_same_device(device):
    again = usmpy.Device(device.filter_string)
    assert again == device
    assert hash(again) == hash(device)
    assert again.filter_string == device.filter_string
    assert again.queue is device.queue


def test_filter_string_starts_with_backend_and_type(device):
    assert device.filter_string.startswith(f"{device.backend}:{device.device_type}:")


def test_filter_string_is_not_about_letter_case(device):
    assert usmpy.Device(device.filter_string.upper()) == device


def test_a_device_is_taken_for_itself(device):
    assert usmpy.Device(device) is device
    assert usmpy.Device.create_device(device) is device


def test_repr_names_the_device(device):
    assert device.filter_string in repr(device)
    assert device.name in repr(device)


def test_device_is_not_equal_to_other_things(device):
    assert device != device.filter_string
    assert device != None  # noqa: E711
    assert device != device.queue
    with pytest.raises(TypeError):
        _ = device < device


def test_cached_queue_is_one_object(device):
    assert device.queue is device.queue
    assert device.queue is usmpy.Device(device.filter_string).queue
    assert device.queue.device == device


def test_a_queue_of_its_own_makes_another_placement(device, queue):
    placed = usmpy.Device.create_device(queue)
    assert placed.queue == queue
    assert placed != device
    assert placed == usmpy.Device.create_device(queue) == queue.device
    assert hash(placed) == hash(queue.device)
    assert placed.filter_string == device.filter_string
    assert repr(placed) != repr(device)


def test_create_device_of_an_array_lands_beside_it(device, queue):
    array = usmpy.empty(3, queue=queue)
    assert usmpy.Device.create_device(array) == array.device
    assert usmpy.zeros(3, device=array.device).queue == queue
    assert usmpy.zeros(3, device=usmpy.Device.create_device(array)).queue == queue


def test_create_device_of_a_string_is_the_device(device):
    assert usmpy.Device.create_device(device.filter_string) == device


def test_create_device_of_none_is_the_default():
    assert usmpy.Device.create_device() == usmpy.Device.create_device(None) == usmpy.select_default_device()


def test_a_placement_keeps_its_queue(device):
    placed = usmpy.Queue(device, profiling=True).device
    assert placed.queue.profiling


def test_placements_are_hashable_and_differ(device):
    queues = [usmpy.Queue(device) for _ in range(3)]
    assert len({device, *(queue.device for queue in queues)}) == 4
    assert len({usmpy.Device(device.filter_string), device}) == 1


def test_context_is_the_platforms_default(device):
    assert device.context == device.context
    assert hash(device.context) == hash(device.context)
    assert device.context.is_default or device.parent is not None
    assert device.queue.context == device.context


# Parts.


def test_units_of_parts_add_up(device):
    for units in {1, device.max_compute_units}:
        parts = device.create_sub_devices(units)
        assert len(parts) == device.max_compute_units // units
        assert [part.max_compute_units for part in parts] == [units] * len(parts)


def test_parts_are_the_same_each_time(device):
    first, second = device.create_sub_devices(1), device.create_sub_devices(1)
    assert first == second
    assert [hash(part) for part in first] == [hash(part) for part in second]
    assert len(set(first)) == len(first)


def test_a_part_knows_its_parent(device):
    part = device.create_sub_devices(1)[-1]
    assert part.parent == device
    assert part != device
    assert part.backend == device.backend
    assert part.device_type == device.device_type


def test_filter_string_of_a_part_makes_it_again(device):
    for part in device.create_sub_devices(1):
        assert usmpy.Device(part.filter_string) == part
        assert part.filter_string.startswith(device.filter_string + ".")


def test_a_part_of_a_part(device):
    part = device.create_sub_devices(device.max_compute_units)[0]
    inner = part.create_sub_devices(1)[0]
    assert inner.parent == part
    assert inner.max_compute_units == 1
    assert usmpy.Device(inner.filter_string) == inner


def test_a_part_computes(device):
    part = device.create_sub_devices(1)[0]
    array = usmpy.full(1000, 7, device=part)
    assert array.device == part
    assert array.queue == part.queue
    assert array.tolist() == [7] * 1000


def test_a_part_is_exported_as_its_parent(device):
    part = device.create_sub_devices(1)[0]
    assert part.dlpack_device == device.dlpack_device


@pytest.mark.parametrize("units", [0, -1, 1 << 40, 1 << 100])
def test_units_out_of_range(device, units):
    with pytest.raises(ValueError, match="units"):
        device.create_sub_devices(units)


def test_more_units_than_there_are(device):
    with pytest.raises(ValueError, match=f"1 to {device.max_compute_units}"):
        device.create_sub_devices(device.max_compute_units + 1)


@pytest.mark.parametrize("units", [1.0, "1", None, [1]])
def test_units_of_a_wrong_type(device, units):
    with pytest.raises(TypeError, match="units"):
        device.create_sub_devices(units)


def test_a_root_device_has_no_parent(device):
    root = device
    while root.parent is not None:
        root = root.parent
    assert root in usmpy.get_devices()


# What is no device.


@pytest.mark.parametrize("selector", [1, 1.5, b"gpu", ["gpu"], object()])
def test_a_selector_of_a_wrong_type(selector):
    with pytest.raises(TypeError, match="selector"):
        usmpy.Device(selector)


@pytest.mark.parametrize("placement", [1, 1.5, b"gpu", ["gpu"], object()])
def test_create_device_of_a_wrong_type(placement):
    with pytest.raises(TypeError, match="obj"):
        usmpy.Device.create_device(placement)


def test_device_does_not_take_queues(queue):
    with pytest.raises(TypeError, match="create_device"):
        usmpy.Device(queue)


def test_device_cannot_be_subclassed():
    with pytest.raises(TypeError):
        type("Mine", (usmpy.Device,), {})
