"""Which lines do the tests execute, and which test executes which line?

    python tests/tools/line_coverage.py tests/cts tests/share     runs these tests, and prints the table
    python tests/tools/line_coverage.py                           the suite, but documents, style and GPUs
    python tests/tools/line_coverage.py "tests/cts -k cuda"       the same with options of pytest
    python tests/tools/line_coverage.py "tests/faults/sweep.py cuda" "NAME=1 tests/cts"
                                                            a program, and tests with a variable of the
                                                            environment: for mutants.py no test's
    python tests/tools/line_coverage.py --sample 2 ...            at most 2 parameters of a test and a device
    python tests/tools/line_coverage.py --report [--lines]        the table again, with the uncovered lines

Everything lies in build/coverage: a copy of the tree with a build (USMPY_TESTING=1) without optimisation,
whose blocks leave marks (marks.c), and one file of results for each argument (marks/*.npz), which a
later run with that argument replaces. --fresh forgets all of it, which a change of the sources needs.

The marks say more than gcov's counts: they are read after each test, for mutants.py, and those of a
process that crashed or was killed are there too. The lines of Python are counted by coverage.py, in the
process of the tests alone. Needs: numpy, coverage, pyelftools, GCC or clang, an x86-64 processor, and
CPython 3.12 or later, where sub-interpreters import usmpy.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import zlib
from typing import Any

import numpy as np
import sanitize

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "coverage"
TREE = PLACE / "tree"
MARKS = PLACE / "marks"
BLOCKS = PLACE / "blocks.npz"
# Documents and style execute little of their own, and need minutes; the machine may have no GPU.
FOLDERS = (
    "api cts cuda drivers exchange fuzz interop kernels objects portable programs properties runtime share"
)
SLOTS = 48  # tests that are known of each block: a random choice of those that execute it


# -- builds ------------------------------------------------------------------------------------------------


def run(command: list[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def build(tree: pathlib.Path, flags: str, link_flags: str = "") -> list[list[str]]:
    """Copies the sources, builds them in place, and returns the commands of the compiler and the linker.

    A build that exists stays, and gets the tests of today.
    """
    log = tree / "commands.json"
    if log.exists():
        shutil.copytree(ROOT / "tests", tree / "tests", ignore=sanitize.LEFT_BEHIND, dirs_exist_ok=True)
        return json.loads(log.read_text())
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=sanitize.LEFT_BEHIND)
    environment = {
        **os.environ,
        **{"USMPY_DEBUG": "1", "USMPY_TESTING": "1", "USMPY_WERROR": "0"},
        "USMPY_CFLAGS": flags,
        "USMPY_LDFLAGS": link_flags,
    }
    command = [sys.executable, "csrc/extension.py"]
    for step in (command, [*command, "--commands"]):
        done = run(step, cwd=tree, env=environment)
        if done.returncode != 0:
            sys.exit(done.stdout)
    log.write_text(done.stdout)
    return json.loads(done.stdout)


def build_marked() -> None:
    hook = PLACE / "marks.o"
    PLACE.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    done = run([*compiler, "-O2", "-fPIC", "-c", ROOT / "tests" / "tools" / "marks.c", "-o", hook])
    if done.returncode != 0:
        sys.exit(done.stdout)
    build(TREE, "-O0 -g1 -fsanitize-coverage=trace-pc", str(hook))
    if not BLOCKS.exists():
        np.savez_compressed(BLOCKS, **read_blocks(next((TREE / "usmpy").glob("_core*.so"))))


def read_blocks(library: pathlib.Path) -> dict[str, Any]:
    """The blocks of the code, in the order of their addresses, and their lines.

    addresses: where a block calls the function of marks.c, as this function sees it.
    lines: pairs of a file and a line; starts[i]:starts[i + 1] of `lines_of` are those of block i.
    """
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab")
        hook = symbols.get_symbol_by_name("__sanitizer_cov_trace_pc")[0]["st_value"]
        functions = np.unique(
            [s["st_value"] for s in symbols.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"]
        )
        section = elf.get_section_by_name(".text")
        code, base = np.frombuffer(section.data(), np.uint8), section["sh_addr"]
        calls = np.flatnonzero(code[:-4] == 0xE8)  # call with the distance behind it
        distance = sum(code[calls + 1 + i].astype(np.int64) << (8 * i) for i in range(4))
        distance = np.where(distance >= 1 << 31, distance - (1 << 32), distance)
        addresses = (base + calls + 5)[base + calls + 5 + distance == hook]
        rows = sorted(rows_of(elf.get_dwarf_info()), key=lambda row: row[0])
    starts = np.array([row[0] for row in rows])
    pairs: dict[tuple[str, int], int] = {}
    lines_of: list[int] = []
    first = [0]
    for i, address in enumerate(addresses):
        at = np.searchsorted(starts, address - 5, "right") - 1  # the row that has the call
        end = addresses[i + 1] - 5 if i + 1 < len(addresses) else address
        # What comes before the first call of a function is not of the function before it.
        end = min(end, *functions[np.searchsorted(functions, address) :][:1])
        found = set()
        while at < len(rows) and (rows[at][0] < end or rows[at][0] <= address - 5):
            _, name, line, _ = rows[at]
            if name is not None and name.startswith("csrc/") and line:
                found.add(pairs.setdefault((name, line), len(pairs)))
            at += 1
        lines_of += sorted(found)
        first.append(len(lines_of))
    return {
        "addresses": addresses,
        "starts": np.array(first),
        "lines_of": np.array(lines_of),
        "files": np.array([name for name, _ in pairs]),
        "lines": np.array([line for _, line in pairs]),
    }


def rows_of(library: Any) -> list[tuple[int, str | None, int, str]]:
    """(address, file, line, source); the file is None at the end of a sequence."""
    rows = []
    for unit in library.iter_CUs():
        program = library.line_program_for_CU(unit)
        header = program.header
        files = [source_of(header, entry) for entry in header["file_entry"]]
        source = unit.get_top_DIE().attributes["DW_AT_name"].value.decode()
        for entry in program.get_entries():
            state = entry.state
            if state is not None:
                name = None if state.end_sequence else files[state.file - (header.version < 5)]
                rows.append((state.address, name, state.line, source))
    return rows


def source_of(header: Any, entry: Any) -> str:
    name = entry.name.decode()
    folder = entry.dir_index
    folders = header["include_directory"]
    if not name.startswith("/") and (folder > 0 or header.version >= 5):
        name = os.path.join(folders[folder - (header.version < 5)].decode(), name)
    return os.path.relpath(os.path.join(TREE, name), TREE)


# -- as a plugin of pytest (-p line_coverage), inside of the run -------------------------------------------


class Recorder:
    """Reads the marks after each test.

    tests_of: for each block up to SLOTS tests that execute it, a uniform choice (reservoir sampling) of one
    for each function and device, so that parameters do not fill it.
    """

    def __init__(self) -> None:
        self.addresses = np.load(os.environ["USMPY_MARKS_BLOCKS"])["addresses"]
        path = pathlib.Path(os.environ["USMPY_MARKS"])
        self.marks = np.memmap(path, np.uint8, "r+")
        self.names: list[str] = []
        self.seconds: list[float] = []
        self.tests_of = np.full((len(self.addresses), SLOTS), -1, np.int32)
        self.count = np.zeros(len(self.addresses), np.int64)
        self.executed = np.zeros(len(self.addresses), bool)
        self.of_function = self.executed.copy()
        self.function = ""
        self.random = np.random.default_rng(1)
        self.saved = time.monotonic()

    def take(self) -> Any:
        hit = self.marks[self.addresses] != 0
        self.marks[:] = 0
        self.executed |= hit
        return hit

    def record(self, item: Any, seconds: float) -> None:
        hit = self.take()
        device = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        function = f"{item.nodeid.partition('[')[0]} {device and device.name}"
        if function != self.function:
            self.function, self.of_function = function, np.zeros_like(hit)
        if item.failed:
            return
        hit &= ~self.of_function
        self.of_function |= hit
        blocks = np.flatnonzero(hit)
        slots = np.where(
            self.count[blocks] < SLOTS,
            self.count[blocks],
            self.random.integers(0, self.count[blocks] + 1),
        )
        kept = slots < SLOTS
        self.tests_of[blocks[kept], slots[kept]] = len(self.names)
        self.count[blocks] += 1
        self.names.append(item.nodeid)
        self.seconds.append(seconds)
        if time.monotonic() - self.saved > 120:
            self.save()

    def save(self) -> None:
        path = pathlib.Path(os.environ["USMPY_MARKS_RESULT"])
        np.savez_compressed(
            path.with_suffix(".new.npz"),
            names=np.array(self.names),
            seconds=np.array(self.seconds),
            tests_of=self.tests_of,
            count=self.count,
            executed=self.executed,
        )
        path.with_suffix(".new.npz").replace(path)
        self.saved = time.monotonic()


def hookimpl(**options: Any) -> Any:
    """pytest's mark of hooks: the script itself needs no pytest."""
    if "USMPY_MARKS_RESULT" not in os.environ:
        return lambda function: function
    import pytest

    return pytest.hookimpl(**options)


@hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    most = int(os.environ["USMPY_MARKS_SAMPLE"])
    groups = collections.defaultdict(list)
    for item in items:
        device = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        groups[item.nodeid.partition("[")[0], getattr(device, "name", None)].append(item)
    chosen = set()
    for group in groups.values():
        step = max(len(group) / most, 1)
        chosen |= {id(group[int(i * step)]) for i in range(min(most, len(group)))}
    items[:] = [item for item in items if id(item) in chosen]


def pytest_collection_finish(session: Any) -> None:
    session.config.recorder = Recorder()
    session.config.recorder.take()


@hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    began = time.monotonic()
    result = yield
    item.config.recorder.record(item, time.monotonic() - began)
    return result


def pytest_sessionfinish(session: Any) -> None:
    if hasattr(session.config, "recorder"):
        session.config.recorder.save()


# -- runs --------------------------------------------------------------------------------------------------


def record(tests: str, sample: int, limit: float) -> None:
    """Runs the tests of one argument over the build with marks."""
    name = re.sub(r"\W+", "-", tests.removeprefix("tests/"))
    if len(name) > 100:
        name = f"{name[:90]}-{zlib.crc32(name.encode()):08x}"
    words = shlex.split(tests)
    variables = dict(word.split("=", 1) for word in itertools.takewhile(lambda word: "=" in word, words))
    words = words[len(variables) :]
    is_program = words[0].endswith(".py") and not pathlib.Path(words[0]).name.startswith("test_")
    marks, result = PLACE / f"{name}.bin", MARKS / f"{name}.npz"
    marks.unlink(missing_ok=True)
    MARKS.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            map(str, (TREE, *(TREE / "tests" / name for name in ("", "support", "tools"))))
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "USMPY_MARKS": str(marks),
        "USMPY_MARKS_BLOCKS": str(BLOCKS),
        "USMPY_MARKS_RESULT": str(result),
        "USMPY_MARKS_SAMPLE": str(sample),
        "COVERAGE_FILE": str(PLACE / f"python.{name}"),
        **variables,
    }
    command = [sys.executable, "-m", "coverage", "run", f"--source={TREE / 'usmpy'}"]
    if not is_program:
        command += shlex.split("-m pytest -q -p line_coverage -p no:cacheprovider --hypothesis-seed=1")
    command += words
    began = time.monotonic()
    try:
        done = run(command, cwd=TREE, env=environment, timeout=limit)
        last = [*done.stdout.strip().splitlines()[-1:], f"status {done.returncode}"]
        (PLACE / f"{name}.log").write_text(done.stdout)
    except subprocess.TimeoutExpired:
        last = [f"no end after {limit:g} s"]
    if is_program:
        save_lines(result, np.fromfile(marks, np.uint8)[np.load(BLOCKS)["addresses"]] != 0)
    elif variables:
        save_lines(result, np.load(result)["executed"])
    marks.unlink(missing_ok=True)
    print(f"{tests}: {' '.join(last)} ({time.monotonic() - began:.0f} s)", flush=True)


