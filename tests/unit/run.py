"""Builds and runs the C tests of the core: no Python extension, no framework, one program a noun.

    python tests/unit/run.py                                all tests
    python tests/unit/run.py queue fork                     test_queue.c and test_fork.c
    python tests/unit/run.py --sanitize address,undefined   the same under sanitizers
    python tests/unit/run.py --sanitize thread

The core is compiled once, with USM_TESTING (so calls can be made to fail), and linked to each test.
dlpack/dlpack.h comes from the package tvm_ffi of the running interpreter, or from --dlpack FOLDER.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUPPORT = HERE / "support.c"
SANITIZERS = ("address", "undefined", "thread")
FLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-DUSM_TESTING",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
    "-pthread",
]

# Tests that a sanitizer cannot run, with the reason.
LEFT_OUT = {
    ("fork", "thread"): (
        "ThreadSanitizer does not support threads that are started in the child of a multi-threaded fork, "
        "and going on in the child is what this test is about"
    ),
}


def core_sources():
    return [
        *sorted((ROOT / "csrc" / "core").rglob("*.c")),
        *sorted((ROOT / "csrc" / "cpu").glob("*.c")),
        *sorted((ROOT / "csrc" / "backends" / "host").glob("*.c")),
        ROOT / "csrc" / "backends" / "fault" / "fault.c",
        *sorted((ROOT / "csrc" / "backends" / "minimal").glob("*.c")),
    ]


def find_dlpack(given):
    """The folder that holds dlpack/dlpack.h."""
    if given is not None:
        folders = [pathlib.Path(given)]
    else:
        spec = importlib.util.find_spec("tvm_ffi")  # finds it without importing it
        folders = (
            [pathlib.Path(place) / "include" for place in spec.submodule_search_locations] if spec else []
        )
    for folder in folders:
        if (folder / "dlpack" / "dlpack.h").is_file():
            return folder
    sys.exit(
        "dlpack/dlpack.h was not found: install apache-tvm-ffi for this interpreter "
        f"({sys.executable}), or name its folder with --dlpack"
    )


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="tests to run, without test_ and .c; all if none is given")
    parser.add_argument(
        "--sanitize", default="none", help="none, or a comma-separated list of " + ", ".join(SANITIZERS)
    )
    parser.add_argument("--cc", default="gcc", help="the compiler (default: gcc)")
    parser.add_argument("--dlpack", help="the folder that holds dlpack/dlpack.h")
    parser.add_argument("--build-dir", help="keep what is built here instead of in a temporary folder")
    parser.add_argument(
        "--timeout", type=float, default=120, help="seconds that one test may take (default: 120)"
    )
    arguments = parser.parse_args()
    arguments.sanitizers = [] if arguments.sanitize == "none" else arguments.sanitize.split(",")
    for name in arguments.sanitizers:
        if name not in SANITIZERS:
            parser.error(f"--sanitize {name}: none, or a list of {', '.join(SANITIZERS)}")
    known = {path.stem.removeprefix("test_"): path for path in sorted(HERE.glob("test_*.c"))}
    for name in arguments.names:
        if name not in known:
            parser.error(f"{name}: the tests are {', '.join(known)}")
    arguments.tests = {name: known[name] for name in arguments.names or known}
    return arguments


def run_command(command):
    """Runs a compiler; its output on failure ends the script."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if done.returncode != 0:
        raise RuntimeError(" ".join(map(str, command)) + "\n" + done.stdout)


def build(arguments, folder):
    """Compiles everything, as many files at once as there are processors; the programs by name."""
    flags = [*FLAGS, f"-I{find_dlpack(arguments.dlpack)}"]
    if arguments.sanitizers:
        flags += ["-fsanitize=" + ",".join(arguments.sanitizers), "-fno-sanitize-recover=all"]
    compile_flags = [*flags, f"-I{ROOT / 'csrc'}", f"-I{folder}", "-c"]  # the build writes headers
    embedded = folder / "kernels.c"
    runpy.run_path(str(ROOT / "csrc" / "kernels" / "tools" / "embed.py"))["write"](embedded)
    objects = {
        source: folder / f"{source.parent.name}_{source.stem}.o"
        for source in [*core_sources(), embedded, SUPPORT]
    }
    tests = {path: folder / f"{path.stem}.o" for path in arguments.tests.values()}
    programs = {name: folder / f"test_{name}" for name in arguments.tests}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The large files first, so that none of them is left alone at the end.
        sources = sorted({**objects, **tests}.items(), key=lambda item: -item[0].stat().st_size)
        list(
            pool.map(
                lambda item: run_command([arguments.cc, *compile_flags, item[0], "-o", item[1]]), sources
            )
        )
        list(
            pool.map(
                lambda name: run_command(
                    [
                        arguments.cc,
                        *flags,
                        tests[arguments.tests[name]],
                        *objects.values(),
                        "-o",
                        programs[name],
                        "-lm",
                    ]
                ),
                programs,
            )
        )
    return programs


def environment():
    """The sanitizers stop at the first finding, whatever the caller's environment says."""
    return {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    }


def run_test(program, timeout):
    """(how it ended, "" for well; its output)."""
    # A group of its own: a test that hangs may have children that hang.
    process = subprocess.Popen(
        [program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(),
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return f"no end after {timeout:g} s", output
    if process.returncode < 0:
        return signal.Signals(-process.returncode).name, output
    return f"exit {process.returncode}" if process.returncode else "", output


def left_out(name, sanitizers):
    return next((LEFT_OUT[name, s] for s in sanitizers if (name, s) in LEFT_OUT), None)


def main():
    arguments = parse_arguments()
    failures = []
    with tempfile.TemporaryDirectory(prefix="usm-unit-") as temporary:
        folder = pathlib.Path(arguments.build_dir or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        try:
            programs = build(arguments, folder)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{'build':<12} {time.monotonic() - start:6.1f} s", flush=True)
        for name, program in programs.items():
            reason = left_out(name, arguments.sanitizers)
            if reason is not None:
                print(f"{name:<12}   left out: {reason}", flush=True)
                continue
            start = time.monotonic()
            how, output = run_test(program, arguments.timeout)
            print(f"{name:<12} {time.monotonic() - start:6.1f} s  {how or 'ok'}", flush=True)
            if how:
                failures.append(name)
                print("\n".join("    " + line for line in output.splitlines()[-200:]), flush=True)
    print(f"{len(failures)} failed: {' '.join(failures)}" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
