"""Fixtures of all tests: backends, a device and a queue, and a check that live counts return."""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import os
import pathlib
import sys
import threading
import time

import apart
import cuda_drivers  # noqa: F401 (builds the driver in software)
import draws
import hang
import level_zero_drivers  # (the same)
import opencl_drivers  # noqa: F401 (makes the drivers visible to loaders)
import pytest
import quick
from backends import BACKENDS, LEFT_OUT, SLOW, Absent, Backend, drawn, takes_a_part

import usmpy
from usmpy import _core

# Builds with USMPY_TESTING=1 have live counts and faults, which the suite needs.
TESTING = hasattr(_core, "_live_counts")

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILED = pytest.StashKey[bool]()  # a test of this process has failed
LEFT = pytest.StashKey[dict[str, int]]()  # objects that tests left, as their marks say, by kind

HANG_SECONDS = 100  # above a test's own limit

THINNED = {"cts", "properties"}  # folders whose tests have a backend: see drawn_items


# With pytest-xdist (-n 2) a worker runs whole files, so that fixtures of a module are set up once. The
# longest files come first: at the end, such a file would leave the other workers without work.
LONGEST = [
    "docs/test_site.py",
    "portable/test_mutations.py",
    "structure/test_wheel.py",
    "builtins/test_table.py",
    "structure/test_stubs.py",
    "docs/test_gallery.py",
    "docs/test_documentation.py",
    "runtime/test_isolated.py",
    "programs/test_programs.py",
    "kernels/test_kernels.py",
    "cts/test_reduction_kernel.py",
    "runtime/test_engine_model.py",
    "cts/test_function_errors.py",
    "cts/test_elementwise_kernel.py",
    "properties/test_properties_standard.py",
    "cts/test_kernels_in_layouts.py",
    "cts/test_scan_kernel.py",
    "drivers/test_level_zero_failures.py",
    "drivers/test_cuda_share.py",
    "drivers/test_level_zero_plain_lists.py",
    "drivers/test_opencl_work.py",
    "cts/test_share.py",
    "runtime/test_hazards.py",
    "portable/test_agreement.py",
    "properties/test_properties_numpy.py",
    "properties/test_properties_compute.py",
    "drivers/test_level_zero_share.py",
    "drivers/test_level_zero_memory.py",
    "portable/test_whole_programs.py",
    "programs/test_compiler.py",
    "portable/test_builtin_kernels.py",
    "drivers/test_rounding.py",
    "runtime/test_leaks_functions.py",
    "cts/test_reductions.py",
    "structure/test_style.py",
    "cts/test_order.py",
    "cts/test_random.py",
    "drivers/test_cuda_programs.py",
    "cts/test_sorting.py",
    "cts/test_copy.py",
    "kernels/test_stored.py",
    "runtime/test_exit_reports.py",
    "docs/test_pictures.py",
    "exchange/test_connections.py",
]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False  # keep the order of collection
    return LoadFileScheduling(config, log)


def place_of(item) -> int:
    file = item.path.as_posix()
    return next((i for i, name in enumerate(LONGEST) if file.endswith(f"/tests/{name}")), len(LONGEST))


def pytest_configure(config):
    draws.fix_hypothesis()
    # Built programs are kept for later runs, by digests of the source, the options and the compiler.
    os.environ.setdefault("USMPY_CACHE_DIR", str(ROOT / "build" / "programs"))
    # Tests start a thousand interpreters: what these compile of usmpy is kept, as by default.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if not apart.IN_WORKER:
        apart.before_workers()
    # Tests that name no device use the host, also if there is a GPU, in hardware or software.
    os.environ.setdefault("USMPY_DEVICE", "host")
    if not TESTING:
        raise pytest.UsageError(
            "the tests need a build with USMPY_TESTING=1 in the environment (README, second command)"
        )


def is_quick(config) -> bool:
    return config.option.markexpr == "quick"


def runs_on(backend: Backend, tags: tuple[str, ...]) -> bool:
    return all((tag[1:] not in backend.tags) if tag[0] == "!" else (tag in backend.tags) for tag in tags)


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        file = metafunc.module.__name__.rpartition(".")[2]
        tags = [tag for mark in metafunc.definition.iter_markers("only_on") for tag in mark.args]
        chosen = [
            pytest.param(backend, marks=pytest.mark.release(backend.slow[file]))
            if file in backend.slow
            else backend
            for backend in BACKENDS
            if (backend.files is None or file in backend.files)
            and runs_on(backend, tags)
            and (backend.name in quick.DEVICES or not is_quick(metafunc.config))
            and (backend.name not in LEFT_OUT or metafunc.definition.path.parent.name != "cts")
        ]
        metafunc.parametrize(
            "backend", chosen, ids=lambda backend: backend.name, indirect=True, scope="session"
        )


