"""Runs the public test suite of the array API standard against usmpy, on the devices that are named.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt       and pytest-xdist for --workers
    python tests/tools/array_api_suite.py array-api-tests       on the host
    python tests/tools/array_api_suite.py array-api-tests --device host opencl-intel level-zero-sim
    python tests/tools/array_api_suite.py array-api-tests -- -k floor_divide -x    pytest's arguments

The environment variable ``ARRAY_API_TESTS`` may name the checkout, too. Devices have the names of
``backends.py``; ``all`` stands for each one of this machine that is no part of another and not the second of
its kind. Nothing is written into the checkout. The exit status is 1 if a test failed or a device is missing.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Tests that are not run: a pattern of their names, and the reason. The suite leaves out test_linalg.py and
# test_fft.py by itself where the namespace has no linalg and no fft, and test_remainder everywhere ("flaky").
SKIPS = {
    r"test_has_names\[(linalg|fft)-": "usmpy has no linalg and no fft: both extensions are optional",
}
# The same on devices whose memory the host does not read, with a checkout that lacks the correction.
NO_COPY = {
    r"::test_dunder_dlpack$": "it takes the BufferError that the standard demands for a failure: "
    "https://github.com/data-apis/array-api-tests/issues/456, corrected by pull request 457",
}


def pytest_collection_modifyitems(config, items):
    """pytest's hook: this file is a plugin of the suite's run."""
    import pytest

    import usmpy

    skips = dict(SKIPS)
    corrected = "BufferError" in (config.rootpath / "array_api_tests" / "test_dlpack.py").read_text()
    try:
        usmpy.empty(1).__dlpack__(copy=False, dl_device=(1, 0))
    except BufferError:
        skips |= {} if corrected else NO_COPY
    for item in items:
        for pattern, reason in skips.items():
            if re.search(pattern, item.nodeid):
                item.add_marker(pytest.mark.skip(reason=reason))


def devices(names: list[str]):
    """{name: device, or why there is none}"""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "support")]
    import opencl_drivers  # noqa: F401, I001  shows the drivers before usmpy is imported
    import backends

    found = {backend.name: backend for backend in backends.BACKENDS}
    if names == ["all"]:
        names = [name for name in found if not name.endswith(("-part", "-second")) and name != "minimal"]
    result = {}
    for name in names:
        if name not in found:
            raise SystemExit(f"no device {name}; there are: {', '.join(found)}")
        try:
            result[name] = found[name].device()
        except backends.Absent as absent:
            result[name] = str(absent)
    return result


def run(checkout: pathlib.Path, device, arguments: argparse.Namespace) -> list[ElementTree.Element]:
    """The tests of one device, as JUnit's elements."""
    with tempfile.TemporaryDirectory(prefix="usmpy-array-api-") as folder:
        results = pathlib.Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "array_api_suite"]
        command += [f"--junit-xml={results}", "--tb=short", "-r", "", "-c", str(checkout / "pytest.ini")]
        command += [f"--rootdir={checkout}", str(checkout / "array_api_tests"), "--disable-deadline"]
        command += [f"--max-examples={arguments.max_examples}", "--continue-on-collection-errors"]
        if arguments.workers:
            command += ["-n", str(arguments.workers)]
        inherited = filter(None, [os.environ.get("PYTHONPATH")])
        environment = dict(
            os.environ,
            ARRAY_API_TESTS_MODULE="usmpy",
            USMPY_DEVICE=device.filter_string,
            PYTHONDONTWRITEBYTECODE="1",
            PYTHONPATH=os.pathsep.join(map(str, (ROOT, pathlib.Path(__file__).parent, checkout, *inherited))),
        )
        with open(pathlib.Path(folder) / "log", "w") as log:
            output = None if arguments.pytest or arguments.verbose else log
            command += arguments.pytest
            subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        if not results.exists():
            print((pathlib.Path(folder) / "log").read_text()[-4000:])
            return []
        return list(ElementTree.parse(results).getroot().iter("testcase"))


def report(cases: list[ElementTree.Element], reasons: collections.Counter[str]) -> collections.Counter[str]:
    """Prints the failures of a run, and counts outcomes and reasons of skips."""
    counts: collections.Counter[str] = collections.Counter()
    for case in cases:
        skipped = case.find("skipped")
        failed = case.find("failure") if case.find("failure") is not None else case.find("error")
        if failed is not None:
            counts["failed"] += 1
            lines = (failed.get("message") or failed.text or "").splitlines() or [""]
            print(f"  {case.get('classname')}::{case.get('name')}: {lines[0][:200]}")
        elif skipped is not None:
            counts["skipped"] += 1
            reasons[f"{case.get('classname', '').rpartition('.')[2]}: {skipped.get('message')}"] += 1
        else:
            counts["passed"] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    place = os.environ.get("ARRAY_API_TESTS")
    parser.add_argument(
        "checkout", type=pathlib.Path, nargs="?", default=place, help="of data-apis/array-api-tests"
    )
    parser.add_argument("--device", nargs="+", default=["host"], metavar="NAME", help="default: host")
    parser.add_argument("-n", "--workers", type=int, default=0, help="processes (pytest-xdist)")
    parser.add_argument("--max-examples", type=int, default=100, help="of a test (%(default)s)")
    parser.add_argument("--verbose", action="store_true", help="pytest's output, too")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.pytest = sys.argv[split + 1 :]
    if arguments.checkout is None or not (arguments.checkout / "array_api_tests").is_dir():
        parser.error("name a checkout of data-apis/array-api-tests, or set ARRAY_API_TESTS")
    rows, reasons, status = [], collections.Counter(), 0
    for name, device in devices(arguments.device).items():
        if isinstance(device, str):
            rows.append(f"| {name} | {device} | | | | |")
            status = 1
            continue
        print(f"{name}: {device.name}", flush=True)
        began = time.monotonic()
        counts = report(run(arguments.checkout.resolve(), device, arguments), reasons)
        numbers = " | ".join(str(counts[outcome]) for outcome in ("passed", "failed", "skipped"))
        rows.append(f"| {name} | {device.name} | {numbers} | {time.monotonic() - began:.0f} |")
        status = 1 if counts["failed"] or not counts["passed"] else status
    print("| device | name | passed | failed | skipped | seconds |\n| --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    print("\nskipped:")
    for reason, count in sorted(reasons.items()):
        print(f"{count:5}  {reason}")
    return status


if __name__ == "__main__":
    sys.exit(main())
