"""Programs for the host become shared objects: what these export, and what a wrong source raises."""

import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from host_kernels import GROUPS, LOCAL, POINTER, VALUE, Local, build
from interrupts import interrupt

import usmpy
from usmpy._compile import compiler as _compiler
from usmpy._compile import cuda_key, entry, host, included, portable, process

ROOT = Path(__file__).parents[2]
GCC = os.environ.get("CC") or "gcc"  # CC may be a script that compiles for another processor
IS_GCC = shutil.which(GCC.split()[0]) and "Free Software Foundation" in subprocess.getoutput(
    f"{GCC} --version"
)
HAS_LIBMVEC = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc" and IS_GCC
pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")


def words(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = [
        line for line in text.splitlines() if not re.match(r"#(?:ifndef|endif|include|define \w+\Z)", line)
    ]
    return " ".join(lines).split()


def test_the_declarations_are_those_of_the_header():
    header = (ROOT / "csrc" / "cpu" / "kernel.h").read_text()
    assert words(entry.DECLARATIONS) == words(header)
    assert f"#define USMPY_KERNELS_VERSION {entry.VERSION}\n" in header


FAR = """
kernel void f(global ulong *x, ulong start)
{
    x[get_global_id(0) - start] = get_global_id(0);
}
kernel void g(global ulong *x, ulong start)
{
    local ulong t[4];
    size_t l = get_local_id(0);
    t[l] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0) - start] = t[3 - l] * 10 + get_group_id(0) % 2;
}
"""


@pytest.mark.parametrize("start", [2**31 - 8, 2**31, 2**32 - 4, 2**40])
def test_ids_may_be_large(start):
    x = np.zeros(16, "u8")
    library = build(FAR)
    library.f(2**41, x, start, box=(start, start + 16))
    np.testing.assert_array_equal(x, np.arange(start, start + 16, dtype="u8"))
    library.g(2**41, x, start, local=4, box=(start // 4, start // 4 + 4))
    ids = np.arange(start, start + 16, dtype="u8").reshape(4, 4)[:, ::-1]
    groups = np.arange(start // 4, start // 4 + 4, dtype="u8")[:, None]
    np.testing.assert_array_equal(x.reshape(4, 4), ids * 10 + groups % 2)


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


def test_the_table_holds_names_types_and_sizes():
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
        (
            "kernel void f(global float *x)\n{\n    x[0] = foo(1);\n}\n",
            r"<source>:3:12: error: foo: .*not defined",
        ),
        ("kernel void f(global float *x)\n{\n    x[0] = y;\n}\n", r"<source>:3:12: error: 'y' undeclared"),
        (
            "#define A(x) (x).q\nkernel void f(global float *x) {\n  x[0] = A(x[1]);\n}",
            r"<source>:1:17: error",
        ),
        ("\n#error hello\n", r"<source>:2:2: error: #error hello"),
        ("\n\nkernel void f(global float4 *x) {}", r"<source>:3:22: error: float4: .*no vector types"),
        ("kernel void f(read_only image2d_t x) {}", r"<source>:1:15: error: read_only: .*no images"),
        (
            "static float g(float);\nkernel void f(global float *x) { *x = g(1); }",
            r"<source>:2:39: error: g: .*not defined",
        ),
    ],
)
def test_messages_have_the_lines_of_the_user(source, message):
    with pytest.raises(_compiler.CompileError, match=message) as caught:
        build(source)
    assert str(caught.value).split("\n")[0] in caught.value.log or "not defined" in str(caught.value)


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])  # a pipe holds 65,536 bytes
def test_a_compiler_that_reads_late_gets_its_whole_source(size):
    done = process.run(["sh", "-c", "sleep 0.1; wc -c; echo late >&2"], b"x" * size)
    assert (done.returncode, int(done.stdout), done.stderr) == (0, size, b"late\n")


