"""The folder of the C API's header."""

from __future__ import annotations

import os


def get_include() -> str:
    """Return the folder that holds ``usmpy.h``, the header of the C API (docs/c-api.md).

    Returns
    -------
    str
        An absolute path, for the include path of an extension module.

    Examples
    --------
    >>> import os, usmpy
    >>> os.listdir(usmpy.get_include()).count("usmpy.h")
    1
    """
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "include")
