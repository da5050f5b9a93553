"""Libraries beside the driver: which cuBLAS is taken, without one in it that can compute."""

from __future__ import annotations

import subprocess

import another
import cuda_drivers
import pytest

# The functions that usmpy asks for. It cannot multiply: explain_matmul names the library alone. It has
# version 98 or 99, so that a real one among the packages of this environment is not taken.
CUBLAS = """
int cublasCreate_v2(void **handle) { static int one; *handle = &one; return RESULT; }
int cublasSetStream_v2(void *handle, void *stream) { return 0; }
int cublasGemmStridedBatchedEx(void) { return 14; }
"""
SHOW = """
import sys
sys.path.insert(0, PLACE)
import usmpy
x = usmpy.ones((6, 6), dtype="float32", device="cuda:gpu:0")
print(usmpy.explain_matmul(x, x))
"""


def make_library(path, result=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text(CUBLAS.replace("RESULT", str(result)))
    subprocess.run([*cuda_drivers.compiler(), "-shared", "-fPIC", "-o", path, source], check=True)
    return path


def explained(place="/nowhere/lib/python3/site-packages", **environment):
    """What a process says that has the packages of this place, too."""
    own = {**cuda_drivers.environment(version=99000), "USMPY_CUBLAS_LIBRARY": "", **environment}
    return another.run(SHOW.replace("PLACE", repr(str(place))), own)


@pytest.mark.not_sanitized("it runs another program")
@pytest.mark.parametrize("packages", ["lib/python3.99/site-packages", "lib64/python3.99/site-packages"])
@pytest.mark.parametrize("package", ["cublas", "cu13"])
def test_the_library_of_a_package_is_found(tmp_path, packages, package):
    place = tmp_path / packages
    built = make_library(place / "nvidia" / package / "lib" / "libcublas.so.99")
    (tmp_path / "lib").mkdir(exist_ok=True)
    assert str(tmp_path) in explained(place), built


@pytest.mark.not_sanitized("it runs another program")
def test_tests_look_for_none(tmp_path):
    """A real one would end the process."""
    place = tmp_path / "lib" / "python3.99" / "site-packages"
    make_library(place / "nvidia" / "cublas" / "lib" / "libcublas.so.99")
    own = cuda_drivers.environment(version=99000)
    assert str(tmp_path) not in another.run(SHOW.replace("PLACE", repr(str(place))), own)


@pytest.mark.not_sanitized("it runs another program")
def test_a_library_of_another_version_is_not_taken(tmp_path):
    place = tmp_path / "lib" / "python3.99" / "site-packages"
    make_library(place / "nvidia" / "cublas" / "lib" / "libcublas.so.98")
    assert str(tmp_path) not in explained(place)


@pytest.mark.not_sanitized("it runs another program")
def test_the_library_that_a_variable_names(tmp_path):
    built = make_library(tmp_path / "libown.so")
    assert str(built) in explained(USMPY_CUBLAS_LIBRARY=str(built))
    broken = make_library(tmp_path / "libbroken.so", result=1)  # it cannot make a handle
    assert str(broken) not in explained(USMPY_CUBLAS_LIBRARY=str(broken))
