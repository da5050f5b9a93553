"""A driver of OpenCL that answers questions alone: what devices with unusual answers are."""

from __future__ import annotations

import ast
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

import usmpy

pytestmark = [
    pytest.mark.not_sanitized("it runs another program"),
    pytest.mark.skipif(not pathlib.Path("/usr/include/CL/cl_icd.h").is_file(), reason="no CL/cl_icd.h"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

# Five devices: custom ones run no programs, and are left out.
DRIVER = r"""
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <string.h>

static cl_icd_dispatch table;
struct _cl_platform_id { cl_icd_dispatch *table; } platform = {&table};
struct _cl_device_id { cl_icd_dispatch *table; cl_device_type type; const char *name, *extensions; };
static struct _cl_device_id devices[] = {
    {&table, CL_DEVICE_TYPE_CPU, "plain", ""},
    {&table, CL_DEVICE_TYPE_CUSTOM, "custom", "cl_khr_fp16"},
    {&table, CL_DEVICE_TYPE_ACCELERATOR, "near",
     "cl_khr_fp16_preview xcl_khr_fp16 cl_khr_int64_base_atomics"},
    {&table, CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT, "first", "cl_khr_fp16 cl_khr_other"},
    {&table, CL_DEVICE_TYPE_GPU, "  last",
     "cl_khr_fp16x cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_fp16"},
};

static cl_int answer(const void *value, size_t n, size_t size, void *out, size_t *needed)
{
    if (needed != NULL)
        *needed = n;
    if (out == NULL)
        return CL_SUCCESS;
    if (size < n)
        return CL_INVALID_VALUE;
    memcpy(out, value, n);
    return CL_SUCCESS;
}

static cl_int platform_info(cl_platform_id id, cl_platform_info what, size_t size, void *out, size_t *needed)
{
    const char *text = what == CL_PLATFORM_VERSION              ? "OpenCL 3.0 answers"
                       : what == CL_PLATFORM_ICD_SUFFIX_KHR     ? "ANSWERS"
                       : what == CL_PLATFORM_EXTENSIONS         ? "cl_khr_icd"
                       : what == CL_PLATFORM_PROFILE            ? "FULL_PROFILE"
                                                                : "Answers";
    return answer(text, strlen(text) + 1, size, out, needed);
}

static cl_int device_ids(cl_platform_id id, cl_device_type type, cl_uint n, cl_device_id *out, cl_uint *count)
{
    cl_uint there = sizeof devices / sizeof *devices;
    if (count != NULL)
        *count = there;
    for (cl_uint i = 0; out != NULL && i < n && i < there; i++)
        out[i] = &devices[i];
    return CL_SUCCESS;
}

static cl_int device_info(cl_device_id id, cl_device_info what, size_t size, void *out, size_t *needed)
{
    const cl_platform_id own = &platform;
    const cl_uint one = 1, cache = 9;
    const cl_ushort odd = 7;
    switch (what) {
        case CL_DEVICE_TYPE: return answer(&id->type, sizeof id->type, size, out, needed);
        case CL_DEVICE_PLATFORM: return answer(&own, sizeof own, size, out, needed);
        case CL_DEVICE_NAME: return answer(id->name, strlen(id->name) + 1, size, out, needed);
        case CL_DEVICE_EXTENSIONS:
            return answer(id->extensions, strlen(id->extensions) + 1, size, out, needed);
        case CL_DEVICE_ADDRESS_BITS: return answer(&odd, sizeof odd, size, out, needed); /* a wrong size */
        case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: return answer(&cache, sizeof cache, size, out, needed);
        case CL_DEVICE_MAX_READ_IMAGE_ARGS: return answer(&one, sizeof one, size, out, needed);
        default: return CL_INVALID_VALUE;
    }
}

static void *no_function(cl_platform_id id, const char *name)
{
    return NULL;
}

cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *out, cl_uint *count)
{
    table.clGetPlatformInfo = platform_info;
    table.clGetDeviceIDs = device_ids;
    table.clGetDeviceInfo = device_info;
    table.clGetExtensionFunctionAddressForPlatform = no_function;
    if (count != NULL)
        *count = 1;
    if (out != NULL && n > 0)
        *out = &platform;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t size, void *out, size_t *needed)
{
    return platform_info(id, what, size, out, needed);
}

void *clGetExtensionFunctionAddress(const char *name)
{
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)clIcdGetPlatformIDsKHR
           : strcmp(name, "clGetPlatformInfo") == 0    ? (void *)clGetPlatformInfo
                                                       : NULL;
}
"""
LIST = """
import usmpy
found = {device.name: (device.filter_string, device.info()) for device in usmpy.get_devices("opencl")}
keep = ["has_fp16", "max_compute_units", "address_bits", "global_mem_cache_type", "max_read_image_args",
        "max_num_sub_groups", "has_usm_device", "has_usm_shared", "sub_group_sizes"]
print({name: (where, {key: info[key] for key in keep}, "atomic64" in info["aspects"])
       for name, (where, info) in found.items() if where and info["vendor"] == ""})
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Its devices, as a process lists them in which it is the loader's only driver."""
    folder = tmp_path_factory.mktemp("answers")
    source, library = folder / "answers.c", folder / "libanswers.so"
    source.write_text(DRIVER)
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    subprocess.run([*compiler, "-w", "-fPIC", "-shared", source, "-o", library], check=True)
    vendors = folder / "vendors"
    vendors.mkdir()
    (vendors / "answers.icd").write_text(f"{library}\n")
    own = {name: value for name, value in os.environ.items() if not name.startswith("OCL_")}
    # The loader of CUDA's toolkit needs the slash.
    own |= {"OCL_ICD_VENDORS": f"{vendors}/", "PYTHONPATH": str(pathlib.Path(usmpy.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", LIST], env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_devices_are_sorted_by_type_and_custom_ones_left_out(found):
    assert {name: where for name, (where, *_) in found.items()} == {
        "first": "opencl:gpu:0",
        "last": "opencl:gpu:1",  # blanks in front of the name are cut
        "near": "opencl:accelerator:0",
        "plain": found["plain"][0],
    }
    assert found["plain"][0].startswith("opencl:cpu:")


def test_extensions_are_whole_words(found):
    assert {name: facts["has_fp16"] for name, (_, facts, _) in found.items()} == {
        "first": True,
        "last": True,
        "near": False,
        "plain": False,
    }
    assert {name: atomic for name, (*_, atomic) in found.items()} == {
        "first": False,
        "last": True,
        "near": False,
        "plain": False,
    }


def test_facts_that_are_missing_or_of_an_odd_size_are_unknown(found):
    for _, facts, _ in found.values():
        assert (facts["address_bits"], facts["global_mem_cache_type"], facts["max_num_sub_groups"]) == (
            None,
        ) * 3
        assert (facts["max_read_image_args"], facts["max_compute_units"]) == (1, 1)
        assert (facts["has_usm_device"], facts["has_usm_shared"], facts["sub_group_sizes"]) == (
            False,
            False,
            (),
        )


@pytest.mark.leaves_objects("queues of devices are cached")
def test_blocks_of_opencl_are_aligned():
    devices = usmpy.get_devices("opencl")
    if not devices:
        pytest.skip("no device of OpenCL")
    for device in devices:
        for kind in ("device", "shared", "host"):
            with contextlib.suppress(ValueError):  # the device has no such memory
                sizes = range(4096, 40_000, 640)
                x = [usmpy.empty(n, dtype="uint8", device=device, usm_type=kind) for n in sizes]
                assert [a.data_ptr % 256 for a in x] == [0] * len(x)


@pytest.mark.leaves_objects("queues of devices are cached")
def test_vectors_of_opencl_are_bytes_of_their_size():
    devices = usmpy.get_devices("opencl")
    if not devices:
        pytest.skip("no device of OpenCL")
    source = "kernel void f(global int *x, float2 a, char3 b, short16 c, int4 d) { x[0] = a.x; }"
    kernel = usmpy.Program(source, device=devices[0], language="opencl")["f"]
    assert kernel.parameters == ("int32*", "bytes[8]", "bytes[4]", "bytes[32]", "bytes[16]")