def save_lines(result: pathlib.Path, executed: Any) -> None:
    """Saves which blocks were executed, by no test that is known."""
    none = np.full((len(executed), 0), -1, np.int32)
    np.savez_compressed(
        result, executed=executed, tests_of=none, names=np.array([], str), seconds=np.array([])
    )


def executed_lines() -> dict[str, dict[int, bool]]:
    """For each source of csrc its lines, and whether one was executed."""
    blocks = np.load(BLOCKS)
    hit = np.zeros(len(blocks["addresses"]), bool)
    for path in sorted(MARKS.glob("*.npz")):
        hit |= np.load(path)["executed"]
    block_of = np.repeat(np.arange(len(hit)), np.diff(blocks["starts"]))
    lines = np.zeros(len(blocks["lines"]), bool)
    np.logical_or.at(lines, blocks["lines_of"], hit[block_of])
    found: dict[str, dict[int, bool]] = collections.defaultdict(dict)
    for name, line, done in zip(blocks["files"], blocks["lines"], lines, strict=True):
        found[str(name)][int(line)] = bool(done)
    return found


class TestsByLine:
    """The tests that are known to execute a line, with their seconds."""

    def __init__(self) -> None:
        blocks = np.load(BLOCKS)
        self.blocks_of: dict[tuple[str, int], list[int]] = collections.defaultdict(list)
        files, lines = blocks["files"].tolist(), blocks["lines"].tolist()
        block_of = np.repeat(np.arange(len(blocks["addresses"])), np.diff(blocks["starts"])).tolist()
        for block, line in zip(block_of, blocks["lines_of"].tolist(), strict=True):
            self.blocks_of[files[line], lines[line]].append(block)
        self.results = [dict(np.load(path)) for path in sorted(MARKS.glob("*.npz"))]

    def lines(self) -> dict[str, set[int]]:
        """The lines of each source that tests execute."""
        found: dict[str, set[int]] = collections.defaultdict(set)
        for name, lines in executed_lines().items():
            found[name] = {line for line, done in lines.items() if done}
        return found

    def tests(self, path: str, line: int) -> list[tuple[str, float]]:
        """The shortest come first."""
        found: dict[str, float] = {}
        for block in self.blocks_of.get((path, line), ()):
            for result in self.results:
                for i in result["tests_of"][block]:
                    if i >= 0:
                        found[str(result["names"][i])] = float(result["seconds"][i])
        return sorted(found.items(), key=lambda pair: pair[1])


