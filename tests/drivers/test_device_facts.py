"""What devices report is what their drivers say: each fact by itself, also those that few ask for."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from pathlib import Path

import another
import cuda_drivers
import level_zero_drivers
import level_zero_processes
import pytest
from backends import BACKENDS, Absent

import usmpy

LIST = "import usmpy; print([device.info() for device in usmpy.get_devices({!r})])"
NAMES = {"frozenset": frozenset, "UUID": str}
IEEE = frozenset(["denorm", "inf_nan", "round_to_nearest", "round_to_zero", "round_to_inf", "fma"])
KINDS = ["usm_device_allocations", "usm_host_allocations", "usm_shared_allocations"]
COMPILES = ["online_compiler", "online_linker", "queue_profiling", "atomic64"]
ROUNDED = IEEE | {"correctly_rounded_divide_sqrt"}
WIDTHS = [f"{kind}_vector_width_{name}" for kind in ("native", "preferred")
          for name in ("char", "short", "int", "long", "float", "double", "half")]  # fmt: skip


def listed(backend, environment):
    """What the devices of a process with this environment say."""
    return eval(another.run(LIST.format(backend), environment), dict(NAMES))


def check(found, wanted):
    assert {name: found[name] for name in wanted} == wanted


# The values are those of tests/cuda_driver/device.c.
CUDA = {
    "name": "CUDA in software 1",
    "vendor": "NVIDIA",
    "driver_version": "12.4",
    "filter_string": "cuda:gpu:1",
    "device_type": "gpu",
    "dlpack_device": (2, 1),
    "uuid": "75736d70-792d-6375-6461-73696d2d0031",
    "max_compute_units": 4,
    "max_work_group_size": 1024,
    "max_work_item_dims": 3,
    "max_work_item_sizes": (1024, 1024, 64),
    "sub_group_sizes": (32,),
    "max_num_sub_groups": 32,
    "sub_group_independent_forward_progress": True,
    "global_mem_size": 3 << 30,
    "max_alloc_size": 3 << 30,
    "local_mem_size": 163 << 10,
    "global_mem_cache_type": "read_write",
    "global_mem_cache_size": 4 << 20,
    "global_mem_cache_line_size": None,
    "max_clock_frequency": 1000,
    "address_bits": 64,
    "partition_max_sub_devices": 0,
    "profiling_timer_resolution": None,
    "image_2d_max_width": 0,
    "max_read_image_args": None,
    "has_fp16": True,
    "has_fp64": True,
    "single_fp_config": ROUNDED,
    "has_usm_device": True,
    "has_usm_host": True,
    "has_usm_shared": True,
    "has_usm_system": False,
    "aspects": frozenset(["gpu", "fp16", "fp64", *COMPILES, *KINDS, "usm_atomic_shared_allocations"]),
    **dict.fromkeys(WIDTHS),
}

needs_cuda = pytest.mark.skipif(
    cuda_drivers.missing() is not None, reason=cuda_drivers.missing() or "there is one"
)
runs_another = pytest.mark.not_sanitized("it runs another program")


@needs_cuda
@runs_another
def test_facts_of_a_cuda_device():
    first, second = listed("cuda", cuda_drivers.environment(memory=3 << 30, version=12040))
    check(second, CUDA)
    other = {"name": "CUDA in software 0", "filter_string": "cuda:gpu:0", "dlpack_device": (2, 0)}
    check(first, {**CUDA, **other, "uuid": CUDA["uuid"][:-1] + "0"})


@needs_cuda
@runs_another
def test_facts_of_an_older_cuda_device():
    environment = cuda_drivers.environment(managed=0, pageable=1, cc=60, devices=1, kilohertz=0)
    (only,) = listed("cuda", environment)
    aspects = CUDA["aspects"] - {"usm_shared_allocations", "usm_atomic_shared_allocations"}
    check(
        only,
        {
            "sub_group_independent_forward_progress": False,
            "max_clock_frequency": None,
            "has_usm_shared": False,
            "has_usm_system": True,
            "aspects": aspects | {"usm_system_allocations"},
        },
    )


# The values are those of tests/level_zero_driver/device.c.
LEVEL_ZERO = {
    "name": "Software Level Zero device 1",
    "vendor": "Intel(R) Corporation",
    "driver_version": "1.0.0",
    "filter_string": "level_zero:gpu:1",
    "device_type": "gpu",
    "dlpack_device": (14, 1),
    "uuid": "75736d70-797a-6573-696d-000001000000",
    "max_compute_units": 6,
    "max_work_group_size": 1024,
    "max_work_item_dims": 3,
    "max_work_item_sizes": (1024, 1024, 1024),
    "sub_group_sizes": (8, 16, 32),
    "max_num_sub_groups": 128,
    "sub_group_independent_forward_progress": None,
    "global_mem_size": 64 << 20,
    "max_alloc_size": 16 << 20,
    "local_mem_size": 32 << 10,
    "global_mem_cache_type": "read_write",
    "global_mem_cache_size": 4 << 20,
    "global_mem_cache_line_size": None,
    "max_clock_frequency": 1000,
    "address_bits": 64,
    "partition_max_sub_devices": 2,
    "profiling_timer_resolution": 80,
    "image_2d_max_width": 0,
    "image_3d_max_depth": 0,
    "image_max_buffer_size": 0,
    "max_read_image_args": 0,
    "max_write_image_args": 0,
    "has_fp16": False,
    "has_fp64": True,
    "single_fp_config": ROUNDED,
    "has_usm_device": True,
    "has_usm_host": True,
    "has_usm_shared": True,
    "has_usm_system": False,
    "aspects": frozenset(
        ["gpu", "fp64", *COMPILES, *KINDS, "usm_atomic_host_allocations", "usm_atomic_shared_allocations"]
    ),
    **dict.fromkeys(WIDTHS),
}
SETTINGS = {"ZESIM_UNITS": "3", "ZESIM_MEMORY_MIB": "64", "ZESIM_MAX_ALLOC_MIB": "16", "ZESIM_RELAXED": "0"}

needs_level_zero = pytest.mark.skipif(
    level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "there is one"
)


@needs_level_zero
@runs_another
def test_facts_of_a_level_zero_device():
    first, second = listed("level_zero", level_zero_processes.environment(**SETTINGS))
    check(second, LEVEL_ZERO)
    check(first, {"dlpack_device": (14, 0), "uuid": "75736d70-797a-6573-696d-000000000000"})


@needs_level_zero
@runs_another
def test_facts_of_a_level_zero_device_without_double_precision():
    settings = {**SETTINGS, "ZESIM_FP64": "0", "ZESIM_RELAXED": "1", "ZESIM_DEVICES": "1"}
    (only,) = listed("level_zero", level_zero_processes.environment(**settings, ZESIM_SUB_DEVICES="0"))
    check(
        only,
        {
            "has_fp64": False,
            "single_fp_config": IEEE,
            "max_alloc_size": 64 << 20,
            "partition_max_sub_devices": 0,
            "max_compute_units": 3,
            "aspects": LEVEL_ZERO["aspects"] - {"fp64"},
        },
    )


# OpenCL: what clGetDeviceInfo answers (the constants of CL/cl.h).
NUMBERS = {
    "max_compute_units": 0x1002,
    "max_work_item_dims": 0x1003,
    "max_work_group_size": 0x1004,
    "preferred_vector_width_char": 0x1006,
    "preferred_vector_width_short": 0x1007,
    "preferred_vector_width_int": 0x1008,
    "preferred_vector_width_long": 0x1009,
    "preferred_vector_width_float": 0x100A,
    "preferred_vector_width_double": 0x100B,
    "preferred_vector_width_half": 0x1034,
    "native_vector_width_char": 0x1036,
    "native_vector_width_short": 0x1037,
    "native_vector_width_int": 0x1038,
    "native_vector_width_long": 0x1039,
    "native_vector_width_float": 0x103A,
    "native_vector_width_double": 0x103B,
    "native_vector_width_half": 0x103C,
    "address_bits": 0x100D,
    "max_read_image_args": 0x100E,
    "max_write_image_args": 0x100F,
    "max_alloc_size": 0x1010,
    "image_2d_max_width": 0x1011,
    "image_2d_max_height": 0x1012,
    "image_3d_max_width": 0x1013,
    "image_3d_max_height": 0x1014,
    "image_3d_max_depth": 0x1015,
    "global_mem_cache_line_size": 0x101D,
    "global_mem_cache_size": 0x101E,
    "global_mem_size": 0x101F,
    "local_mem_size": 0x1023,
    "profiling_timer_resolution": 0x1025,
    "image_max_buffer_size": 0x1040,
    "partition_max_sub_devices": 0x1043,
}
TEXTS = {"name": 0x102B, "vendor": 0x102C, "driver_version": 0x102D}
MAY_BE_0 = {"max_clock_frequency": 0x100C, "max_num_sub_groups": 0x105C}
FP = ["denorm", "inf_nan", "round_to_nearest", "round_to_zero", "round_to_inf", "fma", "soft_float",
      "correctly_rounded_divide_sqrt"]  # fmt: skip


class Asked:
    """The driver's own words about a device."""

    def __init__(self, device):
        self.call = ctypes.CDLL("libOpenCL.so.1").clGetDeviceInfo
        self.handle = ctypes.c_void_p(device.native_handle)

    def data(self, what):
        size = ctypes.c_size_t()
        if self.call(self.handle, what, ctypes.c_size_t(0), None, ctypes.byref(size)) != 0:
            return None
        data = ctypes.create_string_buffer(size.value)
        assert self.call(self.handle, what, size, data, None) == 0
        return data.raw

    def number(self, what):
        data = self.data(what)
        return None if data is None else int.from_bytes(data, sys.byteorder)

    def text(self, what):
        return self.data(what).rstrip(b"\0").decode().lstrip(" ")


