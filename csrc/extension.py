"""What the extension usmpy._core is built of, and how.

    python csrc/extension.py              builds in place for tests: after a change of C code
    python csrc/extension.py -v           prints which headers it found, and the commands
    python csrc/extension.py --into DIR   puts the extension and its stub into DIR instead
    python csrc/extension.py --commands   prints the commands of all objects and of the extension, as JSON

It is for a clone that was installed by `pip install -e`, and compiles what changed. The variables of setup.py
hold here too; USMPY_TESTING and USMPY_WERROR are 1 unless they are set. What is built is kept in build/,
where releases, builds for tests, for sanitizers and for several interpreters lie side by side.
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from ninja_build import ROOT, Build, BuildError, digest, keep_headers, replace, version_of

CSRC, PLACE = ROOT / "csrc", ROOT / "build"
GENERATED = PLACE / "generated"
STUB = GENERATED / "_core.pyi"
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


# The headers that sources include.
INCLUDED = {
    "host": ["dlpack/dlpack.h"],
    "opencl": ["CL/cl.h", "CL/cl_ext.h"],
    "cuda": ["cuda.h"],
    "level_zero": ["level_zero/ze_api.h"],
}


def find_headers(say=print):
    """Include folders of the vendors' headers by backend; those that are left out have none.

    Says what was found and what was left out. Nothing is vendored: the headers come with build requirements
    or from the system.
    """
    dlpack = find_dlpack()
    say("usmpy: dlpack/dlpack.h {}.{} from {}".format(*dlpack_version(dlpack), dlpack))
    headers = {"host": dlpack}
    say("usmpy: backend host: built, needs no header")
    for backend, (find, header, version, origin) in VENDORS.items():
        folder = find()
        if folder is None:
            say(
                f"usmpy: backend {backend}: left out, since {header} of {version} was not found; "
                f"{origin} names its folder"
            )
        else:
            headers[backend] = folder
            say(f"usmpy: backend {backend}: built, {header} from {folder}")
    return headers


# GCC: vectorised, but without a second vectorised loop for the remainder.
LOOPS = ["-ftree-vectorize", "-fvect-cost-model=dynamic", "--param=vect-epilogues-nomask=0"]

# Of files without such loops: no padding before the targets of jumps, 5 kB of a wheel.
UNPADDED = ["-falign-jumps=1", "-falign-loops=1", "-falign-labels=1"]

# The loops of operations are called by pointers: link-time optimisation, and Python's own -fwrapv, only make
# their vectors worse (sums take up to twice as long).
APART = ["-fno-lto", "-fno-wrapv", "-fno-asynchronous-unwind-tables"]

# Code that runs once, or before or after long work.
RARE = {
    "core/base": "blas error library reclaimer thread",
    "core/device": "registry context device place",
    "core/memory": "blocks connection track usage",
    "core/builtin": "builtin_source",
    "core/program": "program signature spirv",
    "core": "start",
    "core/tasks": "fork unretrieved",
    "core/copy": "route_text",
    "core/exchange": "arrow native",
    "core/ops": "indices mask matmul scan sequence sort tile triangle",
    "core/trace": "record trace",
    "py": "errors interpreter module",
    "py/objects": "context device device_facts dtype host_task immutable memory notifier trace",
    "py/arrays": "flags from_python hints interfaces mask",
    "py/exchange": "arrow borrow buffer_import bytes c_api cuda_interface interface_dict native pointer"
    " reader share stream sycl sycl_interface",
    "py/functions": "broadcast copyto full inspection joining matmul rearrange repeat"
    " sequence sort take triangle",
    "py/programs": "build kernel program",
    "core/share": "export handle memfd opening share",
    "backends/host": "device library memory pointer program",
    "backends/opencl": "context device kernel library memory native native_kernel profiling program queue"
    " queue_cache status",
    "backends/level_zero": "command command_list context device event_pool kernel launch library memory"
    " native profiling program queue share status",
    "backends/cuda": "capture context cublas device kernel library memory native nvrtc profiling program ptx"
    " share share_order staging status",
}
RARE_FILES = {f"{folder}/{name}.c" for folder, names in RARE.items() for name in names.split()}
LOOPS_OF_CPU = "builtin builtin_wide cast operate_loops operate_avx2 operate_avx512 sort"
LOOP_FILES = {f"cpu/{name}.c" for name in LOOPS_OF_CPU.split()}
assert all((CSRC / path).is_file() for path in RARE_FILES | LOOP_FILES)

# GCC for x86: plain moves copy and zero structs of a few hundred bytes. The instruction that GCC chooses by
# default takes about ten nanoseconds to start.
SHORT_BLOCKS = [
    f"-mmem{what}-strategy=unrolled_loop:256:noalign,libcall:-1:noalign" for what in ("cpy", "set")
]

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-cast-function-type"]
# Floating point follows the source: no contraction; no traps and no errno, so that loops vectorise.
FLAGS += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# With make, GCC optimises several parts at a time; without it, one part, since GCC would warn.
LTO = [["-flto=auto"]] if shutil.which("make") else [["-flto", "-flto-partition=one"], ["-flto=auto"]]
# What an interpreter's own options say beside warnings, for builds that no user has. GCC guesses without its
# optimiser what may be uninitialized; clang does not know the warning.
OWN = ["-DNDEBUG", "-fwrapv", "-fPIC", "-Wno-unknown-warning-option", "-Wno-maybe-uninitialized"]
# Tests: compiled in half the time of -O2, and whose pointers' types differ may still not share memory.
QUICK = ["-O1", "-g0", "-fstrict-aliasing"]


def asked(name):
    return os.environ.get(name) == "1"


def words_of(*names):
    return [word for name in names for word in os.environ.get(name, "").split()]


def accepts(compiler, linker, options, link_options=()):
    """Whether the compiler and the linker accept these options; known of an earlier build."""
    command, link = [*compiler, *options], [*linker, *link_options]
    answer = PLACE / "probes" / digest(version_of(tuple(compiler)), *command, "", *link)
    if not answer.is_file():
        with tempfile.TemporaryDirectory(prefix="usmpy-probe-") as folder:
            source, target = Path(folder) / "probe.c", Path(folder) / "probe.o"
            source.write_text("int probe(void);\nint probe(void)\n{\n    return 0;\n}\n")
            commands = [[*command, "-c", source, "-o", target], [*link, target, "-o", f"{target}.so"]]
            fitting = all(subprocess.run(each, capture_output=True).returncode == 0 for each in commands)
        replace(answer, b"yes" if fitting else b"no")
    return answer.read_bytes() == b"yes"


def generate(jobs=None, verbose=None):
    """Brings up to date what scripts write: kernels, the table of operations, the stub and its docstrings."""
    build, kernels, tools = Build(GENERATED), CSRC / "kernels", CSRC / "kernels" / "tools"
    operations, py = kernels / "operations.py", CSRC / "py"
    read = [path for kind in ("*.cl", "*.h", "*.zip") for path in sorted(kernels.rglob(kind))]
    read += [operations, tools / "make_ptx.py", tools / "make_spirv.py"]
    written = [
        build.write(GENERATED / "kernels.c", tools / "embed.py", read),
        build.write(GENERATED / "operations.h", operations),
        build.write(STUB, py / "stub.py", [operations, *sorted((py / "stubs").glob("*.pyi"))]),
        build.write(GENERATED / "docstrings.h", py / "docstrings.py", [STUB]),
    ]
    build.run(written, jobs, verbose)


def include(*folders):
    return [f"-I{folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder}" for folder in folders]


def kept(headers):
    """Include folders for the compiler: those of the system, and copies in build/ of the others' headers."""
    folders = [
        folder if folder in SYSTEM else keep_headers(folder, INCLUDED[backend], PLACE / "headers")
        for backend, folder in headers.items()
    ]
    # The system's own folder must not come before the compiler's.
    return [folder for folder in dict.fromkeys(folders) if folder != Path("/usr/include")]