def python_lines() -> dict[str, dict[int, bool]]:
    import coverage

    data = [str(path) for path in sorted(PLACE.glob("python.*")) if path.suffix != ".all"]
    measured = coverage.Coverage(data_file=str(PLACE / "python.all"), source=[str(TREE / "usmpy")])
    measured.combine(data, keep=True)
    found = {}
    for path in sorted((TREE / "usmpy").rglob("*.py")):
        _, statements, _, missing, _ = measured.analysis2(str(path))
        found[str(path.relative_to(TREE))] = {line: line not in missing for line in statements}
    return found


def folder_of(source: str) -> str:
    parts = source.split("/")
    return "/".join(parts[: 3 if parts[1] == "backends" else 2]) if parts[0] == "csrc" else "usmpy"


def report(with_lines: bool) -> None:
    lines = executed_lines() | python_lines()
    folders: dict[str, list[bool]] = collections.defaultdict(list)
    for source, found in lines.items():
        folders[folder_of(source)] += found.values()
    print("| folder | lines | executed | percent |\n| --- | --- | --- | --- |")
    for folder, done in sorted(folders.items()):
        print(f"| `{folder}` | {len(done):,} | {sum(done):,} | {100 * sum(done) / len(done):.1f} |")
    for source, found in sorted(lines.items()) if with_lines else ():
        texts = (TREE / source).read_text(encoding="utf-8").split("\n")
        for line in (line for line, done in sorted(found.items()) if not done):
            print(f"{source}:{line}: {texts[line - 1].strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tests", nargs="*", help="folders or files, or one with options of pytest; a process runs each"
    )
    parser.add_argument("--sample", type=int, default=1_000_000, help="parameters of one test and device")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for each argument")
    parser.add_argument("--jobs", type=int, default=1, help="arguments that run at a time")
    parser.add_argument("--fresh", action="store_true", help="forget the build and the results")
    parser.add_argument("--report", action="store_true", help="only print the table")
    parser.add_argument("--lines", action="store_true", help="print the uncovered lines, too")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(PLACE, ignore_errors=True)
    if not options.report:
        build_marked()
        every = options.tests or [f"tests/{name}" for name in FOLDERS.split()]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda tests: record(tests, options.sample, options.timeout), every))
    report(options.lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
