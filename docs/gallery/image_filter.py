"""
Image filter
============

A median filter removes salt-and-pepper noise from a photograph: each pixel becomes the median of its 3 x 3
neighbourhood. One work-item computes one colour of one pixel. The noisy photograph enters usmpy without a
copy where the device can use the memory of NumPy, and with one copy elsewhere.

``python image_filter.py [DEVICE]`` runs it on a device such as ``opencl:cpu:0``, else on the default one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import usmpy

device = usmpy.Device(*sys.argv[1:2])

# %%
# A photograph with noise
# -----------------------
# One byte in 20 becomes black or white.
with get_sample_data("grace_hopper.jpg") as file:
    photo = plt.imread(file, format="jpg")[:400, 60:460].copy()
random = np.random.default_rng(1)
noise = random.random(photo.shape)
noisy = np.where(noise < 0.025, 0, np.where(noise > 0.975, 255, photo)).astype(np.uint8)

# %%
# The kernel
# ----------
# Pixels outside of the picture repeat its edge. Nine values are sorted in private memory.
SOURCE = """
kernel void median(global const uchar *source, global uchar *target)
{
    int channel = get_global_id(0), x = get_global_id(1), y = get_global_id(2);
    int width = get_global_size(1), height = get_global_size(2);
    uchar window[9];
    for (int i = 0; i < 9; i++) {
        int column = clamp(x + i % 3 - 1, 0, width - 1), row = clamp(y + i / 3 - 1, 0, height - 1);
        uchar value = source[(row * width + column) * 3 + channel];
        int place = i;
        for (; place > 0 && window[place - 1] > value; place--)
            window[place] = window[place - 1];
        window[place] = value;
    }
    target[(y * width + x) * 3 + channel] = window[4];
}
"""
kernel = usmpy.Program(SOURCE, device=device).median
source = usmpy.from_dlpack(noisy, device=device)
target = usmpy.empty_like(source)
height, width, channels = source.shape
kernel[usmpy.Range(channels, width, height)](source, target)  # dimension 0 is the fastest
filtered = target.asnumpy()  # waits for the kernel

# %%
# Check
# -----
padded = np.pad(noisy, ((1, 1), (1, 1), (0, 0)), mode="edge")
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
np.testing.assert_array_equal(filtered, np.median(windows, axis=(3, 4)))

# %%
# Picture
# -------
plt.style.use("seaborn-v0_8-whitegrid")
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), layout="constrained")
changes = 255 - abs(noisy - filtered.astype(int))
pictures = {"with noise": noisy, "after the filter": filtered, "what the filter removed": changes}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture)
    axis.set_title(title)
    axis.set_xlabel("column (pixels)")
    axis.grid(False)
axes[0].set_ylabel("row (pixels)")
figure.suptitle(f"Median of 3 x 3 pixels on {device.filter_string}")
figure.savefig("image_filter.png")
