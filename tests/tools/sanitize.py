"""Runs the Python tests over an extension built with AddressSanitizer and UndefinedBehaviorSanitizer.

    python tests/tools/sanitize.py                               the whole suite
    python tests/tools/sanitize.py -- tests/cts -k event         arguments after -- are pytest's
    python tests/tools/sanitize.py --no-leaks                    no look for leaks at the end
    python tests/tools/sanitize.py --build-dir FOLDER            keeps the copy of the tree and the reports
    python tests/tools/sanitize.py --build-dir FOLDER --build    the build alone; its copies run side by side

The tests run in a copy of the tree that has this build of the extension (USMPY_DEBUG=1 USMPY_TESTING=1), so
the build in place stays as it is. Objects are kept in build/, where those of the core are the same as of
`tests/unit/run.py --sanitize address,undefined`; what changed is compiled again.
The interpreter and the other libraries are not instrumented: the sanitizers' libraries are preloaded, and
what they find is about our code, or about memory of others that our code touched. The first finding ends
the run, and names the test. Leaks are looked for at the end of the process that ran the tests; those count
whose memory was allocated by our module. The look takes very long in a process that ran OpenCL drivers or
Numba, whose compilers leave much behind, in code of no file: --no-leaks is for those, another run for leaks.

Tests that measure time, build wheels or limit memory carry the marker not_sanitized(reason) and are left out.

There is no run of this kind under ThreadSanitizer: it does not see the locks of an interpreter that is not
instrumented, and reports everything that the GIL protects. The core, where the threads are, has it
(tests/unit/run.py).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_BEHIND = shutil.ignore_patterns(
    ".git",
    ".venv*",
    ".*_cache",
    ".hypothesis",
    "*.so",
    "__pycache__",
    "build",
    "dist",
    "wheelhouse",
    "*.egg-info",
)
# Python's own -fwrapv would make overflows of signed integers defined.
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-wrapv"
SKIPPED = "not under sanitizers: "


# As a plugin of pytest (-p sanitize), inside of the run.


def pytest_collection_modifyitems(items):
    import pytest

    for item in items:
        marker = item.get_closest_marker("not_sanitized")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=SKIPPED + marker.args[0]))


def note(name, text):
    (pathlib.Path(os.environ["USMPY_SANITIZE_LOGS"]) / name).write_text(text)


def pytest_runtest_logstart(nodeid):
    note("test", nodeid)


def pytest_sessionfinish(exitstatus):
    note("pid", str(os.getpid()))
    note("status", str(int(exitstatus)))


# As the script.


def find_library(cc, name):
    path = subprocess.run(
        [cc, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"{cc} has no {name}: install its sanitizer libraries")
    return os.path.realpath(path)


def build(tree, cc):
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=LEFT_BEHIND)
    environment = {
        **os.environ,
        **dict.fromkeys(("USMPY_DEBUG", "USMPY_TESTING", "USMPY_WERROR"), "1"),
        **{"CC": cc, "USMPY_CFLAGS": FLAGS, "USMPY_LDFLAGS": FLAGS},
    }
    command = [sys.executable, ROOT / "csrc" / "extension.py", "--into", tree / "usmpy"]
    if subprocess.run(command, env=environment).returncode != 0:
        sys.exit("the build failed")


def nvidia_libraries():
    """Folders of libraries that open others beside them: the sanitizers' dlopen does not look there."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations or () if spec else ()
    return [str(folder) for place in places for folder in pathlib.Path(place).glob("*/lib")]


