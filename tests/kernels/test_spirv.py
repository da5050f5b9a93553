"""Programs in OpenCL C become SPIR-V."""

import os
import struct
from pathlib import Path

import options
import pytest

from usmpy import BackendUnavailable, BuildError
from usmpy._compile import spirv

KERNELS = Path(__file__).parents[2] / "csrc" / "kernels"
CI = options.value("require_libraries", False)
pytestmark = pytest.mark.not_sanitized("it runs other programs")

SOURCE = "kernel void add(global const float *x, global uint *y, char n) { y[get_global_id(0)] = x[0] + n; }"
DOUBLES = "kernel void f(global double *x) { x[0] = 1.0; }"


FIND_OCLOC = spirv._find_ocloc


def compilers():
    """The names of those that are here: Intel's, and every clang with the llvm-spirv of its release."""
    found = ["ocloc"] if FIND_OCLOC() is not None else []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("clang", *(f"clang-{release}" for release in spirv._RELEASES)):
            patch.setenv("USMPY_CLANG", name)
            found += [name] if spirv._find_clang()[0] is not None else []
    return found


COMPILERS = compilers()
assert "ocloc" in COMPILERS or not options.value("require_ocloc"), "there is no libocloc"
assert any(name != "ocloc" for name in COMPILERS) or not CI, "there is no clang with its llvm-spirv"
NONE = [pytest.param("", marks=pytest.mark.skip(reason="no compiler to SPIR-V: docs/level-zero.md"))]


@pytest.fixture(params=COMPILERS or NONE)
def compiler(request, monkeypatch):
    """Each compiler that is here; Intel's is taken before others."""
    monkeypatch.delenv("USMPY_CLANG", raising=False)
    if request.param != "ocloc":
        monkeypatch.setattr(spirv, "_find_ocloc", lambda: None)
        monkeypatch.setenv("USMPY_CLANG", request.param)
    return request.param


def words(module):
    return struct.unpack(f"<{len(module) // 4}I", module)


def test_source_becomes_a_module_with_the_words_of_its_parameters(compiler):
    module = spirv.prepare(SOURCE, "portable", "", False, False)
    assert words(module)[0] == 0x07230203
    assert b"kernel_arg_type.add.float*,uint*,char," in module
    assert b"kernel_arg_type_qual.add.const,,," in module


def test_messages_have_the_user_s_lines_and_options_reach_the_compiler(compiler):
    with pytest.raises(BuildError) as caught:
        spirv.prepare("\n\nkernel void f(global int *x) {\n  x[0] = N;\n}\n", "opencl", "", True, True)
    assert "<source>:4:" in caught.value.log
    assert spirv.prepare("kernel void f(global int *x) { x[0] = N; }", "opencl", "-D N=3", True, True)


def test_missing_aspects_are_refused(compiler):
    assert spirv.prepare(DOUBLES, "portable", "", True, True)
    with pytest.raises(BuildError, match="double"):
        spirv.prepare(DOUBLES, "portable", "", True, False)


def test_portable_source_is_not_contracted(compiler):
    """Of a product and a sum: the mode ContractionOff (31), without which drivers may fuse them."""
    source = "kernel void f(global float *x, float a, float b) { x[0] = x[0] * a + b; }"
    module = words(spirv.prepare(source, "portable", "", True, True))
    assert any(module[i] & 0xFFFF == 16 and module[i + 2] == 31 for i in range(5, len(module) - 2))


def test_the_compiler_is_part_of_the_key(compiler):
    first = spirv.identify(SOURCE, "")
    assert first == spirv.identify(SOURCE, "")
    assert os.fsencode(os.path.realpath(spirv.compiler())) in first


# Compilers that are not there, or do not work: fakes, since real ones do.


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A clang that is a script."""
    monkeypatch.setattr(spirv, "_find_ocloc", lambda: None)

    def write(text):
        for name in ("clang", "llvm-spirv"):
            script = tmp_path / name
            script.write_text(f"#!/bin/sh\n{text}\n")
            script.chmod(0o755)
        monkeypatch.setenv("USMPY_CLANG", str(tmp_path / "clang"))

    return write


def test_a_clang_without_its_llvm_spirv_is_named(fake, tmp_path):
    fake('[ "${0##*/}" = clang ] && echo "clang version 17.0.1" || echo "LLVM version 16.0.0"')
    with pytest.raises(BackendUnavailable) as caught:
        spirv.prepare(SOURCE, "portable", "", True, True)
    assert f"not enough: {tmp_path / 'clang'} (release 17, and no llvm-spirv of that release)" in str(
        caught.value
    )
    assert spirv.compiler() is None


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("echo 'source.cl:1:1: error: mine' >&2; exit 1", "source.cl:1:1: error: mine"),
        ("exit 3", "ended with status 3"),
        ("kill -SEGV $$", "ended with status -11"),
    ],
)
def test_a_compiler_that_fails(fake, action, said):
    fake(f'[ "$1" = --version ] && echo "version 14.0.6" && exit; {action}')
    with pytest.raises(BuildError) as caught:
        spirv.prepare(SOURCE, "portable", "", True, True)
    assert said in caught.value.log


def test_a_named_compiler_that_is_missing(monkeypatch):
    monkeypatch.setenv("USMPY_CLANG", "/nonexistent/clang")
    with pytest.raises(BackendUnavailable, match="clang-14 and llvm-spirv-14"):
        spirv.prepare(SOURCE, "portable", "", True, True)


def test_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(spirv, "_find_ocloc", lambda: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("USMPY_CLANG", raising=False)
    with pytest.raises(BackendUnavailable, match="llvm-spirv-14"):
        spirv.prepare(SOURCE, "portable", "", True, True)
    with pytest.raises(BackendUnavailable, match="libocloc"):
        spirv.identify(SOURCE, "")
