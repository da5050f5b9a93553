"""Arrays that NumPy, memoryview and capsules hold at the exit, in globals, cycles and modules."""

import sys

import numpy as np

import usmpy

x = usmpy.arange(100_000, device="host")
n = np.from_dlpack(x)
m = memoryview(x)
capsule = x.__dlpack__(max_version=(1, 3))
mine = usmpy.from_dlpack(np.arange(10))
both = usmpy.from_dlpack(n)
cycle = [x, n, m, mine]
cycle.append(cycle)
sys.usmpy_array = (usmpy.arange(3, device="host"), np.from_dlpack(usmpy.arange(3, device="host")))
np.usmpy_array = usmpy.asarray(np.arange(4))


class Late:
    """Finalised when most of the interpreter is gone."""

    def __init__(self):
        self.x = usmpy.arange(1000, device="host")
        self.n = np.from_dlpack(self.x)

    def __del__(self):
        self.n[0] = 5
        assert self.x is not None


late = Late()
late.itself = late
print("ok")
