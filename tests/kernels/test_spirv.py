"""The built-in kernels as SPIR-V are what their sources give; programs in OpenCL C become SPIR-V."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from usmpy import BackendUnavailable, BuildError, _spirv

KERNELS = Path(__file__).parents[2] / "csrc" / "kernels"
OTHER_COMPILER = 77
pytestmark = pytest.mark.not_sanitized("it runs other programs")

SOURCE = "kernel void add(global const float *x, global uint *y, char n) { y[get_global_id(0)] = x[0] + n; }"
DOUBLES = "kernel void f(global double *x) { x[0] = 1.0; }"


@pytest.fixture
def clang(monkeypatch):
    """Without Intel's compiler, which comes first where it is."""
    monkeypatch.setattr(_spirv, "_find_ocloc", lambda: None)
    tools, tried = _spirv._find_clang()
    if tools is None:
        pytest.skip(f"no clang with the llvm-spirv of its release (Debian's llvm-spirv-14); {tried}")
    return tools


def words(module):
    return struct.unpack(f"<{len(module) // 4}I", module)


def test_the_modules_are_what_the_sources_give():
    command = [sys.executable, KERNELS / "make_spirv.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == OTHER_COMPILER:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def test_source_becomes_a_module_with_the_words_of_its_parameters(clang):
    module = _spirv.prepare(SOURCE, "portable", "", False, False)
    assert words(module)[0] == 0x07230203
    assert b"kernel_arg_type.add.float*,uint*,char," in module
    assert b"kernel_arg_type_qual.add.const,,," in module


def test_messages_have_the_user_s_lines_and_options_reach_the_compiler(clang):
    with pytest.raises(BuildError) as caught:
        _spirv.prepare("\n\nkernel void f(global int *x) {\n  x[0] = N;\n}\n", "opencl", "", True, True)
    assert "<source>:4:" in caught.value.log
    assert _spirv.prepare("kernel void f(global int *x) { x[0] = N; }", "opencl", "-D N=3", True, True)


def test_what_the_device_lacks_is_refused(clang):
    assert _spirv.prepare(DOUBLES, "portable", "", True, True)
    with pytest.raises(BuildError, match="double"):
        _spirv.prepare(DOUBLES, "portable", "", True, False)


def test_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_spirv, "_find_ocloc", lambda: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("USMPY_CLANG", raising=False)
    with pytest.raises(BackendUnavailable, match="llvm-spirv-14"):
        _spirv.prepare(SOURCE, "portable", "", True, True)
    with pytest.raises(BackendUnavailable, match="libocloc"):
        _spirv.identify(SOURCE, "")
