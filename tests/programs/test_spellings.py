"""Declarations, sizes, names and spellings that every device builds, in kernels with barriers and without."""

import pytest

import usmpy
from usmpy._compile import cuda

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
]

DEVICES = [usmpy.Device("host"), *usmpy.get_devices("opencl"), *usmpy.get_devices("level_zero")[:1]]
LAUNCHED = 8

# A declaration, and an expression that is 9 for each work-item. `l` is the local id.
DECLARATORS = {
    "int a[3] = { 1, 2, l }; int b[sizeof(a) / sizeof(a[0])]; b[2] = a[1]": "b[2] + 7",
    "int a[3] = { 1, 2, l }, b[sizeof a / sizeof *a] = { 4, 5, 6 }": "b[0] + b[1] + a[2] - l",
    "long a = l; char b[sizeof(a)] = { 1 }": "(int)sizeof(b) + b[0] + (int)(a - l)",
    "local int a[2]; local int b[sizeof(a)]; if (!l) b[7] = 9": "b[7]",
    "int a[2] = { l, 9 }; local int b[sizeof(a) / 4]; if (!l) b[1] = 9": "(a[1] + b[1]) / 2",
    "local char t[sizeof(x[0])]; if (!l) t[3] = 9": "t[3]",
    'char a[4] = "abc"': "a[2] - 'Z'",
    'char a[4] = "\\x05\\x04", b[2][2] = { "a", "b" }': "a[0] + a[1] + a[2] + b[1][1]",
    'char a[] = "1234567", *p = a + 2': "(int)sizeof(a) + p[0] - '2'",
    'uchar a[3] = { "a{" }': "a[1] - 'r'",
    'constant char *a = "a9"': "a[1] - '0'",
    "int m[2][3] = { { l }, { 7, 8, 9 } }; int (*row)[3] = m; row++": "(*row)[2]",
    "int m[2][3] = { { l, 9 } }; const int (*row)[3] = m": "row[0][1]",
    "three m[2] = { { l, 9 } }; three (*row) = m": "(*row)[1]",
    "int (a) = l + 9, (b)[2] = { l, 9 }": "a - b[0]",
    "int a[2] = { l, 9 }, (*p)[2] = &a": "(*p)[1]",
    "float a = l, *restrict p = &a, *const q = p; *q += 9": "(int)a - l",
    # Pointers to variables that are not named again behind the barrier.
    "three *p, a = { l, 9 }; p = &a": "(*p)[1]",
    "int a[2] = { l, 9 }; int *p = a": "p[1]",
    "int a[2] = { l, 9 }; int *p = 1 + a": "*p",
    "int a[2] = { l, 9 }, *p = &a[1]": "*p",
    "int m[2][2] = { { l }, { 9, 1 } }; int *p = m[1]": "p[0]",
    "three a = { l, 9 }; int *p = a": "p[1]",
    "int a = l + 9, *p = &a": "*p - l",
    "int a = l + 9, *p = 0; p = l < 9 ? &a : p": "*p - l",
    "int a[2] = { 0, l }; int *q = nine(a)": "q[0] + q[1] - l",
    'char a[3] = "ab", *p = a': "p[1] - 'Y'",
    "int a<:2:> = <% l, 9 %>": "a<:1:>",
}
WAYS = {
    "no barrier": "{declare}; x[get_global_id(0)] = {value};",
    "a barrier": "{declare}; barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = {value};",
    "a loop": "int n = 0; do {{ {declare}; barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = {value}; "
    "barrier(CLK_LOCAL_MEM_FENCE); }} while (++n < 2);",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_declarators(device, way):
    source = "typedef int three[3];\nstatic int *nine(int *p) { p[0] = 9; return p; }\n" + "".join(
        f"kernel void f{k}(global int *x)\n{{\n    int l = get_local_id(0);\n"
        f"    {WAYS[way].format(declare=declare, value=value)}\n}}\n"
        for k, (declare, value) in enumerate(DECLARATORS.items())
        if "local" not in declare or way == "a barrier"
    )
    numbers = [k for k, text in enumerate(DECLARATORS) if "local" not in text or way == "a barrier"]
    program = usmpy.Program(source, device=device)
    for k in numbers:
        x = usmpy.zeros(LAUNCHED, dtype="int32", device=device)
        device.queue.submit(program[f"f{k}"], [x], usmpy.NdRange(LAUNCHED, 4)).wait()
        assert x.tolist() == [9] * LAUNCHED, list(DECLARATORS)[k]


SIZES = ["TS", "TS * 2", "(TS + 2) * 1u", "8 / TS", "1 << 2", "0x4UL", "TS > 3 ? 4 : 1", "-(-4)", "7 % 5 + 2"]


@pytest.mark.parametrize("body", ["x[g] = 9;", "x[g] = 1; barrier(CLK_LOCAL_MEM_FENCE); x[g] += 8;"])
def test_sizes_of_work_groups(body):
    source = "#define TS 4\n" + "".join(
        f"__attribute__((reqd_work_group_size({size}, TS / 4, 1)))\n"
        f"kernel void f{k}(global int *x) {{ int g = get_global_id(0); {body} }}\n"
        for k, size in enumerate(SIZES)
    )
    values = [4, 8, 6, 2, 4, 4, 4, 4, 4]
    for device in DEVICES:
        program = usmpy.Program(source, device=device)
        for k, value in enumerate(values):
            x = usmpy.zeros(2 * value, dtype="int32", device=device)
            device.queue.submit(program[f"f{k}"], [x], usmpy.NdRange(2 * value, value)).wait()
            assert x.tolist() == [9] * 2 * value
            with pytest.raises((ValueError, usmpy.UsmError)):
                device.queue.submit(program[f"f{k}"], [x], usmpy.NdRange(2 * value, 1)).wait()
    cuda.prepare(source, "portable", "")


def test_digraphs_everywhere():
    source = (
        "%:define TWO(a, b) a %:%: b\n%:ifdef TWO\n"
        "struct s <% int a<:2:>; %>;\n"
        "kernel void f(global int *x)\n<%\n    struct s TWO(on, e) = <% <% 4, 5 %> %>;\n"
        "    constant char *t = \"<:%>\";\n    x<:0:> = one.a<:0:> + one.a[1] + (t<:0:> != '<');\n%>\n"
        "%:endif\n"
    )
    for device in DEVICES:
        x = usmpy.zeros(1, dtype="int32", device=device)
        usmpy.Program(source, device=device).f[1](x).wait()
        assert x.tolist() == [9]
    assert "x[0] = one.a[0]" in cuda.prepare(source, "portable", "")[0]


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
