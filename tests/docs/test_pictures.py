"""The pictures of the README are what docs/make_pictures.py makes; each picture is shown on a page."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

pytest.importorskip("rich", reason="an extra of its own: tour")
Image = pytest.importorskip("PIL.Image", reason="an extra of its own: tour")

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATIC = ROOT / "docs" / "static"
NS = "{http://www.w3.org/2000/svg}"
pytestmark = pytest.mark.not_sanitized("it runs programs of its own")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "make_pictures.py", folder],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pixels(path):
    with Image.open(path) as image:
        return np.array(image.convert("RGB"), dtype=float)


def drawn(path):
    """The contents of a timeline except times: lanes, tasks with their kinds, and the legend."""
    root = ElementTree.parse(path).getroot()
    tasks = sorted(
        (shape.get("class"), shape.find(f"{NS}title").text.partition("\n")[0].partition(": ")[2])
        for shape in root.iter()
        if shape.find(f"{NS}title") is not None
    )
    legend = [text.text for group in root.iter(f"{NS}g") for text in group.iter(f"{NS}text")]
    style = root.find(f"{NS}style").text
    return tasks, legend, style


def test_the_picture_of_the_tour_is_stored(made):
    stored, new = pixels(STATIC / "tour.jpg"), pixels(made / "tour.jpg")
    assert stored.shape == new.shape
    assert abs(stored - new).mean() < 2, "run docs/make_pictures.py"


def test_the_timeline_is_stored(made):
    assert drawn(STATIC / "timeline.svg") == drawn(made / "timeline.svg"), "run docs/make_pictures.py"


def test_pages_show_them_and_they_are_small():
    shown = set()
    for page in ("README.md", "docs/index.md", "docs/reliability.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        shown |= set(re.findall(r"static/([\w.]+\.(?:jpg|png|svg))", text))
    stored = {path.name for path in STATIC.iterdir() if path.suffix != ".css"}
    assert shown == stored
    for name in stored:
        assert (STATIC / name).stat().st_size < 150_000
