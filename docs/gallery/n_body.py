"""
N-body
======

Two discs of stars fall through each other. Every star attracts every other one; a work-group brings the
positions of 64 stars at a time into local memory, where all its work-items read them. The time step is
leapfrog: half a kick, a drift, half a kick.

``python n_body.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import usmpy

device = usmpy.Device(*sys.argv[1:2])
N, GROUP, STEPS, DT = 1024, 64, 300, 0.02
SOFTENING = 0.1  # keeps close encounters finite; all masses are 1/N, and so is Newton's constant 1

# %%
# The kernels
# -----------
# Coordinates are rows of one array: all x, then all y, then all z.
SOURCE = """
kernel void kick(global const float *place, global float *speed, float dt, float softening, local float *tile)
{
    size_t n = get_global_size(0), i = get_global_id(0), size = get_local_size(0), here = get_local_id(0);
    float x = place[i], y = place[n + i], z = place[2 * n + i], ax = 0, ay = 0, az = 0;
    for (size_t first = 0; first < n; first += size) {
        for (int k = 0; k < 3; k++)
            tile[k * size + here] = place[k * n + first + here];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (size_t j = 0; j < size; j++) {
            float dx = tile[j] - x, dy = tile[size + j] - y, dz = tile[2 * size + j] - z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening * softening);
            float pull = inverse * inverse * inverse / n;
            ax += dx * pull, ay += dy * pull, az += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    speed[i] += dt * ax, speed[n + i] += dt * ay, speed[2 * n + i] += dt * az;
}

kernel void drift(global float *place, global const float *speed, float dt)
{
    size_t i = get_global_id(0);
    place[i] += dt * speed[i];
}
"""
program = usmpy.Program(SOURCE, device=device)
stars, tile = usmpy.NdRange(N, GROUP), usmpy.LocalMemory(3 * GROUP * 4)  # bytes

# %%
# Two discs
# ---------
# Stars on circles around the centre of their disc, which moves towards the other one.
random = np.random.default_rng(3)
radius, angle = np.sqrt(random.uniform(0.01, 0.25, N)), random.uniform(0, 2 * np.pi, N)
side = np.where(np.arange(N) < N // 2, 1.0, -1.0)
place = np.stack(
    [radius * np.cos(angle) + side, radius * np.sin(angle) + 0.3 * side, random.normal(0, 0.02, N)]
)
turn, heat = np.sqrt(1.4 * radius), random.normal(0, 0.22, (3, N))
speed = np.stack([-turn * np.sin(angle) - 0.3 * side, turn * np.cos(angle), np.zeros(N)]) + heat
x = usmpy.asarray(place.astype(np.float32), device=device, copy=True)
v = usmpy.asarray(speed.astype(np.float32), device=device, copy=True)
frames = [x.copy()]
for step in range(1, STEPS + 1):
    program.kick[stars](x, v, DT / 2, SOFTENING, tile)
    program.drift[usmpy.Range(3 * N)](x, v, DT)
    program.kick[stars](x, v, DT / 2, SOFTENING, tile)
    if step == 1:
        first = v.copy()
    if step % (STEPS // 3) == 0:
        frames.append(x.copy())


# %%
# Check
# -----
# The first step in NumPy.
def accelerations(place):
    difference = place[:, None, :] - place[:, :, None]
    return (difference / (np.sum(difference**2, axis=0) + SOFTENING**2) ** 1.5).sum(axis=2) / N


expected = speed + DT / 2 * accelerations(place)
expected += DT / 2 * accelerations(place + DT * expected)
np.testing.assert_allclose(first.asnumpy(), expected, atol=1e-4)

# %%
# Picture
# -------
plt.style.use("seaborn-v0_8-whitegrid")
figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.1), layout="constrained", sharey=True)
for i, (axis, frame) in enumerate(zip(axes, frames, strict=True)):
    stars = frame.asnumpy()
    axis.scatter(stars[0], stars[1], s=2, c=np.where(side > 0, "tab:orange", "tab:blue"), linewidths=0)
    axis.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", title=f"t = {i * STEPS // 3 * DT:.1f}", xlabel="x")
axes[0].set_ylabel("y (natural units)")
figure.suptitle(f"{N:,} stars on {device.filter_string}")
figure.savefig("n_body.png")
