"""A photograph goes through usmpy: NumPy -> USM -> PyTorch -> NumPy -> PNG, with no copy that is not needed.

    python docs/examples/tour.py [IMAGE] [--output tour.png]

IMAGE is any picture that Pillow can read; without one, the photograph that Matplotlib ships. The picture
stays in the block of memory that NumPy made; usmpy works on it, on the default device, into one new block: a
contact sheet of six panels. A kernel blurs it, on the host and on every OpenCL device that is found, with the
same bits. A table says at the end what was copied, what was not, and how long it took.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

import usmpy

MARGIN = 12  # pixels around a panel
PAPER = 245  # grey level of the sheet

# OpenCL C without vector types, images and pipes: on the host the system's C compiler makes a loop of it. One
# work-item makes one pixel of one pass, along x (step is 3 bytes) or along y (step is a row).
BLUR = """
static int clamped(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

kernel void blur(global const uchar *source, global uchar *target, global const float *weights, int radius,
                 int along_y)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    for (int channel = 0; channel < 3; channel++) {
        float sum = 0.5f;
        for (int i = -radius; i <= radius; i++) {
            int column = along_y ? x : clamped(x + i, width), row = along_y ? clamped(y + i, height) : y;
            sum += weights[i + radius] * source[(row * width + column) * 3 + channel];
        }
        target[(y * width + x) * 3 + channel] = (uchar)sum;
    }
}

kernel void difference(global const uchar *a, global const uchar *b, global uchar *target)
{
    size_t i = get_global_id(0);
    target[i] = 255 - min(4 * abs_diff((int)a[i], (int)b[i]), 255u);
}
"""
RADIUS = 9

# Wide enough for the table where no terminal says how wide it is.
width, height = (None, None) if sys.stdout.isatty() else (110, 40)
console = Console(markup=False, highlight=False, width=width, height=height)


class Steps:
    """What was done: rows of the table."""

    def __init__(self) -> None:
        self.table = Table(title="What was copied, and what was not", title_justify="left")
        for name in ("step", "bytes", "copied?", "time"):
            number = name in ("bytes", "time")
            self.table.add_column(name, justify="right" if number else "left", overflow="fold")

    def add(self, step: str, nbytes: int, copied: str, start: float) -> None:
        """One row; `start` is when it began, and now is its end."""
        seconds = time.perf_counter() - start
        self.table.add_row(step, f"{nbytes:,}", copied, f"{seconds * 1e6:,.1f} µs")


def address(array: Any) -> int:
    """Of the first element, as each library calls it."""
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return int(array.data_ptr if isinstance(array, usmpy.USMArray) else array.data_ptr())


def zero_copy(before: Any, after: Any) -> str:
    """Shows the evidence; a copy here would be a mistake of the library, so the tour ends."""
    if address(before) != address(after):
        sys.exit(f"copied where nothing should be: {address(before):#x} became {address(after):#x}")
    return f"no, both at {address(after):#x}"


def read(path: Path | None) -> NDArray[np.uint8]:
    if path is None:
        from matplotlib import get_data_path

        path = Path(get_data_path(), "sample_data", "grace_hopper.jpg")
    return np.array(Image.open(path).convert("RGB"))


def posterise(panel: usmpy.USMArray) -> None:
    """Runs as a task on a thread of the queue. NumPy sees the same memory: what it writes is in the sheet."""
    pixels = np.from_dlpack(panel, device="cpu")
    levels = (pixels.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / 64).astype(
        np.uint8
    ) * 72 + 20
    pixels[...] = levels[..., None]


def blurred(photo: usmpy.USMArray, steps: Steps) -> tuple[usmpy.USMArray, usmpy.USMArray]:
    """The photograph behind frosted glass, and what the blur removed; both on the photograph's queue."""
    place, name = photo.device, photo.device.filter_string
    start = time.perf_counter()
    program = usmpy.Program(BLUR, device=place)
    steps.add(f"build the blur for {name} (or load it)", len(BLUR), "", start)
    height, width, _ = photo.shape
    offsets = np.arange(-RADIUS, RADIUS + 1)
    bell = np.exp(-0.5 * (offsets / (RADIUS / 3)) ** 2)
    weights = usmpy.asarray((bell / bell.sum()).astype(np.float32), device=place)
    half, whole, lost = (usmpy.empty_like(photo) for _ in range(3))
    pixels = usmpy.Range(width, height)  # the first dimension is get_global_id(0)

    start = time.perf_counter()
    first = program.blur[pixels](photo, half, weights, RADIUS, 0)
    second = program.blur[pixels, [first]](half, whole, weights, RADIUS, 1)
    program.difference[usmpy.Range(photo.size)](photo, whole, lost)  # ordered by the memory that it reads
    steps.add(f"submit three kernels on {name}", 0, "no", start)
    second.wait()
    lost.wait()
    steps.add("... until they have run", photo.nbytes, "no, in place", start)
    return whole, lost


def compare_devices(photo: usmpy.USMArray, here: usmpy.USMArray, steps: Steps) -> None:
    """The same kernels on every OpenCL device: a copy of the photograph goes there, the same bits come."""
    expected = here.asnumpy()
    for device in usmpy.get_devices("opencl"):
        start = time.perf_counter()
        there = photo.to_device(device)
        there.wait()
        steps.add(f"to_device({device.filter_string})", photo.nbytes, "yes, as asked for", start)
        result, _ = blurred(there, steps)
        if not np.array_equal(result.asnumpy(), expected):
            sys.exit(f"{device.name} blurs with other bits than {here.device.name}")
        console.print(f"{device.name} ({device.filter_string}) blurs with the same bits")


