"""The programs of docs/gallery: each runs by itself, checks its result, and draws its picture."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest
from libraries import REQUIRED

import usmpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
pytestmark = [
    pytest.mark.not_sanitized("it runs programs of its own"),
    pytest.mark.release("it runs the programs of the gallery"),
]


def opencl():
    """The last OpenCL device: Intel's runtime where both are there."""
    devices = usmpy.get_devices("opencl")
    if not devices:
        pytest.skip("no OpenCL device: see usmpy.diagnose()")
    return devices[-1].filter_string


def test_the_list_of_programs():
    names = [
        "asyncio_pipeline",
        "heat_equation",
        "image_filter",
        "monte_carlo",
        "n_body",
        "reaction_diffusion",
        "share_with_pytorch",
    ]
    assert [path.stem for path in PROGRAMS] == names


@pytest.mark.parametrize("place", ["host", "opencl"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_and_draws(path, place, tmp_path):
    needed = ["PIL.Image", "matplotlib"] + ["torch"] * ("torch" in path.stem)
    for name in needed:
        if not REQUIRED:
            pytest.importorskip(name, reason="the extras notebooks and interop have it")
    from PIL import Image

    done = subprocess.run(
        [sys.executable, path, "host" if place == "host" else opencl()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert os.listdir(tmp_path) == [f"{path.stem}.png"]
    with Image.open(tmp_path / f"{path.stem}.png") as image:
        assert min(image.size) > 200
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_small_and_checks_itself(path):
    text = path.read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert 40 <= len(code) <= 90
    assert (ast.get_docstring(ast.parse(text)) or "").splitlines()[1].startswith("===")
    assert "np.testing.assert_" in text
    assert 'plt.style.use("seaborn-v0_8-whitegrid")' in text  # one style
    assert "label" in text  # axes say what they show
