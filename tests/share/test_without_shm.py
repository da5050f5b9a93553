"""Containers may have no /dev/shm: shared memory does not need it."""

import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, os, usmpy, usmpy.multiprocessing
def main():
    assert not os.path.exists("/dev/shm/probe")
    try:
        open("/dev/shm/probe", "w").close()
        raise SystemExit("/dev/shm can be written to")
    except OSError:
        pass
    near, far = multiprocessing.Pipe()
    x = usmpy.share(usmpy.arange(4, device="host"))
    near.send(x)
    assert far.recv().data_ptr == x.data_ptr
    near.send(usmpy.ones(1 << 20, dtype="int8", device="host"))
    assert far.recv().size == 1 << 20
    print("ok")
main()
"""


def test_without_dev_shm():
    unshare = shutil.which("unshare")
    hide = "mount -t tmpfs -o ro,size=4k none /dev/shm"
    if unshare is None or subprocess.run([unshare, "-m", "sh", "-c", hide], capture_output=True).returncode:
        pytest.skip("a namespace of its own for mounts needs root")
    command = [unshare, "-m", "sh", "-c", f'{hide} && exec "$0" -c "$1"', sys.executable, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
