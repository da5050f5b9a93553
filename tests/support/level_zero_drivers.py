"""Shows the software Level Zero driver (level_zero_driver/) to this process's Level Zero loader.

The loader reads its variables when it is first used: suite.py imports this module before anybody can
do so. A machine without the loader, the headers or a compiler has no such driver: ``ABSENT`` says why.
Whoever has set ZE_ENABLE_ALT_DRIVERS keeps it; --level-zero=system leaves the machine's own, and
``layers`` puts the loader's validation layer between.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shlex
import subprocess

import level_zero_sim
import options

from usmpy._compile import spirv

LIBRARY: pathlib.Path | None = None
ABSENT = ""
REPORTS = pathlib.Path(__file__).parents[1] / "level_zero_programs" / "reports.c"
_misuse = None
_reports = None


def _loader() -> str:
    for name in ("libze_loader.so.1", "libze_loader.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return ""


LOADER = _loader()


def has_validation_layer() -> bool:
    try:
        ctypes.CDLL("libze_validation_layer.so.1")
    except OSError:
        return False
    return True


def _texts(library: ctypes.CDLL, function: str):
    """A function that fills a text, and says of how many lines."""
    take = library[function]
    take.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    take.restype = ctypes.c_uint32

    def texts() -> str:
        text = ctypes.create_string_buffer(4096)
        return text.value.decode() if take(text, len(text)) else ""

    return texts


def misuse() -> str:
    """Violations of Level Zero's rules by this process since the last call."""
    global _misuse
    if LIBRARY is None:
        return ""
    if _misuse is None:
        _misuse = _texts(ctypes.CDLL(str(LIBRARY)), "zesimMisuse")
    return _misuse()


def build_flags() -> str:
    """The flags of the module that the driver built last."""
    return _texts(ctypes.CDLL(str(LIBRARY)), "zesimBuildFlags")()


def reports() -> str:
    """Reports of the validation layer, if it is on, since the last call."""
    global _reports
    if LIBRARY is None or options.value("level_zero") != "layers":
        return ""
    if _reports is None:
        library = _watcher()
        if library.reportsStart(LOADER.encode()) < 50:
            raise RuntimeError("the loader does not tell how calls end (ZE_ENABLE_TRACING_LAYER)")
        _reports = _texts(library, "reportsTake")
    return _reports()


def _watcher() -> ctypes.CDLL:
    built = LIBRARY.with_name(f"reports-{os.getpid()}.so")
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    command = [*compiler, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", str(REPORTS)]
    command.append(f"-I{REPORTS.parents[2] / 'csrc'}")
    if "LEVEL_ZERO_INCLUDE" in os.environ:
        command.append(f"-I{os.environ['LEVEL_ZERO_INCLUDE']}")
    subprocess.run([*command, "-o", built, "-ldl"], check=True)
    try:
        return ctypes.CDLL(str(built))
    finally:
        built.unlink()


def show() -> None:
    global LIBRARY, ABSENT
    if "ZE_ENABLE_ALT_DRIVERS" in os.environ or options.value("level_zero") == "system":
        ABSENT = "the environment names other drivers"
        return
    if not LOADER:
        ABSENT = "there is no libze_loader.so.1 (Debian's libze1)"
        return
    if "ZESIM_OPENCL" not in os.environ and level_zero_sim.opencl() is None:
        ABSENT = "its kernels run through Intel's OpenCL runtime (intel-opencl-rt), which is not installed"
        return
    if not spirv.compiler():
        ABSENT = (
            "source needs a compiler to SPIR-V: clang-14 and llvm-spirv-14, or others (docs/level-zero.md)"
        )
        return
    try:
        LIBRARY = level_zero_sim.build()
    except level_zero_sim.NotBuilt as error:
        ABSENT = str(error)
        return
    # --level-zero=layers: every call is looked at by the loader's validation layer.
    layers = options.value("level_zero") == "layers"
    os.environ.update(level_zero_sim.environment(LIBRARY, layers=layers))
    if layers:  # it shows what the validation layer says: reports()
        os.environ["ZE_ENABLE_TRACING_LAYER"] = "1"
    # The tests build much, and run little; they cut devices into parts of one compute unit.
    os.environ.setdefault("ZESIM_OPTIMIZE", "0")
    os.environ.setdefault("ZESIM_UNITS", "1")
    os.environ.setdefault("ZESIM_CACHE", str(LIBRARY.parent / "modules"))


show()
if ABSENT and options.value("require_libraries") and "ZE_ENABLE_ALT_DRIVERS" not in os.environ:
    raise RuntimeError(f"--require-libraries, and there is no software Level Zero driver: {ABSENT}")
