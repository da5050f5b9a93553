"""Whether a program is in the portable language, for drivers that take all of OpenCL C.

A program that only such drivers build is refused, so that a portable program runs on every backend. The check
reads the preprocessed tokens; the driver reports all other errors.
"""

from __future__ import annotations


def check(source: str, options: str, backend: str) -> None:
    """Raises BuildError if the program has something that the portable language does not have."""
    from ..errors import _build_error
    from . import build_options
    from .portable_constants import constants
    from .portable_words import check as check_words
    from .preprocessor import NAME, Wishes, preprocess
    from .tokens import Refused, Source

    source = source.removeprefix("\ufeff")
    try:
        wishes = Wishes(build_options.read(options, build_options.DRIVER))
        text = preprocess(source, constants(), wishes)
    except (Refused, ValueError):
        return
    try:
        check_words(Source(text))
    except Refused as error:
        raise _build_error(*error.describe(source, NAME), backend) from None