def test_a_large_program_is_built():
    lines = "\n".join(f"// {i:80}" for i in range(2_000))
    program = usmpy.Program(lines + "\nkernel void f(global int *x) { x[0] = 7; }", device="host")
    x = usmpy.zeros(1, dtype="int32", device="host")
    program["f"][1](x)
    assert x[0].item() == 7


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "strange-cc -m64")
    with pytest.raises(
        _compiler.CompilerMissing, match=r"\$CC \(strange-cc\), cc, gcc, clang.*apt install gcc"
    ):
        build(SAXPY)


def test_options_reach_the_compiler():
    source = """
    kernel void f(global float *x)
    {
    #if defined(A) && B == 7 && !defined(C)
        x[0] = VALUE;
    #endif
    #ifdef __FAST_RELAXED_MATH__
        x[1] = 1;
    #endif
        x[2] = __OPENCL_C_VERSION__;
        x[3] = sizeof(1.0);
    }
    """
    x = np.zeros(4, "f4")
    build(source, options="-D A -DB=7 -DC -U C '-DVALUE=(1 + 1)' -w").f(1, x)
    assert x.tolist() == [2, 0, 120, 8]
    build(source, options="-cl-fast-relaxed-math -cl-std=CL2.0 -cl-single-precision-constant -g").f(1, x)
    assert x.tolist() == [2, 1, 200, 4]
    for ignored in ("-cl-denorms-are-zero", "-cl-kernel-arg-info", "-cl-opt-disable", "-cl-mad-enable -O1"):
        build(source, options=ignored)


def test_fast_arithmetic_stays_in_the_program():
    """Linked as usual, it would make zeros of the whole process's subnormal numbers."""
    x = np.array([1, 2], "f4")
    build("kernel void f(global float *x) { x[0] = x[1] * 2; }", options="-cl-fast-relaxed-math").f(1, x)
    tiny = np.array([1e-40], "f4")
    assert x[0] == 4
    assert (tiny * np.float32(0.5))[0] > 0


def test_products_are_not_contracted_unless_asked_for():
    source = "kernel void f(global float *x) { x[0] = x[1] * x[2] + x[3]; x[4] = fma(x[1], x[2], x[3]); }"
    x = np.array([0, 1 + 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-11, 0], "f4")
    build(source).f(1, x)
    assert x[0] == 0
    assert x[4] == np.float32(2.0**-24)


@pytest.mark.parametrize("index", ["int", "size_t"])
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("signs", ["-+", "+-", "--", "++"])
def test_products_side_by_side_are_not_contracted(index, real, signs):
    """GCC 12 does so where the products look like those of complex numbers."""
    first, second = signs
    source = f"""
    kernel void f(global const {real} *x, global const {real} *y, global {real} *z)
    {{
        {index} i = get_global_id(0) * 2;
        {real} a = x[i], b = x[i + 1], c = y[i], d = y[i + 1];
        z[i] = a * c {first} b * d;
        z[i + 1] = a * d {second} b * c;
    }}
    """
    x, y = np.random.default_rng(1).random((2, 4000)).astype("f4" if real == "float" else "f8")
    z = np.empty_like(x)
    build(source).f(2000, x, y, z)
    a, b, c, d = x[::2], x[1::2], y[::2], y[1::2]
    assert z[::2].tolist() == (a * c + (b * d if first == "+" else -(b * d))).tolist()
    assert z[1::2].tolist() == (a * d + (b * c if second == "+" else -(b * c))).tolist()


def test_half_precision_rounds_after_each_operation():
    source = """
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void f(global const half *x, global half *y, half a, global float *z)
    {
        int i = get_global_id(0);
        y[i] = x[i] * a + 1.5h;
        z[i] = vload_half(i, x) + sqrt(x[i]) + (sizeof(max(x[i], a)) == 2);
        vstore_half(z[i], i, y + get_global_size(0));
    }
    """
    x = np.linspace(0, 30, 257).astype("f2")
    y, z = np.zeros(514, "f2"), np.zeros(257, "f4")
    library = build(source)
    library.f(257, x, y, 1.1, z)
    assert library.f.describe()[0] == ("x", "const half *", "float16", POINTER, 8, 1)
    np.testing.assert_array_equal(y[:257], x * np.float16(1.1) + np.float16(1.5))
    np.testing.assert_array_equal(z, x.astype("f4") + np.sqrt(x).astype("f4") + np.float32(1))
    np.testing.assert_array_equal(y[257:], z.astype("f2"))


