"""Features that the portable language lacks are refused by name, with the user's line."""

import pytest

from usmpy._compile import compiler

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")


def refusal(source, language="portable", options="", **more):
    with pytest.raises(compiler.CompileError) as caught:
        compiler.build(source, language, options, **more)
    return caught.value


VECTORS = [
    "float4",
    "char2",
    "uint16",
    "half8",
    "double3",
    "ulong4",
    "as_float4",
    "convert_int4_sat",
    "vload4",
]
VECTORS += ["vstore2", "vload_half4", "shuffle", "vec_step", "cross"]
IMAGES = ["image2d_t", "image1d_buffer_t", "sampler_t", "read_imagef", "write_imageui", "get_image_width"]
IMAGES += ["__write_only", "CLK_FILTER_NEAREST"]


@pytest.mark.parametrize(
    ("word", "why"),
    [
        *((word, "no vector types") for word in VECTORS),
        *((word, "no images") for word in IMAGES),
        *((word, "no pipes") for word in ["pipe", "__pipe", "read_pipe", "reserve_id_t"]),
        *((word, "no kernels that launch") for word in ["enqueue_kernel", "queue_t", "clk_event_t"]),
        *((word, "no asynchronous copies") for word in ["event_t", "async_work_group_copy"]),
        *(
            (word, "no functions of whole work-groups")
            for word in ["work_group_reduce_add", "sub_group_any", "get_sub_group_id"]
        ),
        *((word, "no conversions to floating point") for word in ["convert_float_rtz", "convert_double_rtp"]),
        ("to_global", "no generic address space"),
    ],
)
def test_words_of_opencl_c_that_are_not_portable(word, why):
    error = refusal(f"kernel void f(global int *x)\n{{\n    x[0] = 1; {word}(y);\n}}\n")
    assert error.message.startswith(f"<source>:3:15: error: {word}: the portable language has {why}")
    assert error.log.split("\n")[1:3] == [f"    3 |     x[0] = 1; {word}(y);", "      | " + " " * 14 + "^"]


@pytest.mark.parametrize(
    "source",
    [
        "/* float4 */ kernel void f(global int *x) { x[0] = 1; } // image2d_t",
        "#if 0\nkernel void g(global float4 *x) {}\n#endif\nkernel void f(global int *x) { x[0] = 1; }",
        '#define V float4\nkernel void f(global int *x) { constant char *s = "float4"; x[0] = s[0]; }',
    ],
)
def test_only_where_they_are_used(source):
    compiler.build(source, "portable")


@pytest.mark.parametrize(
    "line",
    [
        "float half = x[0];",
        "int a, half = 2;",
        "float half[2];",
        "float *half;",
        "const float half = 2, a = 2 * half;",
        "float a, *const half = &a;",
    ],
)
def test_half_as_the_name_of_a_variable(line):
    error = refusal(f"kernel void f(global float *x)\n{{\n    {line}\n}}\n")
    column = 5 + line.index("half")
    assert error.message == (
        f"<source>:3:{column}: error: half: a type of OpenCL C, which cannot be the name of a variable; "
        "give it another name"
    )


def test_half_as_the_name_of_a_function():
    error = refusal(
        "static float half(float x) { return x / 2; }\nkernel void f(global float *x) { x[0] = 1; }"
    )
    assert error.message.startswith("<source>:1:14: error: half: a type of OpenCL C")


def test_half_as_the_name_of_a_parameter():
    error = refusal("kernel void f(global float *x, float half) { x[0] = 1; }")
    assert error.message.startswith("<source>:1:38: error: half: a type of OpenCL C")


