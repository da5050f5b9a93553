"""What free-threaded CPython 3.13 never frees: code at the top of a module, and classes.

They become immortal there once the process has had a second thread, and keep what they refer to.
"""

import sys
import sysconfig

import pytest

IMMORTAL = sys.version_info < (3, 14) and bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def freed_elsewhere(test):
    """Marks a test whose functions or classes keep objects alive there."""
    reason = "free-threaded CPython 3.13 makes classes, and functions that are not nested, immortal"
    return pytest.mark.leaves_objects(reason)(test) if IMMORTAL else test