def pytest_ignore_collect(collection_path, config):
    return True if is_quick(config) and quick.leaves_out(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    items[:] = made_items(items)
    for item in items:
        if item.path in quick.QUICK and item.get_closest_marker("release") is None:
            item.add_marker(pytest.mark.quick)
    yield  # pytest groups the tests of each device
    if apart.IN_WORKER:
        items.sort(key=place_of)


def drawn_items(items):
    """The cases that each device takes, of the folders in THINNED: of tests with few cases, all.

    In files that build programs in nearly each test, for code that all devices share, it takes a third of the
    tests, and those that draw their own cases (they have a parameter `backend`).
    """

    def device_of(item):
        backend = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        return backend if isinstance(backend, Backend) and item.path.parent.name in THINNED else None

    def builds(item):
        return item.path.stem in SLOW and "backend" not in inspect.signature(item.function).parameters

    thinned = [item for item in items if device_of(item) and takes_a_part(device_of(item), item.path.stem)]
    tests, cases, left_out = collections.defaultdict(dict), collections.defaultdict(list), set()
    for item in filter(builds, thinned):
        tests[item.path].setdefault(item.originalname, len(tests[item.path]))
    for item in thinned:
        backend, numbers = device_of(item), tests[item.path]
        if len(numbers) > 3 and builds(item) and not drawn(backend, [item], numbers[item.originalname], of=3):
            left_out.add(item)
        else:
            cases[backend.name, item.path, item.originalname].append((backend, item))
    for own in cases.values():
        backend, of_test = own[0][0], [item for _, item in own]
        taken = drawn(backend, of_test, of=min(len(own), 4))
        left_out.update(set(of_test).difference(taken) if len(own) > 2 else ())
    return [item for item in items if item not in left_out]


def made_items(items):
    """Without the tests that can never apply."""
    made = []
    for item in drawn_items(items):
        if not all(mark.args[0] for mark in item.iter_markers("made_if")):
            continue
        backend = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        if not isinstance(backend, Backend):
            if not backend:  # pytest's mark for an empty list: no device runs this file (--devices)
                made.append(item)
            continue
        name = item.nodeid.rpartition("/")[2]
        if not any(name.startswith(prefix) for prefix in backend.unsupported):
            made.append(item)
        for prefix, reason in backend.xfail.items():
            if name.startswith(prefix):
                item.add_marker(pytest.mark.xfail(reason=f"{backend.name}: {reason}", strict=True))
    return made


def pytest_collection_finish():
    """Freeze the imported objects: the collections around each test skip them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # so that cycles among them are collected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    marker = item.get_closest_marker("timeout")
    hang.allow((marker.args[0] if marker else float(item.config.getini("timeout"))) + HANG_SECONDS, spare=20)
    return (yield)


def pytest_runtest_logfinish():
    # Freeze the reports of earlier tests too: they become many.
    if len(gc.get_objects(generation=2)) > 2_000:
        gc.collect()
        gc.freeze()


def pytest_sessionfinish():
    hang.free()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    item.failed = getattr(item, "failed", False) or report.failed
    return report


@pytest.fixture(scope="session")
def backend(request) -> Backend:
    return request.param


@pytest.fixture(scope="session")
def device(backend) -> usmpy.Device:
    try:
        device = backend.device()
    except Absent as absent:
        pytest.skip(str(absent))
    _ = device.queue  # the cached queue and its context live as long as the process: not the first test's
    return device


@pytest.fixture
def queue(device) -> usmpy.Queue:
    return usmpy.Queue(device)


def live_counts() -> dict[str, int]:
    gc.collect()
    return _core._live_counts()


def changed(before: dict[str, int], fewer: dict[str, int]) -> dict[str, tuple[int, int]]:
    """The counts that differ from `before`, old and new; each may be lower by its number in `fewer`."""
    now = live_counts()
    return {
        name: (n, now[name]) for name, n in before.items() if not n - fewer.get(name, 0) <= now[name] <= n
    }


@functools.cache
def _callbacks() -> None:
    """The queue that callbacks of events run in."""
    before = _core._live_counts()
    gate = threading.Event()
    usmpy.Queue("host").host_task(gate.wait).add_done_callback(lambda event: None)
    gate.set()
    while _core._live_counts() != {**before, "queues": before["queues"] + 1}:
        time.sleep(0.001)


def _caches() -> None:
    """Create the objects that the process keeps after their first use."""
    usmpy.empty(0)
    usmpy.Device("host:cpu:0").queue.wait()
    _callbacks()


def _check_level_zero() -> None:
    assert not level_zero_drivers.misuse(), "rules of Level Zero that this test broke"
    assert not level_zero_drivers.reports(), "reports of Level Zero's validation layer"


@pytest.fixture(autouse=True)
def _settled(request):
    """Check that a test leaks no core objects."""
    level_zero_drivers.reports()
    left = request.config.stash.setdefault(LEFT, {})
    if request.node.get_closest_marker("leaves_objects"):
        before = live_counts()
        yield
        _check_level_zero()
        # Some of them may be released at any time: a driver may still be at work on the last task.
        for name, n in live_counts().items():
            left[name] = max(0, left.get(name, 0) + n - before[name])
        return
    _caches()
    if "device" in request.fixturenames:
        request.getfixturevalue("device")
    before = live_counts()
    yield
    _check_level_zero()
    if getattr(request.node, "failed", False):
        request.config.stash[FAILED] = True  # its traceback keeps its frames alive until a later test
        return
    request.node.funcargs.clear()
    fewer = before if request.config.stash.get(FAILED, False) else left
    # Workers release the last task shortly after its completion is visible.
    deadline = time.monotonic() + 60
    while (wrong := changed(before, fewer)) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not wrong, "core objects that this test left behind, before and after"
    if any(left.values()):
        now = live_counts()
        left.update({name: max(0, n - max(0, before[name] - now[name])) for name, n in left.items()})