def test_an_interrupt_ends_a_build(monkeypatch, tmp_path):
    compiler, runs = tmp_path / "compiler", tmp_path / "runs"
    compiler.write_text(f"#!/bin/sh\ntouch '{runs}'\nexec sleep 60\n")
    compiler.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("CC", str(compiler))
        assert interrupt(lambda: _compiler.build(SAXPY, "portable"), waits=runs.exists) is not None
    assert _compiler.build(SAXPY, "portable")


def test_a_kept_build_starts_no_process(monkeypatch):
    path = _compiler.build(SAXPY, "portable")

    def start(*args, **more):
        raise AssertionError("a process was started")

    monkeypatch.setattr(host.process, "run", start)
    assert _compiler.build(SAXPY, "portable") == path
    for other in (SAXPY + " ", SAXPY):
        with pytest.raises(AssertionError, match="started"):
            _compiler.build(other, "portable", "" if other != SAXPY else "-DX")
    with pytest.raises(AssertionError, match="started"):
        _compiler.build(SAXPY, "portable", name="other")


def test_keys_depend_on_the_translators_sources(monkeypatch):
    named = {part.partition(",")[0] for part in included.own_state().split(";")}
    assert named == {path.name for path in Path(included.__file__).parent.iterdir() if path.is_file()}
    path = _compiler.build(SAXPY, "portable")
    before = [module.identify(SAXPY, "") for module in (cuda_key, included)]
    for module in (_compiler, cuda_key, included):
        monkeypatch.setattr(module, "own_state", lambda: "other")
    assert _compiler.build(SAXPY, "portable") != path
    assert all(module.identify(SAXPY, "") not in before for module in (cuda_key, included))


def test_another_compiler_or_processor_builds_anew(monkeypatch, tmp_path):
    path = _compiler.build(SAXPY, "portable")
    monkeypatch.setenv("CC", "gcc -DSOMETHING")
    assert _compiler.build(SAXPY, "portable") != path
    monkeypatch.delenv("CC")
    monkeypatch.setattr(_compiler, "_processor", "another one")
    assert _compiler.build(SAXPY, "portable") != path
    monkeypatch.undo()
    wrapper = tmp_path / "cc"
    wrapper.write_text('#!/bin/sh\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    other = _compiler.build(SAXPY, "portable")
    wrapper.write_text('#!/bin/sh\nexec  gcc "$@"\n')
    assert other != _compiler.build(SAXPY, "portable") != path


def test_a_file_that_was_included_and_changed_is_read_again(tmp_path, monkeypatch):
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 1\n")
    source = '#include "value.h"\nkernel void f(global int *x) { x[0] = VALUE; }'
    x = np.zeros(1, "i4")
    paths = set()
    for value in (1, 22, 1):
        header.write_text(f"#define VALUE {value}\n")
        path = _compiler.build(source, "portable", f"-I {tmp_path}")
        assert _compiler.build(source, "portable", f"-I {tmp_path}") == path
        build(source, options=f"-I {tmp_path}").f(1, x)
        assert x[0] == value
        paths.add(path)
    assert len(paths) >= 2
    header.unlink()
    with pytest.raises(_compiler.CompileError, match=r"value\.h: No such file"):
        build(source, options=f"-I {tmp_path}")


def test_files_are_included_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "here.cl").write_text("static int value(void) { return 5; }\n")
    monkeypatch.chdir(tmp_path)
    x = np.zeros(1, "i4")
    build('#include "here.cl"\nkernel void f(global int *x) { x[0] = value(); }').f(1, x)
    assert x[0] == 5


