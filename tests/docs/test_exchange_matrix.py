"""The tables of docs/exchange.md are what running every exchange gives."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from libraries import REQUIRED, need

need("numpy")

DOCS = pathlib.Path(__file__).parents[2] / "docs"
pytestmark = [
    pytest.mark.not_sanitized("what it runs is other libraries; the exchange has tests of its own"),
    pytest.mark.release("it measures the page of exchanges"),
]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import make_exchange_matrix

    yield make_exchange_matrix
    for name in ("make_exchange_matrix", "matrix_rows", "matrix_opencl"):
        sys.modules.pop(name)


def test_the_page_shows_the_measured_results():
    done = subprocess.run(
        [sys.executable, str(DOCS / "make_exchange_matrix.py"), "--check"],
        env={**os.environ, "PYTHONPATH": str(DOCS.parent)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if REQUIRED:
        assert "rows that did not run: []" in done.stdout


def test_missing_order_is_detected(script):
    """An export that is asked not to wait, and a copy: the script tells both from the others."""
    import numpy as np

    class Unordered:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **keywords):
            return self.x.__dlpack__(stream=-1, **keywords)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    host = {"host": script.places()["host"]}
    row = script.Out(
        "NumPy", "", (), lambda x: np.from_dlpack(Unordered(x)), lambda a: a.ctypes.data, lambda a: a[0]
    )
    assert script.run_out(row, host) == {"host": "in place", "ordered": "no"}
    row = script.Out("NumPy", "", (), lambda x: x.asnumpy(), lambda a: a.ctypes.data, lambda a: a[0])
    assert script.run_out(row, host) == {"host": "copy", "ordered": "yes"}


def test_a_cell_that_differs_is_found(script, monkeypatch, capsys):
    page = script.committed()
    key = next(iter(page))
    monkeypatch.setattr(script, "run", lambda: {**page, key: "something else"})
    monkeypatch.setattr(sys, "argv", ["make_exchange_matrix.py", "--check"])
    assert script.main() == 1
    assert "something else" in capsys.readouterr().out


def test_written_elements_are_read_back(script, tmp_path, monkeypatch):
    page = script.committed()
    assert len(page) > 60
    text = script.BEGIN + script.render(page) + script.END
    monkeypatch.setattr(script, "PAGE", tmp_path / "page.md")
    script.PAGE.write_text(text, encoding="utf-8")
    assert script.committed() == page
