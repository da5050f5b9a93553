"""Build of the extension usmpy._core; everything else is in pyproject.toml.

Environment variables:

USMPY_WERROR=1    warnings of the C compiler are errors (CI)
USMPY_TESTING=1   build the faults that tests inject; never for a release
USMPY_DEBUG=1     for debuggers and sanitizers: symbols, frame pointers, little optimisation
USMPY_CFLAGS      more compiler options, such as -fsanitize=address
USMPY_LDFLAGS     more linker options
"""

import importlib.util
import os
import sys
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent
TESTING = os.environ.get("USMPY_TESTING") == "1"
DEBUG = os.environ.get("USMPY_DEBUG") == "1"


def find_headers():
    """Include folders of the vendors' headers, and which backends can be built with them.

    Says what was found and what was left out. Nothing is vendored: dlpack/dlpack.h comes with the build
    requirement apache-tvm-ffi (or DLPACK_INCLUDE names a folder).
    """
    folders = []
    candidates = [Path(os.environ["DLPACK_INCLUDE"])] if "DLPACK_INCLUDE" in os.environ else []
    spec = importlib.util.find_spec("tvm_ffi")  # found, not imported: importing it would load its library
    if spec is not None and spec.submodule_search_locations:
        candidates += [Path(folder) / "include" for folder in spec.submodule_search_locations]
    candidates += [Path("/usr/include"), Path("/usr/local/include")]
    dlpack = next((folder for folder in candidates if (folder / "dlpack" / "dlpack.h").is_file()), None)
    if dlpack is None:
        sys.exit(
            "dlpack/dlpack.h 1.3 was not found in "
            + ", ".join(map(str, candidates))
            + "; install the package "
            "apache-tvm-ffi, or set DLPACK_INCLUDE"
        )
    print(f"usmpy: dlpack/dlpack.h from {dlpack}")
    folders.append(str(dlpack))
    print("usmpy: backend host: built, needs no header")
    return folders


def sources():
    folders = ["core", "py", "backends/host"] + (["backends/fault"] if TESTING else [])
    return sorted(
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / "csrc" / folder).glob("*.c")
    )


def dependencies():
    return sorted(
        str(path.relative_to(ROOT))
        for pattern in ("*.h", "*.inc", "*.cl")
        for path in (ROOT / "csrc").rglob(pattern)
    )


if sys.byteorder != "little":
    sys.exit("usmpy needs a little-endian machine")
if not sys.platform.startswith("linux"):
    sys.exit(
        "usmpy is built for Linux: its queues use POSIX threads, its drivers are opened by their Linux names"
    )

compile_args = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-cast-function-type",
]
# Floating point does what the source says: no contraction; and no traps or errno, so that loops vectorise.
compile_args += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# Calls between the core and csrc/py are a few nanoseconds of tens: inlined across files. No debug symbols in
# wheels.
optimisation = ["-O1", "-g", "-fno-omit-frame-pointer"] if DEBUG else ["-O3", "-flto", "-g0"]
compile_args += optimisation
if os.environ.get("USMPY_WERROR") == "1":
    compile_args.append("-Werror")
compile_args += os.environ.get("USMPY_CFLAGS", "").split()
link_args = ["-Wl,--as-needed", *optimisation, *os.environ.get("USMPY_LDFLAGS", "").split()]

setup(
    ext_modules=[
        Extension(
            "usmpy._core",
            sources=sources(),
            depends=dependencies(),
            include_dirs=find_headers(),
            define_macros=[("USM_TESTING", "1")] if TESTING else [],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            libraries=["pthread"],
        )
    ]
)