def spoil(tmp_path, text):
    compiler = tmp_path / "cc"
    compiler.write_text(text)
    compiler.chmod(0o755)
    return str(compiler)


def test_a_compiler_that_does_not_run_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", spoil(tmp_path, "#!/no/such/interpreter\n"))
    with pytest.raises(_compiler.CompilerMissing, match="does not run"):
        build(SAXPY)


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho broken >&2\nexit 1\n"])
def test_a_compiler_that_fails_says_so(tmp_path, monkeypatch, text):
    monkeypatch.setenv("CC", spoil(tmp_path, text))
    with pytest.raises(_compiler.CompileError) as caught:
        build(SAXPY)
    assert caught.value.message
    assert caught.value.log


def test_a_truncated_file_is_built_again():
    source = SAXPY.replace("saxpy", "cut")
    path = Path(_compiler.build(source, "portable"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert Path(_compiler.build(source, "portable")).read_bytes() == whole


BUILD = """
import sys
sys.path[:0] = {paths!r}
from host_kernels import build
import numpy as np
x = np.zeros(10, "i4")
build("kernel void f(global int *x) {{ x[get_global_id(0)] = {value}; }}").f(10, x)
assert (x == {value}).all()
"""


def test_several_processes_build_one_program(tmp_path):
    paths = [str(ROOT), str(ROOT / "tests" / "support")]
    environment = {**os.environ, "USMPY_CACHE_DIR": str(tmp_path)}
    commands = [[sys.executable, "-c", BUILD.format(paths=paths, value=v)] for v in (3, 3, 3, 4)]
    running = [subprocess.Popen(command, env=environment) for command in commands]
    assert [process.wait(timeout=200) for process in running] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 2


def test_several_threads_build_several_programs():
    sources = [SAXPY.replace("saxpy", f"saxpy{i % 3}") for i in range(9)]
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda source: _compiler.build(source, "portable"), sources))
    assert len(set(paths)) == 3


def test_nothing_but_python_is_imported_before_a_program_is_built():
    code = """if True:
        import sys, usmpy
        print([m for m in sys.modules if m in ("subprocess", "hashlib") or "usmpy._compile" in m])"""
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


VECTORS = {
    "size_t": "size_t i = get_global_id(0); y[i] = a * x[i] + y[i];",
    "int": "int i = get_global_id(0); y[i] = a * x[i] + y[i];",
    "uint": "uint i = get_global_id(0); y[i] = a * x[i] + y[i];",
    "guard": "int i = get_global_id(0); if (i >= n) return; y[i] = a * x[i] + y[i];",
    "rows": "int i = get_global_id(0), j = get_global_id(1); y[j * n + i] = a * x[j * n + i];",
    "branches": "int i = get_global_id(0); if (x[i] > 0) y[i] = sqrt(x[i]); else y[i] = x[i] * 3;",
    "functions": "int i = get_global_id(0); y[i] = clamp(fmax(x[i], a), 0.0f, 1.0f) + fabs(a);",
    "limits": "int i = get_global_id(0); y[i] = min(max(x[i], 0.0f), 1.0f);",
    "real limits": "int i = get_global_id(0); y[i] = fmin(fmax(x[i], 0.0f), 1.0f);",
    "steps": "int i = get_global_id(0); y[i] = smoothstep(0.0f, 1.0f, x[i]);",
    "helper": "y[place()] = twice(x[place()]);",
    "bits": "int i = get_global_id(0); y[i] = as_float(as_uint(x[i]) ^ 0x80000000u);",
    "in place": "int i = get_global_id(0); y[i] += x[i]; y[i] *= a;",
    "groups": "int i = get_global_id(0), l = get_local_id(0); y[i] = x[i] + l;",
}


PROCESSORS = ["native", *(["x86-64-v2", "x86-64-v3"] if platform.machine() == "x86_64" else [])]


