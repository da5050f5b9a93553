"""usmpy imported again while its sub-interpreter ends: it takes no more Python functions as tasks."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, Pipe, once

LATE = """
import atexit, os, sys

def late():  # after usmpy's own function, which was registered later
    for name in [name for name in sys.modules if name.partition(".")[0] == "usmpy"]:
        del sys.modules[name]
    import usmpy
    try:
        usmpy.Queue("host").host_task(int)
    except RuntimeError as error:
        os.write({fd}, str(error).encode())
    else:
        os.write({fd}, b"taken")
    os.close({fd})

atexit.register(late)
import usmpy
usmpy.Queue("host").host_task(int).wait()
"""

for gil in GILS:
    pipe = Pipe()
    once(gil, LATE.format(fd=pipe.fd))
    with open(pipe.source, "rb") as file:
        said = file.read().decode()
    assert "while the interpreter shuts down" in said, said

print("ok")
