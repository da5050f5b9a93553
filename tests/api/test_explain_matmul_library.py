"""`explain_matmul` says why no library computes a product that one would."""

import os

import another
import pytest

PROGRAM = """
import usmpy
x = usmpy.ones((4, 4), dtype="float32", device="host")
print(usmpy.explain_matmul(x, x).splitlines()[1])
"""


@pytest.mark.parametrize(
    ("library", "said"),
    [("none", "USMPY_BLAS_LIBRARY is none"), ("/nowhere/libblas.so", "/nowhere/libblas.so")],
)
def test_why_there_is_none(library, said):
    text = another.run(PROGRAM, {**os.environ, "USMPY_BLAS_LIBRARY": library})
    assert text.startswith("by: usmpy's own kernel; no BLAS library: ")
    assert said in text
