"""Shows the software Level Zero driver (level_zero_driver/) to this process's Level Zero loader.

The loader reads its variables when it is first used: conftest.py imports this module before anybody can
do so. A machine without the loader, the headers or a compiler has no such driver: ``ABSENT`` says why.
Whoever has set ZE_ENABLE_ALT_DRIVERS keeps it; USMPY_TEST_LEVEL_ZERO=system leaves the machine's own, and
``layers`` puts the loader's validation layer between.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib

from usmpy import level_zero_sim

LIBRARY: pathlib.Path | None = None
ABSENT = ""
_misuse = None


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


def misuse() -> str:
    """What the process has done against the rules of Level Zero since this was last asked."""
    if LIBRARY is None:
        return ""
    global _misuse
    if _misuse is None:
        _misuse = ctypes.CDLL(str(LIBRARY)).zesimMisuse
        _misuse.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        _misuse.restype = ctypes.c_uint32
    text = ctypes.create_string_buffer(4096)
    return text.value.decode() if _misuse(text, len(text)) else ""


def show() -> None:
    global LIBRARY, ABSENT
    if "ZE_ENABLE_ALT_DRIVERS" in os.environ or os.environ.get("USMPY_TEST_LEVEL_ZERO") == "system":
        ABSENT = "the environment names other drivers"
        return
    if not LOADER:
        ABSENT = "there is no libze_loader.so.1 (Debian's libze1)"
        return
    if "ZESIM_OPENCL" not in os.environ and level_zero_sim.opencl() is None:
        ABSENT = "its kernels run through Intel's OpenCL runtime (intel-opencl-rt), which is not installed"
        return
    try:
        LIBRARY = level_zero_sim.build()
    except level_zero_sim.NotBuilt as error:
        ABSENT = str(error)
        return
    # USMPY_TEST_LEVEL_ZERO=layers: every call is looked at by the loader's validation layer.
    layers = os.environ.get("USMPY_TEST_LEVEL_ZERO") == "layers"
    os.environ.update(level_zero_sim.environment(LIBRARY, layers=layers))
    # The tests build much, and run little; they cut devices into parts of one compute unit.
    os.environ.setdefault("ZESIM_OPTIMIZE", "0")
    os.environ.setdefault("ZESIM_UNITS", "1")
    os.environ.setdefault("ZESIM_CACHE", str(LIBRARY.parent / "modules"))


show()
