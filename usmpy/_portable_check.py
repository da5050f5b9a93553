"""Whether a program is in the portable language, for drivers that take all of OpenCL C.

A program that they alone would build is refused, so that a portable program runs on every backend. The check
sees what the preprocessor leaves; what is wrong beside that is the driver's to say, in its own words.
"""

from __future__ import annotations

import re

from . import _options, _portable
from ._included import may_include
from ._preprocessor import NAME, preprocess
from ._tokens import Refused, Source
from .errors import _build_error


class _Wishes:
    def __init__(self, options: str) -> None:
        read = _options.read(options, _options.DRIVER)
        self.version = _options.version_of(read)
        self.defined = [(name, value) for name, value in read if name in ("-D", "-U")]
        self.folders = [value for name, value in read if name == "-I"]
        self.included = [value for name, value in read if name == "-include"]


def _may_be_refused(source: str, options: str) -> bool:
    """Whether one of the words is there at all, or may come from a file or by ##: mostly not."""
    if "##" in source or may_include(source, options):
        return True
    words = set(re.findall(r"[^\W\d]\w*", source)) | set(re.findall(r"[^\W\d]\w*", options))
    return any(pattern.match(word) for pattern, _ in _portable.REFUSED for word in words)


def _constants() -> str:
    from ._portable_constants import CONSTANTS

    return CONSTANTS.replace("#define USMPY_HOST 1\n", "").replace("#ifdef __FLT16_MAX__", "#if 1")


def check(source: str, options: str, backend: str) -> None:
    """Raises BuildError where the program has something that the portable language does not have."""
    source = source.removeprefix("\ufeff")
    if not _may_be_refused(source, options):
        return
    try:
        tokens = Source(preprocess(source, _constants(), _Wishes(options)))
    except (Refused, ValueError):
        return
    try:
        _portable.check(tokens)
    except Refused as error:
        raise _build_error(*error.describe(source, NAME), backend) from None
