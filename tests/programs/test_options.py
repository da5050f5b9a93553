"""Options of programs: what a kernel may ask of a compiler, and what is refused by name."""

import os

import pytest

import usmpy
from usmpy._compile import build_options

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the system's compiler is no part of it"),
]

ADD = "kernel void add(global int *x, int n) {\n  x[get_global_id(0)] += n;\n}\n"
C = "void add(size_t begin, size_t end, int *x) { x[begin] = 1; }"

# Other results than the kernel, files elsewhere, other programs, code that does not load.
REFUSED = [
    *("-c", "-S", "-E", "-M", "-MM", "-MD", "-MF{file}", "-MD -MF {file}", "-o {file}", "-o{file}", "-x c++"),
    *("--compile", "--assemble", "--preprocess", "--dependencies", "--output={file}", "--output {file}"),
    *(
        "--save-temps",
        "-save-temps={file}",
        "--user-dependencies",
        "--write-dependencies",
        "--include={file}",
    ),
    *("-Wl,-o,{file}", "-Wl,-Map={file}", "-Wl,-rpath,/x,-o,{file}", "-Wp,-MD,{file}", "-Wa,-al={file}"),
    *("-Xlinker -Map={file}", "-Xassembler -x", "-Xpreprocessor -MD", "-T {file}", "-z now", "-B{folder}"),
    *("-specs={file}", "-wrapper {file}", "-fplugin={file}", "-fplugin-arg-x-y=1", "-fdump-tree-all"),
    *(
        "-fopt-info={file}",
        "-fopt-info-vec={file}",
        "-ftest-coverage",
        "-fprofile-generate",
        "-fprofile-arcs",
    ),
    *(
        "-fprofile-dir={folder}",
        "--coverage",
        "-fstack-usage",
        "-fcallgraph-info",
        "-gsplit-dwarf",
        "-pg",
        "-p",
    ),
    *("-fsave-optimization-record", "-fsanitize=address", "-fsanitize=thread", "-fsanitize=undefined"),
    *(
        "-finstrument-functions",
        "-fsplit-stack",
        "-flto",
        "-flto=2",
        "-fsyntax-only",
        "-static",
        "-pie",
        "-r",
    ),
    *(
        "-fpie",
        "-fno-pic",
        "-nostdlib",
        "-nodefaultlibs",
        "-shared",
        "-rdynamic",
        "-fpack-struct",
        "-fopenmp",
    ),
    *("-ftree-parallelize-loops=4", "-m32", "-mx32", "-m16", "-mabi=ms", "-mllvm -stats", "-fuse-ld=/bin/x"),
    *(
        "--version",
        "--help",
        "-###",
        "-dumpmachine",
        "-dumpspecs",
        "-v",
        "-print-search-dirs",
        "--target-help",
    ),
    *("-imacros {file}", "-idirafter {folder}", "-isysroot {folder}", "--sysroot={folder}", "-I", "-D", "-U"),
    *("@{file}", "{file}", "-", "--", "a b", "-Xclang -load", "-cc1", "-fmodules", "-include"),
]


@pytest.mark.parametrize("language", ["portable", "c"])
@pytest.mark.parametrize("option", REFUSED)
def test_options_outside_of_the_allow_list_are_refused(option, language, tmp_path):
    file = tmp_path / "file"
    options = option.format(file=file, folder=tmp_path)
    before = set(os.listdir())
    with pytest.raises(
        ValueError, match=r"options: .*; allowed are -D, -U, -I, .*-O<level>.*-cl-<OpenCL>"
    ) as e:
        usmpy.Program(ADD if language == "portable" else C, device="host", language=language, options=options)
    assert next((word for word in options.split() if word in str(e.value)), None)
    assert list(tmp_path.iterdir()) == []
    assert set(os.listdir()) == before


