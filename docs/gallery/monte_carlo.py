"""
Monte Carlo with a reduction
============================

The volume of the four-dimensional unit ball, π²/2, from random points in the cube around it.
Random numbers are counter-based (Philox 4x32-10): point ``i`` is a function of ``i`` and the seed, so that
no work-item has a state, and NumPy computes the same points. Each work-group adds up its hits in local
memory.

``python monte_carlo.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import usmpy

device = usmpy.Device(*sys.argv[1:2])
SEED, GROUP, GROUPS, EACH = 2026, 64, 512, 32  # each work-item draws 32 points
POINTS = GROUP * GROUPS * EACH

# %%
# The kernel
# ----------
# One call of ``philox`` gives four numbers of 32 bits: one point.
SOURCE = """
static void philox(uint *word, uint key)
{
    uint other = 0;
    for (int round = 0; round < 10; round++) {
        uint high0 = mul_hi(0xD2511F53u, word[0]), low0 = 0xD2511F53u * word[0];
        uint high1 = mul_hi(0xCD9E8D57u, word[2]), low1 = 0xCD9E8D57u * word[2];
        word[0] = high1 ^ word[1] ^ key, word[1] = low1, word[2] = high0 ^ word[3] ^ other, word[3] = low0;
        key += 0x9E3779B9u, other += 0xBB67AE85u;
    }
}

kernel void count_hits(global uint *hits, uint seed, uint each, local uint *part)
{
    uint found = 0, first = get_global_id(0) * each, here = get_local_id(0);
    for (uint i = first; i < first + each; i++) {
        uint word[4] = {i, 0, 0, 0};
        philox(word, seed);
        float square = 0;
        for (int k = 0; k < 4; k++) {
            float x = (word[k] >> 8) * 0x1p-24f;
            square += x * x;
        }
        found += square < 1;
    }
    part[here] = found;
    for (uint rest = get_local_size(0) / 2; rest > 0; rest /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (here < rest)
            part[here] += part[here + rest];
    }
    if (here == 0)
        hits[get_group_id(0)] = part[0];
}
"""
count_hits = usmpy.Program(SOURCE, device=device).count_hits
hits = usmpy.empty(GROUPS, dtype="uint32", device=device)
local = usmpy.LocalMemory(4 * GROUP)  # bytes
count_hits[usmpy.NdRange(GROUP * GROUPS, GROUP)](hits, SEED, EACH, local)
per_group = hits.asnumpy().astype(np.int64)  # waits for the kernel

# %%
# Check
# -----
# The same points in NumPy give exactly the same number of hits in each group.
word = [np.arange(POINTS, dtype=np.uint64), *np.zeros((3, POINTS), np.uint64)]
low = np.uint64(0xFFFFFFFF)
for turn in range(10):
    keys = (SEED + turn * 0x9E3779B9) & 0xFFFFFFFF, (turn * 0xBB67AE85) & 0xFFFFFFFF
    a, b = word[0] * np.uint64(0xD2511F53), word[2] * np.uint64(0xCD9E8D57)
    word = [(b >> 32) ^ word[1] ^ keys[0], b & low, (a >> 32) ^ word[3] ^ keys[1], a & low]
squares = sum((part >> 8).astype(np.float32) ** 2 * np.float32(2**-48) for part in word)
np.testing.assert_array_equal(per_group, (squares < 1).reshape(GROUPS, -1).sum(axis=1))

# %%
# Picture
# -------
points = GROUP * EACH * np.arange(1, GROUPS + 1)
volume = 16 * np.cumsum(per_group) / points
exact, spread = np.pi**2 / 2, 16 * np.sqrt(np.pi**2 / 32 * (1 - np.pi**2 / 32) / points)
plt.style.use("seaborn-v0_8-whitegrid")
figure, axis = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
axis.fill_between(points, exact - 2 * spread, exact + 2 * spread, alpha=0.25, label="two standard errors")
axis.semilogx(points, volume, label=f"estimate: {volume[-1]:.4f} after {POINTS:,} points")
axis.axhline(exact, color="0.3", linestyle="--", label=f"exact volume: {exact:.4f}")
axis.set(
    xlabel="random points", ylabel="volume of the unit ball", title=f"Monte Carlo on {device.filter_string}"
)
axis.legend(loc="lower right", frameon=True)
figure.savefig("monte_carlo.png")
assert abs(volume[-1] - exact) < 4 * spread[-1]
