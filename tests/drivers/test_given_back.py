"""What goes back to a driver goes back, or its failure is reported: each call fails in turn."""

from __future__ import annotations

import json
import pathlib

import cuda_drivers
import level_zero_drivers
import level_zero_processes
import pytest

SCRIPT = str(pathlib.Path(__file__).parents[1] / "faults" / "reclaim.py")


@pytest.mark.parametrize(
    ("name", "missing", "variables", "kinds"),
    [
        pytest.param("cuda", cuda_drivers.missing(), cuda_drivers.environment, 7, id="cuda"),
        pytest.param("level_zero", level_zero_drivers.ABSENT, dict, 4, id="level_zero"),
    ],
)
def test_nothing_is_lost_in_silence(tmp_path, name, missing, variables, kinds):
    if missing:
        pytest.skip(missing)
    done = level_zero_processes.alone([SCRIPT, name], tmp_path / "report", **variables())
    assert done.returncode == 0, done.stdout
    figures = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(figures) == kinds
    assert all(of_kind["faults"] > 0 for of_kind in figures), figures
    assert sum(of_kind["kept"] for of_kind in figures) > 0, figures
