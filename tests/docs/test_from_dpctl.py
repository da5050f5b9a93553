"""docs/from-dpctl.md: its examples run, and no public name of dpctl 0.21 is missing."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from together import together

import usmpy

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "from-dpctl.md").read_text()
NAMES = [line for line in (DOCS / "from-dpctl-names.txt").read_text().split("\n") if line and line[0] != "#"]
# Examples that need a C compiler, which not every machine has.
COMPILER = doctest.register_optionflag("COMPILER")


def section(title):
    found = re.search(rf"^## {re.escape(title)}.*?(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, title
    return found.group()


def first_column(text):
    """The names in the first cells of the tables."""
    cells = [row.split("|")[1] for row in text.split("\n") if row.startswith("| `")]
    return {re.sub(r"\(.*", "", name.strip()) for cell in cells for name in re.findall(r"`([^`]*)`", cell)}


SECTIONS = {
    "dpctl": ["dpctl\n"],
    "dpctl.memory": ["dpctl.memory, "],
    "dpctl.program": ["dpctl.memory, "],
    "dpctl.utils": ["dpctl.memory, "],
    "dpctl.tensor": [
        "dpctl.tensor: arrays",
        "dpctl.tensor: what usmpy does not have",
    ],
}


@pytest.mark.parametrize("module", SECTIONS)
def test_every_public_name_is_in_its_table(module):
    listed = {name.rpartition(".")[2] for name in NAMES if name.rpartition(".")[0] == module}
    assert listed
    named = set().union(*(first_column(section(title)) for title in SECTIONS[module]))
    assert not listed - named
    if module == "dpctl.tensor":
        assert not named - listed


# Of SyclDevice, beside what every Python object has.
DEVICE_NAMES = """
    backend can_access_peer component_devices composite_device create_sub_devices default_selector_score
    device_type disable_peer_access driver_version enable_peer_access filter_string get_filter_string
    global_mem_cache_line_size global_mem_cache_size global_mem_cache_type global_mem_size
    has_aspect_accelerator has_aspect_atomic64 has_aspect_cpu has_aspect_custom has_aspect_emulated
    has_aspect_fp16 has_aspect_fp64 has_aspect_gpu has_aspect_host_debuggable has_aspect_image
    has_aspect_is_component has_aspect_is_composite has_aspect_online_compiler has_aspect_online_linker
    has_aspect_queue_profiling has_aspect_usm_atomic_host_allocations
    has_aspect_usm_atomic_shared_allocations has_aspect_usm_device_allocations
    has_aspect_usm_host_allocations has_aspect_usm_shared_allocations has_aspect_usm_system_allocations
    image_2d_max_height image_2d_max_width image_3d_max_depth image_3d_max_height image_3d_max_width
    is_accelerator is_cpu is_gpu local_mem_size max_clock_frequency max_compute_units max_mem_alloc_size
    max_num_sub_groups max_read_image_args max_work_group_size max_work_item_dims max_work_item_sizes
    max_work_item_sizes1d max_work_item_sizes2d max_work_item_sizes3d max_write_image_args name
    native_vector_width_char native_vector_width_double native_vector_width_float native_vector_width_half
    native_vector_width_int native_vector_width_long native_vector_width_short parent_device
    partition_max_sub_devices preferred_vector_width_char preferred_vector_width_double
    preferred_vector_width_float preferred_vector_width_half preferred_vector_width_int
    preferred_vector_width_long preferred_vector_width_short print_device_info profiling_timer_resolution
    sub_group_independent_forward_progress sub_group_sizes sycl_platform vendor
"""


@together("name", DEVICE_NAMES.split())
def test_each_device_property_of_dpctl_exists_or_has_a_replacement(name):
    device = usmpy.Device("host")
    aspect = name.removeprefix("has_aspect_")
    if aspect == name:
        assert hasattr(device, name) or re.search(rf"\b{name}\b", section("dpctl\n"))
    elif aspect.startswith("is_"):
        assert f"`{aspect}`" in section("dpctl\n")
    else:
        assert device.has_aspect(aspect) in (True, False)


def test_names_listed_as_equal_exist():
    same = [row for row in GUIDE.split("\n") if re.search(r"\| the same[^|]*\|$", row)]
    names = {name for row in same if "`usm_ndarray`" not in row for name in first_column(row)}
    assert len(names) > 70
    assert not [name for name in names if not hasattr(usmpy, name)]


def test_names_that_are_said_to_be_missing_are():
    assert not [
        name
        for name in first_column(section("dpctl.tensor: what usmpy does not have"))
        if hasattr(usmpy, name)
    ]


ALIASES = """
import sys
import numpy as np
import dpctl, dpctl.memory, dpctl.program, dpctl.tensor as dpt, dpctl.utils

device = dpctl.SyclDevice("host")
queue = dpctl.SyclQueue(device)
x = dpt.reshape(dpt.arange(6, dtype="i4", sycl_queue=queue), (2, 3), order="F")
assert isinstance(x, dpt.usm_ndarray) and x.sycl_queue == queue and x.sycl_device == device
assert dpt.asnumpy(x[:, dpt.newaxis]).tolist() == [[[0, 2, 4]], [[1, 3, 5]]]
assert dpt.usm_ndarray((3,), "f4", strides=(-2,), buffer="shared").strides == (-2,)
assert device.has_aspect_cpu and device.sycl_platform.name and device.max_work_item_sizes3d
assert dpctl.memory.MemoryUSMShared(16, queue=queue).nbytes == 16
assert dpctl.utils.get_execution_queue([queue, queue]) == queue
for name in ("proj", "SyclTimer"):
    try:
        getattr(dpt if name == "proj" else dpctl, name)(x)
    except AttributeError as error:
        assert f"usmpy has no {name}" in str(error)
    else:
        raise AssertionError(name)
"""


def test_the_aliases_that_run_the_tests_of_dpctl(tmp_path):
    """tests/tools/dpctl_suite.py needs a checkout of dpctl; its names come from the list here."""
    modules = ["dpctl", "dpctl.memory", "dpctl.program", "dpctl.tensor", "dpctl.utils"]
    names = {
        module: [n.rpartition(".")[2] for n in NAMES if n.rpartition(".")[0] == module] for module in modules
    }
    (tmp_path / "dpctl").mkdir()
    (tmp_path / "dpctl" / "__init__.py").write_text(
        f"import dpctl_aliases\ndpctl_aliases.install({names!r})\n"
    )
    path = os.pathsep.join([str(tmp_path), str(DOCS.parent / "tests" / "support"), str(DOCS.parent)])
    done = subprocess.run(
        [sys.executable, "-c", ALIASES],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr


def test_the_examples_run():
    text = GUIDE
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        text = re.sub(
            r"^>>> .*\n(\.\.\. .*\n)*(?=)", lambda m: "" if "+COMPILER" in m[0] else m[0], text, flags=re.M
        )
    test = doctest.DocTestParser().get_doctest(
        re.sub(r"^```.*$", "", text, flags=re.M), {}, "from-dpctl.md", str(DOCS / "from-dpctl.md"), 0
    )
    assert len(test.examples) > 30
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(
        test, out=said.append, clear_globs=True
    )
    assert not said, "".join(said)
