"""Options of programs: what a kernel may ask of a compiler, and what is refused by name."""

import os
import pathlib
import re

import pytest
from together import together

import usmpy
from usmpy._compile import build_options, spirv

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
@together("option", REFUSED)
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


@pytest.fixture
def ocloc(monkeypatch):
    """Stands in for ocloc, which no package brings; the calls as (options, source)."""
    calls = []

    def invoke(library, arguments, source):
        calls.append((arguments[arguments.index("-options") + 1].split(), source.decode()))
        return 0, {"module.spv": bytes(20) + (2 << 16 | 15).to_bytes(4, "little")}

    monkeypatch.setattr(spirv, "_find_ocloc", lambda: object())
    monkeypatch.setattr(spirv, "_invoke", invoke)
    return calls


def test_values_with_blanks_are_no_further_options_of_ocloc(ocloc):
    options = "-D 'A=1 -o {file}' -D 'F(x, y)=(x + y)' -DB -D 'C=\"text\"' -cl-mad-enable"
    spirv.prepare(ADD, "opencl", options, True, True)
    [(given, source)] = ocloc
    assert "-o" not in given
    assert [word for word in given if word.startswith("-D")] == ["-DB"]
    assert "-cl-mad-enable" in given
    lines = source.splitlines()
    assert lines[:3] == ["#define A 1 -o {file}", "#define F(x, y) (x + y)", '#define C "text"']
    assert lines[3].startswith("#line 1")


@pytest.mark.parametrize(
    "option",
    ["-I 'a -o b'", "-include 'a\tb'", "-D 'A B=1'", "-D 'A=1\n#include <x>'", "-U 'A -o b'", "-I 'a\"b'"],
)
def test_values_that_ocloc_would_cut_are_refused(option, ocloc):
    with pytest.raises(ValueError, match=r"options: .* has a blank, .*ocloc.*; allowed are .* -D alone"):
        spirv.prepare(ADD, "opencl", option, True, True)
    assert ocloc == []


def test_a_folder_with_blanks_is_not_given_to_ocloc(ocloc, tmp_path, monkeypatch):
    folder = tmp_path / "a -o b"
    folder.mkdir()
    monkeypatch.chdir(folder)
    spirv.prepare(ADD, "opencl", "", True, True)
    assert "-o" not in ocloc[0][0]
    assert "-I" not in ocloc[0][0]


def test_no_shell_runs():
    """Compilers are started by a list of words; nothing in the sources starts a shell."""
    root = pathlib.Path(__file__).resolve().parents[2]
    files = [*(root / "usmpy").rglob("*.py"), *(root / "csrc").rglob("*.[ch]")]
    assert len(files) > 300
    shell = re.compile(r"shell\s*=\s*True|\bos\.(?:system|popen)\b|\b(?:getoutput|getstatusoutput)\b")
    in_c = re.compile(r"\b(?:system|popen|execl[ep]?|execv[pe]*|posix_spawnp?)\s*\(")
    for file in files:
        found = (in_c if file.suffix in (".c", ".h") else shell).search(file.read_text())
        assert found is None, f"{file}: {found[0]}"
