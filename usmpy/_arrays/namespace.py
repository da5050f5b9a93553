"""``array.__array_namespace__()``: the module usmpy."""

from __future__ import annotations

import sys
from types import ModuleType

from .objects import shown

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def namespace(api_version: str | None) -> ModuleType:
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"api_version is {shown(api_version, 60)}; None or one of {', '.join(VERSIONS)} is allowed"
        )
    return sys.modules["usmpy"]
