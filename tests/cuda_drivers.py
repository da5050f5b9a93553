"""Builds the CUDA driver in software (tests/cuda_driver) and shows it to usmpy, where there is no other.

Where the machine has NVIDIA's driver, usmpy uses that one, and the one in software is there for tests that
start processes of their own (``environment()``). USMPY_TEST_CUDA=software asks for it in any case (pytest
sets it for --software-cuda); a library that the caller named in USMPY_CUDA_LIBRARY is left alone. Nothing
here imports usmpy.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

SOURCES = pathlib.Path(__file__).parent / "cuda_driver"
# The driver in software interprets PTX alone: a toolkit's or a package's cuBLAS ends the process on it.
NO_CUBLAS = {"USMPY_CUBLAS_LIBRARY": "none"}
DEVICE_FILES = (
    "/dev/nvidiactl",
    "/dev/dxg",
)  # of NVIDIA's driver; the second is Windows' for its Linux guests


def packages() -> list[pathlib.Path]:
    """The folders of NVIDIA's Python packages."""
    spec = importlib.util.find_spec("nvidia")
    return sorted(
        folder
        for place in (spec.submodule_search_locations or () if spec else ())
        for folder in pathlib.Path(place).iterdir()
    )


def header() -> pathlib.Path | None:
    """The folder of cuda.h, as setup.py finds it."""
    if "CUDA_INCLUDE" in os.environ:
        places = [pathlib.Path(os.environ["CUDA_INCLUDE"])]
    else:
        toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
        places = [*(folder / "include" for folder in packages()), toolkit / "include"]
        places += [pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")]
    return next((place for place in places if (place / "cuda.h").is_file()), None)


def missing() -> str | None:
    """Why the driver in software cannot be built; None where it can."""
    if header() is None:
        return "no cuda.h: the package nvidia-cuda-runtime has it"
    if shutil.which(compiler()[0]) is None:
        return f"no C compiler {compiler()[0]}"
    return None


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


@functools.cache
def library() -> pathlib.Path:
    """The built library. Builds are kept in the system's temporary folder, by their content."""
    include = header()
    assert include is not None, missing()
    sources = sorted(SOURCES.glob("*.c"))
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O2",
        "-g1",
        "-fvisibility=hidden",
        "-fPIC",
        "-shared",
        "-ffp-contract=off",
    ]
    flags += ["-Wall", "-Wextra", "-Werror", f"-I{include}"]
    digest = hashlib.sha256(repr((compiler(), flags, (include / "cuda.h").stat().st_size)).encode())
    for path in sorted(path for pattern in ("*.c", "*.h", "*.inc") for path in SOURCES.glob(pattern)):
        digest.update(path.name.encode() + path.read_bytes())
    folder = pathlib.Path(tempfile.gettempdir()) / f"usmpy-cuda-driver-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    built = folder / f"libcuda-{digest.hexdigest()[:16]}.so"
    if not built.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            own = pathlib.Path(scratch) / "libcuda.so"
            command = [*compiler(), *flags, *map(str, sources), "-o", str(own), "-lpthread", "-lm"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            own.replace(built)
    return built


def environment(**settings: object) -> dict[str, str]:
    """The environment of a process that uses the driver in software: CUDASIM_DEVICES=1 is devices=1."""
    own = {f"CUDASIM_{name.upper()}": str(value) for name, value in settings.items()}
    return {**NO_CUBLAS, **os.environ, "USMPY_CUDA_LIBRARY": str(library()), **own}


def has_real() -> bool:
    return os.environ.get("USMPY_TEST_CUDA") != "software" and any(map(os.path.exists, DEVICE_FILES))


def show() -> None:
    if "USMPY_CUDA_LIBRARY" not in os.environ and not has_real() and missing() is None:
        os.environ.update({**NO_CUBLAS, **os.environ, "USMPY_CUDA_LIBRARY": str(library())})


show()
