"""Runs dpctl's own tests against usmpy, as a measure of how far code that used dpctl gets.

    git clone https://github.com/IntelPython/dpctl; git -C dpctl checkout 0.21.1
    python tests/dpctl_suite.py dpctl                      what passes, by file, and why the rest fails
    python tests/dpctl_suite.py dpctl -- -k indexing -x    what comes after -- is pytest's

The checkout is of a commit that still has ``dpctl/tensor``; nothing of it is built or imported but its tests,
which are copied into a temporary folder beside the names of ``dpctl_aliases.py``. Tests of what usmpy does
not do are left out: arithmetic, reductions other than any and all, sorting, sets, linear algebra, and dpctl's
C and Cython interfaces. The others run on the host device and on Intel's OpenCL runtime
(``DPCTL_SUITE_BACKENDS``), and are counted in docs/from-dpctl.md.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

COMPARED = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not logical_xor"
COMPARED = {f"test_{name}.py" for name in f"{COMPARED} isnan isinf isfinite".split()}
COMPUTING = {
    *("accumulation clip diff isin statistical_functions sum testing".split()),
    *("linalg operators reductions searchsorted sorting top_k unique".split()),
}
# In the files that are left: what computes all the same, and what needs dpctl's C interface.
LEFT_OUT = (
    r"(?i)(argm(ax|in)|reduce_|pyx_capi|c(ython|python)_api|_capi|get_dpcppversion|get_include|headers"
    r"|_diff_|test_diff|allclose|inplace|tensordot|syclinterface|cmake|kernel_arg_type)"
)


def in_scope(path: pathlib.Path) -> bool:
    if path.parent.name == "elementwise":
        return path.name in COMPARED
    stem = path.stem.removeprefix("test_").removeprefix("usm_ndarray_").removeprefix("tensor_")
    return stem not in COMPUTING | {"headers"}


def public_names(checkout: pathlib.Path) -> dict[str, list[str]]:
    """What the modules say is theirs, without importing them."""
    names = {}
    for module in ("dpctl", "dpctl.memory", "dpctl.program", "dpctl.utils", "dpctl.tensor"):
        text = (checkout.joinpath(*module.split(".")) / "__init__.py").read_text()
        lists = re.findall(r"^__all__ \+?= \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
        names[module] = sorted(set(re.findall(r'"(\w+)"', " ".join(lists))))
    return names


def lay_out(checkout: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """The package of aliases with dpctl's tests in it; the test files that count."""
    package = folder / "dpctl"
    shutil.copytree(checkout / "dpctl" / "tests", package / "tests")
    names = json.dumps(public_names(checkout))
    (package / "__init__.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
        f"import dpctl_aliases\ndpctl_aliases.install({names})\n"
    )
    files = sorted((package / "tests").rglob("test_*.py"))
    return [str(path) for path in files if in_scope(path)]


REASONS = [
    (r"usmpy has no private", "asks for dpctl's private functions"),
    (r"usmpy has no", "a function that usmpy does not have"),
]


def reason(message: str) -> str:
    for pattern, words in REASONS:
        if re.search(pattern, message):
            return words
    return message.split("\n")[0][:110]


def report(results: pathlib.Path, verbose: bool) -> int:
    by_file: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    why: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = case.get("classname", "").replace("dpctl.tests.", "").split(".Test")[0]
        if re.search(LEFT_OUT, case.get("name", "")):
            continue
        failed = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        outcome = "failed" if failed is not None else "skipped" if skipped is not None else "passed"
        by_file[name][outcome] += 1
        if failed is not None:
            why[name][reason(failed.get("message", ""))] += 1
    total: collections.Counter[str] = sum(by_file.values(), collections.Counter())
    for name, counts in sorted(by_file.items()):
        ran = counts["passed"] + counts["failed"]
        print(f"{name:45} {counts['passed']:5} of {ran:5} passed, {counts['skipped']:4} skipped")
        for words, count in why[name].most_common(None if verbose else 4):
            print(f"    {count:5}  {words}")
    ran = total["passed"] + total["failed"]
    print(f"{'all':45} {total['passed']:5} of {ran:5} passed: {total['passed'] / max(ran, 1):.1%}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=pathlib.Path, help="of IntelPython/dpctl")
    parser.add_argument("--verbose", action="store_true", help="all reasons, not the commonest")
    parser.add_argument("--results", type=pathlib.Path, help="keep pytest's results in this file (JUnit's XML)")
    parser.add_argument("pytest", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="usmpy-dpctl-") as name:
        folder = pathlib.Path(name)
        files = lay_out(arguments.checkout, folder)
        results = (arguments.results or folder / "results.xml").absolute()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--continue-on-collection-errors"]
        command += [f"--rootdir={folder}", f"--junit-xml={results}", "-o", "junit_family=xunit1", "-r", ""]
        environment = dict(os.environ, PYTHONPATH=f"{folder}{os.pathsep}{ROOT}")
        with open(folder / "log", "w") as log:
            done = subprocess.run(
                [*command, *files, *arguments.pytest],
                cwd=folder,
                env=environment,
                stdout=None if arguments.pytest else log,
                stderr=subprocess.STDOUT,
            )
        if not results.exists():
            print((folder / "log").read_text()[-4000:])
            return done.returncode or 1
        return report(results, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
