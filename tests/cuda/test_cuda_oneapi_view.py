"""CUDA's devices under DLPack's name kDLOneAPI, which our own arrays also go by."""

import os
import subprocess
import sys

import no_drivers

# Without the devices of OpenCL and Level Zero, which have that name before CUDA's.
PROGRAM = """
import producers

def given(data, n, place):
    source, _ = producers.producer((n,), device=place, data=data)
    source.device = place
    return usmpy.from_dlpack(source)

for i, device in enumerate(usmpy.get_devices("cuda")):
    x = usmpy.ones(3, device=device)
    x.queue.wait()
    for data, n in ((0, 0), (x.data_ptr, 3)):
        assert given(data, n, (producers.ONEAPI, i)).queue.device == device
    try:
        given(64, 3, (producers.ONEAPI, i))
    except BufferError as error:
        assert "the cuda driver does not know" in str(error), error
    else:
        raise AssertionError("it is nobody's memory")
"""


def test_no_elements_and_memory_that_is_nobodys():
    head = no_drivers.HEAD.replace('== ["host"]', '== ["cuda"] * 2 + ["host"]')
    hidden = {name: value for name, value in no_drivers.HIDDEN.items() if name != "USMPY_CUDA_LIBRARY"}
    done = subprocess.run(
        [sys.executable, "-c", head + PROGRAM],
        env={**os.environ, **hidden, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