@pytest.mark.skipif(not IS_GCC, reason="GCC alone says what it vectorised")
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("name", VECTORS)
def test_loops_over_work_items_vectorise(name, processor, tmp_path, monkeypatch):
    body = VECTORS[name]
    said = tmp_path / "said"
    monkeypatch.setenv("CC", f"{GCC} -fopt-info-vec-optimized={said}")
    helpers = "int place() { return get_global_id(0); } float twice(float v) { return v + v; }\n"
    source = (
        helpers + "kernel void f(global const float *x, global float *y, float a, int n)\n{ " + body + " }"
    )
    built = build(source, options=f"-march={processor}")
    assert "loop vectorized" in said.read_text()
    if processor == "native":
        x, y = np.ones(300, "f4"), np.ones(300, "f4")
        built.f(300, x, y, 0.5, 300, local=100)


def test_nothing_is_left_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build("kernel void f(global float *x) { x[get_global_id(0)] = 41 + 1; }")
    with pytest.raises(_compiler.CompileError):
        build("kernel void f(global float *x) { x[get_global_id(0)] = unknown; }")
    assert not list(tmp_path.iterdir())


CONVERSIONS = {
    "cast": "y[i] = ({real})({integer})x[i];",
    "variable": "{integer} t = x[i]; y[i] = t;",
    "branch": "if (x[i] < 7) y[i] = ({integer})x[i]; else y[i] = x[i];",
    "function": "y[i] = convert_{real}(convert_{integer}(x[i]));",
}


@pytest.mark.parametrize("integer", ["char", "short", "int", "long", "uint", "ulong"])
@pytest.mark.parametrize("way", CONVERSIONS)
def test_integers_have_one_zero(way, integer):
    """-0.5 becomes 0, and 0.0: no compiler takes both conversions for trunc(), which gives -0.0."""
    for real, code in (("float", "f4"), ("double", "f8")):
        body = CONVERSIONS[way].format(real=real, integer=integer)
        source = (
            f"kernel void f(global const {real} *x, global {real} *y) {{ int i = get_global_id(0); {body} }}"
        )
        x = np.array([-0.5, -0.0, 0.25, 0.5, 1.5, 6.75, 100.5] * 9, code)
        y = np.empty_like(x)
        build(source).f(x.size, x, y)
        assert y.tolist() == np.where((way == "branch") & (x >= 7), x, np.trunc(x)).tolist()
        assert not np.signbit(y).any()


VECTOR_MATH = [(name, real) for name in ("cos", "exp", "log", "pow", "sin") for real in ("float", "double")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 1e30, -1e30, 1e-42, np.inf, -np.inf, np.nan]


def vector_math_kernel(name, real):
    value = "pow(x[i], z[i])" if name == "pow" else f"{name}(x[i])"
    parameters = f"global const {real} *x, global const {real} *z, global {real} *y"
    return f"kernel void f({parameters}) {{ size_t i = get_global_id(0); y[i] = {value}; }}"


@pytest.mark.skipif(not HAS_LIBMVEC, reason="GCC calls libmvec, of glibc on x86-64")
@pytest.mark.parametrize(("name", "real"), VECTOR_MATH)
def test_functions_of_vectors_are_libmvecs(name, real, monkeypatch):
    from accuracy import largest_error

    monkeypatch.setenv("CC", "gcc")
    dtype = {"float": "float32", "double": "float64"}[real]
    source = vector_math_kernel(name, real)
    assert b"_ZGV" in Path(_compiler.build(source, "portable")).read_bytes()
    kernel, queue = usmpy.Program(source).f, usmpy.Queue("host")

    def run(*arrays):
        y = usmpy.empty_like(arrays[0])
        kernel[y.size](arrays[0], arrays[-1], y).wait()
        return y

    assert largest_error(name, dtype, queue, 100, run) <= 4
    # Each value in each lane, and in the rest that scalar functions compute: special cases are those of C.
    pairs = [(a, b) for a in SPECIAL for b in (SPECIAL if name == "pow" else SPECIAL[:1])]
    x, z = (np.array([pair[i] for pair in pairs for _ in range(35)], dtype) for i in range(2))
    found = run(*(usmpy.asarray(a, queue=queue) for a in (x, z))).asnumpy()
    with np.errstate(all="ignore"):
        wanted = np.power(x, z) if name == "pow" else getattr(np, name)(x)
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    exact = (wanted == 0) | ~np.isfinite(wanted)
    np.testing.assert_array_equal(found[exact], wanted[exact])
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


