"""The registrations of the conformance suite: one for each device.

``tests/cts`` knows no backend. Each registration gives a name, a factory, tags, and two lists of tests by
``file.py::test`` (or the prefix of one), each with its reason: ``unsupported`` for what this device can never
do (no such test is made), ``xfail`` for what it ought to do and does not yet (strict: a pass is a failure).
``@pytest.mark.only_on(TAG, "!TAG")`` of a test says that it is made for devices with and without a tag alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import cuda_drivers
import dlpack_type
import level_zero_drivers
import options

import usmpy


class Absent(Exception):
    """This machine has no such device; its tests are skipped with this reason. Other errors are failures."""


@dataclasses.dataclass(frozen=True)
class Backend:
    name: str
    device: Callable[[], usmpy.Device]
    tags: frozenset[str] = frozenset()
    unsupported: dict[str, str] = dataclasses.field(default_factory=dict)
    xfail: dict[str, str] = dataclasses.field(default_factory=dict)
    files: frozenset[str] | None = None  # of tests/cts, without ending; None: every test that has a backend
    slow: dict[str, str] = dataclasses.field(
        default_factory=dict
    )  # files whose tests are marked `release`; why


def host() -> usmpy.Device:
    return usmpy.Device("host:cpu:0")


def host_part() -> usmpy.Device:
    device = host()
    if device.max_compute_units < 2:
        raise Absent("the host device has one compute unit: it has no part smaller than itself")
    return device.create_sub_devices(1)[0]


INTEL = "Intel(R) Corporation"  # PoCL reports "GenuineIntel" for Intel's processors
POCL = ("pthread-", "cpu-")  # prefixes of its devices' names before version 5 and since
# Of PoCL 3.1: a loop with a barrier within `if` leaves out what the branch does, also of a program in C.
POCL_FAULTS = {
    "test_peers.py::test_results[opencl-pocl-numba_cuda-sum_in_place]": "a loop with a barrier in a branch"
}


def opencl(vendor: str, *names: str) -> Callable[[], usmpy.Device]:
    """The first device of the vendor; with names, the first whose name begins with one of them."""

    def find() -> usmpy.Device:
        for device in usmpy.get_devices("opencl"):
            if device.name.startswith(names) if names else vendor in device.vendor:
                return device
        raise Absent(f"no OpenCL device of {vendor}: see usmpy.diagnose()")

    return find


def cuda(index: int) -> Callable[[], usmpy.Device]:
    def find() -> usmpy.Device:
        devices = dlpack_type.give(usmpy.get_devices("cuda"))
        if len(devices) <= index:
            raise Absent(cuda_drivers.missing() or "no CUDA device: see usmpy.diagnose()")
        return devices[index]

    return find


def level_zero(index: int) -> Callable[[], usmpy.Device]:
    def find() -> usmpy.Device:
        devices = usmpy.get_devices("level_zero")
        if len(devices) <= index:
            raise Absent(f"no Level Zero device: {level_zero_drivers.ABSENT or 'see usmpy.diagnose()'}")
        return devices[index]

    return find


def level_zero_part() -> usmpy.Device:
    """The second tile of the first card."""
    card = level_zero(0)()
    units = card.max_compute_units // 2
    parts = card.create_sub_devices(units) if level_zero_drivers.LIBRARY is not None else []
    if len(parts) != 2:
        raise Absent(
            "the driver is not ours, whose cards have two tiles (ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE)"
        )
    return parts[1]


def minimal() -> usmpy.Device:
    return usmpy.Device("minimal:cpu:0")


# Tags: "host": its memory is that of NumPy's arrays; "host-accessible": the host reads all memory of the
# device; "host-task": host tasks can use its memory; "system-usm": its commands use any host memory in place;
# "sub-device": a sub-device; "shares": other processes can open memory that share() makes there; "streams":
# its queues are CUDA streams; "builds": its compiler builds each built-in kernel, which takes time.
EVERY_PROCESSOR = frozenset({"host-accessible", "host-task"})


# With --without-fp64 the devices lack double precision (test_rounding.py).
# With --coarse-svm all OpenCL devices have memory of kind "device" alone, which the host does not
# read, as with drivers of graphics cards without the USM extension (.ci/run).
KINDS = "it needs shared or host memory, which the device lacks"
READS = "the host reads the memory in place"
COARSE = {
    "test_array.py::test_copy_is_row_major_and_new": KINDS,
    "test_array.py::test_a_buffer_": READS,
    "test_array.py::test_read_only_arrays": READS,
    "test_array.py::test_the_buffer_protocol": READS,
    "test_copy.py::test_astype_keeps_the_kind_of_memory_and_the_order_of_axes": KINDS,
    "test_copy.py::test_copyto_between_queues_and_kinds": KINDS,
    "test_creation.py::test_asarray_of_our_own": KINDS,
    "test_creation.py::test_device_and_queue": KINDS,
    "test_creation.py::test_like_functions": KINDS,
    "test_creation.py::test_lists_in_every_kind_of_memory": KINDS,
    "test_dlpack_export.py::test_memory_is_aligned": "the driver chooses the alignment",
    "test_dlpack_import.py::test_every_dtype_is_taken_bit_for_bit": READS,
    "test_dlpack_import.py::test_layouts_of_foreign_memory": READS,
    "test_errors.py::test_keywords_that_are_not_interned": KINDS,
    "test_exchange_table.py::test_round_trip_through_the_table": READS,
    "test_host_task.py": "host tasks use the memory in place",
    "test_manipulation.py::test_the_widest_kind_of_memory_wins": KINDS,
    "test_memory.py": KINDS,
    "test_methods.py::test_creation_in_an_order": KINDS,
    "test_order.py": "host tasks use the memory in place",
    "test_queue.py::test_prefetch_is_ordered_and_harmless": KINDS,
    "test_sequences_of_arrays.py::test_the_widest_kind_of_memory_wins": KINDS,
}
PARTS = "the driver makes no sub-devices"
PARTLESS = {
    "test_context.py::test_a_context_of_parts": PARTS,
    "test_context.py::test_a_device_that_the_context_lacks": PARTS,
    "test_device.py::test_a_part": PARTS,
    "test_device.py::test_filter_string_of_a_part": PARTS,
    "test_device.py::test_parts": PARTS,
    "test_device.py::test_units_of": PARTS,
}
# NVIDIA's OpenCL driver.
NVIDIA = {"test_launch.py::test_a_kernel_without_parameters": "its compiler builds a broken program from it"}
NUMBERS = "CUDA takes numbers as streams"
CUDA_NAME = "cuda" if cuda_drivers.has_real() else "cuda-software"
CUDA = PARTLESS | {test: reason for test, reason in COARSE.items() if reason == READS}
CUDA |= {
    "test_array.py::test_to_device_with_a_stream_is_ordered_in_it": READS,
    f"test_errors.py::test_bad_input[{CUDA_NAME}-0-stream]": NUMBERS,
    f"test_errors.py::test_bad_input[{CUDA_NAME}-0-other]": NUMBERS,
}

# The software driver alone, on which the host never reads memory of kind "device".
LEVEL_ZERO_TAGS = frozenset({"host-task", "shares"})
LEVEL_ZERO = {
    "test_array.py::test_read_only_arrays": READS,
    "test_array.py::test_to_device_with_a_stream_is_ordered_in_it": READS,
}
# Files that build a program in nearly each test, which takes this driver and its compiler half a second.
SLOW = dict.fromkeys(
    (
        "test_elementwise_kernel",
        "test_kernels_in_layouts",
        "test_random",
        "test_reduction_kernel",
        "test_scan_kernel",
    ),
    "it builds many programs, as it does on the other devices",
)

# csrc/backends/minimal: the fewest entries that make a backend.
PROGRAMS = "the backend takes no programs of users"
MINIMAL = PARTLESS | {
    "test_device.py::test_a_root_device_has_no_parent": "get_devices() lists what users have",
    "test_elementwise_kernel.py": PROGRAMS,
    "test_kernels_in_layouts.py": PROGRAMS,
    "test_late_commands.py": PROGRAMS,
    "test_launch": PROGRAMS,
    "test_numerics.py::test_kernel": PROGRAMS,
    "test_pickle_arrays.py::test_programs_and_kernels": PROGRAMS,
    "test_random.py": PROGRAMS,
    "test_reduction_kernel.py": PROGRAMS,
    "test_scan_kernel.py": PROGRAMS,
    "test_trace.py::test_a_kernel_after_a_fill": PROGRAMS,
}

# Files where it matters which device of a driver it is. The others test code that is the same for all
# devices: types, indexing, shapes, values, arguments. A part of a device runs these alone, and so does the
# minimal backend, whose loops are the host's. --all-files runs all cases on all devices (.ci/run
# --full: on those two); --few-files runs these alone on all devices but the host.
PLACEMENT = frozenset(
    {
        "test_context",
        "test_blocking",
        "test_copy",
        "test_copy_large",
        "test_device",
        "test_dlpack_export",
        "test_event",
        "test_exchange_table",
        "test_fill",
        "test_hazard_gates",
        "test_host_task",
        "test_launch",
        "test_launch_order",
        "test_memory",
        "test_order",
        "test_pickle_arrays",
        "test_placement",
        "test_queue",
        "test_share",
        "test_task_copies",
    }
)
# A second root device differs less than a sub-device: only names of devices and copies between them.
SECOND = frozenset(
    f"test_{name}" for name in ("context", "copy", "device", "dlpack_export", "pickle_arrays", "placement")
)
ALL_FILES = options.value("all_files", False)
if ALL_FILES:
    PLACEMENT = SECOND = None

# In this order the first devices of the four drivers draw different quarters of the cases.
BACKENDS = [
    Backend("host", host, EVERY_PROCESSOR | {"system-usm", "shares", "host"}),
    Backend(
        "host-part",
        host_part,
        EVERY_PROCESSOR | {"system-usm", "shares", "sub-device", "host"},
        files=PLACEMENT,
    ),
    Backend("opencl-intel", opencl(INTEL), EVERY_PROCESSOR | {"system-usm", "shares"}),
    Backend("opencl-pocl", opencl("PoCL", *POCL), EVERY_PROCESSOR, POCL_FAULTS),
    Backend(CUDA_NAME, cuda(0), frozenset({"host-task", "shares", "streams"}), CUDA),
    Backend("level-zero-sim", level_zero(0), LEVEL_ZERO_TAGS, LEVEL_ZERO, slow=SLOW),
    Backend(
        "level-zero-sim-part",
        level_zero_part,
        LEVEL_ZERO_TAGS | {"sub-device"},
        LEVEL_ZERO,
        files=PLACEMENT,
    ),
    Backend("level-zero-sim-second", level_zero(1), LEVEL_ZERO_TAGS, LEVEL_ZERO, files=SECOND),
    Backend("minimal", minimal, EVERY_PROCESSOR | {"system-usm", "shares"}, MINIMAL, files=PLACEMENT),
]
ORDER = [backend.name for backend in BACKENDS]  # of drawing, whichever of them take part
if options.value("few_files"):
    BACKENDS = [
        dataclasses.replace(backend, files=backend.files or (PLACEMENT if backend.name != "host" else None))
        for backend in BACKENDS
    ]
if chosen := options.names("devices"):
    if unknown := set(chosen) - set(ORDER):
        raise ValueError(f"--devices names {', '.join(sorted(unknown))}; there are: {', '.join(ORDER)}")
    BACKENDS = [backend for backend in BACKENDS if backend.name in chosen]

LEFT_OUT = frozenset(options.names("cts_leaves_out"))  # of tests/cts, since another run has them
if options.value("without_fp64"):
    BACKENDS = [
        Backend("opencl-intel-without-fp64", opencl(INTEL), EVERY_PROCESSOR | {"system-usm", "shares"}),
        Backend("opencl-pocl-without-fp64", opencl("PoCL", *POCL), EVERY_PROCESSOR),
        Backend("level-zero-without-fp64", level_zero(0), LEVEL_ZERO_TAGS, LEVEL_ZERO),
    ]
elif options.value("coarse_svm"):
    BACKENDS = [Backend("opencl-coarse", opencl("PoCL", *POCL), frozenset({"builds"}), COARSE)]
elif vendor := options.value("opencl_vendor"):
    own = NVIDIA if vendor == "NVIDIA" else {}
    BACKENDS = [Backend("opencl-other", opencl(vendor), frozenset(), COARSE | PARTLESS | own)]


def takes(backend: Backend, number: int, of: int) -> bool:
    """Whether this device runs case `number` of a test, if each device runs one case in `of`.

    For cases that build programs and cannot fail one by one: a fault of one type on one device shows with its
    other types there, or with this type on the other devices.
    """
    place = ORDER.index(backend.name) if backend.name in ORDER else BACKENDS.index(backend)
    return (place + number) % of == 0


def drawn(backend: Backend, cases: list, turn: int = 0, of: int = 4) -> list:
    """A quarter (`of`) of the cases, another on the next device or turn; all on the host, or on one alone.

    A device whose compiler builds each built-in kernel is alone, and takes a third.
    """
    alone = len(BACKENDS) == 1 and "builds" not in backend.tags
    if backend.name == "host" or alone or ALL_FILES:
        return cases
    of = 3 if "builds" in backend.tags else of
    return [case for number, case in enumerate(cases) if takes(backend, number + turn, of)]


def takes_a_part(backend: Backend, file: str) -> bool:
    """Whether this device takes a part of the cases of each test of this file.

    The cases of a test differ in types, shapes, values or arguments, which code reads that the devices share.
    Where it matters which device it is, the first one of a driver takes all cases.
    """
    placed = file != "test_fill" and file in (PLACEMENT or ())
    return not placed or backend.files is not None or "builds" in backend.tags
