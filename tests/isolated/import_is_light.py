"""Importing usmpy imports no NumPy and opens no driver library; neither does work on the host device."""

import sys


def libraries():
    with open("/proc/self/maps") as maps:
        return {line.split()[-1] for line in maps if ".so" in line}


before = libraries()
import usmpy  # noqa: E402

DRIVERS = ("libcuda", "libOpenCL", "libze_", "libnvrtc", "libsycl")

assert "numpy" not in sys.modules
assert "asyncio" not in sys.modules
new = libraries() - before
assert not [name for name in new if any(driver in name for driver in DRIVERS)], new
assert [name for name in new if "usmpy/_core" in name], new

x = usmpy.arange(10, device="host")
x[::2] = 7
assert repr(x)
assert usmpy.concat([x, x]).tolist() == x.tolist() * 2
assert memoryview(x)[0] == 7
assert "numpy" not in sys.modules
assert x.asnumpy().tolist() == x.tolist()
assert "numpy" in sys.modules
print("ok")
