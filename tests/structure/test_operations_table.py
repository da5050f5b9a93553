"""What is stored of csrc/kernels/operations.py has all of its rows."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.not_sanitized("it reads sources")


def test_the_table_of_errors_has_every_function():
    tool = runpy.run_path(str(ROOT / "docs" / "make_numerics.py"))
    missing = tool["new"](tool["read"](tool["split"]()[1]))
    assert not missing, "run python csrc/kernels/tools/make.py"
