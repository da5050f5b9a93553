"""A forked child after launches: the host backend works, and drivers raise an error that explains why not."""

import os
import pathlib
import sys
import warnings

import usmpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import opencl_drivers  # noqa: F401 (loaders read its variable at their first call)

warnings.filterwarnings("ignore", category=DeprecationWarning)  # CPython 3.12 on: of forks beside threads

SOURCE = "kernel void put(global int *x, int v) { x[get_global_id(0)] = v; }"
used = []
for device in usmpy.get_devices("host") + usmpy.get_devices("opencl"):
    program = usmpy.Program(SOURCE, device=device)
    x = usmpy.zeros(3, dtype="int32", device=device)
    program.put[3](x, 1).wait()
    used.append((device, program, program.put, x))


def refuses(call):
    try:
        call()
    except RuntimeError as error:
        return "spawn" in str(error)
    return False


def child():
    for device, program, put, x in used:
        if device.backend == "host":
            put[3](x, 2).wait()
            assert x.tolist() == [2, 2, 2]
            again = usmpy.Program(SOURCE, device=device)
            again.put[3](x, 3).wait()
            assert x.tolist() == [3, 3, 3]
        else:
            assert refuses(lambda put=put, x=x: put[3](x, 2).wait()), device
            assert refuses(lambda device=device: usmpy.Program(SOURCE + " ", device=device)), device
            assert refuses(lambda program=program: program.binary), device


pid = os.fork()
if pid == 0:
    try:
        child()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    used.clear()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
for _, _, put, x in used:
    put[3](x, 4).wait()
    assert x.tolist() == [4, 4, 4]
sys.stdout.write("ok\n")
