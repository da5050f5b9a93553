"""
asyncio pipeline
================

Eight frames pass through three queues: one loads, one computes, one stores. Each frame is a coroutine that
awaits the events of its own tasks; the event loop goes on meanwhile, and no thread is spent on waiting.
Frames overlap: while one is computed, the next one is loaded. The picture is the trace of what ran when.

``python asyncio_pipeline.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default
one.
"""

import asyncio
import sys
import time

import matplotlib.pyplot as plt
import numpy as np

import usmpy

device = usmpy.Device(*sys.argv[1:2])
FRAMES, SIZE = 8, 1 << 18
SOURCE = """
kernel void compute(global const float *x, global float *y)
{
    size_t i = get_global_id(0);
    float z = x[i];
    for (int k = 0; k < 40; k++)
        z = sqrt(z * z + 1);
    y[i] = z;
}
"""
compute = usmpy.Program(SOURCE, device=device).compute

# %%
# Three queues
# ------------
# Loading and storing are Python functions that run on threads of the host's queues; they stand for files or
# a network.
loading, storing = usmpy.Queue("host", profiling=True), usmpy.Queue("host", profiling=True)
computing = usmpy.Queue(device, profiling=True)
buffers = [np.empty(SIZE, dtype=np.float32) for _ in range(FRAMES)]
results = np.empty(FRAMES)


def load(n):
    time.sleep(0.004)  # seconds
    buffers[n][:] = np.random.default_rng(n).random(SIZE, dtype=np.float32)


def store(n, values):
    time.sleep(0.003)
    results[n] = values.mean(dtype=np.float64)


async def frame(n):
    await loading.host_task(load, n)  # raises what the task raises
    x = usmpy.asarray(buffers[n], queue=computing, copy=True)
    y = usmpy.empty_like(x)
    await compute[usmpy.Range(SIZE)](x, y)
    await storing.host_task(store, n, y.asnumpy())


async def main():
    await asyncio.gather(*(frame(n) for n in range(FRAMES)))


with usmpy.trace() as trace:
    asyncio.run(main())

# %%
# Check
# -----
# After 40 rounds, z is the root of the first z squared plus 40.
expected = [np.sqrt(buffer.astype(np.float64) ** 2 + 40).mean() for buffer in buffers]
np.testing.assert_allclose(results, expected, rtol=1e-5)

# %%
# Picture
# -------
# ``trace.save("pipeline.svg")`` draws a timeline as well; here its data is drawn by Matplotlib.
lanes = {"load": 2, "copy": 1, "compute": 1, "store": 0}
colours = {"load": "tab:green", "copy": "tab:orange", "compute": "tab:blue", "store": "tab:purple"}
tasks = [task for task in trace.tasks if task.name in lanes and task.end_ns is not None]
origin = min(task.submit_ns for task in tasks)
plt.style.use("seaborn-v0_8-whitegrid")
figure, axis = plt.subplots(figsize=(9, 2.8), layout="constrained")
for name, lane in lanes.items():
    bars = [((t.start_ns - origin) / 1e6, t.duration_ns / 1e6) for t in tasks if t.name == name]
    axis.broken_barh(bars, (lane - 0.38, 0.76), color=colours[name], edgecolor="white", label=name)
axis.set_yticks([2, 1, 0], ["load\n(host)", f"compute\n({device.filter_string})", "store\n(host)"])
axis.set(xlabel="time since the first submission (ms)", title=f"{FRAMES} frames in three queues")
axis.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=True)
figure.savefig("asyncio_pipeline.png")
