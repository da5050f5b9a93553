"""The key of a kept build for CUDA. The build itself is in cuda.py, which takes longer to import."""

from __future__ import annotations

from .included import may_include, state_of

# What translates programs for CUDA; a change of one of them makes new keys.
MODULES = ["build_options", "conditions", "cuda", "cuda_prelude", "cuda_prelude.cuh", "included", "parser"]
MODULES += ["portable", "portable_builtins", "portable_builtins.h", "portable_constants"]
MODULES += ["portable_constants.h", "portable_front", "portable_front.h", "portable_refusals"]
MODULES += ["portable_words", "preprocessor", "tokens"]


def identify(source: str, options: str) -> bytes:
    """What the result depends on beside source and options: included files, and this translator."""
    parts = [state_of(MODULES)]
    if may_include(source, options):
        from .cuda import included

        parts += included(source, options)
    return b"\0".join(parts)
