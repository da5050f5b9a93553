"""Builds free-threaded CPython, and runs the tests with the GIL off.

    python tests/tools/free_threaded.py                   3.13t and 3.14t: the tests on host and "minimal"
    python tests/tools/free_threaded.py 3.14 -- tests/cts   arguments after -- are pytest's
    python tests/tools/free_threaded.py 3.14 --tsan     threads under ThreadSanitizer
    python tests/tools/free_threaded.py 3.14 --build    builds the interpreter and prints its path

--devices among them chooses other ones. The sources of CPython are the original archives in source packages
of Debian, or of Ubuntu where Debian does not have the version; apt verifies their signatures. --source
names an archive instead. Interpreters and environments are kept in ~/.cache/usmpy-pythons, and an interpreter
that exists is used as it is. A build takes 5 minutes of two processors, and needs what CPython's own does:
a C compiler, make, and the headers of OpenSSL, libffi, zlib, bzip2, xz and SQLite.

With --tsan, Clang builds the interpreter and the extension with ThreadSanitizer, and
tests/isolated/eight_threads.py runs for --seconds; arguments after -- add tests. CPython's known races are
suppressed by the file that its sources have. A report in which no function of usmpy takes part is printed;
every other fails the run.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from newer_level_zero import KEYS, MIRROR, Absent, apt
from newer_level_zero import run as run_apt
from pythons import copy_tree, install, variables

CACHE = pathlib.Path.home() / ".cache" / "usmpy-pythons"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
SUITES = [(MIRROR, "testing"), (MIRROR, "sid"), (MIRROR, "trixie"), (UBUNTU, "resolute")]
# Without drivers, so that what runs is the interpreter, the extension and the host's backend.
FOLDERS = ["api", "cts", "exchange", "interop", "programs", "properties", "runtime", "share"]
# Libraries that arrays are exchanged with. Those without a wheel for the interpreter are named and left out.
LIBRARIES = [
    *("jax", "pyarrow", "mpi4py", "mpich", "pyopencl", "intel-opencl-rt", "intel-cmplr-lib-rt"),
    *("numba", "matplotlib", "rich", "dask"),
]
SUPPRESSIONS = "suppressions_free_threading.txt"  # of CPython's sources, kept beside the interpreter


def fetch(version: str, folder: pathlib.Path) -> pathlib.Path:
    """The archive of CPython's sources, from the first suite that has it."""
    reasons = []
    for mirror, suite in SUITES:
        lists = folder / suite
        lists.mkdir()
        try:
            keys = KEYS if mirror == MIRROR else ubuntu_keys(folder)
            apt_get, _ = apt(lists, f"deb-src [signed-by={keys}] {mirror} {suite} main\n")
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
    lists.mkdir()
    apt_get, _ = apt(lists, f"deb [signed-by={KEYS}] {MIRROR} trixie main\n")
    run_apt([*apt_get, "download", "ubuntu-keyring"], lists)
    (package,) = lists.glob("*.deb")
    subprocess.run(["dpkg", "-x", package, lists], check=True)
    return lists / "usr/share/keyrings/ubuntu-archive-keyring.gpg"


def build(version: str, target: pathlib.Path, source: pathlib.Path | None, tsan: bool) -> pathlib.Path:
    """The interpreter in the folder `target`, built if it is missing."""
    python = target / "bin" / "python3"
    if (target / SUPPRESSIONS).exists():  # copied last
        return python
    options, environment = ["--disable-gil", "--disable-test-modules", "--without-ensurepip"], {**os.environ}
    if tsan:
        options.append("--with-thread-sanitizer")
        environment |= {"CC": "clang", "CXX": "clang++"}
    with tempfile.TemporaryDirectory(prefix="usmpy-cpython-") as scratch:
        archive = source or fetch(version, pathlib.Path(scratch))
        print(f"== building {target.name} from {archive.name}", flush=True)
        sources = pathlib.Path(scratch) / "sources"
        sources.mkdir()
        log = CACHE / f"{target.name}.log"
        with open(log, "w") as output:
            for command in (
                ["tar", "-xf", archive.resolve(), "--strip-components=1"],
                ["./configure", "-q", f"--prefix={target}", *options],
                ["make", "-s", f"-j{os.cpu_count()}"],
                ["make", "-s", "install"],
            ):
                done = subprocess.run(command, cwd=sources, env=environment, stdout=output, stderr=output)
                if done.returncode != 0:
                    sys.exit(f"{command[0]} failed: {log}")
        shutil.copy(sources / "Tools" / "tsan" / SUPPRESSIONS, target)
    return python


