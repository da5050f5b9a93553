"""The notebooks of the documentation run from top to bottom, on every device of this machine, by nbmake."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
pytestmark = [
    pytest.mark.not_sanitized("it reads files and runs programs of its own"),
    pytest.mark.release("it runs the notebooks"),
]


def environment():
    """This one with the machine's own drivers: not those in software, and no device chosen."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "USMPY_CACHE_DIR" or not name.startswith(("USMPY_", "ZE_", "ONEAPI_", "PYTEST_"))
    }
    # The kernel of the notebook talks to this process alone.
    return {**kept, "PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    for package in ("nbmake", "ipykernel", "matplotlib"):
        pytest.importorskip(package, reason="an extra of its own: notebooks")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbmake", path]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, encoding="utf-8", timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b1 passed\b", done.stdout), done.stdout


def test_the_list_of_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["exchange", "heat", "kernels", "tour"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_reads_well(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            assert cell["execution_count"] is None
    assert cells[0]["cell_type"] == "markdown"
    assert cells[0]["source"][0].startswith("# ")
    # Text before code: no more than two cells of code in a row.
    kinds = "".join(cell["cell_type"][0] for cell in cells)
    assert "ccc" not in kinds
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for name in re.findall(r"\]\(([\w./]+)\)", text):
        assert (FOLDER / name).is_file(), name
