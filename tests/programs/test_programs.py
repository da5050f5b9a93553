"""Programs: languages, messages of compilers, kernels by name, SPIR-V, binaries, what is kept of builds."""

import gc
import os
import re
import struct
import threading
import weakref

import pytest
import spirv_modules
from together import together

import usmpy
from usmpy import _core
from usmpy._compile import cache, spirv

ADD = "kernel void add(global int *x, int n) {\n  x[get_global_id(0)] += n;\n}\n"
OPENCL = usmpy.get_devices("opencl")
LEVEL_ZERO = usmpy.get_devices("level_zero")[:1]
DRIVERS = [*OPENCL, *LEVEL_ZERO, *usmpy.get_devices("cuda")[:1]]
DEVICES = [usmpy.Device("host:cpu:0"), *DRIVERS]
KNOWN = pytest.mark.leaves_objects("queues of devices are cached")

pytestmark = KNOWN


def name(device):
    return getattr(device, "filter_string", "absent")


every_device = pytest.mark.parametrize("device", DEVICES, ids=name)
NONE = [pytest.param(None, marks=pytest.mark.skip(reason="no such device"))]
opencl = pytest.mark.parametrize("device", OPENCL or NONE, ids=name)
takes_spirv = pytest.mark.parametrize("device", [*OPENCL, *LEVEL_ZERO] or NONE, ids=name)
driver = pytest.mark.parametrize("device", DRIVERS or NONE, ids=name)


def drawn(devices, names, cases):
    """All cases on the host, and a third of them on each driver, another third on the next."""
    taken = [
        pytest.param(device, *(case if "," in names else [case]), id=f"{ascii(case)[:40]}-{name(device)}")
        for j, device in enumerate(devices)
        for i, case in enumerate(cases)
        if device.backend == "host" or (i + j) % 3 == 0
    ]
    return pytest.mark.parametrize(f"device, {names}", taken)


def works(program, place=None):
    x = usmpy.zeros(3, dtype="int32", device=place or program.device)
    program["add"][3](x, 5).wait()
    return x.tolist() == [5, 5, 5]


