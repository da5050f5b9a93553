"""The key of a kept build for CUDA. The build itself is in _cuda.py, which takes longer to import."""

from __future__ import annotations

import os

from .included import may_include

_MODULES = ["_cuda", "_cuda_prelude", "_portable", "_portable_builtins", "_portable_constants"]
_MODULES += ["_included", "_options", "_portable_words", "_preprocessor", "_tokens"]


def identify(source: str, options: str) -> bytes:
    """What the result depends on beside source and options: included files, and this translator."""
    parts = []
    for module in _MODULES:
        try:
            status = os.stat(os.path.join(os.path.dirname(__file__), module + ".py"))
        except OSError:
            continue
        parts.append(f"{status.st_mtime_ns},{status.st_size}".encode())
    if may_include(source, options):
        from .cuda import included

        parts += included(source, options)
    return b"\0".join(parts)
