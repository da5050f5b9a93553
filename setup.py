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

import sys
from pathlib import Path

import setuptools
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

sys.path.insert(0, str(Path(__file__).resolve().parent / "csrc"))

from extension import STUB, Extension, find_headers
from ninja_build import BuildError, replace


class Build(build_ext):
    """Builds by csrc/extension.py, and puts extension and stub where setuptools expects the extension."""

    def run(self):
        super().run()
        (extension,) = self.extensions
        replace(Path(self.get_ext_fullpath(extension.name)).with_name(STUB.name), STUB.read_bytes())

    def build_extensions(self):
        (extension,) = self.extensions
        try:
            build = Extension(self.compiler.compiler_so, self.compiler.linker_so, lambda line: None)
            made = build.build(self.parallel, bool(self.verbose))
        except BuildError as error:
            raise CompileError(str(error)) from None
        replace(Path(self.get_ext_fullpath(extension.name)), made.read_bytes())


if sys.byteorder != "little":
    sys.exit("usmpy needs a little-endian machine")
if not sys.platform.startswith("linux"):
    sys.exit(
        "usmpy is built for Linux: its queues use POSIX threads, its drivers are opened by their Linux names"
    )

find_headers()  # ends here, with the reason, where one is missing
setuptools.setup(
    cmdclass={"build_ext": Build},
    ext_modules=[setuptools.Extension("usmpy._core", sources=[])],
)
