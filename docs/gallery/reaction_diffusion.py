"""
Reaction and diffusion
======================

Two substances, u and v, diffuse through a dish and react with each other (the model of Gray and Scott).
Two rates decide which pattern grows: how fast u is fed, and how fast v is removed. The kernel is a Python
function, which usmpy translates for the device.

``python reaction_diffusion.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default
one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import usmpy
from usmpy.kernel_api import get_global_id

device = usmpy.Device(*sys.argv[1:2])
N, STEPS = 192, 5000
PATTERNS = {  # the rates (feed, kill)
    "spots that divide": (0.0367, 0.0649),
    "labyrinth": (0.037, 0.06),
    "worms and rings": (0.078, 0.061),
    "holes": (0.039, 0.058),
}


# %%
# The kernel
# ----------
# The edges of the dish are joined: ``%`` follows Python, so that -1 is the last row. A kernel may call other
# Python functions. Python's numbers take the type of the arrays, float32.
def laplacian(x, row, column):
    rows, columns = x.shape
    up, down = (row - 1) % rows, (row + 1) % rows
    left, right = (column - 1) % columns, (column + 1) % columns
    beside = x[up, column] + x[down, column] + x[row, left] + x[row, right]
    corners = x[up, left] + x[up, right] + x[down, left] + x[down, right]
    return 0.2 * beside + 0.05 * corners - x[row, column]


@usmpy.kernel
def react(u, v, next_u, next_v, feed, kill):
    column, row = get_global_id(0), get_global_id(1)
    here_u, here_v = u[row, column], v[row, column]
    reaction = here_u * here_v * here_v
    next_u[row, column] = here_u + laplacian(u, row, column) - reaction + feed * (1 - here_u)
    next_v[row, column] = here_v + 0.5 * laplacian(v, row, column) + reaction - (feed + kill) * here_v


# %%
# The dishes
# ----------
# u everywhere, and a few drops of v. The steps are submitted without a ``wait``: work on the same memory is
# ordered.
random = np.random.default_rng(4)
drops = np.zeros((N, N), np.float32)
for row, column in random.integers(0, N - 12, (14, 2)):
    drops[row : row + 12, column : column + 12] = 0.5


def grow(feed, kill, steps):
    u, v = (usmpy.asarray(start, device=device, copy=True) for start in (1 - drops, drops))
    spare_u, spare_v = usmpy.empty_like(u), usmpy.empty_like(v)
    for _ in range(steps):
        react[usmpy.Range(N, N)](u, v, spare_u, spare_v, feed, kill)
        u, v, spare_u, spare_v = spare_u, spare_v, u, v
    return v


pictures = {name: grow(*rates, STEPS) for name, rates in PATTERNS.items()}

# %%
# Check
# -----
# Some steps in NumPy.
u, v = 1 - drops, drops
feed, kill = PATTERNS["labyrinth"]
weights = {(0, 1): 0.2, (0, -1): 0.2, (1, 0): 0.2, (-1, 0): 0.2}
weights |= {(a, b): 0.05 for a in (-1, 1) for b in (-1, 1)}
for _ in range(20):
    spread_u, spread_v = (sum(w * np.roll(x, at, (0, 1)) for at, w in weights.items()) - x for x in (u, v))
    reaction = u * v * v
    u, v = u + spread_u - reaction + feed * (1 - u), v + 0.5 * spread_v + reaction - (feed + kill) * v
np.testing.assert_allclose(grow(feed, kill, 20).asnumpy(), v, atol=1e-5)

# %%
# Picture
# -------
plt.style.use("seaborn-v0_8-whitegrid")
figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.1), layout="constrained", sharey=True)
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    image = axis.imshow(picture.asnumpy(), cmap="magma", vmin=0, vmax=0.4, origin="lower")
    axis.set(title=name, xlabel="column", xticks=[0, N - 1], yticks=[0, N - 1])
    axis.grid(visible=False)
axes[0].set_ylabel("row")
figure.colorbar(image, ax=axes, label="concentration of v")
figure.suptitle(f"{STEPS:,} steps on {device.filter_string}")
figure.savefig("reaction_diffusion.png")
