"""The process ends while a sub-interpreter is alive with work pending; the main one never imports usmpy."""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, create, run

CODE = """
import os, usmpy
from asleep import until_asleep

x = usmpy.arange(1_000_000, device="host")
for _ in range(4):
    x = usmpy.sort(x, descending=True)
imported = usmpy.asarray(memoryview(bytearray(4)))
queue = usmpy.Queue("host")
queue.host_task(until_asleep)  # until the main thread waits for the tasks
queue.host_task(os.write, {fd}, b"ran;")

def fail():
    raise ValueError("nobody asks")

queue.host_task(fail)
"""
if len(sys.argv) == 1:
    for gil in GILS:
        source, fd = os.pipe()
        # From 3.14 on, CPython warns of what is tested here.
        warnings = ["-W", "ignore:remaining subinterpreters:RuntimeWarning"]
        command = [sys.executable, *warnings, __file__, gil, str(fd)]
        done = subprocess.run(command, pass_fds=[fd], capture_output=True, text=True, timeout=60, check=False)
        os.close(fd)
        with open(source, "rb") as file:
            assert file.read() == b"ran;", done
        assert done.returncode == 0, done
        assert done.stdout == "main\n", done
        assert done.stderr.count("ValueError: nobody asks") == 1, done
    print("ok")
else:
    gil, fd = sys.argv[1:]
    run(create(gil), CODE.format(fd=fd))
    assert "usmpy" not in sys.modules
    print("main", flush=True)
