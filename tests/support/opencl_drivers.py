"""Makes OpenCL drivers that came as Python packages visible to this process, beside the system's.

Intel's runtime for processors (intel-opencl-rt) lies in the environment's lib folder, where no OpenCL loader
looks. Loaders read OCL_ICD_VENDORS at their first call: suite.py imports this module before anybody can
make one. A folder that the caller set is left alone.
"""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

SYSTEM = pathlib.Path("/etc/OpenCL/vendors")
PACKAGED = [pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"]


def show_packaged() -> None:
    packaged = [library for library in PACKAGED if library.is_file()]
    if "OCL_ICD_VENDORS" in os.environ or not packaged:
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="usmpy-opencl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for system in sorted(SYSTEM.glob("*.icd")):
        shutil.copy(system, folder)
    for library in packaged:
        (folder / f"{library.stem}.icd").write_text(f"{library}\n")
    os.environ["OCL_ICD_VENDORS"] = f"{folder}/"  # the loader of CUDA's toolkit needs the slash


show_packaged()
