"""A child of fork() gets an error at once that names the remedy; the parent's work continues."""

import os
import sys
import warnings

import usmpy

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork beside threads

device = usmpy.get_devices("cuda")[0]
x = usmpy.arange(10, device=device)
x.wait()
child = os.fork()
if child == 0:
    try:
        usmpy.zeros(10, device=device).wait(60)
    except RuntimeError as error:
        os._exit(0 if "spawn" in str(error) else 3)
    os._exit(4)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert x.tolist() == list(range(10))
sys.stdout.write("ok\n")
