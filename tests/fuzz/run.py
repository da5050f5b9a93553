"""Builds and runs the fuzz targets: C functions that read what others wrote, with libFuzzer and sanitizers.

    python tests/fuzz/run.py                          every target, for 20 seconds each
    python tests/fuzz/run.py ptx spirv --seconds 600  fuzz_ptx.c and fuzz_spirv.c, for ten minutes each
    python tests/fuzz/run.py --seconds 0              the inputs of the corpus alone, nothing new
    python tests/fuzz/run.py ptx --input FILE         one input, such as one that a finding left
    python tests/fuzz/run.py --corpus FOLDER          begins with FOLDER/TARGET too, and adds to it
    python tests/fuzz/run.py --corpus FOLDER --merge  minimises those into tests/fuzz/corpus.zip
    python tests/fuzz/run.py --python 2000            the Python fuzzers, with 2000 examples a test

Ends with 0 if nothing was found. A finding is printed with its stack, and its input is left in --findings.
The C code is built by clang with AddressSanitizer and UndefinedBehaviorSanitizer. corpus.zip has
a member for each target: each input behind its length, two bytes with the lower one first. Inputs that once
found something are in the member TARGET-found, which --keep FILE adds to.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "csrc"))

from extension import CSRC, find_cuda
from ninja_build import ROOT, BuildError

HERE = pathlib.Path(__file__).resolve().parent
UNIT = runpy.run_path(str(ROOT / "tests" / "unit" / "run.py"))
CORPUS, ONE_AT_A_TIME = HERE / "corpus.zip", threading.Lock()
SANITIZE = UNIT["sanitized"](["address", "undefined"])
LONGEST = 4096  # bytes of an input
NEEDS_CUDA = {"ptx", "cubin"}  # their sources include cuda.h, the header alone


def parse_arguments():
    targets = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.c"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="targets; all of them if none is given: " + ", ".join(targets)
    )
    parser.add_argument("--seconds", type=int, default=20, help="that each target runs; 0: the corpus alone")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="targets at once (default: processors)"
    )
    parser.add_argument("--corpus", type=pathlib.Path, help="a folder with one of inputs for each target")
    parser.add_argument("--merge", action="store_true", help="minimise --corpus into tests/fuzz/corpus.zip")
    parser.add_argument("--input", type=pathlib.Path, help="run this one input of the one target named")
    parser.add_argument("--keep", type=pathlib.Path, help="add this input to TARGET-found of the one target")
    parser.add_argument("--findings", type=pathlib.Path, default=ROOT / "build" / "findings")
    parser.add_argument("--build-dir", help="put the programs here")
    parser.add_argument("--cc", help="clang (default: the newest of clang, clang-14 and later)")
    parser.add_argument("--python", type=int, metavar="EXAMPLES", help="run the Python fuzzers instead")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in targets:
            parser.error(f"{name}: the targets are {', '.join(targets)}")
    if arguments.merge and arguments.corpus is None:
        parser.error("--merge: name the inputs with --corpus")
    if (arguments.input or arguments.keep) and len(arguments.names) != 1:
        parser.error("--input and --keep: name the one target that reads it")
    arguments.names, arguments.targets = arguments.names or targets, targets
    return arguments


def find_clang(given):
    names = [given] if given else ["clang", *(f"clang-{version}" for version in range(30, 13, -1))]
    for name in names:
        if shutil.which(name):
            return name
    sys.exit("clang was not found: apt-get install clang libclang-rt-dev, or name it with --cc")


def build(arguments):
    """The programs by target."""
    if NEEDS_CUDA & set(arguments.names) and find_cuda() is None:
        sys.exit("cuda.h was not found, which the targets of CUDA include: install nvidia-cuda-runtime")
    clang = find_clang(arguments.cc)
    objects, _, made = UNIT["core_and_build"](clang, [*SANITIZE, "-fsanitize=fuzzer-no-link"], "fuzz")
    folder = pathlib.Path(arguments.build_dir).resolve() if arguments.build_dir else made.folder
    linker = [clang, *SANITIZE, "-fsanitize=fuzzer", "-pthread"]
    cuda = made.compile(CSRC / "backends" / "cuda" / "ptx.c")
    programs = {}
    for name in arguments.targets:
        own = [made.compile(HERE / f"fuzz_{name}.c"), *([cuda] if name in NEEDS_CUDA else [])]
        programs[name] = made.link(folder / f"fuzz_{name}", linker, [*own, *objects], ["-lm", "-ldl"])
    chosen = {name: programs[name] for name in arguments.names}
    made.run(chosen.values())
    return chosen


def corpus():
    """The members of corpus.zip."""
    with zipfile.ZipFile(CORPUS) as stored:
        return {name: stored.read(name) for name in stored.namelist()}


def store(name, data):
    """Replaces one member."""
    with ONE_AT_A_TIME:
        members = corpus() | {name: data}
        with zipfile.ZipFile(CORPUS, "w") as stored:
            for name, data in sorted(members.items()):
                member = zipfile.ZipInfo(name)
                member.compress_type = zipfile.ZIP_DEFLATED
                stored.writestr(member, data, compresslevel=9)


def unpack(name, folder):
    """Writes the inputs of the stored corpus into files, and those that once found something."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = corpus()
    for data in (stored.get(name, b""), stored.get(f"{name}-found", b"")):
        while data:
            length = int.from_bytes(data[:2], "little")
            given, data = data[2 : 2 + length], data[2 + length :]
            (folder / hashlib.sha1(given).hexdigest()).write_bytes(given)


