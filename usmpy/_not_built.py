"""The ImportError that explains why the package has no extension, and what to type."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def explain() -> NoReturn:
    """Raise it; called in the handler of the failed import."""
    if getattr(sys.exc_info()[1], "name", None) != f"{__package__}._core":
        raise  # another module is missing
    raise ImportError(_message(), name=f"{__package__}._core") from None


def _message() -> str:
    folder = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.dirname(folder)
    version = ".".join(map(str, sys.version_info[:2]))
    built = sorted(name for name in os.listdir(folder) if name.startswith("_core.") and name.endswith(".so"))
    if os.path.isdir(os.path.join(tree, "csrc")):
        return (
            f"usmpy was imported from its source folder, {folder}, which has no extension for Python "
            f"{version}. Python looks for modules in the current folder (python -m, python -c) or in the "
            "script's folder before it looks for installed packages. To use the installed usmpy, start "
            "Python in another folder (cd ..), or type usmpy instead of python -m usmpy. To work on the "
            f"sources, build the extension in place: {sys.executable} -m pip install -e {tree}"
        )
    return (
        f"usmpy in {folder} has no extension for Python {version} "
        f"({', '.join(built) or 'and for no other version'}): it was installed for another Python, or "
        f"in part. Install it again: {sys.executable} -m pip install --force-reinstall usmpy"
    )
