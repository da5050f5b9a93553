"""Builds and runs the C tests of the core: no Python extension, no framework, one program a noun.

    python tests/unit/run.py                                all tests
    python tests/unit/run.py queue fork                     test_queue.c and test_fork.c
    python tests/unit/run.py --sanitize address,undefined   the same under sanitizers
    python tests/unit/run.py --sanitize thread

The core's objects are those of the build that tests/tools/sanitize.py uses with these sanitizers
(csrc/extension.py with USMPY_DEBUG=1 USMPY_TESTING=1, so calls can be made to fail), without drivers. They
are kept in build/, and what changed is compiled again. dlpack/dlpack.h comes from the package tvm_ffi of the
running interpreter, or from --dlpack FOLDER.

test_stress.c has the drivers, too, and runs on the host and on the software drivers of CUDA and Level Zero,
which are built with the same flags. One that cannot be built is left out, which --require-drivers
forbids.
"""

import argparse
import ctypes.util
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "csrc"))

from extension import CSRC, PLACE, Extension, generate, sources
from ninja_build import ROOT, Build, BuildError

HERE = pathlib.Path(__file__).resolve().parent
SUPPORT, DRIVER = [HERE / "support.c", HERE / "streams.c"], HERE / "driver.c"
SANITIZERS = ("address", "undefined", "thread")
DRIVERS = ("opencl", "cuda", "level_zero")
# Reports of ThreadSanitizer about libraries of others.
SUPPRESSIONS = HERE / "thread_sanitizer.txt"
# The test that runs on several backends.
STRESS = "stress"

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
    """The core with these flags: (objects without drivers, a function that makes those with them, a build
    for files beside it).
    """
    os.environ |= dict.fromkeys(("USMPY_DEBUG", "USMPY_TESTING", "USMPY_WERROR"), "1")
    os.environ |= {"CC": compiler, "USMPY_CFLAGS": " ".join(flags), "USMPY_LDFLAGS": ""}
    extension = Extension(say=lambda line: None)
    drivers = sources(*(f"backends/{driver}" for driver in DRIVERS))
    objects = [
        target
        for source, target in extension.objects.items()
        if source not in drivers and not source.is_relative_to(CSRC / "py")
    ]
    generate(verbose=False)
    extension.core.run(objects)
    build = Build.named(PLACE, name, extension.compiler, [*extension.options, f"-I{HERE.relative_to(ROOT)}"])
    support = [build.compile(source) for source in SUPPORT]
    own = [build.compile(DRIVER), *support]

    def with_drivers():
        extension.core.run(extension.of_core)
        return [*extension.of_core, *support]

    return [*objects, *own], with_drivers, build


def software_drivers(compiler, flags):
    """By backend: the variables with which processes use its driver, built with these flags; or why there is
    none.
    """
    os.environ["CC"] = shlex.join([compiler, *flags])
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "support")]
    import cuda_drivers  # builds the driver at once
    import level_zero_sim

    cuda = cuda_drivers.missing()
    try:
        # Kernels are built fast, and on one thread.
        level_zero = level_zero_sim.environment(level_zero_sim.build()) | {
            "ZESIM_OPTIMIZE": "0",
            "ZESIM_UNITS": "1",
        }
    except level_zero_sim.NotBuilt as error:
        level_zero = str(error)
    if ctypes.util.find_library("ze_loader") is None:
        level_zero = "there is no libze_loader.so.1 (Debian's libze1)"
    return {
        "cuda": cuda_drivers.environment(abort=1) if cuda is None else cuda,
        "level_zero": level_zero,
    }


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
        "--require-drivers", action="store_true", help="a driver that is missing is a failure"
    )
    parser.add_argument(
        "--scale", type=int, default=100, help="percentage of rounds of threads and random programs (100)"
    )
    parser.add_argument(
        "--timeout", type=float, default=900, help="seconds that one test may take (default: 900)"
    )
    arguments = parser.parse_args()
    arguments.sanitizers = [] if arguments.sanitize == "none" else arguments.sanitize.split(",")
    os.environ["USM_TEST_SCALE"] = str(arguments.scale)
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
    """(name, command, variables of its environment) of each run; instead of the variables, why it is left
    out.
    """
    flags = sanitized(arguments.sanitizers)
    objects, with_drivers, build = core_and_build(arguments.cc, flags, "unit")
    folder = pathlib.Path(arguments.build_dir).resolve() if arguments.build_dir else build.folder
    linker = [arguments.cc, "-pthread", *flags]
    chosen = arguments.names or list(arguments.known)
    programs = {
        name: build.link(
            folder / f"test_{name}",
            linker,
            [build.compile(arguments.known[name]), *(with_drivers() if name == STRESS else objects)],
            ["-lm", "-ldl"],
        )
        for name in chosen
    }
    build.run(programs.values())
    runs = []
    for name, program in programs.items():
        runs.append((name, [program], {}))
        if name == STRESS:
            for backend, variables in software_drivers(arguments.cc, flags).items():
                runs.append((f"{name} {backend}", [program, backend], variables))
    return runs


def environment(variables):
    """The sanitizers stop at the first finding, whatever the caller's environment says."""
    return {
        **os.environ,
        **variables,
        # Intel's OpenCL runtime replaces the signal stacks of threads, which AddressSanitizer then unmaps.
        "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1:use_sigaltstack=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:suppressions={SUPPRESSIONS}",
    }


def run_test(command, variables, timeout):
    """(how it ended, "" for well; its output)."""
    # A group of its own: a test that hangs may have children that hang.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(variables),
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


def left_out(name, variables, sanitizers):
    reason = next((LEFT_OUT[name, s] for s in sanitizers if (name, s) in LEFT_OUT), None)
    return variables if isinstance(variables, str) else reason


def main():
    arguments = parse_arguments()
    failures = []
    start = time.monotonic()
    try:
        runs = build(arguments)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'build':<17} {time.monotonic() - start:6.1f} s", flush=True)
    for name, command, variables in runs:
        reason = left_out(name, variables, arguments.sanitizers)
        if reason is not None:
            print(f"{name:<17}   left out: {reason}", flush=True)
            if isinstance(variables, str) and arguments.require_drivers:
                failures.append(name)
            continue
        start = time.monotonic()
        how, output = run_test(command, variables, arguments.timeout)
        print(f"{name:<17} {time.monotonic() - start:6.1f} s  {how or 'ok'}", flush=True)
        if how:
            failures.append(name)
            print("\n".join("    " + line for line in output.splitlines()[-200:]), flush=True)
    print(f"{len(failures)} failed: {' '.join(failures)}" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
