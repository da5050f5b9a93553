"""Division and square root rounded correctly by build options, and devices without double precision."""

import os
import pathlib
import subprocess
import sys

import level_zero_drivers
import pytest
from backends import POCL

import usmpy
from usmpy._compile import cuda

pytestmark = pytest.mark.leaves_objects("queues of devices are cached")

SOURCE = "kernel void half_of(global float *x) { x[get_global_id(0)] /= 2; }"
OPTION = "fp32-correctly-rounded-divide-sqrt"
# (language, options, whether the driver gets the option)
PROGRAMS = [
    ("portable", "", True),
    ("portable", "-cl-mad-enable", True),
    ("portable", "-cl-fast-relaxed-math", False),
    ("portable", "-cl-unsafe-math-optimizations", False),
    ("opencl", "", False),
    ("opencl", f"-cl-{OPTION}", True),
]
# Each way to the option and to its absence. The same function decides for Level Zero, which sees them all.
SEEN = [PROGRAMS[k] for k in (0, 2, 4, 5)]
# PoCL logs the options of a build if POCL_DEBUG is set; Intel's driver logs nothing. A part of the device
# builds its built-in kernels; on the whole device, the host's loops run them.
SCRIPT = f"""
import usmpy
device = next(d for d in usmpy.get_devices("opencl") if d.name.startswith({POCL}))
for language, options, _ in {SEEN}:
    print("program", flush=True)
    usmpy.Program({SOURCE!r}, device=device, language=language, options=options)
    usmpy.trim()  # what PoCL says of the end stays apart from what it says of the next build
print("program", flush=True)
usmpy.arange(9, device=device.create_sub_devices(1)[0]).tolist()
"""
needs_pocl = pytest.mark.skipif(
    not any(device.name.startswith(POCL) for device in usmpy.get_devices("opencl")),
    reason="PoCL is not installed",
)


def run(script, **variables):
    kept = {name: value for name, value in os.environ.items() if name != "USMPY_TEST_WITHOUT_FP64"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, "POCL_KERNEL_CACHE": "0", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_pocl
@pytest.mark.not_sanitized("it starts an interpreter")
def test_opencl_drivers_are_asked():
    said = run(SCRIPT, USMPY_CACHE="0", POCL_DEBUG="all").split("program\n")[1:]
    options = [[line for line in text.splitlines() if "with options" in line] for text in said]
    if not any(options):
        pytest.skip("this PoCL was built without the messages of POCL_DEBUG")
    expected = [*(asked for *_, asked in SEEN), True]  # the built-in kernels are asked for it, too
    assert [any(OPTION in line for line in lines) for lines in options] == expected


@pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason="the software Level Zero driver is not used")
@pytest.mark.parametrize(("language", "options", "asked"), PROGRAMS[:-1])
def test_level_zero_drivers_are_asked(monkeypatch, language, options, asked):
    monkeypatch.setenv("USMPY_CACHE", "0")
    device = usmpy.get_devices("level_zero")[0]
    if "correctly_rounded_divide_sqrt" not in device.single_fp_config:
        pytest.skip("the software driver was started without correctly rounded division (ZESIM_FP64=0)")
    usmpy.Program(SOURCE, device=device, language=language, options=options)
    assert (f"-ze-{OPTION}" in level_zero_drivers.build_flags().split()) is asked


@needs_pocl
@pytest.mark.not_sanitized("it starts an interpreter")
def test_the_rounding_is_part_of_the_key_of_a_kept_build(tmp_path):
    build = SCRIPT.partition("for language")[0] + f"usmpy.Program({SOURCE!r}, device=device)"
    for without in ({}, {"USMPY_TEST_WITHOUT_FP64": "1"}, {}):
        run(build, USMPY_CACHE_DIR=str(tmp_path), **without)
    assert len(list(tmp_path.rglob("*.bin"))) == 2


def test_nvrtc_is_not_asked_for_less():
    for options in ("", "-cl-mad-enable", "-cl-denorms-are-zero", "-cl-no-signed-zeros"):
        _, flags = cuda.prepare(SOURCE, "portable", options)
        assert not {"--use_fast_math", "--prec-div=false", "--prec-sqrt=false"} & set(flags.split("\n"))
        assert ("--fmad=false" in flags.split("\n")) is (options != "-cl-mad-enable")
    for options, flag in (("-cl-fast-relaxed-math", "--use_fast_math"), ("--prec-div=false",) * 2):
        assert flag in cuda.prepare(SOURCE, "portable", options)[1].split("\n")


NAMES = ("wide_floats", "numerics", "random", "semantics")
FILES = [f"tests/cts/test_{name}.py" for name in NAMES]
TESTS = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.not_sanitized("it starts an interpreter")
@pytest.mark.release("it runs a part of the suite again")
def test_devices_without_fp64():
    if "USMPY_TEST_WITHOUT_FP64" in os.environ:
        return  # this is such a process
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--without-fp64", *FILES],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if " passed" not in done.stdout:
        pytest.skip("there is no OpenCL device and no Level Zero device")
