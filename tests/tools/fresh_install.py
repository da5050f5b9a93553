"""The wheel with the extra "opencl" in a new environment, as users install it, with no variable set.

    python tests/tools/fresh_install.py [WHEEL]

Builds the source distribution and from it the wheel, unless one is named, and installs it. Then it looks for
Intel's runtime for processors, which the extra brings: it is found without help, and passes
`python -m usmpy check`. Ends with 77 if the package index does not answer.
"""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = (
    "import json, usmpy; print(json.dumps({device.filter_string: device.vendor"
    ' for device in usmpy.get_devices("opencl")}))'
)


def run(*command: object, **options: object) -> str:
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, encoding="utf-8", **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def main() -> None:
    if platform.machine() != "x86_64":
        print("Intel's runtime has packages for x86-64 alone: nothing to see here")
        return
    # Nothing that names a driver, a device or a folder of ours; a home, so that compilers have a cache.
    plain = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="usmpy-fresh-") as scratch:
        folder = pathlib.Path(scratch)
        if len(sys.argv) > 1:
            wheel = pathlib.Path(sys.argv[1]).resolve()
        else:
            build = {name: value for name, value in os.environ.items() if not name.startswith("USMPY_")}
            run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, env=build)
            (wheel,) = (folder / "dist").glob("*.whl")
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        probe = ["-m", "pip", "download", "-q", "--no-deps", "--dest", folder, "intel-opencl-rt"]
        if subprocess.run([python, *probe]).returncode != 0:
            print("the package index does not answer")
            sys.exit(77)
        run(python, "-m", "pip", "install", "-q", f"{wheel}[opencl]")
        devices = json.loads(run(python, "-c", LIST, cwd=folder, env=plain))
        intel = [name for name, vendor in devices.items() if "Intel(R)" in vendor]
        if len(intel) != 1:
            sys.exit(f"one device of Intel's runtime was expected; there are {devices}")
        print(run(python, "-m", "usmpy", cwd=folder, env=plain))
        print(run(python, "-m", "usmpy", "check", intel[0], cwd=folder, env=plain))
        print(f"{wheel.name}: {wheel.stat().st_size} bytes; {intel[0]} works")


if __name__ == "__main__":
    main()