def run(version: str, chosen: list[str], arguments: argparse.Namespace) -> bool:
    target = CACHE / (f"{version}t-tsan" if arguments.tsan else f"{version}t")
    interpreter = build(version, target, arguments.source, arguments.tsan)
    if arguments.build:
        print(interpreter)
        return True
    # Without it, a module that asks for the GIL would have it.
    environment = {**variables(), "PYTHON_GIL": "0"}
    folder = target.with_name(f"{target.name}-tests")
    logs = folder / "reports"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    if arguments.tsan:
        environment |= {
            **{"CC": "clang", "USMPY_WERROR": "0"},
            **dict.fromkeys(("USMPY_CFLAGS", "USMPY_LDFLAGS"), "-fsanitize=thread"),
            "TSAN_OPTIONS": f"suppressions={target / SUPPRESSIONS}:log_path={logs / 'tsan'}:die_after_fork=0",
        }
    tree = folder / "tree"
    copy_tree(tree)
    python = install(str(interpreter), tree, folder / "venv", environment)
    if python is None:
        print("the installation failed")
        return False
    subprocess.run([python, "-VV"])
    commands = []
    if arguments.tsan:
        script = tree / "tests" / "isolated" / "eight_threads.py"
        commands.append([python, script, "--seconds", str(arguments.seconds)])
    else:
        chosen = chosen or [f"tests/{name}" for name in FOLDERS]
        for name in LIBRARIES:
            pip = [python, "-m", "pip", "install", "-q", "--only-binary=:all:", name]
            if subprocess.run(pip, stderr=subprocess.DEVNULL).returncode != 0:
                print(f"no wheel of {name}", flush=True)
    if chosen:
        commands.append([python, "-m", "pytest", "-q", "--devices=host,minimal", *chosen])
    results = [subprocess.run(command, cwd=tree, env=environment).returncode for command in commands]
    text = "\n".join(path.read_text(errors="replace") for path in sorted(logs.glob("tsan.*")))
    reports = [report for report in text.split("=" * 18) if "WARNING: ThreadSanitizer" in report]
    ours = [report for report in reports if "(_core.cpython" in report]  # a frame's library
    if arguments.tsan:
        others = f"{len(reports) - len(ours)} of CPython alone"
        print(*reports, f"{len(ours)} reports of ThreadSanitizer, and {others}", sep="\n", flush=True)
    return not any(results) and not ours


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="*", default=["3.13", "3.14"], help="default: 3.13 3.14")
    parser.add_argument(
        "--source", type=pathlib.Path, help="an archive of CPython's sources, for one version"
    )
    parser.add_argument("--build", action="store_true", help="only build the interpreter, and print its path")
    parser.add_argument("--tsan", action="store_true", help="threads under ThreadSanitizer")
    parser.add_argument(
        "--seconds", type=float, default=60, help="of eight_threads.py with --tsan (default: 60)"
    )
    arguments = parser.parse_args(sys.argv[1:at])
    if arguments.source and len(arguments.versions) != 1:
        parser.error("--source is the archive of one version: name that version")
    CACHE.mkdir(parents=True, exist_ok=True)
    failed = []
    for version in arguments.versions:
        print(f"== {version}t", flush=True)
        try:
            passed = run(version, sys.argv[at + 1 :], arguments)
        except Absent as absent:
            print(absent)
            passed = False
        if not passed:
            failed.append(version)
    print(f"failed: {' '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
