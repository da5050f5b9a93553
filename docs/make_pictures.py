"""Writes the pictures of the README and of the first page of the documentation to docs/static, or to FOLDER.

    python docs/make_pictures.py [FOLDER]

    tour.jpg      what docs/examples/tour.py makes of the photograph that Matplotlib ships
    timeline.svg  a trace of the same blur of several photographs, in three queues of the host

tests/docs/test_pictures.py runs this and compares the pictures with those that are stored.
"""

from __future__ import annotations

import io
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

import usmpy

DOCS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "examples"))

import tour  # noqa: E402

PHOTOGRAPHS = 4
WIDTH = 900  # pixels of the smaller picture of the tour


def tour_picture(path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sheet = pathlib.Path(folder, "tour.png")
        command = [sys.executable, DOCS / "examples" / "tour.py", "--output", sheet]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        image = Image.open(sheet)
        height = round(image.height * WIDTH / image.width)
        image.resize((WIDTH, height), Image.Resampling.LANCZOS).save(path, quality=80, optimize=True)


def timeline(path: pathlib.Path) -> None:
    """One queue decodes files, one blurs, one encodes. No call waits but the last."""
    file = io.BytesIO()
    photo = tour.read(None)
    Image.fromarray(photo).save(file, "png", compress_level=1)
    reading, computing, writing = (usmpy.Queue("host", profiling=True) for _ in range(3))
    blur = usmpy.Program(tour.BLUR, device=computing).blur
    count = 2 * tour.RADIUS + 1
    weights = usmpy.full(count, 1 / count, dtype="float32", queue=computing)
    pixels = usmpy.Range(photo.shape[1], photo.shape[0])

    def decode(target: usmpy.USMArray) -> None:
        np.from_dlpack(target)[...] = Image.open(file)

    def encode(source: usmpy.USMArray) -> None:
        Image.fromarray(np.from_dlpack(source)).save(io.BytesIO(), "jpeg")

    def blurred(photographs: int) -> None:
        for _ in range(photographs):
            source = usmpy.empty(photo.shape, dtype="uint8", queue=reading)
            reading.host_task(decode, source)
            here = source.to_device(computing)
            half, whole = usmpy.empty_like(here), usmpy.empty_like(here)
            blur[pixels](here, half, weights, tour.RADIUS, 0)
            blur[pixels](half, whole, weights, tour.RADIUS, 1)
            written = writing.host_task(encode, whole.to_device(writing))
        written.wait()

    blurred(1)  # memory and threads are there from now on
    with usmpy.trace() as trace:
        blurred(PHOTOGRAPHS)
    trace.save(path)


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "static"
    tour_picture(folder / "tour.jpg")
    timeline(folder / "timeline.svg")


if __name__ == "__main__":
    main()
