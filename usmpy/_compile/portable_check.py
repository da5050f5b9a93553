"""Portable programs for drivers that take all of OpenCL C: the check, and the text that they get.

A program that only such drivers build is refused, so that a portable program runs on every backend. The check
reads the preprocessed tokens; the driver reports all other errors.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Device

# What a device without the aspect does not define.
_OF_ASPECTS = {
    "fp16": "cl_khr_fp16 __opencl_c_fp16",
    "fp64": "cl_khr_fp64 __opencl_c_fp64",
    "atomic64": "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics",
}
# The names that the host's constants have for what a driver has itself.
NUMBERS = """\
#define usm_inff() INFINITY
#define usm_inf() ((double)INFINITY)
#define usm_nanf() NAN
"""


def preprocessed(source: str, options: str, lacking: str = "") -> str:
    """The text of a program. lacking: macros that the device does not define. Raises Refused, ValueError."""
    from . import build_options
    from .portable_constants import constants
    from .preprocessor import Wishes, preprocess

    wishes = Wishes(build_options.read(options, build_options.DRIVER))
    undefined = "".join(f"#undef {name}\n" for name in lacking.split())
    return preprocess(source.removeprefix("\ufeff"), constants() + undefined, wishes)


def lacking(device: Device) -> str:
    return " ".join(names for aspect, names in _OF_ASPECTS.items() if aspect not in device.aspects)


def for_driver(source: str, options: str, device: Device, checked: bool = False) -> tuple[str, str]:
    """(what stands in front of a program for the driver, the program), as it is or rewritten.

    Raises BuildError if a program cannot be checked.
    """
    from .included import may_include
    from .portable_front import front

    source = source.removeprefix("\ufeff")
    if not (checked or "complex" in source + options or may_include(source, options)):
        return front(source, options), source
    from ..errors import _build_error
    from . import portable_checked, portable_complex
    from .preprocessor import NAME
    from .tokens import Refused, Source

    text, added = "", ""
    try:
        text = preprocessed(source, options, lacking(device))
        added = portable_complex.head(Source(text))
        text = portable_complex.rewrite(text)
        if checked:
            text = portable_checked.rewrite(text, portable_checked.DRIVER)
    except (Refused, ValueError) as error:
        if checked and isinstance(error, Refused):
            raise _build_error(*error.describe(source, NAME), device.backend) from None
        added = ""  # the driver reports it
    if not (checked or added):
        return front(source, options), source
    undefined = "".join(f"#undef {name}\n" for name in re.findall(r"-D\s*(\w+)", options))
    head = front(text if checked else source, options) or "#line 1\n"
    return undefined + added + NUMBERS + head, text.removeprefix(f'# 1 "{NAME}"\n')


def check(source: str, options: str, backend: str) -> None:
    """Raises BuildError if the program has something that the portable language does not have."""
    from ..errors import _build_error
    from .portable_words import check as check_words
    from .preprocessor import NAME
    from .tokens import Refused, Source

    try:
        text = preprocessed(source, options)
    except (Refused, ValueError):
        return
    try:
        check_words(Source(text))
    except Refused as error:
        raise _build_error(*error.describe(source, NAME), backend) from None
