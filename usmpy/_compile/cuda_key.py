"""The key of a kept build for CUDA. The build itself is in cuda.py, which takes longer to import."""

from __future__ import annotations

from .included import may_include, own_state


def identify(source: str, options: str) -> bytes:
    """What the result depends on beside source and options: included files, and this translator."""
    parts = [own_state().encode()]
    if may_include(source, options):
        from .cuda import included

        parts += included(source, options)
    return b"\0".join(parts)