def elsewhere(device):
    """A queue in a context of its own, which knows no program yet."""
    return usmpy.Queue(device, context=usmpy.Context(device))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Nothing was built before the test."""
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


# Source.


@every_device
def test_a_program_tells_what_it_is(device, folder):
    program = usmpy.Program(ADD, device=device, options="-D X=1")
    assert program.language == "portable"
    assert program.options == "-D X=1"
    assert program.device == device
    assert program.context == device.context
    assert program.kernel_names == ["add"]
    assert re.fullmatch(r"<Program on \w+:\w+:\d+, language 'portable', kernels: add>", repr(program))
    kernel = program.add
    assert kernel is program["add"] is program.add
    assert kernel.name == "add"
    assert kernel.program is program
    assert kernel.device == device
    assert kernel.parameters == ("int32*", "int32")
    assert kernel.parameter_names == ("x", "n")
    assert kernel.max_work_group_size() >= 1
    assert re.fullmatch(r"<Kernel add\(int32\* x, int32 n\) on \w+:\w+:\d+>", repr(kernel))
    assert {"add", "kernel_names", "__doc__"} <= set(dir(program))
    assert program._ipython_key_completions_() == ["add"]
    assert works(program)


@every_device
def test_a_kernel_keeps_its_program(device):
    program = usmpy.Program(ADD, device=device)
    kernel = program.add
    gone = weakref.ref(program)
    del program
    gc.collect()
    assert works(gone())
    del kernel
    gc.collect()
    assert gone() is None


@every_device
@together("missing", ["nope", "", "ad", "adds", "add\0", "\ud800", "ä", "__add__x"])
def test_missing_kernels(device, missing):
    program = usmpy.Program(ADD, device=device)
    with pytest.raises(KeyError, match=r"the program has no kernel .*; it has add"):
        program[missing]
    with pytest.raises(
        AttributeError, match=r"the program has no kernel .*; it has add|no attribute '__add__x"
    ):
        getattr(program, missing)
    with pytest.raises(TypeError, match="a kernel's name is a str"):
        program[0]


@every_device
def test_a_compiler_s_words_come_in_full_with_the_user_s_lines(device):
    source = "\n\nkernel void f(global int *x) {\n  x[0] = undefined_thing;\n}\n"
    source += "kernel void g(global int *x) {\n\n  x[0] = other_thing;\n}\n"
    gc.collect()
    before = _core._live_counts()
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(source, device=device)
    error = caught.value
    assert "undefined_thing" in error.log
    assert "other_thing" in error.log
    assert ":4:" in error.log
    assert ":8:" in error.log
    assert error.log in str(error)
    assert error.backend == device.backend
    assert isinstance(error, usmpy.UsmError)
    assert _core._live_counts() == before


@drawn(DEVICES, "begin", ["", "\n", "/* a\n */", "#define A 1\n"])
def test_messages_count_lines_and_columns_of_the_user(device, begin):
    """Words that usmpy puts before a program are not in what the compiler says."""
    source = begin + "kernel void f(global int *x) { x[0] = undefined_thing; }\n"
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(source, device=device)
    line, column = source.count("\n"), len((source.split("undefined_thing")[0]).split("\n")[-1]) + 1
    place = (
        rf":{line}: error" if device.backend == "cuda" else rf":{line}:{column}:"
    )  # NVRTC tells no columns
    assert re.search(place, caught.value.log), caught.value.log
    assert "FP_CONTRACT" not in caught.value.log


@every_device
def test_lines_of_a_program_are_the_users(device):
    for begin in ("", "\n\n", "#define A\n"):
        source = begin + "kernel void line(global int *x) { x[0] = __LINE__; }"
        x = usmpy.zeros(1, dtype="int32", device=device)
        usmpy.Program(source, device=device).line[1](x).wait()
        assert x.tolist() == [begin.count("\n") + 1]


# What the portable language does not have.

NOT_PORTABLE = {
    "kernel void f(global float4 *x) {}": (1, "float4", "vector types"),
    "\nkernel void f(global float *x)\n{\n    float2 v = vload2(0, x);\n}": (4, "float2", "vector types"),
    "#define V double\n#define W V ## 3\n#define J(a, b) a ## b\nkernel void f(global J(V, 3) *x) {}": (
        4,
        "V3",
        None,
    ),
    "#define J2(a, b) a ## b\n#define J(a, b) J2(a, b)\nkernel void f(global J(int, 16) *x) {}": (
        3,
        "int16",
        "vector types",
    ),
    "typedef uchar8 bytes;\nkernel void f(global bytes *x) {}": (1, "uchar8", "vector types"),
    "kernel void f(global T *x) {}": (1, "half4", "vector types"),
    "kernel void f(read_only image2d_t x) {}": (1, "read_only", "images"),
    "kernel void f(global int *x, sampler_t s) {}": (1, "sampler_t", "images"),
    "kernel void f(read_only pipe int x) {}": (1, "read_only", "images"),
    "kernel void f(global int *x) { x[0] = read_pipe(0, x); }": (1, "read_pipe", "pipes"),
    "kernel void f(global int *x) { event_t e; }": (1, "event_t", "asynchronous copies"),
    "__global__ void f(int *x) { x[threadIdx.x] = 1; }": (1, "__global__", "CUDA"),
    "kernel void f(global int *x) { x[0] = work_group_reduce_add(1); }": (
        1,
        "work_group_reduce_add",
        "functions of whole work-groups",
    ),
}


@pytest.mark.parametrize("source", [s for s, (_, _, what) in NOT_PORTABLE.items() if what])
def test_unportable_features_have_one_message_everywhere(source):
    line, word, what = NOT_PORTABLE[source]
    messages = set()
    for device in DEVICES:
        with pytest.raises(usmpy.BuildError) as caught:
            usmpy.Program(source, device=device, options="-D T=half4")
        assert caught.value.backend == device.backend
        assert caught.value.log in str(caught.value)
        messages.add(str(caught.value))
    (message,) = messages
    said = rf"the portable language has no {what}.*; OpenCL and Level Zero devices take them with language=.*"
    if what == "CUDA":
        said = r'a word of CUDA C\+\+, which CUDA devices take with language="cuda"; a portable kernel is .*'
    assert re.match(
        rf"the program does not build: <source>:{line}:(\d+:)? error: {word}: {said}\n", message
    ), message
    assert f"{line:>5} | {source.splitlines()[line - 1]}\n" in message


@every_device
def test_a_header_with_vector_types_is_not_portable(device, tmp_path):
    (tmp_path / "types.h").write_text("\ntypedef float4 pixel;\n")
    source = '#include "types.h"\nkernel void add(global int *x, int n) { x[get_global_id(0)] += n; }'
    with pytest.raises(
        usmpy.BuildError, match=r"types\.h:2:.* error: float4: the portable language has no vector"
    ):
        usmpy.Program(source, device=device, options=f"-I {tmp_path}")


@drawn(
    DEVICES,
    "before",
    [
        "/* float4 */ // image2d_t",
        "#if 0\nkernel void g(global float4 *x) {}\n#endif",
        "#define V float4\n#define IMAGE image2d_t",
        "#ifdef __NO_SUCH_DEVICE__\n#include <vectors.h>\ntypedef float4 V;\n#endif",
        'constant char text[] = "float4";',
    ],
)
def test_words_that_no_compiler_sees_are_portable(device, before):
    assert works(usmpy.Program(f"{before}\n{ADD}", device=device))


@opencl
def test_all_of_opencl_c_is_another_language(device):
    source = "kernel void f(global float4 *x) { x[0] = (float4)(1); }"
    program = usmpy.Program(source, device=device, language="opencl")
    x = usmpy.zeros(4, dtype="float32", device=device)
    program.f[1](x).wait()
    assert x.tolist() == [1] * 4


LOCAL = """kernel void f(global int *x, local int *t) {
    t[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[0];
}"""


@takes_spirv
@pytest.mark.parametrize("language", ["opencl", "spirv", "native"])
def test_local_memory_needs_the_size_of_a_group_in_every_language(device, language):
    program = usmpy.Program(LOCAL, device=device, language="opencl")
    if language == "native":
        program = usmpy.Program(program.binary, device=device, language=language)
    elif language == "spirv":
        if not spirv.compiler():
            pytest.skip("there is no compiler to SPIR-V (clang-14 and llvm-spirv-14)")
        try:
            module = spirv.prepare(LOCAL, "opencl", "", False, True)
            program = usmpy.Program(module, device=device, language=language)
        except usmpy.BuildError as error:
            assert "takes no SPIR-V" in str(error)  # noqa: PT017
            return
    x = usmpy.zeros(64, dtype="int32", device=device)
    with pytest.raises(ValueError, match=r"LocalMemory needs NdRange\(global, local\)"):
        program.f[64](x, usmpy.LocalMemory(16))
    program.f[usmpy.NdRange(64, 4)](x, usmpy.LocalMemory(16)).wait()
    assert x.tolist() == [1] * 64


# Programs without a kernel.


@drawn(
    DEVICES,
    "source, hint",
    [
        ("", "write 'kernel void name(...)'"),
        ("// kernel void f(global int *x)\n", "write 'kernel void name(...)'"),
        ("void scale(global int *x) { x[0] = 1; }", "write 'kernel void scale(...)'"),
        ("static int one(int x) { return x; }", "write 'kernel void name(...)'"),
    ],
)
def test_a_program_without_a_kernel_says_what_is_missing(device, source, hint):
    gc.collect()
    before = _core._live_counts()
    with pytest.raises(usmpy.BuildError, match=re.escape(f"the program has no kernel: {hint}")) as caught:
        usmpy.Program(source, device=device)
    assert caught.value.backend == device.backend
    del caught
    gc.collect()
    assert _core._live_counts() == before


@drawn(
    DEVICES,
    "word, hint",
    [
        ("kernal", "(hint: write 'kernel' instead of 'kernal')"),
        ("__kernal", "(hint: write 'kernel' instead of '__kernal')"),
        ("Kernel", "(hint: write 'kernel' instead of 'Kernel')"),
    ],
)
def test_a_misspelled_kernel_gets_a_hint(device, word, hint):
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(f"{word} void f(global int *x) {{ x[0] = 1; }}\n", device=device)
    assert str(caught.value).split("\n")[1] == hint
    assert caught.value.log


def test_the_hint_is_of_the_language():
    with pytest.raises(
        usmpy.BuildError, match=r"a kernel is a function 'void name\(size_t begin, size_t end"
    ):
        usmpy.Program("static void f(int x) {}", device="host", language="c")


# Files.


@every_device
def test_a_file_that_was_included_and_changed_is_read_again(device, tmp_path, folder):
    header, other = tmp_path / "value.h", tmp_path / "other.h"
    sources = [
        '#include "value.h"\n',
        "#inc\\\nlude <value.h>\n",
        "#inc\\  \nlude <value.h>\n",
        '#define FILE "value.h"\n#include FILE\n',
        '#include "other.h"\n',
    ]
    other.write_text('#include "value.h"\n')
    host = device.backend == "host"  # elsewhere: what the driver's own cache could overlook, too
    for source in sources if host else sources[3:]:
        for value in (1, 2, 1) if host else (1, 2):
            header.write_text(f"#define VALUE {value}\n")
            x = usmpy.zeros(1, dtype="int32", device=device)
            text = source + "kernel void f(global int *x) { x[0] = VALUE; }"
            usmpy.Program(text, device=device, options=f"-I {tmp_path}").f[1](x).wait()
            assert x.tolist() == [value], source


@every_device
def test_options_reach_the_compiler(device, folder):
    source = "kernel void add(global int *x, int n) { x[get_global_id(0)] = n * N; }"
    with pytest.raises(usmpy.BuildError):
        usmpy.Program(source, device=device)
    for n in (2, 3):  # options are part of what a kept build is known by
        x = usmpy.zeros(2, dtype="int32", device=device)
        usmpy.Program(source, device=device, options=f"-D N={n}").add[2](x, 10).wait()
        assert x.tolist() == [10 * n] * 2


@every_device
def test_languages_of_other_backends(device):
    others = {
        "host": ("cuda", "ptx", "opencl"),
        "opencl": ("cuda", "ptx", "c"),
        "level_zero": ("cuda", "ptx", "c"),
        "cuda": ("opencl", "c"),
    }
    for language in ("fortran", *others[device.backend]):
        with pytest.raises(ValueError, match=f"'{language}'.*'portable'"):
            usmpy.Program(ADD, device=device, language=language)
    with pytest.raises(TypeError, match="language is an int"):
        usmpy.Program(ADD, device=device, language=3)
    with pytest.raises(TypeError, match="options is a list"):
        usmpy.Program(ADD, device=device, options=["-D", "X"])
    with pytest.raises(TypeError, match="a str is allowed"):
        usmpy.Program(ADD.encode(), device=device)


@opencl
def test_opencl_c(device):
    source = "kernel void add(global int4 *x, int n) { x[get_global_id(0)] += (int4)(n); }"
    program = usmpy.Program(source, device=device, language="opencl")
    x = usmpy.zeros(8, dtype="int32", device=device)
    program.add.with_parameters(["int32*", "int32"])[2](x, 5).wait()
    assert x.tolist() == [5] * 8
    for source in ("a\0b", ADD + "\0"):
        with pytest.raises(ValueError, match="null"):
            usmpy.Program(source, device=device, language="opencl")
    with pytest.raises(TypeError, match="bytes-like"):
        usmpy.Program(ADD, device=device, language="spirv")


# Words for parameters.


@drawn(
    DEVICES,
    "words, error",
    [
        (["int32*"], ValueError),
        (["int32*", "int32", "int32"], ValueError),
        (["int32*", "float32"], ValueError),
        (["const int32*", "int32"], ValueError),
        (["int32", "int32"], ValueError),
        (["local int32*", "int32"], ValueError),
        (["int33*", "int32"], ValueError),
        (["int32*", "bytes[0]"], ValueError),
        (["int32*", "bytes[-4]"], ValueError),
        (["int32*", "bytes[99999999999]"], ValueError),
        (["int32* a, int32* b", "int32"], ValueError),
        (["int32*", ""], ValueError),
        (["int32*", 3], TypeError),
        ("int32*", TypeError),
        (3, TypeError),
    ],
)
def test_words_that_contradict_the_program_or_are_none(device, words, error):
    kernel = usmpy.Program(ADD, device=device).add
    with pytest.raises(error):
        kernel.with_parameters(words)


def test_words_of_a_pointer_keep_their_names():
    import ctypes

    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int)(
        lambda begin, end, x, n: None
    )
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, ["int32* x", "int32 number"], owner=function)
    again = kernel.with_parameters(["int32* y", "int32 other"])
    thrice = again.with_parameters(["int32*", "int32"])
    assert kernel.parameter_names == ("x", "number")
    assert again.parameter_names == ("y", "other")
    assert thrice.parameter_names == (None, None)
    with pytest.raises(ValueError, match="but the program says 'int32'"):
        kernel.with_parameters(["int32*", "float32"])


# SPIR-V.


@takes_spirv
def test_a_spirv_module_runs_or_is_refused_with_the_reason(device):
    gc.collect()
    before = _core._live_counts()
    try:
        program = usmpy.Program(spirv_modules.add(), device=device, language="spirv")
    except usmpy.BuildError as error:
        assert "takes no SPIR-V" in str(error)  # noqa: PT017
        assert _core._live_counts() == before
        return
    assert program.kernel_names == ["add"]
    # The module tells kinds and sizes; of integers it does not tell the sign, which words may add.
    assert program.add.parameters == ("void*", "unknown[4]")
    x = usmpy.zeros(3, dtype="int32", device=device)
    program.add[3](x, 5).wait()
    assert x.tolist() == [5, 5, 5]
    kernel = program.add.with_parameters(["int32*", "int32"])
    kernel[3](x, -7).wait()
    assert x.tolist() == [-2, -2, -2]
    with pytest.raises(TypeError, match="argument"):
        program.add[3](x)
    with pytest.raises(OverflowError):
        program.add[3](x, 1 << 32)


@takes_spirv
def test_parameters_are_read_from_a_compilers_spirv_module(device):
    if not spirv.compiler():
        pytest.skip("there is no compiler to SPIR-V (clang-14 and llvm-spirv-14)")
    source = """
        struct pair { int a; double b; };
        kernel void f(global const float *x, constant uint *y, local short *z, struct pair p, char n,
                      float r, global float *out) {
            z[0] = n;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = x[0] + y[0] + z[0] + p.a + p.b + r;
        }
        kernel void g(global void *x) {}
    """
    module = spirv.prepare(source, "opencl", "", False, True)
    try:
        program = usmpy.Program(module, device=device, language="spirv")
    except usmpy.BuildError as error:
        assert "takes no SPIR-V" in str(error)  # noqa: PT017
        return
    words = ("const float32*", "const uint32*", "local int16*", "bytes[16]", "int8", "float32", "float32*")
    assert program.f.parameters == words
    assert program.g.parameters == ("void*",)
    x, out = (usmpy.zeros(2, dtype="float32", device=device) for _ in range(2))
    y = usmpy.full(1, 1000, dtype="uint32", device=device)
    pair = struct.pack("<i4xd", 20, 0.5)
    program.f[usmpy.NdRange((2,), (1,))](x, y, usmpy.LocalMemory(2), pair, -3, 0.25, out)
    assert out.tolist() == [1017.75] * 2
    with pytest.raises(OverflowError):
        program.f[2](x, y, usmpy.LocalMemory(2), pair, 128, 0.25, out)


@takes_spirv
def test_a_spirv_module_that_is_cut_short_never_reaches_the_driver(device):
    module = spirv_modules.add()
    gc.collect()
    before = _core._live_counts()
    for size in range(0, len(module)):
        with pytest.raises(usmpy.BuildError, match="SPIR-V"):
            usmpy.Program(module[:size], device=device, language="spirv")
    gc.collect()
    assert _core._live_counts() == before


@takes_spirv
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda words: [struct.unpack(">I", struct.pack("<I", w))[0] for w in words], "byte order"),
        (lambda words: [0xDEADBEEF, *words[1:]], "not a SPIR-V module"),
        (lambda words: [words[0], 0x00020000, *words[2:]], "version 2.0"),
        (lambda words: [*words[:5], 17, *words[5:]], "damaged"),
        (lambda words: [*words, 1 << 16 | 56], "damaged"),
        (lambda words: [*words, 9 << 16 | 17], "cut short"),
    ],
)
def test_a_damaged_spirv_module(device, change, match):
    data = spirv_modules.add()
    words = change(struct.unpack(f"<{len(data) // 4}I", data))
    with pytest.raises(usmpy.BuildError, match=match):
        usmpy.Program(struct.pack(f"<{len(words)}I", *words), device=device, language="spirv")


# Binaries.


@driver
def test_a_binary_is_the_program_again(device):
    binary = usmpy.Program(ADD, device=device).binary
    assert isinstance(binary, bytes)
    for source in (binary, bytearray(binary), memoryview(binary)):
        program = usmpy.Program(source, device=device, language="native")
        assert program.kernel_names == ["add"]
        assert program.add.parameters == ("int32*", "int32")
        assert program.add.parameter_names == ("x", "n")
        assert works(program)


@driver
def test_a_binary_that_is_cut_short_or_changed_never_reaches_the_driver(device):
    binary = usmpy.Program(ADD, device=device).binary
    middle = len(binary) // 2
    changed = binary[:middle] + bytes([binary[middle] ^ 1]) + binary[middle + 1 :]
    for source in (binary[:12], binary[:16], binary[:middle], binary[:-1], binary + b"\0", changed):
        with pytest.raises(usmpy.BuildError, match="cut short"):
            usmpy.Program(source, device=device, language="native")


@driver
def test_bytes_that_are_no_binary(device):
    gc.collect()
    before = _core._live_counts()
    for source in (b"", b"abc", b"garbage" * 100, bytes(1000)):
        with pytest.raises(usmpy.BuildError):
            usmpy.Program(source, device=device, language="native")
    assert _core._live_counts() == before


def test_programs_of_the_host_have_no_binary():
    program = usmpy.Program(ADD, device="host")
    with pytest.raises(usmpy.UsmError, match="no binary form"):
        _ = program.binary


# What is kept on disk.


@driver
def test_a_kept_build_has_its_parameters(device, monkeypatch, folder):
    usmpy.Program(ADD, device=elsewhere(device))
    stored = []
    monkeypatch.setattr(cache, "store", lambda *args: stored.append(args))
    place = elsewhere(device)
    program = usmpy.Program(ADD, device=place)
    assert stored == []  # it was not built
    assert program.add.parameters == ("int32*", "int32")
    assert program.add.parameter_names == ("x", "n")
    assert works(program, place)


@drawn(DRIVERS, "content", [b"", b"garbage", b"\0garbage", "half", "changed"])
def test_a_kept_build_that_was_changed_is_built_anew(device, folder, content):
    usmpy.Program(ADD, device=elsewhere(device))
    files = [f for f in folder.rglob("*") if f.is_file()]
    assert files
    for file in files:
        data = file.read_bytes()
        middle = len(data) // 2
        bad = {"half": data[:middle], "changed": data[:middle] + b"?" + data[middle + 1 :]}
        os.chmod(file, 0o600)
        file.write_bytes(bad.get(content, content))
    place = elsewhere(device)
    assert works(usmpy.Program(ADD, device=place), place)


@driver
def test_a_kept_build_that_the_driver_refuses_is_built_anew(device, monkeypatch, folder):
    monkeypatch.setattr(cache, "load", lambda *_: b"add(int32* x, int32 n)\n\0no binary")
    place = elsewhere(device)
    assert works(usmpy.Program(ADD, device=place), place)
    monkeypatch.setattr(cache, "load", lambda *_: b"no zero")
    place = elsewhere(device)
    assert works(usmpy.Program(ADD, device=place), place)


@pytest.fixture
def loads(monkeypatch, folder):
    """How often a build asked the disk."""
    asked, load = [], cache.load
    monkeypatch.setattr(cache, "load", lambda *args: asked.append(args) or load(*args))
    return asked


@opencl
def test_a_build_of_this_process_is_reused(device, loads):
    place = elsewhere(device)
    first = usmpy.Program(ADD, device=place)
    again = usmpy.Program(ADD, device=place)
    assert again is not first
    assert again.add is not first.add
    assert again.add.program is again
    assert works(first, place)
    assert works(again, place)
    del first, again
    gc.collect()
    assert works(usmpy.Program(ADD, device=place), place)  # also behind the last of them
    assert len(loads) == 1
    usmpy.Program(ADD, device=place, options="-D X=1")
    usmpy.Program(ADD, device=place, language="opencl")
    usmpy.Program(ADD + "\n", device=place)
    usmpy.Program(ADD, device=elsewhere(device))
    assert len(loads) == 5


@pytest.mark.parametrize("device", OPENCL[:1] or NONE, ids=name)
def test_a_context_keeps_a_limited_number_of_unused_programs(device, loads):
    place = elsewhere(device)
    sources = [ADD + "\n" * i for i in range(34)]
    for source in sources:
        usmpy.Program(source, device=place)["add"]
        gc.collect()
    assert len(loads) == 34
    usmpy.Program(sources[-1], device=place)
    usmpy.Program(sources[2], device=place)
    assert len(loads) == 34
    usmpy.Program(sources[0], device=place)
    assert len(loads) == 35


@opencl
def test_nothing_is_kept_in_the_process_where_nothing_is_to_be_kept(device, loads, monkeypatch):
    place = elsewhere(device)
    monkeypatch.setenv("USMPY_CACHE", "0")
    usmpy.Program(ADD, device=place)
    usmpy.Program(ADD, device=place)
    assert len(loads) == 2


@opencl
def test_a_failed_build_is_not_kept(device, loads):
    place = elsewhere(device)
    for _ in range(2):
        with pytest.raises(usmpy.errors.BuildError, match="nonsense"):
            usmpy.Program("kernel void f(global int *x) { nonsense; }", device=place)
    assert len(loads) == 2


@opencl
def test_threads_that_build_the_same_at_once(device, folder):
    place = elsewhere(device)
    results = []

    def build():
        for i in range(20):
            results.append(works(usmpy.Program(ADD + "\n" * (i % 3), device=place), place))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


@opencl
@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_a_child_of_a_fork_does_not_find_what_its_parent_built(device):
    program = usmpy.Program(ADD, device=device)
    child = os.fork()
    if child == 0:
        try:
            usmpy.Program(ADD, device=device)
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert works(program)


@pytest.mark.parametrize("device", DRIVERS, ids=str)
def test_the_mark_of_a_binary_is_the_same_in_every_version(device):
    """Binaries that were kept must load: the name of the format, and FNV-1a of what follows."""
    binary = usmpy.Program(ADD, device=device).binary
    value = 14695981039346656037
    for byte in binary[16:]:
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    assert (binary[:8], struct.unpack("<Q", binary[8:16])[0]) == (b"usmpy-1\0", value)
