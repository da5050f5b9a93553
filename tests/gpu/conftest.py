"""Fixtures of the tests on a real NVIDIA GPU, which tests/gpu/run.sh runs. Without a GPU they are skipped.

--require-gpu: a GPU or a library that is missing is a failure.
"""

from __future__ import annotations

import gc
import importlib
import os
import time

import gpu_mini
import gpu_peers
import hang
import options
import pytest
from gpu_driver import LATE, LATE_COPY_PARAMETERS, LATE_PARAMETERS, SUCCESS, Driver

import usmpy
from usmpy import _core

PEERS = {**gpu_peers.PEERS, "mini": gpu_mini.Mini}

REQUIRED = options.value("require_gpu", False)


# A test that hangs with the GIL held ends the process after this time, with the stacks of all threads.
HANG_SECONDS = 100


@pytest.hookimpl(trylast=True)
def pytest_runtest_logstart(nodeid):
    if "tests/gpu/" in nodeid:
        hang.limit(HANG_SECONDS)


def pytest_runtest_logfinish(nodeid):
    if "tests/gpu/" in nodeid:
        hang.free()


_unsettled: list[str] = []


@pytest.fixture(autouse=True)
def _context_is_well(gpus):
    """A kernel that faults destroys the process's context: all later tests would fail."""
    yield
    for mini in gpu_mini.SHARED:
        with mini.entered():
            code = mini.code("cuCtxSynchronize")
        if code != SUCCESS:
            os.write(hang.STDERR, f"the context is lost: CUresult {code}\n".encode())
            if "PYTEST_XDIST_WORKER" in os.environ:
                os._exit(3)  # another worker continues
            pytest.exit(f"the context is lost: CUresult {code}")


def grown(before: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (before[name], n) for name, n in _core._live_counts().items() if n > before[name]}


@pytest.fixture(autouse=True)
def _settled(request, gpus):
    """As in suite.py, with less patience: a test ends with as many core objects as it began with."""
    for gpu in gpus:
        _ = gpu.queue
    usmpy.empty(0)
    usmpy.Device("host:cpu:0").queue.wait()
    gc.collect()
    before = _core._live_counts()
    yield
    if getattr(request.node, "failed", False):
        return  # its traceback holds its frames
    request.node.funcargs.clear()
    gc.collect()
    deadline = time.monotonic() + (2 if len(_unsettled) < 10 else 0.1)
    # Fewer than before: what the traceback of a failed test held has gone.
    while (more := grown(before)) and time.monotonic() < deadline:
        time.sleep(0.005)
        gc.collect()
    if more:
        _unsettled.append(request.node.name)
        pytest.fail(f"core objects that this test left behind, before and after: {more}")


def absent(reason: str):
    if REQUIRED:
        pytest.fail(f"--require-gpu, and {reason}")
    pytest.skip(reason)


def find_gpus() -> list[usmpy.Device]:
    """None where a software driver stands in for NVIDIA's."""
    software = "USMPY_CUDA_LIBRARY" in os.environ and not REQUIRED
    return [] if software else usmpy.get_devices("cuda")


def pytest_collection_modifyitems(items):
    ours = [item for item in items if item.path.parent == gpu_peers.HERE]
    for item in ours:
        # The peers warn about things of their own.
        item.add_marker(pytest.mark.filterwarnings("default"))
        item.add_marker(pytest.mark.not_sanitized("it needs a GPU"))
    if ours and find_gpus():
        gpu_peers.import_all()  # here, so that what the imports leave is not looked at around each test


@pytest.fixture(scope="session", autouse=True)
def gpus() -> list[usmpy.Device]:
    found = find_gpus()
    if not found:
        absent("there is no NVIDIA GPU: see usmpy.diagnose()")
    return found


@pytest.fixture(scope="session")
def device(gpus) -> usmpy.Device:
    _ = gpus[0].queue
    return gpus[0]


@pytest.fixture(scope="session")
def two_gpus(gpus) -> list[usmpy.Device]:
    if len(gpus) < 2:
        pytest.skip("there is one GPU")
    for gpu in gpus[:2]:
        _ = gpu.queue
    return gpus[:2]


@pytest.fixture(scope="session")
def driver(device) -> Driver:
    return gpu_mini.driver()


@pytest.fixture(scope="session")
def late(device):
    """late(x, n, value, ns): ns later, x[0 .. n) = value. A kernel of ours that takes its time."""
    return usmpy.Program(LATE, device=device, language="ptx")["late"].with_parameters(LATE_PARAMETERS)


@pytest.fixture(scope="session")
def late_copy(device):
    """late_copy(x, y, n, ns): ns later, y[i] = x[i]."""
    program = usmpy.Program(LATE, device=device, language="ptx")
    return program["late_copy"].with_parameters(LATE_COPY_PARAMETERS)


def module(name: str):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        absent(f"{name} cannot be imported: {error}")


@pytest.fixture(scope="session")
def cupy(gpus):
    return module("cupy")


@pytest.fixture(scope="session")
def torch(gpus):
    return module("torch")


@pytest.fixture(scope="session")
def jax(gpus):
    return module("jax")


@pytest.fixture(scope="session")
def numba_cuda(gpus):
    module("numba.cuda")
    return gpu_peers.import_numba_cuda()


@pytest.fixture(scope="session")
def core(gpus):
    return module("cuda.core")


def pytest_generate_tests(metafunc):
    for fixture in ("peer", "stream_peer"):
        if fixture in metafunc.fixturenames:
            names = [name for name, peer in PEERS.items() if fixture == "peer" or peer.has_streams]
            metafunc.parametrize(fixture, names, indirect=True)


@pytest.fixture
def peer(request, device) -> gpu_peers.Peer:
    made = PEERS[request.param]
    module(made.module)
    return made()


@pytest.fixture
def stream_peer(request, device) -> gpu_peers.Peer:
    made = PEERS[request.param]
    module(made.module)
    return made()