def test_half_as_a_type():
    compiler.build(
        """
        typedef half real;
        static half twice(half x) { return x * (half)2; }
        static half add(const half x, half y) { half sum = x + y, *p = &sum; return *p * (half)1; }
        struct s { half h; half array[2]; };
        kernel void f(global half *x, global const half *restrict y, half a)
        {
            half t = twice(y[0]), u[2];
            u[0] = vload_half(0, x) * sizeof(half);
            struct s s;
            s.h = 1;
            x[0] = add(t, u[0]) + (half)a * sizeof(half[3]) + (half)(1.5f);
        }
        """,
        "portable",
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kernel void f(float *x) {}", "<source>:1:22: error: x: a pointer that a kernel is given is global"),
        ("kernel void f(global int *) {}", "<source>:1:15: error: a parameter of a kernel needs a name"),
        ("kernel void f(int n) {\n  if (n) {\n}\n", "<source>:1:22: error: '{' is not closed"),
        ("kernel void f(int n) {\n}\n}\n", "<source>:3:1: error: '}' closes nothing"),
        ("kernel void f(int n) {}\nkernel void f(int n) {}", "<source>:2:13: error: f: defined twice"),
        (
            "kernel void f(int n) {\n local int a[2], *p;\n}",
            "<source>:2:2: error: local: declare pointers to local memory apart from variables in it",
        ),
        (
            "__attribute__((reqd_work_group_size(8, 1)))\nkernel void f(int n) {}",
            "<source>:1:16: error: reqd_work_group_size takes three numbers",
        ),
        (
            "kernel void f(int n) {}\nkernel int g(int n) { return n; }",
            "<source>:2:12: error: g: a kernel returns void",
        ),
    ],
)
def test_errors_in_kernels(source, message):
    assert refusal(source).message.startswith(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kernel void f(global int *x)\n{\n\n    x[0] = 1\n}", "<source>:4:13: error: expected ';'"),
        ("kernel void f(global int *x)\n{\n    x = tan;\n}", "<source>:3:9: error: 'tan' undeclared"),
        ("kernel void f(global int *x) {\n  x[0] = max(1, zz);\n}", "<source>:2:17: error: 'zz' undeclared"),
        ("kernel void f(global int *x) {\n  undefined_t y;\n}", "<source>:2:3: error: unknown type name"),
        (
            "kernel void f(global int *x) {\n  g(x);\n}\nstatic void g(global int *x) {}",
            "<source>:2:3: error: ",
        ),
        ("kernel void f(global int *x) {\n  get_global_id();\n}", "<source>:2:"),
        ("#include <not_there.h>\n", "<source>:1:10: fatal error: not_there.h: No such file"),
        ("#if 1\nkernel void f(int n) {}\n", "<source>:1: error: unterminated #if"),
        ("\n#error no such device\n", "<source>:2:2: error: #error no such device"),
        (
            "#define TWICE(x) ((x) * 2 +)\nkernel void f(global int *x) {\n  x[0] = TWICE(3);\n}",
            "<source>:1:28: error: expected expression before ')' token",
        ),
        (
            'kernel void f(global int *x) {\n  x[0] = 1;\n# 70 "other.cl"\n  x[0] = y;\n}',
            "other.cl:70:10: error: 'y' undeclared",
        ),
    ],
)
def test_the_compilers_messages_are_of_the_users_lines(source, message):
    error = refusal(source)
    assert error.message.startswith(message)
    assert "usm_" not in error.log
    assert "<usmpy>" not in error.log


def test_all_errors_are_in_the_log_and_the_name_is_the_callers():
    error = refusal("kernel void f(global int *x) {\n  x[0] = a;\n  x[1] = b;\n  c;\n}", name="my file.cl")
    assert [f"my file.cl:{line}:" in error.log for line in (1, 2, 3, 4)] == [False, True, True, True]
    assert "    3 |   x[1] = b;\n      |          ^\n" in error.log


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "void f(int begin, size_t end) {}",
            "<source>:1:6: error: f: a kernel's parameters begin with size_t",
        ),
        ("\nvoid f(float *x) {}", "<source>:2:6: error: f: a kernel's parameters begin with size_t"),
        ("void f(size_t b, size_t e, float *x) {\n  x[0] = y;\n}", "<source>:2:10: error: 'y' undeclared"),
        ("void f(size_t b, size_t e, float *x) {\n", "<source>:"),
        (
            "void f(size_t b, size_t e, float *) {}",
            "<source>:1:28: error: a parameter of a kernel needs a name",
        ),
    ],
)
def test_c_that_is_wrong(source, message):
    error = refusal(source, "c")
    assert error.message.startswith(message)
    assert "usm_" not in error.log


def test_a_language_that_the_host_does_not_compile():
    with pytest.raises(ValueError, match="'portable' or 'c'"):
        compiler.build("", "cuda")