def contact_sheet(photo: usmpy.USMArray, steps: Steps) -> usmpy.USMArray:
    """The photograph mirrored, its colours reversed, in four greys, blurred, and what the blur removed."""
    height, width, channels = photo.shape
    shape = (2 * height + 3 * MARGIN, 3 * width + 4 * MARGIN, channels)
    glass, lost = blurred(photo, steps)
    start = time.perf_counter()
    sheet = usmpy.full(shape, PAPER, dtype=photo.dtype, device=photo.device, usm_type="shared")
    sheet.wait()
    steps.add("fill the sheet", sheet.nbytes, "new memory", start)

    def panel(row: int, column: int) -> usmpy.USMArray:
        top, left = MARGIN + row * (height + MARGIN), MARGIN + column * (width + MARGIN)
        return sheet[top : top + height, left : left + width]

    views = {
        "photograph": (panel(0, 0), photo),
        "mirror image (negative strides)": (panel(0, 1), usmpy.flip(photo, axis=1)),
        "colours reversed (another view)": (panel(0, 2), photo[:, :, ::-1]),
        "for the task": (panel(1, 0), photo),
        "blurred": (panel(1, 1), glass),
        "what the blur removed": (panel(1, 2), lost),
    }
    for name, (target, source) in views.items():
        start = time.perf_counter()
        usmpy.copyto(target, source)
        sheet.wait()
        steps.add(f"copy: {name}", source.nbytes, "yes, once", start)

    start = time.perf_counter()
    event = sheet.queue.host_task(posterise, panel(1, 0))
    steps.add("submit a task that writes a panel", 0, "no", start)
    event.wait()
    steps.add("... until it has run", photo.nbytes, "no, in place", start)
    compare_devices(photo, glass, steps)
    return sheet


def show_placement(sheet: usmpy.USMArray) -> None:
    """Two queues do not mix, also on one device: no copy and no wait happens behind your back."""
    mine = usmpy.Queue(sheet.device)
    elsewhere = usmpy.zeros(sheet.shape, dtype=sheet.dtype, queue=mine)
    console.print("\nTwo queues do not mix. usmpy.concat([sheet, elsewhere]) says:\n", style="bold")
    try:
        usmpy.concat([sheet, elsewhere])
    except usmpy.ExecutionPlacementError as error:
        console.print(str(error), style="red")
    else:
        sys.exit("arrays of two queues were mixed")
    moved = elsewhere.to_device(sheet.queue)
    usmpy.concat([sheet, moved]).wait()
    console.print("\nAnd with elsewhere.to_device(sheet.queue) it works.\n")


def hand_over(sheet: usmpy.USMArray, steps: Steps) -> NDArray[Any]:
    """To PyTorch, where it is installed, and back to NumPy: three names of one block."""
    result: Any = sheet
    try:
        import torch
    except ImportError:
        console.print("PyTorch is not installed: the sheet goes to NumPy directly.")
    else:
        start = time.perf_counter()
        tensor = torch.from_dlpack(sheet)
        steps.add("torch.from_dlpack(sheet)", sheet.nbytes, zero_copy(sheet, tensor), start)
        tensor[:4] = tensor[-4:] = 30  # PyTorch draws two dark edges, in the same memory
        start = time.perf_counter()
        result = usmpy.from_dlpack(tensor)
        steps.add("usmpy.from_dlpack(tensor)", sheet.nbytes, zero_copy(tensor, result), start)
    start = time.perf_counter()
    pixels = np.from_dlpack(result, device="cpu")
    steps.add('numpy.from_dlpack(sheet, device="cpu")', pixels.nbytes, zero_copy(result, pixels), start)
    return pixels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("image", nargs="?", type=Path, help="default: the photograph that Matplotlib ships")
    parser.add_argument("--output", type=Path, default=Path("tour.png"), help="default: tour.png")
    arguments = parser.parse_args()

    steps = Steps()
    device = usmpy.select_default_device()
    console.print(f"Default device: {device.filter_string}, {device.name}")
    if not device.has_usm_shared:  # the other libraries of this tour work on the host
        console.print(
            "It has no shared memory: the tour goes on the host, and comes back to it for the kernels"
        )
        device = usmpy.Device("host")

    start = time.perf_counter()
    pixels = read(arguments.image)
    steps.add("read the picture into NumPy", pixels.nbytes, "new memory", start)

    start = time.perf_counter()
    photo = usmpy.from_dlpack(pixels)
    steps.add("usmpy.from_dlpack(pixels)", photo.nbytes, zero_copy(pixels, photo), start)
    height, width, _ = photo.shape
    console.print(f"A picture of {width} x {height} pixels, on {photo.device} as {photo.usm_type} memory")
    if photo.device != device:  # a GPU is the default: there the copy is what was asked for
        start = time.perf_counter()
        photo = photo.to_device(device)
        photo.wait()
        steps.add(f"to_device({device.filter_string})", photo.nbytes, "yes, as asked for", start)

    sheet = contact_sheet(photo, steps)
    show_placement(sheet)
    result = hand_over(sheet, steps)

    start = time.perf_counter()
    Image.fromarray(result).save(arguments.output)
    steps.add(f"write {arguments.output.name}", arguments.output.stat().st_size, "encoded", start)
    console.print(steps.table)
    console.print(f"Look at {arguments.output.resolve()}", soft_wrap=True)


if __name__ == "__main__":
    main()
