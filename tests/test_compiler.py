"""Programs for the host become shared objects: what these export, and what a wrong source raises."""

import re
from pathlib import Path

import numpy as np
import pytest
from host_kernels import GROUPS, LOCAL, POINTER, VALUE, Local, build

from usmpy import _compiler, _entry

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))


def words(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = [
        line for line in text.splitlines() if not re.match(r"#(?:ifndef|endif|include|define \w+\Z)", line)
    ]
    return " ".join(lines).split()


def test_the_declarations_are_those_of_the_host_backend():
    header = (ROOT / "csrc" / "backends" / "host" / "entry.h").read_text()
    assert words(_entry.DECLARATIONS) == words(header)
    assert f"#define USMPY_KERNELS_VERSION {_entry.VERSION}\n" in header


SAXPY = """
kernel void saxpy(global const float *x, global float *y, float a)
{
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
"""


@pytest.mark.parametrize("boxes", [1, 3, 7])
def test_a_kernel_runs_over_the_boxes_that_it_is_given(boxes):
    x, y = np.arange(1000, dtype="f4"), np.ones(1000, "f4")
    build(SAXPY).saxpy(1000, x, y, 0.5, boxes=boxes)
    assert (y == 0.5 * x + 1).all()


def test_the_table_tells_names_types_and_sizes():
    library = build(
        """
        typedef struct pair { long first; char second; } pair;
        typedef double real;
        kernel void f(global const float *x, __global real *restrict y, constant int z[], local short *tmp,
                      const pair value, uint n, global void *any, global const pair *pairs, char c,
                      global int (*rows)[4])
        {
        }
        kernel __attribute__((reqd_work_group_size(8, 4, 1))) void g(void) {}
        """
    )
    assert library.f.describe() == [
        ("x", "const float *", "float32", POINTER, 8, 1),
        ("y", "real *", "float64", POINTER, 8, 0),
        ("z", "const int *", "int32", POINTER, 8, 1),
        ("tmp", "short *", "int16", LOCAL, 8, 0),
        ("value", "const pair", None, VALUE, 16, 0),
        ("n", "uint", "uint32", VALUE, 4, 0),
        ("any", "void *", None, POINTER, 8, 0),
        ("pairs", "const pair *", None, POINTER, 8, 1),
        ("c", "char", "int8", VALUE, 1, 0),
        ("rows", "int (*)[4]", None, POINTER, 8, 0),
    ]
    assert library.f.row.flags == GROUPS
    assert library.f.required_local == (0, 0, 0)
    assert library.g.describe() == []
    assert library.g.required_local == (8, 4, 1)
    assert library.g.row.flags == GROUPS


def test_barriers_and_local_memory_work_together():
    library = build(
        """
        kernel void reverse(global const float *x, global float *y, local float *tmp)
        {
            int l = get_local_id(0), n = get_local_size(0);
            tmp[l] = x[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            y[get_global_id(0)] = tmp[n - 1 - l] + get_group_id(0);
        }
        """
    )
    x, y = np.arange(960, dtype="f4"), np.zeros(960, "f4")
    library.reverse(960, x, y, Local(96 * 4), local=96)
    assert (y.reshape(10, 96) == x.reshape(10, 96)[:, ::-1] + np.arange(10)[:, None]).all()


def test_c_functions_are_called_for_parts_of_the_range():
    library = build(
        """
        #include <math.h>
        #include <stddef.h>
        static double half(double x) { return x / 2; }
        void roots(size_t begin, size_t end, const double *restrict x, double *y, int n)
        {
            for (size_t i = begin; i < end; i++) y[i] = sqrt(half(x[i])) * n;
        }
        """,
        "c",
    )
    assert library.roots.describe() == [
        ("x", "const double *", "float64", POINTER, 8, 1),
        ("y", "double *", "float64", POINTER, 8, 0),
        ("n", "int", "int32", VALUE, 4, 0),
    ]
    x, y = np.arange(120.0), np.zeros(120)
    library.roots((10, 4, 3), x, y, 3, boxes=2)
    assert (y == np.sqrt(x / 2) * 3).all()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kernel void f(global float *x)\n{\n    x[0] = foo(1);\n}\n", r"<source>:3:12: error: .*'foo'"),
        ("kernel void f(global float *x)\n{\n    x[0] = y;\n}\n", r"<source>:3:12: error: 'y' undeclared"),
        (
            "#define A(x) (x).q\nkernel void f(global float *x) {\n  x[0] = A(x[1]);\n}",
            r"<source>:1:17: error",
        ),
        ("\n#error hello\n", r"<source>:2:2: error: #error hello"),
        ("\n\nkernel void f(global float4 *x) {}", r"<source>:3:22: error: float4: .*no vector types"),
        ("kernel void f(read_only image2d_t x) {}", r"<source>:1:15: error: read_only: .*no images"),
        ("static float g(float);\nkernel void f(global float *x) { *x = g(1); }", r"not defined: g"),
    ],
)
def test_messages_have_the_lines_of_the_user(source, message):
    with pytest.raises(_compiler.CompileError, match=message) as caught:
        build(source)
    assert str(caught.value).split("\n")[0] in caught.value.log or "not defined" in str(caught.value)


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "strange-cc -m64")
    with pytest.raises(
        _compiler.CompilerMissing, match=r"\$CC \(strange-cc\), cc, gcc, clang.*apt install gcc"
    ):
        build(SAXPY)