def sources(*folders):
    return sorted(path for folder in folders for path in (CSRC / folder).rglob("*.c"))


class Extension:
    """A build of the extension, by the variables of setup.py.

    `core` has the objects that know nothing of Python, which interpreters share; `whole` those of csrc/py,
    and the extension. A release takes the commands of setuptools, with all options of the interpreter; a
    build for tests or debuggers takes the compiler alone, so that it is the same for all interpreters.
    """

    def __init__(self, compiler=None, linker=None, say=print):
        self.testing, self.debug = asked("USMPY_TESTING"), asked("USMPY_DEBUG")
        self.release = not (self.testing or self.debug)
        if not self.release:
            compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
            compiler = [word for word in compiler if word != "-pthread"]  # which some interpreters add
            linker = [*compiler, "-shared", *words_of("CFLAGS", "LDFLAGS")]
            compiler += [*OWN, *words_of("CFLAGS", "CPPFLAGS")]
        headers = find_headers(say)
        flags, link_flags = self.flags(compiler, linker, headers, say)
        self.compiler, self.options = compiler, flags
        kind = "tests" if self.testing else "debug" if self.debug else "release"
        self.core = Build.named(PLACE, f"{kind}-core", compiler, flags)
        paths = [ROOT / "usmpy" / "include", *map(sysconfig.get_path, ("include", "platinclude"))]
        python = [*flags, *include(*dict.fromkeys(map(Path, paths)))]
        self.whole = Build.named(PLACE, f"{kind}-{sysconfig.get_config_var('SOABI')}", compiler, python)
        # By source.
        self.objects = {GENERATED / "kernels.c": self.core.compile(GENERATED / "kernels.c")}
        backends = [*headers, *(["fault", "minimal"] if self.testing else [])]
        for source in sources("core", "cpu", *(f"backends/{name}" for name in backends)):
            self.objects[source] = self.core.compile(source, self.flags_of(source))
        self.of_core = list(self.objects.values())
        for source in sources("py"):
            self.objects[source] = self.whole.compile(source, self.flags_of(source))
        self.target = self.whole.link(
            self.whole.folder / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}",
            linker,
            self.objects.values(),
            ["-lm", "-lpthread", "-ldl", *link_flags],  # the last two are parts of libc since glibc 2.34
        )

    def flags(self, compiler, linker, headers, say):
        """The options of all files, and those of the linker."""
        optimised = ["-O2", "-g0"]
        if not self.release:
            optimised = ["-O1", "-g", "-fno-omit-frame-pointer"] if self.debug else QUICK
        flags = [*FLAGS, *optimised, *(["-Werror"] if asked("USMPY_WERROR") else [])]
        flags += words_of("USMPY_CFLAGS")
        link_flags = ["-Wl,--as-needed", *optimised[:2], *words_of("USMPY_LDFLAGS")]
        if self.release:
            link_flags.append("-s")  # names of static functions: 27 kB of a wheel
            fitting = (options for options in LTO if accepts(compiler, linker, ["-flto"], options))
            if (lto := next(fitting, None)) is None:
                say("usmpy: built without -flto, which this compiler does not have: calls cost a little more")
            else:
                flags, link_flags = [*flags, "-flto"], [*link_flags, *lto]
        if not self.debug and accepts(compiler, linker, ["-Werror", *SHORT_BLOCKS]):
            flags += SHORT_BLOCKS
        self.by_file = not self.debug and accepts(compiler, linker, ["-Werror", *LOOPS])
        flags += ["-DUSM_TESTING=1"] if self.testing else []
        return [*flags, *include(CSRC, GENERATED, *kept(headers))], link_flags

    def flags_of(self, source):
        """More options of one file, which make a wheel a quarter smaller.

        The loops of the host's casts and built-in kernels (LOOP_FILES) are vectorised without a second copy
        of each. Files that run rarely (RARE_FILES) are as small as possible. Loops of operations stay out of
        the link-time optimisation; those for x86 processors without AVX2, which are rare, are small.
        """
        if not self.by_file:
            return []
        name = str(source.relative_to(CSRC))
        if name in LOOP_FILES:
            apart = APART if name.startswith("cpu/operate_") else []
            is_spare = name == "cpu/operate_loops.c" and platform.machine() == "x86_64"
            small = ["-Os"] if self.release else ["-Og"]
            return [*(small if is_spare else LOOPS), *apart]
        return [] if not self.release else ["-Os"] if name in RARE_FILES else UNPADDED

    def build(self, jobs=None, verbose=None):
        """The path of the extension, which is up to date."""
        generate(jobs, verbose)
        self.core.run(self.of_core, jobs, verbose)
        self.whole.run([self.target], jobs, verbose)
        return self.target

    def commands(self):
        return [*self.core.commands(self.of_core), *self.whole.commands([self.target])]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-j", "--jobs", type=int, help="files at a time (default: one a processor)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print headers and commands")
    parser.add_argument("--into", type=Path, default=ROOT / "usmpy", help="folder of extension and stub")
    parser.add_argument("--commands", action="store_true", help="print the commands instead")
    arguments = parser.parse_args()
    for name in ("USMPY_TESTING", "USMPY_WERROR"):
        os.environ.setdefault(name, "1")
    try:
        extension = Extension(say=print if arguments.verbose else lambda line: None)
        if arguments.commands:
            print(json.dumps(extension.commands()))
            return
        made = extension.build(arguments.jobs, arguments.verbose or None)
    except BuildError as error:
        sys.exit(f"usmpy: {error}")
    for path in (made, STUB):
        replace(arguments.into / path.name, path.read_bytes())


if __name__ == "__main__":
    main()
