"""Builds free-threaded CPython, and runs the tests with the GIL off.

    python tests/free_threaded.py                          3.13t and 3.14t: the tests on the host and minimal devices
    python tests/free_threaded.py 3.14 -- tests/cts -k event   arguments after -- are pytest's
    python tests/free_threaded.py 3.14 --all               everything but tests/structure, on all devices
    python tests/free_threaded.py 3.14 --tsan              threads under ThreadSanitizer
    python tests/free_threaded.py 3.14 --build             builds the interpreter and prints its path

The sources of CPython are the original archives in source packages of Debian, else of Ubuntu, whose signatures
apt verifies; --source names an archive instead. Interpreters and environments are kept in --prefix, and an
interpreter that exists is used as it is. A build takes 5 minutes of two processors, and needs what CPython's own does: a C compiler, make, and the headers
of OpenSSL, libffi, zlib, bzip2, xz and SQLite.

With --tsan, Clang builds the interpreter and the extension with ThreadSanitizer. The run is
tests/isolated/eight_threads.py for --seconds, and the tests of threads. CPython's own races are suppressed by
the file that its sources have; every other report fails the run.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from newer_level_zero import KEYS, MIRROR, Absent, apt
from newer_level_zero import run as run_apt
from pythons import install, variables

UBUNTU = "http://archive.ubuntu.com/ubuntu"
SUITES = [(MIRROR, "testing"), (MIRROR, "sid"), (MIRROR, "trixie"), (UBUNTU, "resolute")]
# Without drivers, so that what runs is the interpreter, the extension and the host's backend.
FOLDERS = ["api", "cts", "exchange", "interop", "programs", "properties", "runtime", "share"]
THREADS = ["free_threading", "stress", "waiting_threads"]  # tests/runtime/test_*.py, under ThreadSanitizer
# Libraries that arrays are exchanged with. Those without a wheel for the interpreter are reported and left out.
LIBRARIES = ["jax", "pyarrow", "mpi4py", "pyopencl", "numba", "matplotlib", "rich", "dask"]
SUPPRESSIONS = "suppressions_free_threading.txt"  # of CPython's sources, kept beside the interpreter


def fetch(version: str, folder: pathlib.Path) -> pathlib.Path:
    """The archive of CPython's sources, from the first suite that has it."""
    reasons = []
    for mirror, suite in SUITES:
        lists = folder / suite
        lists.mkdir()
        try:
            keys = KEYS if mirror == MIRROR else ubuntu_keys(folder)
            apt_get, apt_cache = apt(lists, f"deb-src [signed-by={keys}] {mirror} {suite} main\n")
            run_apt([*apt_get, "source", "--download-only", "--tar-only", f"python{version}"], lists)
        except Absent as absent:
            reasons.append(f"{mirror} {suite}: {absent}")
            continue
        (archive,) = lists.glob("python*.orig.tar.*[!c]")  # .asc is the signature
        return archive
    raise Absent("no sources of CPython were found; --source names an archive\n" + "\n".join(reasons))


def ubuntu_keys(folder: pathlib.Path) -> pathlib.Path:
    """The keys of Ubuntu's archive, from Debian's package."""
    lists = folder / "keys"
    if not lists.exists():
        lists.mkdir()
        apt_get, _ = apt(lists, f"deb [signed-by={KEYS}] {MIRROR} trixie main\n")
        run_apt([*apt_get, "download", "ubuntu-keyring"], lists)
        (package,) = lists.glob("*.deb")
        subprocess.run(["dpkg", "-x", package, lists], check=True)
    return lists / "usr/share/keyrings/ubuntu-archive-keyring.gpg"


def build(version: str, arguments: argparse.Namespace) -> pathlib.Path:
    """The interpreter, built if it is missing."""
    target = arguments.prefix / (f"{version}t-tsan" if arguments.tsan else f"{version}t")
    python = target / "bin" / "python3"
    if python.exists():
        return python
    options, environment = ["--disable-gil", "--disable-test-modules", "--without-ensurepip"], {**os.environ}
    if arguments.tsan:
        options.append("--with-thread-sanitizer")
        environment["CC"], environment["CXX"] = arguments.cc, f"{arguments.cc}++"
    with tempfile.TemporaryDirectory(prefix="usmpy-cpython-") as scratch:
        folder = pathlib.Path(scratch)
        archive = arguments.source or fetch(version, folder)
        print(f"== building {target.name} from {archive.name}", flush=True)
        sources = folder / "sources"
        sources.mkdir()
        subprocess.run(["tar", "-xf", archive, "-C", sources, "--strip-components=1"], check=True)
        commands = (
            ["./configure", "-q", f"--prefix={target}", *options],
            ["make", "-s", f"-j{arguments.jobs}"],
            ["make", "-s", "install"],
        )
        log = arguments.prefix / f"{target.name}.log"
        with open(log, "w") as output:
            for command in commands:
                done = subprocess.run(
                    command, cwd=sources, env=environment, stdout=output, stderr=subprocess.STDOUT
                )
                if done.returncode != 0:
                    shutil.rmtree(target, ignore_errors=True)
                    sys.exit(f"{' '.join(command)} failed: {log}")
        shutil.copy(sources / "Tools" / "tsan" / SUPPRESSIONS, target)
    return python


