"""The interpreter ends while kernels run whose arrays and queues are gone, and with exports alive."""

import sys

from gpu_driver import LATE, LATE_PARAMETERS

import usmpy

device = usmpy.get_devices("cuda")[0]
late = usmpy.Program(LATE, device=device, language="ptx")["late"].with_parameters(LATE_PARAMETERS)
for i in range(5):
    queue = usmpy.Queue(device)
    x = usmpy.zeros(1024, dtype="float32", queue=queue)
    late[usmpy.Range(1024)](x, 1024, float(i), 300_000_000)
if "torch" in sys.argv:
    import torch

    kept = torch.from_dlpack(x)
if "cupy" in sys.argv:
    import cupy

    kept = cupy.from_dlpack(x)
print("ok")
