"""A program that has Python in it, and starts it more than once."""

import os
import subprocess
import sys
import sysconfig

import pytest

PROGRAM = r"""
#include <Python.h>

int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        Py_Initialize();
        if (argc != 2 || PyRun_SimpleString(argv[1]) != 0 || Py_FinalizeEx() != 0) {
            return 1;
        }
    }
    return 0;
}
"""
USE = """
import usmpy
for device in usmpy.get_devices():
    x = usmpy.arange(4, dtype="int32", device=device)
    print(device.filter_string, (x + 1).tolist(), flush=True)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    known = sysconfig.get_config_vars()
    folder = tmp_path_factory.mktemp("embedding")
    source = folder / "program.c"
    source.write_text(PROGRAM)
    command = ["cc", f"-I{known['INCLUDEPY']}", str(source), "-o", str(folder / "program")]
    command += [f"-L{known['LIBPL']}", f"-L{known['LIBDIR']}", f"-Wl,-rpath,{known['LIBDIR']}"]
    command += [f"-lpython{known['LDVERSION']}", "-Wl,-export-dynamic"]
    command += known["LIBS"].split() + known["SYSLIBS"].split()
    linked = subprocess.run(command, capture_output=True, text=True)
    if "cannot find -lpython" in linked.stderr:
        pytest.skip("this Python has no library for programs")
    assert linked.returncode == 0, linked.stderr
    return folder / "program"


@pytest.mark.not_sanitized("an interpreter that ended leaves memory of its own behind")
def test_devices_work_again_in_an_interpreter_that_is_started_again(program):
    """Drivers get back what contexts kept when an interpreter ends: the next one makes new contexts."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([program, USE], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    third = len(lines) // 3
    assert third > 0
    assert lines == 3 * lines[:third]
    assert all(line.endswith(" [1, 2, 3, 4]") for line in lines)
