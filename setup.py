"""Build of the extension usmpy._core; everything else is in pyproject.toml.

Environment variables:

USMPY_WERROR=1    warnings of the C compiler are errors (CI)
USMPY_TESTING=1   build the faults that tests inject; never for a release
USMPY_DEBUG=1     for debuggers and sanitizers: symbols, frame pointers, little optimisation
USMPY_CFLAGS      more compiler options, such as -fsanitize=address
USMPY_LDFLAGS     more linker options
DLPACK_INCLUDE    the folder that holds dlpack/dlpack.h
CUDA_INCLUDE      the folder that holds cuda.h; without that header the CUDA backend is left out
LEVEL_ZERO_INCLUDE  the folder that holds level_zero/ze_api.h; without that header that backend is left out
OPENCL_INCLUDE    the folder that holds CL/cl.h; without that header the OpenCL backend is left out
"""

import importlib.util
import os
import platform
import re
import runpy
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

ROOT = Path(__file__).parent
TESTING = os.environ.get("USMPY_TESTING") == "1"
DEBUG = os.environ.get("USMPY_DEBUG") == "1"


# Folders of the system's headers.
SYSTEM = [Path("/usr/include"), Path("/usr/local/include")]


def package_folders(name):
    """Folders of a Python package. It is not imported, since that might load a library."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return [Path(place) for place in places or ()]


def dlpack_version(folder):
    """(major, minor) of dlpack/dlpack.h in this folder; None if there is no such file."""
    header = folder / "dlpack" / "dlpack.h"
    if not header.is_file():
        return None
    text = header.read_text(errors="replace")
    numbers = [re.search(rf"#define DLPACK_{part}_VERSION (\d+)", text) for part in ("MAJOR", "MINOR")]
    return tuple(int(number[1]) if number else 0 for number in numbers)


def find_dlpack():
    """The folder of dlpack/dlpack.h: only DLPACK_INCLUDE if it is set, else the package apache-tvm-ffi or
    the system's. Every build needs it.
    """
    if "DLPACK_INCLUDE" in os.environ:
        candidates = [Path(os.environ["DLPACK_INCLUDE"])]
    else:
        candidates = [folder / "include" for folder in package_folders("tvm_ffi")] + SYSTEM
    found = {folder: dlpack_version(folder) for folder in candidates}
    fitting = [folder for folder, version in found.items() if version and (1, 3) <= version < (2, 0)]
    if not fitting:
        places = ", ".join(
            f"{folder} ({'not there' if version is None else 'version {}.{}'.format(*version)})"
            for folder, version in found.items()
        )
        sys.exit(
            f"usmpy: dlpack/dlpack.h of version 1.3 or later was not found in {places}. Install the package "
            "apache-tvm-ffi 0.1.4 or later, which brings it, or name its folder in DLPACK_INCLUDE."
        )
    print("usmpy: dlpack/dlpack.h {}.{} from".format(*found[fitting[0]]), fitting[0])
    return fitting[0]


def find_opencl():
    """The folder of CL/cl.h: only OPENCL_INCLUDE if it is set, else the package nvidia-cuda-opencl or the
    system's (Debian: opencl-headers). None where none has the headers of OpenCL 3.0 and of the extensions.
    """
    if "OPENCL_INCLUDE" in os.environ:
        candidates = [Path(os.environ["OPENCL_INCLUDE"])]
    else:
        headers = (
            header for folder in package_folders("nvidia") for header in folder.glob("*/include/CL/cl.h")
        )
        candidates = [*sorted(header.parent.parent for header in headers), *SYSTEM]
    for folder in candidates:
        header, extensions = folder / "CL" / "cl.h", folder / "CL" / "cl_ext.h"
        if (
            extensions.is_file()
            and "CL_VERSION_3_0" in header.read_text(errors="replace")
            and "clEnqueueMigrateMemINTEL_fn" in extensions.read_text(errors="replace")
        ):
            return folder
    return None


def find_cuda():
    """The folder of cuda.h: only CUDA_INCLUDE if it is set, else the package nvidia-cuda-runtime, the
    toolkit or the system's. None where none has the driver interface of CUDA 12.4 or later.
    """
    if "CUDA_INCLUDE" in os.environ:
        candidates = [Path(os.environ["CUDA_INCLUDE"])]
    else:
        headers = (
            header for folder in package_folders("nvidia") for header in folder.glob("*/include/cuda.h")
        )
        toolkit = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]
        candidates = [*sorted(header.parent for header in headers), *toolkit, *SYSTEM]
    for folder in candidates:
        header = folder / "cuda.h"
        if header.is_file():
            version = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(errors="replace"))
            if version and int(version[1]) >= 12040:
                return folder
    return None


def find_level_zero():
    """The folder of level_zero/ze_api.h: only LEVEL_ZERO_INCLUDE if it is set, else the system's (Debian:
    libze-dev). None where none has the interface of version 1.5 or later.
    """
    named = os.environ.get("LEVEL_ZERO_INCLUDE")
    for folder in SYSTEM if named is None else [Path(named)]:
        header = folder / "level_zero" / "ze_api.h"
        if header.is_file() and "zeContextCreateEx" in header.read_text(errors="replace"):
            return folder
    return None


# By backend: what finds its header, the header, what it must be of, and where it comes from.
VENDORS = {
    "opencl": (
        find_opencl,
        "CL/cl.h",
        "OpenCL 3.0",
        "the package nvidia-cuda-opencl and Debian's opencl-headers have it, and OPENCL_INCLUDE",
    ),
    "cuda": (
        find_cuda,
        "cuda.h",
        "CUDA 12.4 or later",
        "the package nvidia-cuda-runtime has it, and CUDA_INCLUDE",
    ),
    "level_zero": (
        find_level_zero,
        "level_zero/ze_api.h",
        "Level Zero 1.5 or later",
        "Debian's libze-dev has it, and LEVEL_ZERO_INCLUDE",
    ),
}


def find_headers():
    """Include folders of the vendors' headers by backend; those that are left out have none.

    Says what was found and what was left out. Nothing is vendored: the headers come with build requirements
    or from the system.
    """
    headers = {"host": str(find_dlpack())}
    print("usmpy: backend host: built, needs no header")
    for backend, (find, header, version, origin) in VENDORS.items():
        folder = find()
        if folder is None:
            print(
                f"usmpy: backend {backend}: left out, since {header} of {version} was not found; "
                f"{origin} names its folder"
            )
        else:
            headers[backend] = str(folder)
            print(f"usmpy: backend {backend}: built, {header} from {folder}")
    return headers


def sources(headers):
    folders = ["core", "cpu", "py", *(f"backends/{name}" for name in headers)]
    folders += ["backends/fault", "backends/minimal"] if TESTING else []
    return sorted(
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / "csrc" / folder).rglob("*.c")
    )


def dependencies():
    patterns = ("*.h", "*.inc", "*.cl", "*.ptx", "*.spv", "embed.py")
    found = [path for pattern in patterns for path in (ROOT / "csrc").rglob(pattern)]
    more = [
        ROOT / "usmpy" / "include" / "usmpy.h",
        ROOT / "usmpy" / "_core.pyi",
        ROOT / "csrc/py/docstrings.py",
    ]
    return sorted(str(path.relative_to(ROOT)) for path in [*found, *more])


class Build(build_ext):
    """Builds the extension, after writing the device kernels (a source) and the docstrings (a header)."""

    def build_extensions(self):
        link_options = next((options for options in LTO if self.compiles(["-flto"], options)), None)
        if not DEBUG and link_options is None:
            print("usmpy: built without -flto, which this compiler does not have: calls cost a little more")
        elif not DEBUG:
            for extension in self.extensions:
                extension.extra_compile_args.append("-flto")
                extension.extra_link_args += link_options
        if not DEBUG and self.compiles(["-Werror", *SHORT_BLOCKS]):
            for extension in self.extensions:
                extension.extra_compile_args += SHORT_BLOCKS
        if not DEBUG and self.compiles(["-Werror", *LOOPS]):
            self.compile_smaller()
        super().build_extensions()

    def compile_smaller(self):
        """Compiles some files for size, which makes a wheel a quarter smaller.

        The loops of the host's casts and built-in kernels (LOOP_FILES) are vectorised without a second copy
        of each. Files that run rarely (RARE_FILES) are as small as possible. Loops of operations stay out of
        the link-time optimisation; those for x86 processors without AVX2, which are rare, are small.
        """
        compile_one = self.compiler._compile

        def compile_by_file(target, source, extension, arguments, options, macros):
            if source in LOOP_FILES:
                apart = APART if source.startswith("csrc/cpu/operate_") else []
                is_spare = source == "csrc/cpu/operate_loops.c" and platform.machine() == "x86_64"
                options = [*options, *(["-Os"] if is_spare else LOOPS), *apart]
            elif source in RARE_FILES:
                options = [*options, "-Os"]
            compile_one(target, source, extension, arguments, options, macros)

        self.compiler._compile = compile_by_file

    def compiles(self, options, link_options=()):
        """Whether the compiler and linker accept these options."""
        source = Path(self.build_temp) / "probe.c"
        source.write_text("int probe(void);\nint probe(void)\n{\n    return 0;\n}\n")
        try:
            objects = self.compiler.compile(
                [str(source)], output_dir=self.build_temp, extra_postargs=list(options)
            )
            target = str(source.with_suffix(".so"))
            self.compiler.link_shared_object(objects, target, extra_postargs=list(link_options))
        except (CompileError, LinkError):
            return False
        return True

    def run(self):
        written = Path(self.build_temp)
        runpy.run_path(str(ROOT / "csrc" / "kernels" / "tools" / "embed.py"))["write"](written / "kernels.c")
        runpy.run_path(str(ROOT / "csrc" / "py" / "docstrings.py"))["write"](written / "docstrings.h")
        for extension in self.extensions:
            extension.sources.append(str(written / "kernels.c"))
            extension.include_dirs += [str(ROOT / "csrc"), str(written)]
        super().run()


if sys.byteorder != "little":
    sys.exit("usmpy needs a little-endian machine")
if not sys.platform.startswith("linux"):
    sys.exit(
        "usmpy is built for Linux: its queues use POSIX threads, its drivers are opened by their Linux names"
    )

# GCC: vectorised, but without a second vectorised loop for the remainder.
LOOPS = ["-ftree-vectorize", "-fvect-cost-model=dynamic", "--param=vect-epilogues-nomask=0"]

# The loops of operations are called by pointers: link-time optimisation, and Python's own -fwrapv, only make
# their vectors worse (sums take up to twice as long).
APART = ["-fno-lto", "-fno-wrapv", "-fno-asynchronous-unwind-tables"]

# Code that runs once, or before or after long work.
RARE = {
    "core/base": "blas library lzma",
    "core/device": "registry context device place",
    "core/memory": "blocks track usage",
    "core/builtin": "archive builtin_source",
    "core/program": "program signature spirv spirv_kernel",
    "core": "start",
    "core/tasks": "adopt fork reclaim",
    "core/copy": "route_text",
    "core/exchange": "arrow native",
    "py": "errors module",
    "py/objects": "context device device_facts memory notifier trace",
    "py/arrays": "flags from_python hints",
    "py/exchange": "arrow borrow bytes c_api interface_dict native pointer share stream sycl sycl_interface",
    "py/programs": "build program",
    "core/share": "handle memfd share",
    "backends/host": "device library memory",
    "backends/opencl": "context device library native program status",
    "backends/level_zero": "context device library native program share status",
    "backends/cuda": "context cublas device library native nvrtc program ptx share share_order staging"
    " status",
}
RARE_FILES = {f"csrc/{folder}/{name}.c" for folder, names in RARE.items() for name in names.split()}
LOOPS_OF_CPU = "builtin builtin_wide cast operate_loops operate_avx2 operate_avx512 sort"
LOOP_FILES = {f"csrc/cpu/{name}.c" for name in LOOPS_OF_CPU.split()}
assert all((ROOT / path).is_file() for path in RARE_FILES | LOOP_FILES)

# GCC for x86: plain moves copy and zero structs of a few hundred bytes. The instruction that GCC chooses by
# default takes about ten nanoseconds to start.
SHORT_BLOCKS = [
    f"-mmem{what}-strategy=unrolled_loop:256:noalign,libcall:-1:noalign" for what in ("cpy", "set")
]

compile_args = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-cast-function-type",
]
# Floating point follows the source: no contraction; no traps and no errno, so that loops vectorise.
compile_args += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# Link-time optimisation inlines calls between the core and csrc/py, each a few of the tens of nanoseconds
# that a short call takes. Wheels have no debug symbols.
compile_args += ["-O1", "-g", "-fno-omit-frame-pointer"] if DEBUG else ["-O2", "-g0"]
if os.environ.get("USMPY_WERROR") == "1":
    compile_args.append("-Werror")
compile_args += os.environ.get("USMPY_CFLAGS", "").split()
# With make, GCC optimises several parts at a time; without it, one part, since GCC would warn.
LTO = [["-flto=auto"]] if shutil.which("make") else [["-flto", "-flto-partition=one"], ["-flto=auto"]]
link_args = ["-Wl,--as-needed", *(["-O1", "-g"] if DEBUG else ["-O2", "-g0"])]
if not (DEBUG or TESTING):
    link_args.append("-s")  # names of static functions: 27 kB of a wheel
link_args += os.environ.get("USMPY_LDFLAGS", "").split()

headers = find_headers()
# The system's own folder must not come before the compiler's.
include_dirs = [folder for folder in dict.fromkeys(headers.values()) if folder != "/usr/include"]
include_dirs.append("usmpy/include")  # usmpy.h, which others get too
macros = [(f"USM_{name.upper()}", "1") for name in headers if name != "host"]

setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "usmpy._core",
            sources=sources(headers),
            depends=dependencies(),
            include_dirs=include_dirs,
            define_macros=macros + ([("USM_TESTING", "1")] if TESTING else []),
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            libraries=["m", "pthread", "dl"],  # the last two are parts of libc since glibc 2.34
        )
    ],
)
