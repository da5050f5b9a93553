"""Importing usmpy and using the host start no CUDA: the driver's library is not even opened."""

import usmpy

usmpy.zeros(3, device="host").tolist()
with open("/proc/self/maps", encoding="utf-8") as maps:
    assert "libcuda.so" not in maps.read()
usmpy.get_devices("cuda")
with open("/proc/self/maps", encoding="utf-8") as maps:
    assert "libcuda.so" in maps.read()
print("ok")