def test_threads_do_not_change_results():
    """Their pieces are whole vectors, but for the last work-items of a row."""
    queue, n = usmpy.Queue("host"), 300_003
    for name, real in (("sin", "float"), ("exp", "double")):
        kernel = usmpy.Program(vector_math_kernel(name, real)).f
        for value in np.random.default_rng(3).uniform(1, 9, 20):
            x = usmpy.full(n, value, dtype={"float": "float32", "double": "float64"}[real], queue=queue)
            y = usmpy.empty_like(x)
            kernel[n](x, x, y).wait()
            assert np.unique(y.asnumpy()[:-64]).size == 1


def test_a_program_may_have_functions_with_the_names_of_libmvec():
    source = "float expf(float x) { return x + 1; } double log(double x) { return x + 2; }"
    source += " kernel void f(global double *x) { x[0] = expf(x[0]) + log(x[0]) + exp(0.0f) + log2(1.0); }"
    x = np.zeros(1)
    build(source).f(1, x)
    assert x[0] == 4


def test_no_promise_is_made_where_work_items_have_memory():
    """Arrays of a work-item are one place for all of them once the loop is inlined."""

    def promises(body, before=""):
        source = f"{before} kernel void f(global int *x, int n) {{ int i = get_global_id(0); {body} }}"
        return "USM_PROMISE\n            for" in portable.translate(source, "s")

    assert promises("x[i] = x[n] + x[i];")
    assert promises("int a = x[i], b = x[i + 1]; x[a & b] = -x[i] & x[n];")
    assert promises("for (int k = 0; k < 3; k++) { x[i] += h(x[k] & 1); }", "int h(int v) { return v; }")
    assert not promises("int a[3]; a[i % 3] = 1; x[i] = a[0];")
    assert not promises("int a = 1, b[2]; b[i] = a; x[i] = b[0];")
    assert not promises("int a = x[0], b[2][2]; x[i] = b[a][0];")
    assert not promises("for (int k = 0, t[2]; k < 3; k++) { t[k & 1] = k; x[i] = t[0]; }")
    assert not promises("int a; int *p = &a; x[i] = *p;")
    assert not promises("h(x, &i);", "void h(global int *x, int *p) { x[*p] = 1; }")
    assert not promises("struct { int a, b; } s = { 1, 2 }; x[i] = s.a;")
    assert not promises("T s; s.a[i] = 2; x[i] = s.a[0];", "typedef struct { int a[2]; } T;")
    assert not promises("x[i] = h(i);", "int h(int i) { int a[9]; a[i] = 2; return a[3]; }")
    assert not promises(
        "x[i] = g(i);", "int h(int i) { int a[9]; return a[i]; } int g(int i) { return h(i); }"
    )
    assert not promises("A t; t[i] = 2; x[i] = t[0];", "typedef int A[4];")


def test_any_text_is_a_source():
    for text in ("", "\0", "/* \N{GREEK SMALL LETTER ALPHA} */", "\ufeff// byte order mark\n", "\r", "\\"):
        build(text, options="-O0")
    with pytest.raises(UnicodeEncodeError):
        build("/* \ud800 */")


def test_a_current_folder_that_is_gone_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    build("// include nothing\nkernel void f(int n) {}")


def test_options_are_part_of_the_key():
    source = "kernel void f(global int *x) { x[0] = V; }"
    x = np.zeros(1, "i4")
    for value in (1, 2, 1):
        build(source, options=f"-DV={value}").f(1, x)
        assert x[0] == value