def test_a_file_of_options_is_not_read(tmp_path):
    """GCC and clang take @file for the options in it, also where a value is expected."""
    (tmp_path / "options").write_text(f"-o {tmp_path / 'out'}\n")
    for option in ("-include", "-isystem", "-I", "-D"):
        with pytest.raises(usmpy.BuildError):
            usmpy.Program(
                "kernel void f(global int *x) { x[0] = nothing; }",
                device="host",
                options=f"{option} @{tmp_path / 'options'}",
            )
    assert not (tmp_path / "out").exists()


ALLOWED = [
    *("-DA", "-D A", "-D 'A=(1 + 1)'", "-U A", "-I .", "-I.", "-include stdint.h", "-isystem .", "-iquote ."),
    *("-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Ofast", "-g", "-g3", "-ggdb", "-w", "-Wall", "-Wno-unused"),
    *(
        "-Werror=vla",
        "-ffast-math",
        "-fno-fast-math",
        "-ffp-contract=fast",
        "-fno-tree-vectorize",
        "-funroll-loops",
    ),
    *(
        "-fno-builtin",
        "-fno-inline",
        "-fwrapv",
        "-fno-strict-aliasing",
        "-fno-ident",
        "-fvect-cost-model=cheap",
    ),
    *("-march=native", "-mtune=generic", "-mno-red-zone", "-std=gnu17", "-std=c11", "-lm", "-L.", "-l m"),
    *(
        "-Wl,-rpath,/nowhere",
        "-cl-std=CL1.2",
        "-cl-fast-relaxed-math",
        "-cl-kernel-arg-info",
        "-cl-no-such-thing",
    ),
]


@pytest.mark.parametrize("language", ["portable", "c"])
def test_allowed_options_build(language):
    source = ADD if language == "portable" else C
    for option in ALLOWED:
        build_options.read(option, build_options.C)
    for options in (ALLOWED[i : i + 12] for i in range(0, len(ALLOWED), 12)):
        usmpy.Program(source, device="host", language=language, options=" ".join(options))


def test_quotes_that_do_not_match():
    for device in (
        "host",
        *(d for backend in ("level_zero", "cuda") for d in usmpy.get_devices(backend)[:1]),
    ):
        with pytest.raises(ValueError, match=r"options is .*No closing quotation"):
            usmpy.Program(ADD, device=device, options="-D 'A=1")


NOT_NVRTC = ["--time=x", "-time=x", "--create-pch=x", "--pch", "--pch-dir=x", "-dc", "-rdc=true", "-dlto"]
NOT_NVRTC += ["--optix-ir", "--fdevice-time-trace=x", "--no-such-option", "-Xptxas=/x/y", "x.cu", "-o x"]
NOT_NVRTC += ["--device-c", "-I", "-L."]


@pytest.mark.parametrize("option", NOT_NVRTC)
def test_refused_options_of_nvrtc(option):
    for device in usmpy.get_devices("cuda")[:1]:
        for language in ("portable", "cuda"):
            with pytest.raises(ValueError, match=r"options: .*allowed are -D, .*NVRTC"):
                usmpy.Program(ADD, device=device, language=language, options=option)


def test_options_of_nvrtc():
    words = "--define-macro=A=1 --include-path=. -arch=sm_90 --gpu-architecture=compute_80 --use_fast_math "
    words += "-use_fast_math --fmad=false -ftz=true --maxrregcount=32 --std=c++20 -std=c++17 -default-device "
    words += "-w -G -lineinfo --diag-suppress=177,550 -Xptxas=-v,-O3 --restrict --device-int128 "
    words += "--extra-device-vectorization"
    read = build_options.read(words, build_options.NVRTC)
    assert read[:2] == [("-D", "A=1"), ("-I", ".")]
    assert [name for name, value in read[2:]] == words.split()[2:]


@pytest.mark.parametrize(
    "option", ["-o x", "--output=x", "-Xclang -load", "-MD", "-save-temps", "-fplugin=x", "-march=x"]
)
def test_refused_options_of_the_spirv_compiler(option):
    for device in usmpy.get_devices("level_zero")[:1]:
        for language in ("portable", "opencl"):
            with pytest.raises(ValueError, match=r"options: .*allowed are -D, .*-ze-<Level Zero>"):
                usmpy.Program(ADD, device=device, language=language, options=option)