def test_environment(tree, folder, cc, pymalloc, leaks):
    # libstdc++ comes early, so that the interceptors find its exceptions, which other libraries throw.
    preload = [find_library(cc, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(preload),
        "LD_LIBRARY_PATH": os.pathsep.join(
            [*filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *nvidia_libraries()]
        ),
        "PYTHONPATH": os.pathsep.join(
            map(str, (tree, *(tree / "tests" / name for name in ("", "support", "tools"))))
        ),
        # One block an object, so that the sanitizers see the ends of each.
        **({} if pymalloc else {"PYTHONMALLOC": "malloc"}),
        "ASAN_OPTIONS": ":".join(
            [
                f"log_path={folder / 'report'}",
                f"detect_leaks={int(leaks)}",
                "detect_stack_use_after_return=1",
                "strict_string_checks=1",
                "allocator_may_return_null=1",  # MemoryError is tested
                # LLVM in drivers gives threads stacks for signals, which this would unmap as its own.
                "use_sigaltstack=0",
                "handle_segv=2",  # pytest and others would take the signal over
                "quarantine_size_mb=128",
            ]
        ),
        # The interpreter's own leaks are no error; those of ours are sorted out by leaks().
        "LSAN_OPTIONS": "exitcode=0",
        # Beside libasan it has no log of its own: it writes to the standard error.
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99",
        "USMPY_SANITIZE_LOGS": str(folder),
    }


def leaks(report, tree):
    """The leaks of a report whose memory was allocated by our module, or by the interpreter for it.

    The interpreter and NumPy leave memory behind in other places, by the hundred.
    """
    allocators = re.compile(
        r"#\d+ \S+ in (\w*(m|c|re)alloc|_?Py(Mem|Object|Type|GC|_New)\w*|posix_memalign|operator new)"
    )
    ours = re.compile(rf"#\d+ \S+ in .*({re.escape(str(tree))}/|csrc/|usmpy/_core)")
    found = []
    for block in re.split(r"\n\n", report):
        if not re.match(r"\s*Direct leak of", block):
            continue  # what hangs on something that leaked is not the leak
        frames = [line for line in block.splitlines()[1:] if not allocators.search(line)]
        if frames and ours.search(frames[0]):
            found.append(block)
    return found


# malloc returned NULL: a damaged pickle asks Python for more than there is.
REFUSED = re.compile(r"^==\d+==WARNING: AddressSanitizer failed to allocate .*\n?", re.M)


def findings(folder, tree):
    found, pid = [], folder / "pid"
    for path in sorted(folder.glob("report.*")):
        report = REFUSED.sub("", path.read_text(errors="replace"))
        if not report.strip():
            continue
        if "LeakSanitizer: detected memory leaks" not in report:
            found.append(report)
        elif pid.exists() and path.suffix == f".{pid.read_text()}":
            found += leaks(report, tree)  # scripts that tests run end with objects alive, on purpose
    return found


def parse_arguments():
    own, pytest_arguments = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, pytest_arguments = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build-dir", help="a folder for the copy, which is kept, instead of a temporary one"
    )
    parser.add_argument("--build", action="store_true", help="run no tests")
    parser.add_argument("--cc", default="gcc", help="the compiler: GCC (default: gcc)")
    parser.add_argument("--no-leaks", action="store_true", help="do not look for leaks at the end")
    parser.add_argument("--pymalloc", action="store_true", help="keep Python's allocator: faster, finds less")
    parser.add_argument(
        "--timeout", type=float, default=1500, help="seconds that the tests may take (default: 1500)"
    )
    arguments = parser.parse_args(own)
    arguments.pytest = pytest_arguments
    return arguments


def run(arguments, folder):
    tree, logs = folder / "tree", folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    start = time.monotonic()
    build(tree, arguments.cc)
    print(f"built in {time.monotonic() - start:.1f} s", flush=True)
    if arguments.build:
        return 0
    start = time.monotonic()
    # Nothing is captured: a finding must not vanish in a file of pytest's.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--capture=no",
        "-p",
        "sanitize",
        "-p",
        "no:faulthandler",
    ]
    environment = test_environment(tree, logs, arguments.cc, arguments.pymalloc, not arguments.no_leaks)
    try:
        subprocess.run(
            [*command, *arguments.pytest], cwd=tree, env=environment, timeout=arguments.timeout, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"no end after {arguments.timeout:g} s")
    found = findings(logs, tree)
    for text in found:
        print(text)
    ended = (logs / "status").exists()
    if not ended:
        test = (logs / "test").read_text() if (logs / "test").exists() else "the collection of the tests"
        print(f"a finding, a crash, or the end of the time, in {test}")
    status = (logs / "status").read_text() if ended else "did not end"
    print(f"sanitizers: {len(found)} reports; pytest: {status}; {time.monotonic() - start:.1f} s")
    return 1 if found or status != "0" else 0


def main():
    arguments = parse_arguments()
    if arguments.build_dir is not None:
        return run(arguments, pathlib.Path(arguments.build_dir).resolve())
    with tempfile.TemporaryDirectory(prefix="usm-sanitize-") as folder:
        return run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
