"""Fixtures of the tests of the CUDA driver in software: ctypes calls it, usmpy is not there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import cuda_calls
import cuda_drivers
import pytest
from cuda_calls import pointer

FOLDER = os.path.dirname(__file__)


def pytest_collection_modifyitems(items):
    missing = cuda_drivers.missing()
    for item in items:
        if missing is not None and str(item.path).startswith(FOLDER):
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def opened():
    driver = cuda_calls.Driver()
    driver.call("cuInit", 0)
    return driver


@pytest.fixture(scope="session")
def primary(opened):
    """The primary contexts."""
    yield [opened.out(pointer, "cuDevicePrimaryCtxRetain", i) for i in range(2)]
    for i in range(2):
        opened.call("cuDevicePrimaryCtxRelease", i)


@pytest.fixture
def driver(opened, primary):
    """With the first device's primary context current. A test fails if it leaks an object."""
    kept = ("bytes", "allocations", "modules", "misuses")
    before = opened.counts()
    with opened.current(primary[0]):
        yield opened
        opened.call("cuCtxSynchronize")
    after = opened.counts()
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


START = """
import ctypes, os, cuda_calls, numpy as np
from cuda_calls import *
driver = cuda_calls.Driver()
def start():
    driver.call("cuInit", 0)
    contexts = [driver.out(pointer, "cuDevicePrimaryCtxRetain", i) for i in range(2)]
    driver.call("cuCtxPushCurrent", contexts[0])
    return contexts
"""


@pytest.fixture(scope="session")
def script():
    """Runs a script with ``driver`` in a process of its own: for what loses contexts or ends processes."""

    def run(text, *arguments, **settings):
        environment = cuda_drivers.environment(**settings)
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", START + textwrap.dedent(text), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)

    return run
