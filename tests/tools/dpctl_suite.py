"""Runs dpctl's own tests against usmpy, as a measure of how far code that used dpctl gets.

    git clone https://github.com/IntelPython/dpctl
    git -C dpctl checkout aec4350712~1                     the last commit that has dpctl.tensor
    python tests/tools/dpctl_suite.py dpctl                      counts by file and by reason
    python tests/tools/dpctl_suite.py dpctl -- -k indexing -x    arguments after -- go to pytest

Nothing of the checkout is built or imported except its tests. The script copies them into a temporary folder,
beside a package with the names of ``dpctl_aliases.py``. It leaves out tests of features that usmpy does not
have: arithmetic, reductions other than any and all, sorting, sets, linear algebra, and dpctl's C and Cython
interfaces. The other tests run on the host device and on Intel's OpenCL runtime (the environment variable
``DPCTL_SUITE_BACKENDS`` lists others). docs/from-dpctl.md has the counts.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMPARED = (
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not logical_xor"
)
COMPARED = {f"test_{name}.py" for name in f"{COMPARED} isnan isinf isfinite".split()}
COMPUTING = {
    *(["accumulation", "clip", "diff", "isin", "statistical_functions", "sum", "testing"]),
    *(["linalg", "operators", "reductions", "searchsorted", "sorting", "top_k", "unique"]),
}
# In the files that are left: tests that compute, or need dpctl's C interface or private functions.
LEFT_OUT = (
    r"(?i)(argm(ax|in)|reduce_|pyx_capi|c(ython|python)_api|_capi|get_dpcppversion|get_include|headers"
    r"|_diff_|test_diff|allclose|inplace|tensordot|syclinterface|cmake|kernel_arg_type|where_result_types)"
)
PRIVATE = {"service", "copy_utils", "sycl_queue_manager", "type_utils"}  # files about private modules


def in_scope(path: pathlib.Path) -> bool:
    if path.parent.name == "elementwise":
        return path.name in COMPARED
    stem = path.stem.removeprefix("test_").removeprefix("usm_ndarray_").removeprefix("tensor_")
    return stem not in COMPUTING | PRIVATE | {"headers"}


def public_names(checkout: pathlib.Path) -> dict[str, list[str]]:
    """The `__all__` of the modules, without importing them."""
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
    for path in (package / "tests").rglob("*.py"):
        # An alias is not a class, but isinstance() works with it.
        text = path.read_text()
        path.write_text(
            re.sub(r"\btype\((\w+)\) is (dpctl\.Sycl\w+|dpt\.usm_ndarray)\b", r"isinstance(\1, \2)", text)
        )
    (package / "__init__.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests' / 'support')!r})\n"
        f"import dpctl_aliases\ndpctl_aliases.install({names})\n"
    )
    files = sorted((package / "tests").rglob("test_*.py"))
    return [str(path) for path in files if in_scope(path)]


def default_device() -> str:
    """Intel's OpenCL runtime, which is the nearest to SYCL's device, where it is installed."""
    import usmpy

    found = [d.filter_string for d in usmpy.get_devices("opencl") if d.name.startswith("Intel")]
    return (found or ["host"])[0]


# docs/from-dpctl.md has these reasons: a pattern in the test's name and the first line of its failure.
REASONS = {
    "complex numbers have no order": r"complex numbers have no order",
    "sub-devices by counts or by affinity": r"create_sub_devices|by counts or affinity",
    "print options": r"print_options|ndarray_print",
    "private names": r"has no private|_element_offset|_byte_bounds|_set_namespace|test__copy_utils",
    "words instead of enumerations": (
        r"check_(backend|device_type|global_mem_cache_type)\b|hip|automatic|custom"
    ),
    "what a driver does not tell": r"check_max_(work_item_sizes\]|num_sub_groups|clock_frequency)",
    "names that usmpy does not have": (
        r"SyclTimer|RawKernelArg|composite|component|peer_access|mem_advise|work_group_memory|onetrace"
        r"|order_manager|has no sum|does not support|_get_capsule|addressof|libsycl|get_unpartitioned"
        r"|Event' object has no attribute 'backend"
    ),
    "raw memory as objects and arguments": (
        r"test_sycl_usm|memcpy_type_error|USMArray of uint8 was given|memory behind an array"
    ),
    "0 dimensions as if they were one": r"_0d_data|squeeze_0d",
    "CPU devices are kDLCPU": r"dlpack|dldevice|copy_via_host|generic_container",
    "objects of other classes as operands": r"mock_array|protocol|seq_of_suai",
    "strides": r"test_\w+_order \||order_?K|assert \((-?\d+, ?)+\d*\) ==|test_basic_slice",
    "values that do not fit": r"into dtype|losing its kind|same_kind|out_arg|out_err|linspace|arange_bool",
}


def reason(name: str, message: str) -> str:
    line = f"{name} | {message.splitlines()[0] if message else ''}"
    for words, pattern in REASONS.items():
        if re.search(pattern, line):
            return words
    return "other checks of arguments, messages and results"


def report(results: pathlib.Path, verbose: bool) -> int:
    by_file: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    why: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: collections.Counter[str] = collections.Counter()
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = case.get("classname", "").replace("dpctl.tests.", "").split(".Test")[0]
        if re.search(LEFT_OUT, case.get("name", "")):
            continue
        failed = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        outcome = "failed" if failed is not None else "skipped" if skipped is not None else "passed"
        by_file[name][outcome] += 1
        if failed is not None:
            message = failed.get("message", "")
            why[name][message.split("\n")[0][:110]] += 1
            reasons[reason(f"{name}.{case.get('name')}", message)] += 1
    total: collections.Counter[str] = sum(by_file.values(), collections.Counter())
    for name, counts in sorted(by_file.items()):
        ran = counts["passed"] + counts["failed"]
        print(f"{name:45} {counts['passed']:5} of {ran:5} passed, {counts['skipped']:4} skipped")
        for words, count in why[name].most_common(None if verbose else 4):
            print(f"    {count:5}  {words}")
    for words, count in reasons.most_common():
        print(f"{count:5}  {words}")
    ran = total["passed"] + total["failed"]
    print(f"{'all':45} {total['passed']:5} of {ran:5} passed: {total['passed'] / max(ran, 1):.1%}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=pathlib.Path, help="of IntelPython/dpctl")
    parser.add_argument("--verbose", action="store_true", help="all reasons, not the commonest")
    parser.add_argument(
        "--results", type=pathlib.Path, help="keep pytest's results in this file (JUnit's XML)"
    )
    parser.add_argument(
        "--device", default=default_device(), help="the default device of the tests (%(default)s)"
    )
    parser.add_argument("pytest", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="usmpy-dpctl-") as name:
        folder = pathlib.Path(name)
        files = lay_out(arguments.checkout, folder)
        results = (arguments.results or folder / "results.xml").absolute()
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=short",
            "--continue-on-collection-errors",
        ]
        command += [f"--rootdir={folder}", f"--junit-xml={results}", "-o", "junit_family=xunit1", "-r", ""]
        environment = dict(
            os.environ, PYTHONPATH=f"{folder}{os.pathsep}{ROOT}", USMPY_DEVICE=arguments.device
        )
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