@pytest.mark.skipif(
    any(name.startswith(("USMPY_TEST_COARSE", "USMPY_TEST_WITHOUT")) for name in os.environ),
    reason="the device is another than the driver's",
)
@pytest.mark.parametrize(
    "registered", [backend for backend in BACKENDS if backend.name in ("opencl-intel", "opencl-pocl")],
    ids=lambda backend: backend.name,
)  # fmt: skip
def test_facts_of_an_opencl_device(registered):
    try:
        device = registered.device()
        asked = Asked(device)
    except (Absent, OSError) as error:
        pytest.skip(str(error))
    info = device.info()
    check(info, {name: asked.number(what) for name, what in NUMBERS.items()})
    check(info, {name: asked.text(what) for name, what in TEXTS.items()})
    check(info, {name: asked.number(what) or None for name, what in MAY_BE_0.items()})
    config = asked.number(0x101B)
    check(info, {"single_fp_config": frozenset(name for i, name in enumerate(FP) if config >> i & 1)})
    cache = [None, "none", "read_only", "read_write"]
    assert info["global_mem_cache_type"] in cache
    sizes = asked.data(0x1005)
    step = ctypes.sizeof(ctypes.c_size_t)
    found = [int.from_bytes(sizes[i : i + step], sys.byteorder) for i in range(0, 3 * step, step)]
    assert info["max_work_item_sizes"] == tuple(found)
    extensions = asked.text(0x1030).split()
    assert info["has_fp16"] == ("cl_khr_fp16" in extensions)
    assert info["has_fp64"] == (asked.number(0x1032) not in (None, 0))
    atomic = {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= set(extensions)
    for aspect, there in {
        "atomic64": atomic,
        "image": bool(asked.number(0x1016)),
        "online_compiler": bool(asked.number(0x1028)),
        "online_linker": bool(asked.number(0x103E)),
        "queue_profiling": bool((asked.number(0x102A) or 0) & 2),
        "fp16": info["has_fp16"],
        "fp64": info["has_fp64"],
    }.items():
        assert (aspect in info["aspects"]) == there, aspect
    if "cl_intel_unified_shared_memory" in extensions:
        kinds = {
            "has_usm_host": 0x4190,
            "has_usm_device": 0x4191,
            "has_usm_shared": 0x4192,
            "has_usm_system": 0x4194,
        }
        check(info, {name: bool(asked.number(what)) for name, what in kinds.items()})
    else:
        fine, everywhere = (bool(asked.number(0x1053) & bit) for bit in (2, 4))
        check(info, dict.fromkeys(("has_usm_device", "has_usm_host", "has_usm_shared"), fine))
        check(info, {"has_usm_system": everywhere})
    if "cl_khr_device_uuid" in extensions:
        assert info["uuid"].bytes == asked.data(0x106A)


@runs_another
def test_facts_of_an_opencl_device_with_coarse_memory():
    """As of graphics cards without the USM extension: memory of kind device alone."""
    for info in listed("opencl", {**os.environ, "USMPY_TEST_COARSE_SVM": "1"}):
        if int(info["driver_version"].split(".")[0]) < 5:  # PoCL from 5 on and Intel's have the extension
            assert not {aspect for aspect in info["aspects"] if aspect.startswith("usm_atomic_")}
            check(info, {"has_usm_device": True, "has_usm_shared": False, "has_usm_host": False})
            check(info, {"has_usm_system": False})


KINDS_OF_COPIES = """
import usmpy

there = usmpy.Device("cuda")
host = [usmpy.zeros(3, dtype="int8", device="host", usm_type=kind) for kind in ("device", "shared", "host")]
assert [x.to_device(there).usm_type for x in host] == ["device", "device", "host"]
pinned = host[2].to_device(there)
assert usmpy.zeros_like(pinned).usm_type == pinned.astype("float32").usm_type == "host"
assert [usmpy.zeros_like(x, device=there).usm_type for x in host] == ["device", "device", "host"]
"""


@needs_cuda
@runs_another
def test_copies_are_in_memory_that_an_older_cuda_device_has():
    another.run(KINDS_OF_COPIES, cuda_drivers.environment(managed=0, devices=1))


def test_facts_of_the_host_device():
    info = usmpy.Device("host:cpu:0").info()
    nbytes = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8}
    vector = info["native_vector_width_char"]
    assert vector in (16, 32, 64)
    for kind in ("native", "preferred"):
        check(info, {f"{kind}_vector_width_{name}": vector // size for name, size in nbytes.items()})
        check(info, {f"{kind}_vector_width_half": vector // 2 if info["has_fp16"] else 0})
    check(
        info,
        {
            "address_bits": 8 * ctypes.sizeof(ctypes.c_void_p),
            "max_work_item_dims": 3,
            "max_work_item_sizes": (info["max_work_group_size"],) * 3,
            "max_num_sub_groups": info["max_work_group_size"],
            "sub_group_independent_forward_progress": False,
            "partition_max_sub_devices": info["max_compute_units"],
            "profiling_timer_resolution": round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
            "max_compute_units": len(os.sched_getaffinity(0)),
            "global_mem_cache_type": "read_write",
            "image_2d_max_width": 0,
            "max_read_image_args": 0,
            "has_fp64": True,
            "has_usm_device": True,
            "has_usm_shared": True,
            "has_usm_host": True,
            "has_usm_system": True,
        },
    )
    models = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    assert not models or info["name"] == models[0].strip()
    assert {"online_compiler", "queue_profiling", "atomic64", "host_debuggable"} < info["aspects"]
    assert "online_linker" not in info["aspects"]


PLACEMENTS = """
import numpy as np, usmpy

there = usmpy.select_default_device()
assert there.backend == "cuda"
x = usmpy.ones(3, device="host")
assert usmpy.asarray(x) is x
assert usmpy.asarray(x, dtype="int8").queue == x.queue
assert usmpy.asarray(np.ones(3)).queue == usmpy.asarray([1, 2]).queue == there.queue
"""


@needs_cuda
@runs_another
def test_arrays_stay_where_they_are_and_those_of_others_come_to_the_default_device():
    environment = cuda_drivers.environment()
    environment.pop("USMPY_DEVICE", None)
    environment.pop("ONEAPI_DEVICE_SELECTOR", None)
    another.run(PLACEMENTS, environment)
