"""Builds and runs the C tests of the core: no Python extension, no framework, one program a noun.

    python tests/unit/run.py                                all tests
    python tests/unit/run.py queue fork                     test_queue.c and test_fork.c
    python tests/unit/run.py --sanitize address,undefined   the same under sanitizers
    python tests/unit/run.py --sanitize thread

The core's objects are those of the build that tests/sanitize.py uses with these sanitizers
(csrc/extension.py with USMPY_DEBUG=1 USMPY_TESTING=1, so calls can be made to fail), without drivers. They
are kept in build/, and what changed is compiled again. dlpack/dlpack.h comes from the package tvm_ffi of the
running interpreter, or from --dlpack FOLDER.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "csrc"))

from extension import CSRC, PLACE, Extension, generate, sources
from ninja_build import ROOT, Build, BuildError

HERE = pathlib.Path(__file__).resolve().parent
SUPPORT = HERE / "support.c"
SANITIZERS = ("address", "undefined", "thread")
DRIVERS = ("opencl", "cuda", "level_zero")
REGISTRY = CSRC / "core" / "device" / "registry.c"

# Tests that a sanitizer cannot run, with the reason.
LEFT_OUT = {
    ("fork", "thread"): (
        "ThreadSanitizer does not support threads that are started in the child of a multi-threaded fork, "
        "and going on in the child is what this test is about"
    ),
}


def sanitized(sanitizers):
    """Options of the compiler. Python's own -fwrapv would make overflows of signed integers defined."""
    return (
        ["-fsanitize=" + ",".join(sanitizers), "-fno-sanitize-recover=all", "-fno-wrapv"]
        if sanitizers
        else []
    )


def core_and_build(compiler, flags, name):
    """(the objects of the core without drivers, a build for files beside it), compiled with these flags."""
    os.environ |= dict.fromkeys(("USMPY_DEBUG", "USMPY_TESTING", "USMPY_WERROR"), "1")
    os.environ |= {"CC": compiler, "USMPY_CFLAGS": " ".join(flags), "USMPY_LDFLAGS": ""}
    extension = Extension(say=lambda line: None)
    drivers = sources(*(f"backends/{driver}" for driver in DRIVERS))
    objects = [
        target
        for source, target in extension.objects.items()
        if source != REGISTRY and source not in drivers and not source.is_relative_to(CSRC / "py")
    ]
    generate(verbose=False)
    extension.core.run(objects)
    build = Build.named(PLACE, name, extension.compiler, [*extension.options, f"-I{HERE.relative_to(ROOT)}"])
    # support.c has a driver in the place of Level Zero's.
    registry = build.compile(REGISTRY, ["-DUSM_LEVEL_ZERO=1"])
    return [*objects, registry, build.compile(SUPPORT)], build


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
    parser.add_argument("--build-dir", help="put the programs here, for a debugger")
    parser.add_argument(
        "--timeout", type=float, default=900, help="seconds that one test may take (default: 900)"
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
    arguments.known = known
    if arguments.dlpack:
        os.environ["DLPACK_INCLUDE"] = str(pathlib.Path(arguments.dlpack).resolve())
    return arguments


def build(arguments):
    """The programs by name."""
    flags = sanitized(arguments.sanitizers)
    objects, build = core_and_build(arguments.cc, flags, "unit")
    folder = pathlib.Path(arguments.build_dir).resolve() if arguments.build_dir else build.folder
    linker = [arguments.cc, "-pthread", *flags]
    programs = {
        name: build.link(folder / f"test_{name}", linker, [build.compile(path), *objects], ["-lm", "-ldl"])
        for name, path in arguments.known.items()
    }
    chosen = {name: programs[name] for name in arguments.names or programs}
    build.run(chosen.values())
    return chosen


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
    start = time.monotonic()
    try:
        programs = build(arguments)
    except BuildError as error:
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
