"""The process ends while a sub-interpreter is alive with work pending; the main one never imports usmpy."""

import os
import subprocess
import sys

CODE = """
import sys
sys.path[:] = {path!r}
import os, time, usmpy

x = usmpy.arange(1_000_000, device="host")
for _ in range(4):
    x = usmpy.sort(x, descending=True)
imported = usmpy.asarray(memoryview(bytearray(4)))
queue = usmpy.Queue("host")
queue.host_task(time.sleep, 0.1)
queue.host_task(os.write, {fd}, b"ran;")

def fail():
    raise ValueError("nobody asks")

queue.host_task(fail)
"""
if len(sys.argv) == 1:
    from pathlib import Path

    sys.path.append(str(Path(__file__).parents[1]))
    from sub_interpreters import GILS

    for gil in GILS:
        source, fd = os.pipe()
        command = [sys.executable, __file__, gil, str(fd)]
        done = subprocess.run(command, pass_fds=[fd], capture_output=True, text=True, timeout=60, check=False)
        os.close(fd)
        with open(source, "rb") as file:
            assert file.read() == b"ran;", done
        assert done.returncode == 0, done
        assert done.stdout == "main\n", done
        # Before 3.12, a sub-interpreter cannot print while the process ends.
        assert sys.version_info < (3, 12) or done.stderr.count("ValueError: nobody asks") == 1, done
    print("ok")
else:
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    gil, fd = sys.argv[1:]
    if sys.version_info >= (3, 13):
        interpreter = interpreters.create("legacy" if gil == "shared" else "isolated")
    else:
        interpreter = interpreters.create(isolated=gil == "own")
    problem = interpreters.run_string(interpreter, CODE.format(path=sys.path, fd=fd))
    assert problem is None, problem
    assert "usmpy" not in sys.modules
    print("main", flush=True)
