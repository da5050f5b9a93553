"""Importing usmpy and using the host start no CUDA: the driver's library is not even opened."""

import os

import usmpy

# Without the version: maps show the file behind the links.
NAME = os.path.basename(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so")).partition(".so")[0] + ".so"

usmpy.zeros(3, device="host").tolist()
with open("/proc/self/maps", encoding="utf-8") as maps:
    assert NAME not in maps.read()
usmpy.get_devices("cuda")
with open("/proc/self/maps", encoding="utf-8") as maps:
    assert NAME in maps.read()
print("ok")
