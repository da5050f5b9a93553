"""
Share memory with PyTorch
=========================

One block of memory with two names: a PyTorch tensor and a usmpy array. A kernel writes waves into the
tensor, PyTorch transforms it, PyTorch writes to it, and the next kernel sees what PyTorch has written. No
element is copied between the two.

``python share_with_pytorch.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default
one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

import usmpy

device = usmpy.Device(*sys.argv[1:2])
N = 256  # pixels along an edge

# %%
# The kernel writes
# -----------------
# Three plane waves, each with its number of periods in x and y.
SOURCE = """
kernel void add_wave(global float *image, float periods_x, float periods_y)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    float phase = periods_x * x / width + periods_y * y / height;
    image[y * width + x] += cospi(2 * phase);
}
"""
add_wave = usmpy.Program(SOURCE, device=device).add_wave
waves = [(20, 4), (-7, 15), (3, -9)]
image = usmpy.zeros((N, N), dtype="float32", device=device)
for wave in waves:
    add_wave[usmpy.Range(N, N)](image, *wave)

# %%
# PyTorch reads
# -------------
# The exchange orders PyTorch after the kernels: what it reads is finished. Both names have one address.
tensor = torch.from_dlpack(image)
assert tensor.data_ptr() == image.data_ptr
spectrum = torch.fft.fftshift(torch.fft.fft2(tensor).abs() * 2 / N**2).cpu().numpy()

# %%
# PyTorch writes, and the next kernel sees it
# -------------------------------------------
# ``lend`` gives the memory to PyTorch for the length of the block: PyTorch works after the kernels before
# it, and kernels after it see what PyTorch has written. On a GPU, both are ordered by PyTorch's stream.
with image.lend(torch.cuda.current_stream() if tensor.is_cuda else None):
    tensor[:, : N // 2] = 0
add_wave[usmpy.Range(N, N)](image, 0, 2).wait()
mixed = tensor.cpu().numpy()

# %%
# Check
# -----
y, x = np.mgrid[0:N, 0:N] / N
expected = sum(np.cos(2 * np.pi * (a * x + b * y)) for a, b in waves)
np.testing.assert_allclose(spectrum, np.fft.fftshift(abs(np.fft.fft2(expected))) * 2 / N**2, atol=1e-4)
np.testing.assert_allclose(mixed, np.where(x < 0.5, 0, expected) + np.cos(4 * np.pi * y), atol=1e-4)

# %%
# Picture
# -------
plt.style.use("seaborn-v0_8-whitegrid")
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
axes[0].imshow(expected, cmap="RdBu")
axes[0].set(title="the kernel wrote", xlabel="x (pixels)", ylabel="y (pixels)")
box = (-N / 2 - 0.5, N / 2 - 0.5, N / 2 - 0.5, -N / 2 - 0.5)
lines = axes[1].imshow(spectrum, cmap="magma", extent=box, interpolation="nearest")
axes[1].set(title="PyTorch computed its spectrum", xlabel="periods in x", ylabel="periods in y")
axes[1].set(xlim=(-32, 32), ylim=(32, -32))
figure.colorbar(lines, ax=axes[1], label="amplitude", shrink=0.8)
axes[2].imshow(mixed, cmap="RdBu")
axes[2].set(title="both wrote", xlabel="x (pixels)")
for axis in axes:
    axis.grid(False)
figure.suptitle(f"One block of memory on {device.filter_string}, at {image.data_ptr:#x}")
figure.savefig("share_with_pytorch.png")
