"""Other libraries that tests exchange arrays with, and tools that checks run."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types

import options
import pytest

# Set in CI: a library that is missing there is a mistake of the environment, and its tests must not vanish.
REQUIRED = options.value("require_libraries", False)


def need(name: str) -> types.ModuleType:
    """The module, or a skip of the whole file (a failure with --require-libraries)."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if REQUIRED:
            raise RuntimeError(f"--require-libraries, and {name} cannot be imported: {error}") from error
        pytest.skip(f"{name} is not installed", allow_module_level=True)


# What brings the tools of checks.
DEV = f"{sys.executable} -m pip install -e '.[dev]'"


def need_tool(name: str) -> None:
    """A check without its tool fails."""
    assert importlib.util.find_spec(name) is not None, f"{name} is not installed: {DEV}"


def have(name: str, otherwise: str) -> types.ModuleType:
    """The module, or a skip of the whole file that says how to run it: for what few environments have."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed; {otherwise}", allow_module_level=True)
