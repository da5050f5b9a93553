"""The CUDA backend on the driver in software: usmpy is one library on it, cuda_peers.Peer another."""

from __future__ import annotations

import gc
import os

import cuda_drivers
import cuda_peers
import dlpack_type
import pytest

import usmpy

USED = cuda_drivers.missing() is None and os.environ.get("USMPY_CUDA_LIBRARY") == str(cuda_drivers.library())


def pytest_collection_modifyitems(items):
    reason = cuda_drivers.missing() or "usmpy uses another CUDA driver here: tests/gpu is for that"
    for item in items:
        if not USED and str(item.path).startswith(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def driver():
    return cuda_peers.Driver()


@pytest.fixture(scope="session")
def device(driver):
    device = usmpy.Device("cuda:gpu:0")
    for each in dlpack_type.give(usmpy.get_devices("cuda")):
        _ = each.queue  # lives as long as the process
    return device


@pytest.fixture
def queue(device):
    queue = usmpy.Queue(device)
    yield queue
    queue.wait()


@pytest.fixture(autouse=True)
def _context(driver, device):
    """The first device's context is current, and still is at the end; no call broke a rule of the driver."""
    before = driver.misuses()
    driver.forgiven = 0  # that the test makes on purpose
    with driver.on(0):
        yield
        assert driver.current() == driver.contexts[0]
    assert driver.misuses() - driver.forgiven == before, driver.misuse()


@pytest.fixture
def peer(driver, device):
    """Another library."""
    peer = cuda_peers.Peer(driver)
    yield peer
    for each in usmpy.get_devices("cuda"):
        each.queue.wait()
    gc.collect()
    peer.close()