def pack(name, folder):
    inputs = sorted((path.read_bytes() for path in folder.iterdir()), key=lambda given: (len(given), given))
    packed = b"".join(len(given).to_bytes(2, "little") + given for given in inputs)
    store(name, packed)
    return len(inputs), len(packed)


def environment():
    return {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def run_program(program, options, folders):
    # What is larger than 1 GiB, or takes longer than 10 s for 4 kB, is a finding too.
    options = [f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1", *options]
    return subprocess.run(
        [program, *options, *folders],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(),
    )


def processor_seconds():
    times = os.times()
    return times.children_user + times.children_system


def fuzz(name, program, arguments, temporary):
    """Whether nothing was found, and what to print."""
    folder = arguments.corpus / name if arguments.corpus else pathlib.Path(temporary) / name
    unpack(name, folder)
    arguments.findings.mkdir(parents=True, exist_ok=True)
    prefix = f"-artifact_prefix={arguments.findings}/{name}-"
    start, used = time.monotonic(), processor_seconds()
    limit = f"-max_total_time={arguments.seconds}" if arguments.seconds else "-runs=0"
    done = run_program(program, [limit, prefix], [folder])
    wall, used = time.monotonic() - start, processor_seconds() - used
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout)
    executions = int(counted.group(1)) if counted else 0
    coverage = re.findall(r" cov: (\d+)", done.stdout)
    good = done.returncode == 0
    text = (
        f"{name:<12} {executions:>10} executions  {wall:6.1f} s  {coverage[-1] if coverage else 0:>6} edges"
        f"  {'ok' if good else f'exit {done.returncode}'}"
    )
    if arguments.jobs == 1:
        text += f"  ({used:.0f} s of CPU)"
    if not good:
        dull = re.compile(
            r"#\d+\s+[A-Zp]|\s+NEW_FUNC|INFO|stat::|NOTE|\s+Combine|\s*#\d+ .*(fuzzer::|libc|_start)"
        )
        lines = [line for line in done.stdout.splitlines() if line and not dull.match(line)]
        text += "\n" + "\n".join("    " + line for line in lines[-60:])
    return good, text


def merge(name, program, arguments, temporary):
    smallest = pathlib.Path(temporary) / f"merged-{name}"
    smallest.mkdir()
    folder = arguments.corpus / name
    unpack(name, folder)
    done = run_program(program, ["-merge=1"], [smallest, folder])
    if done.returncode != 0:
        return False, f"{name}: exit {done.returncode}\n{done.stdout[-2000:]}"
    return True, "{:<12} {} inputs, {} bytes".format(name, *pack(name, smallest))


def keep(name, given):
    data = given.read_bytes()
    before = corpus().get(f"{name}-found", b"")
    store(f"{name}-found", before + len(data).to_bytes(2, "little") + data)


def run_python(arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE)]
    return subprocess.call([*command, f"--examples={arguments.python}", f"--seed={time.time_ns()}"])


def main():
    arguments = parse_arguments()
    if arguments.python is not None:
        return run_python(arguments)
    if arguments.keep is not None:
        keep(arguments.names[0], arguments.keep)
        return 0
    arguments.findings = arguments.findings.resolve()
    with tempfile.TemporaryDirectory(prefix="usm-fuzz-") as temporary:
        start = time.monotonic()
        try:
            programs = build(arguments)
        except BuildError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{'build':<12} {time.monotonic() - start:6.1f} s", flush=True)
        if arguments.input is not None:
            done = run_program(programs[arguments.names[0]], [], [arguments.input])
            print(done.stdout)
            return int(done.returncode != 0)
        work = merge if arguments.merge else fuzz
        failed = []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            runs = {
                pool.submit(work, name, program, arguments, temporary): name
                for name, program in programs.items()
            }
            for run in concurrent.futures.as_completed(runs):
                good, text = run.result()
                print(text, flush=True)
                failed += [] if good else [runs[run]]
    print(f"found something: {' '.join(sorted(failed))}" if failed else "nothing was found")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
