"""The tour of the documentation, on a picture of its own: what it says, and what it draws."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import usmpy

pytest.importorskip("rich", reason="an extra of its own: tour")
Image = pytest.importorskip("PIL.Image", reason="an extra of its own: tour")

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.not_sanitized("it runs a program of its own")


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, ROOT / "docs" / "examples" / "tour.py", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=120)


def reference_blur(pixels, radius=9):
    """Along x, then along y, each rounded to bytes; edges repeat."""
    offsets = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 * (offsets / (radius / 3)) ** 2)
    for axis in (1, 0):
        padding = [(radius, radius) if i == axis else (0, 0) for i in range(3)]
        padded = np.pad(pixels.astype(np.float64), padding, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=axis)
        pixels = np.floor(windows @ (bell / bell.sum()) + 0.5).astype(np.uint8)
    return pixels


def test_a_picture_goes_through_without_a_copy_that_is_not_needed(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.png")
    done = run(tmp_path / "in.png", "--output", tmp_path / "out.png")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arrays[1] = arrays[1].to_device(arrays[0].queue)" in done.stdout
    rows = [line for line in done.stdout.splitlines() if "from_dlpack(" in line and "both at 0x" in line]
    assert len(rows) >= 2, done.stdout
    sheet = np.array(Image.open(tmp_path / "out.png"))
    margin = 12
    assert sheet.shape == (2 * 40 + 3 * margin, 3 * 60 + 4 * margin, 3)
    rows = [slice(top, top + 40) for top in (margin, 2 * margin + 40)]
    columns = [slice(left, left + 60) for left in (margin, 2 * margin + 60, 3 * margin + 120)]
    panels = [sheet[row, column] for row in rows for column in columns]
    np.testing.assert_array_equal(panels[0], pixels)
    np.testing.assert_array_equal(panels[1], pixels[:, ::-1])
    np.testing.assert_array_equal(panels[2], pixels[:, :, ::-1])
    assert len(np.unique(panels[3])) <= 4
    glass = panels[4].astype(int)
    np.testing.assert_allclose(glass, reference_blur(pixels), atol=1)  # float32 here, float64 there
    np.testing.assert_array_equal(panels[5], 255 - np.minimum(4 * abs(pixels - glass), 255))
    for device in usmpy.get_devices("opencl"):
        assert f"({device.filter_string}) blurs with the same bits" in done.stdout


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "in.txt").write_text("no picture")
    done = run(tmp_path / "in.txt", "--output", tmp_path / "out.png")
    assert done.returncode != 0
    assert "in.txt" in done.stderr
    assert not (tmp_path / "out.png").exists()
