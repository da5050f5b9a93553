"""Brings up to date what is stored of the kernels and of the table of operations, which no build makes.

python csrc/kernels/tools/make.py

make_ptx.py and make_spirv.py write the PTX and SPIR-V whose digests differ, and name the compilers that they
need. Then the extension is built, and docs/numerics-table.md gets the functions that it lacks.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = [f"csrc/kernels/tools/make_{form}.py" for form in ("ptx", "spirv")]


def start(*command, **options):
    print("python", *command, flush=True)
    return subprocess.Popen([sys.executable, *command], cwd=ROOT, **options)


def main():
    asked = [(script, start(script, "--digests", stdout=subprocess.DEVNULL)) for script in SCRIPTS]
    writers = [start(script) for script, process in asked if process.wait() != 0]
    if failed := [process.returncode for process in writers if process.wait() != 0]:
        return failed[0]
    return start("csrc/extension.py").wait() or start("docs/make_numerics.py", "--new").wait()


if __name__ == "__main__":
    sys.exit(main())
