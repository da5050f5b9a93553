"""Names that a portable program may give: those of functions of OpenCL C that the portable language lacks."""

import pytest

import usmpy
from usmpy._compile import cuda

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
]

DEVICES = [usmpy.Device("host"), *usmpy.get_devices("opencl"), *usmpy.get_devices("level_zero")[:1]]
NAMES = [
    "cross",
    "shuffle",
    "vload4",
    "work_group_size",
    "work_group_scan",
    "sub_group_size",
    "get_image_size",
]
NAMES += ["read_pipe", "write_image_row", "enqueue_kernel", "wait_group_events", "async_work_group_copies"]
POSITIONS = {
    "variables": """
        kernel void f{k}(global int *x) {{ int {name} = 3, *p = &{name}; x[{k}] = {name} * 2 + *p; }}
    """,
    "parameters": """
        static int g{k}(int {name}) {{ return {name} + 4; }}
        kernel void f{k}(global int *{name}) {{ {name}[{k}] = g{k}(5); }}
    """,
    "members": """
        struct s{k} {{ int {name}; int a[2]; }};
        kernel void f{k}(global int *x) {{ struct s{k} s = {{ .{name} = 9 }}, *p = &s; x[{k}] = p->{name}; }}
    """,
    "helpers": """
        static int {name}(int a, int b);
        kernel void f{k}(global int *x) {{ x[{k}] = {name}(4, 5); }}
        static int {name}(int a, int b) {{ return a + b; }}
    """,
    "barriers": """
        kernel void f{k}(global int *x)
        {{
            local int {name}[1]; {name}[0] = 9;
            barrier(CLK_LOCAL_MEM_FENCE);
            int work_group_items = {name}[0]; barrier(CLK_LOCAL_MEM_FENCE); x[{k}] = work_group_items;
        }}
    """,
    "macros": """
        #define {name}(a) ((a) * 3)
        kernel void f{k}(global int *x) {{ x[{k}] = {name}(3); }}
    """,
}
ATTRIBUTES = ["work_group_size_hint(16, 1, 1)", "vec_type_hint(float4)", "reqd_work_group_size(1, 1, 1)"]
ATTRIBUTES += ["work_group_size_hint(16, 1, 1), vec_type_hint(int)", "__work_group_size_hint__(1, 1, 1)"]


def run(source, kernels, device):
    x = usmpy.zeros(kernels, dtype="int32", device=device)
    program = usmpy.Program(source, device=device)
    for k in range(kernels):
        program[f"f{k}"][1](x)
    return x.tolist()


@pytest.mark.parametrize("position", POSITIONS)
def test_names_of_functions(position):
    source = "".join(POSITIONS[position].format(k=k, name=name) for k, name in enumerate(NAMES))
    for device in DEVICES:
        assert run(source, len(NAMES), device) == [9] * len(NAMES)
    cuda.prepare(source, "portable", "")


@pytest.mark.parametrize("body", ["x[{k}] = 9;", "x[{k}] = 1; barrier(CLK_LOCAL_MEM_FENCE); x[{k}] += 8;"])
def test_attributes_of_kernels(body):
    source = "".join(
        f"__attribute__(({attribute})) kernel void f{2 * k}(global int *x) {{ {body.format(k=2 * k)} }}\n"
        f"kernel __attribute__(({attribute}))\n"
        f"void f{2 * k + 1}(global int *x) {{ {body.format(k=2 * k + 1)} }}\n"
        for k, attribute in enumerate(ATTRIBUTES)
    )
    for device in DEVICES:
        assert run(source, 2 * len(ATTRIBUTES), device) == [9] * 2 * len(ATTRIBUTES)
    cuda.prepare(source, "portable", "")


def test_names_with_underscores_are_attributes():
    """Two at the begin are Python's protocols, which are asked for without an error that lists kernels."""
    names = ["_a", "_a_", "_a_b", "a__b", "_ab"]
    source = "".join(f"kernel void {name}(global int *x) {{ x[0] = {i}; }}" for i, name in enumerate(names))
    program = usmpy.Program(source, device="host", options="-O0")
    x = usmpy.zeros(1, dtype="int32", device="host")
    for i, name in enumerate(names):
        kernel = getattr(program, name)
        assert kernel.name == name
        kernel[1](x).wait()
        assert x.tolist() == [i]
    for name in ("__", "__a", "__array__", "__a__"):
        with pytest.raises(AttributeError) as caught:
            getattr(program, name)
        assert "kernel" not in str(caught.value)