def counts(report: pathlib.Path) -> str:
    suite = xml.etree.ElementTree.parse(report).getroot()[0]
    number = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    passed = number["tests"] - sum(number.values()) + number["tests"]
    return f"{passed} passed, {number['failures'] + number['errors']} failed, {number['skipped']} skipped"


def run(version: str, arguments: argparse.Namespace) -> list[str]:
    """What was run and its counts; what failed has an ! at the beginning."""
    interpreter = build(version, arguments)
    if arguments.build:
        return [str(interpreter)]
    # Without it, a module that asks for the GIL would have it.
    environment = {**variables(), "PYTHON_GIL": "0"}
    if arguments.tsan:
        # Beside the interpreter's flags, which have -fsanitize=thread already.
        environment |= {"CC": arguments.cc, "USMPY_CFLAGS": "-fsanitize=thread", "USMPY_WERROR": "0"}
    folder = interpreter.parents[1].with_name(f"{interpreter.parents[1].name}-tests")
    folder.mkdir(exist_ok=True)
    installed = install(str(interpreter), folder, environment)
    if installed is None:
        return [f"! {version}t: the installation failed"]
    tree, python = installed
    pip = [python, "-m", "pip", "install", "-q", "--only-binary=:all:"]
    absent = [name for name in LIBRARIES if subprocess.run([*pip, name], cwd=tree).returncode != 0]
    said = subprocess.run([python, "-VV"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [said, *([f"libraries without a wheel: {', '.join(absent)}"] if absent else [])]
    test = [python, "-m", "pytest", "-q", f"--junitxml={folder / 'report.xml'}"]
    if arguments.tsan:
        return [*lines, *run_sanitized(folder, tree, [python], test, environment, arguments.seconds)]
    if arguments.all:
        chosen = ["--ignore=tests/structure"]
    else:
        environment["USMPY_TEST_BACKENDS"] = "host,minimal"
        chosen = [f"tests/{name}" for name in FOLDERS]
    return [*lines, run_tests(folder, tree, [*test, *(arguments.pytest or chosen)], environment)]


def run_tests(
    folder: pathlib.Path, tree: pathlib.Path, test: list[str | pathlib.Path], environment: dict[str, str]
) -> str:
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    done = subprocess.run(test, cwd=tree, env=environment)
    what = counts(report) if report.exists() else "pytest did not end"
    return what if done.returncode == 0 else f"! {what}"


def run_sanitized(
    folder: pathlib.Path,
    tree: pathlib.Path,
    python: list[pathlib.Path],
    test: list[str | pathlib.Path],
    environment: dict[str, str],
    seconds: float,
) -> list[str]:
    logs = folder / "reports"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    suppressions = folder.with_name(folder.name.removesuffix("-tests")) / SUPPRESSIONS
    environment = {
        **environment,
        "TSAN_OPTIONS": f"suppressions={suppressions}:log_path={logs / 'tsan'}:die_after_fork=0",
        "PYTHONPATH": str(tree),
    }
    script = tree / "tests" / "isolated" / "eight_threads.py"
    done = subprocess.run([*python, script, "--seconds", str(seconds)], cwd=tree, env=environment)
    files = [f"tests/runtime/test_{name}.py" for name in THREADS]
    lines = [
        f"{'' if done.returncode == 0 else '! '}{script.name}, {seconds:g} s: status {done.returncode}",
        run_tests(folder, tree, [*test, *files], environment),
    ]
    reports = [path.read_text(errors="replace") for path in sorted(logs.glob("tsan.*"))]
    print(*reports, sep="\n")
    found = sum(report.count("WARNING: ThreadSanitizer") for report in reports)
    return [*lines, f"{'! ' if found else ''}{found} reports of ThreadSanitizer"]


def main() -> int:
    own, pytest_arguments = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, pytest_arguments = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="*", default=["3.13", "3.14"], help="such as 3.14 (default: 3.13 3.14)")
    parser.add_argument(
        "--prefix",
        type=lambda text: pathlib.Path(text).resolve(),
        default=pathlib.Path.home() / ".cache" / "usmpy-pythons",
        help="keeps the builds (default: ~/.cache/usmpy-pythons)",
    )
    parser.add_argument("--source", type=pathlib.Path, help="an archive of CPython's sources, for one version")
    parser.add_argument("--build", action="store_true", help="only build the interpreter, and print its path")
    parser.add_argument("--all", action="store_true", help="everything but tests/structure, on all devices")
    parser.add_argument("--tsan", action="store_true", help="threads under ThreadSanitizer")
    parser.add_argument("--cc", default="clang", help="the compiler for --tsan (default: clang)")
    parser.add_argument("--seconds", type=float, default=60, help="of eight_threads.py with --tsan (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of make (default: the processors)")
    arguments = parser.parse_args(own)
    arguments.pytest = pytest_arguments
    if arguments.source and len(arguments.versions) != 1:
        parser.error("--source is the archive of one version: name that version")
    arguments.prefix.mkdir(parents=True, exist_ok=True)
    failed = False
    for version in arguments.versions:
        try:
            lines = run(version.removesuffix("t"), arguments)
        except Absent as absent:
            lines = [f"! {absent}"]
        failed |= any(line.startswith("!") for line in lines)
        print(f"== {version.removesuffix('t')}t", *lines, sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
