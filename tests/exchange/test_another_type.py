"""The exchange of a device of DLPack type 10, ROCm's, whose streams have numbers of their own.

The tests of CUDA's order with other libraries, and those of DLPack in the conformance suite, run once more in
a process whose CUDA devices have that type (``dlpack_type.py``), on the driver in software.
"""

import pathlib
import subprocess
import sys

import cuda_drivers
import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
FILES = [f"cuda/test_cuda_{name}.py" for name in ("order", "streams", "borrow_lend", "views", "arrow")]
FILES += [f"cts/test_{name}.py" for name in ("dlpack_export", "dlpack_import", "exchange_table")]
# What is CUDA's alone, by a part of its name, and why.
INTERFACE = "__cuda_array_interface__ and __cuda_stream__ are those of CUDA's devices"
NUMBER = "the protocol has no number for the stream of the thread"
MANAGED = "DLPack has no type for ROCm's managed memory, which goes by that of the device"
LEFT_OUT = {
    "Interface": INTERFACE,
    "WithoutStream": INTERFACE,
    "test_our_queues_are_streams_for_others": INTERFACE,
    "test_after_the_end_the_array_is_over": INTERFACE,
    "number-2": NUMBER,
    "Torch-managed": MANAGED,
    "test_managed_and_pinned_memory_without_a_stream_is_finished and shared": MANAGED,
    "test_the_first_view_says_what_kind_of_memory_it_is and shared": MANAGED,
}


@pytest.mark.not_sanitized("it starts an interpreter")
def test_the_exchange_with_rocm():
    if reason := cuda_drivers.missing():
        pytest.skip(reason)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--software-cuda", "--dlpack-type=10", "--devices=cuda-software"]
    done = subprocess.run(
        [*command, "-k", " and ".join(f"not ({words})" for words in LEFT_OUT), *FILES],
        cwd=TESTS,
        env=cuda_drivers.environment(),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 300, done.stdout
