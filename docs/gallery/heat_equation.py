"""
Heat equation
=============

A copper plate of 10 cm x 10 cm, hot in three places, with edges that are held at 20 degrees. Each step
reads one array and writes another one; the steps are submitted without a single ``wait``, because work on
the same memory is ordered.

``python heat_equation.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import usmpy

device = usmpy.Device(*sys.argv[1:2])
N, SIZE, DIFFUSIVITY = 201, 0.1, 1.11e-4  # points along an edge, metres, square metres per second
SPACING = SIZE / (N - 1)
STEP = 0.2 * SPACING**2 / DIFFUSIVITY  # seconds; above 0.25 the method is unstable
MOMENTS = 0, 200, 800, 2400  # steps that the picture shows

# %%
# The kernel
# ----------
SOURCE = """
kernel void diffuse(global const float *u, global float *next, float ratio)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        next[i] = u[i];
    else
        next[i] = u[i] + ratio * (u[i - 1] + u[i + 1] + u[i - width] + u[i + width] - 4 * u[i]);
}
"""
diffuse = usmpy.Program(SOURCE, device=device).diffuse

# %%
# The plate, and its way through time
# -----------------------------------
# ``u.copy()`` is ordered, too: after the step that it shows, and before the step that overwrites the array.
row, column = np.mgrid[0:N, 0:N] / (N - 1)
plate = np.full((N, N), 20, dtype=np.float32)
plate[np.hypot(row - 0.3, column - 0.3) < 0.12] = 100
plate[(abs(row - 0.72) < 0.04) & (abs(column - 0.5) < 0.35)] = 80
plate[abs(np.hypot(row - 0.32, column - 0.7) - 0.13) < 0.025] = 60

u = usmpy.asarray(plate, device=device, copy=True)
spare = usmpy.empty_like(u)
frames = [u.copy()]
for step in range(1, MOMENTS[-1] + 1):
    diffuse[usmpy.Range(N, N)](u, spare, 0.2)
    u, spare = spare, u
    if step in MOMENTS:
        frames.append(u.copy())
pictures = [frame.asnumpy() for frame in frames]  # waits

# %%
# Check
# -----
# The same steps in NumPy, up to the second frame.
expected = plate.copy()
for _ in range(MOMENTS[1]):
    inner, sides = expected[1:-1, 1:-1], expected[1:-1, :-2] + expected[1:-1, 2:]
    change = sides + expected[:-2, 1:-1] + expected[2:, 1:-1] - 4 * inner
    expected[1:-1, 1:-1] = inner + np.float32(0.2) * change
np.testing.assert_allclose(pictures[1], expected, atol=1e-2)  # degrees

# %%
# Picture
# -------
plt.style.use("seaborn-v0_8-whitegrid")
figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.1), layout="constrained", sharey=True)
for axis, picture, moment in zip(axes, pictures, MOMENTS, strict=True):
    image = axis.imshow(picture, cmap="inferno", vmin=20, vmax=100, extent=(0, 10, 0, 10))
    axis.set(title=f"after {moment * STEP:.2f} s", xlabel="x (cm)", xticks=[0, 5, 10])
    axis.grid(False)
axes[0].set_ylabel("y (cm)")
figure.colorbar(image, ax=axes, label="temperature (°C)")
figure.suptitle(f"A copper plate cools, on {device.filter_string}")
figure.savefig("heat_equation.png")
