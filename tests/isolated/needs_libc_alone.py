"""The extension is linked with libc and its parts, and exports nothing but its init function."""

import shutil
import subprocess

from usmpy import _core

if shutil.which("readelf"):
    dynamic = subprocess.run(
        ["readelf", "-dW", _core.__file__], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}, (
        needed
    )
    symbols = subprocess.run(
        ["readelf", "--dyn-syms", "-W", _core.__file__], capture_output=True, text=True, check=True
    ).stdout
    defined = [
        words[7]
        for words in map(str.split, symbols.splitlines())
        if len(words) == 8 and words[4] == "GLOBAL" and words[6] != "UND"
    ]
    assert defined == ["PyInit__core"], defined
print("ok")
