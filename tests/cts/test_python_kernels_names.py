"""Names of kernels in Python that C, C++ and CUDA use for something else."""

import pytest
from python_kernels.written import functions

import usmpy

pytestmark = pytest.mark.not_sanitized("each case builds a program: test_python_launches.py has the C code")

WORDS = """
new template this operator and_eq throw thread_local free malloc nan nanf sincos sinpi clock64 umax va_start
erfcinvf lrint float2 threadIdx private kernel main double printf barrier sqrt sinf usm_x _t size_t größe
"""
NAMES = [*WORDS.split(), "long_" * 400]


@pytest.mark.parametrize("name", NAMES)
def test_names(device, name):
    text = f"def {name}(x, v):\n    x[get_global_id(0)] = v\n"
    kernel = usmpy.kernel(functions(text)[name])
    x = usmpy.zeros(4, dtype="int32", device=device)
    kernel[4](x, 3).wait()
    assert x.tolist() == [3] * 4


@pytest.mark.parametrize(
    "expression",
    [
        " and ".join(f"v != {k}" for k in range(300, 700)),
        "v < 8 and " + " and ".join(f"x[v] != {k}" for k in range(1, 400)),
        f"{tuple(range(400))}[v] == v",
    ],
)
def test_long_expressions(device, expression):
    kernel = usmpy.kernel(functions(f"def long(x, v):\n    x[0] = {expression}\n")["long"])
    x = usmpy.zeros(8, dtype="int32", device=device)
    kernel[1](x, 3).wait()
    assert x[0] == 1
