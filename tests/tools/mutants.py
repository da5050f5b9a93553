"""How good are the tests? One small change of csrc/ at a time: do the tests that execute the line notice it?

    python tests/tools/line_coverage.py                      first: which test executes which line
    python tests/tools/mutants.py --count 1000               draws mutants evenly over files, and runs them
    python tests/tools/mutants.py --count 1000               again: goes on where it was stopped
    python tests/tools/mutants.py --files csrc/core/share    of these files alone
    python tests/tools/mutants.py --minutes 60               stops after the mutants that run then
    python tests/tools/mutants.py --jobs 2                   two at a time
    python tests/tools/mutants.py --again                    runs the survivors again, with the tests of today
    python tests/tools/mutants.py --report                   prints the tables of docs/reliability.md
    python tests/tools/mutants.py --place mine --try "csrc/core/start.c:18:4 usm_sync_start(); -> ;" TEST ...
                                                       does one of these tests find this mutant?

build/mutants holds what a later run uses again: copies of the tree with a build (USMPY_TESTING=1), and the
result of each mutant (results.json), by its file, line and change. A change of the sources needs --fresh.

A mutant changes one operator, constant, condition, lock or count. It is compiled and linked with the other
objects. Tests that execute the line run, MOST_TESTS at most: some of the shortest first, then a random
choice. The mutant is found once one fails, crashes or takes too long. A mutant that does not compile, or
whose object is the same, is not counted. Mutants that no test can find are listed with the reason in
equivalent_mutants.json. Every CONTROL-th mutant is run without its change too: tests that fail then
say nothing, and the run stops.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import line_coverage
from line_coverage import TestsByLine, build, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "mutants"
EQUIVALENT = ROOT / "tests" / "tools" / "equivalent_mutants.json"
LEFT_OUT = ("csrc/kernels/", "csrc/backends/fault/", "csrc/backends/minimal/", "csrc/py/testing.c")
FIRST_TESTS = 10
MOST_TESTS = 40
CONTROL = 25
NOT_COUNTED = ("same", "does not compile")
# (pattern, replacements): each pattern has one group, which is replaced.
CHANGES: list[tuple[str, str, list[str]]] = [
    ("comparison", r"[\w\])]\s(==)\s", ["!="]),
    ("comparison", r"[\w\])]\s(!=)\s", ["=="]),
    ("comparison", r"[\w\])]\s(<)\s(?!\*)", ["<=", ">="]),
    ("comparison", r"[\w\])]\s(>)\s", [">=", "<="]),
    ("comparison", r"[\w\])]\s(<=)\s", ["<", ">"]),
    ("comparison", r"[\w\])]\s(>=)\s", [">", "<"]),
    ("logic", r"\s(&&)\s", ["||"]),
    ("logic", r"\s(\|\|)\s", ["&&"]),
    ("logic", r"[(\s](!)[\w(]", [""]),
    ("arithmetic", r"[\w\])]\s(\+)\s", ["-"]),
    ("arithmetic", r"[\w\])]\s(-)\s", ["+"]),
    ("arithmetic", r"[\w\])]\s(\*)\s\(?\w", ["+"]),
    ("arithmetic", r"[\w\])]\s(%)\s", ["/"]),
    ("arithmetic", r"[\w\])](\+\+)", ["--"]),
    ("arithmetic", r"(\+=)", ["-="]),
    ("arithmetic", r"(-=)", ["+="]),
    ("bits", r"[\w\])]\s(&)\s", ["|"]),
    ("bits", r"[\w\])]\s(\|)\s", ["&"]),
    ("bits", r"(\|=)", ["&="]),
    ("constant", r"[=<>(,]\s?(0)[;,)]", ["1"]),
    ("constant", r"[=<>(,+*-]\s?(1)[;,)\s]", ["0", "2"]),
    ("constant", r"\b(true)\b", ["false"]),
    ("constant", r"\b(false)\b", ["true"]),
    ("status", r"return (USM_OK);", ["USM_VALUE"]),
    ("count", r"^\s+(\w*(?:_retain|_release|_unref|DECREF|INCREF|XDECREF|_CLEAR)\([^;{}]*\);)", [";"]),
    ("lock", r"^\s+(\w*(?:_lock|_unlock|_signal|_broadcast)\([^;{}]*\);)", [";"]),
    ("statement", r"^\s+(\w[\w>.\[\]-]* = [^;{}]*;)$", [";"]),
    ("statement", r"^\s+((?!return)\w+\([^;{}]*\);)$", [";"]),
]


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    column: int
    old: str
    new: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.old} -> {self.new or 'nothing'}"


def code_of(text: str) -> list[str]:
    """The lines without comments, strings and directives, each with its columns."""
    blank = re.sub(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
        lambda found: re.sub(r"[^\n]", " ", found[0]),
        text,
        flags=re.S,
    )
    lines, directive = [], False
    for line in blank.split("\n"):
        directive = directive or line.lstrip().startswith("#")
        lines.append("" if directive else line)
        directive = directive and line.endswith("\\")
    return lines


def named(name: str) -> Mutant:
    path, line, column, change = re.match(r"(\S+):(\d+):(\d+) (.*)", name, re.S).groups()
    old, new = change.split(" -> ")
    return Mutant(path, int(line), int(column), old, "" if new == "nothing" else new, "")


def mutants_of(path: str, text: str, executed: set[int]) -> Iterator[Mutant]:
    for number, line in enumerate(code_of(text), 1):
        if number not in executed or "static_assert" in line:
            continue
        for kind, pattern, replacements in CHANGES:
            for found in re.finditer(pattern, line):
                for new in replacements:
                    yield Mutant(path, number, found.start(1), found[1], new, kind)


# -- runs of tests -----------------------------------------------------------------------------------------

# Imported once: each run of tests is a fork of the process that has them. The extension is not among them.
LIBRARIES = ("pytest", "hypothesis", "numpy", "ml_dtypes", "torch", "jax")


def serve() -> None:
    """Runs the tests that each line of the standard input names, and answers with the exit status."""
    for name in LIBRARIES:
        try:
            __import__(name)
        except ImportError:
            continue  # its tests are skipped
    import pytest

    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=1", "--tb=line"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            status = 70
            try:
                status = int(pytest.main([*options, *request["options"], *request["tests"]]))
            finally:
                os._exit(status)
        until = time.monotonic() + request["limit"]
        ended = 0
        while ended == 0 and time.monotonic() < until:
            time.sleep(0.05)
            ended, status = os.waitpid(child, os.WNOHANG)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that tests started, too
        if ended == 0:
            os.waitpid(child, 0)
        print("timeout" if ended == 0 else os.waitstatus_to_exitcode(status), flush=True)


@functools.cache
def names_of_devices() -> list[str]:
    """Those of tests/support/backends.py, the longest first."""
    program = "import backends; print(*(backend.name for backend in backends.BACKENDS))"
    tests = line_coverage.TREE / "tests"
    places = os.pathsep.join(map(str, (line_coverage.TREE, tests, tests / "support")))
    environment = {**os.environ, "PYTHONPATH": places}
    done = run([sys.executable, "-c", program], cwd=line_coverage.TREE, env=environment)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return sorted(done.stdout.split("\n")[-2].split(), key=len, reverse=True)


@functools.cache
def device_of(test: str) -> str:
    """The device of a test of tests/cts, which runs on each; else nothing.

    With the others left out pytest has far less to collect.
    """
    found = re.search(rf"[\[-]({'|'.join(names_of_devices())})[\]-]", test)
    return found[1] if found and test.startswith("tests/cts/") else ""


class Tests:
    """Runs tests over the build in a tree."""

    def __init__(self, tree: pathlib.Path) -> None:
        self.log = tree.with_suffix(".log")
        self.server = subprocess.Popen(
            [sys.executable, tree / "tests" / "tools" / "mutants.py", "--serve"],
            cwd=tree,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (tree, tree / "tests", tree / "tests" / "support"))),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.server.stdout.readline().strip() == "ready"

    def failed(self, tests: list[tuple[str, float]]) -> str | None:
        """The test that failed, crashed or took too long; None if all passed."""
        devices = {name: device_of(name) for name, _ in tests}
        for wanted in {bool(device): None for device in devices.values()}:
            part = [test for test in tests if bool(devices[test[0]]) == wanted]
            named = sorted({devices[name] for name, _ in part}) if wanted else []
            if (failed := self.failed_on(part, [f"--devices={','.join(named)}"])) is not None:
                return failed
        return None

    def failed_on(self, tests: list[tuple[str, float]], options: list[str]) -> str | None:
        limit = 60 + 6 * sum(seconds for _, seconds in tests)
        request = {
            "tests": [name for name, _ in tests],
            "options": options,
            "limit": limit,
            "log": str(self.log),
        }
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        status = self.server.stdout.readline().strip()
        if status == "0":
            return None
        if not status:
            sys.exit("the process that runs the tests was ended")
        output = self.log.read_text(errors="replace")
        # Their names differ with the devices that were asked for. They say nothing of the mutant.
        missing = re.findall(r"^ERROR: not found: .*?(tests/.*)$", output, re.M)
        if missing:
            left = [test for test in tests if test[0] not in missing]
            if len(left) == len(tests):
                sys.exit(f"pytest ended with status {status}; its output is in {self.log}")
            return self.failed_on(left, options) if left else None
        named = re.findall(r"^(?:FAILED|ERROR) (tests\S+)", output, re.M)
        return f"{named[0] if named else tests[0][0]} ({status})"


# -- mutants -----------------------------------------------------------------------------------------------


def users_of_headers(kept: pathlib.Path) -> dict[str, list[str]]:
    """The sources whose objects have code of a line of a header, HEADER:LINE."""
    from elftools.elf.elffile import ELFFile

    if not kept.exists():
        found: dict[str, set[str]] = collections.defaultdict(set)
        with next((line_coverage.TREE / "usmpy").glob("_core*.so")).open("rb") as stream:
            for _, name, line, source in line_coverage.rows_of(ELFFile(stream).get_dwarf_info()):
                if name is not None and name != source:
                    found[f"{name}:{line}"].add(source)
        kept.write_text(json.dumps({line: sorted(sources) for line, sources in found.items()}))
    return json.loads(kept.read_text())


class Workshop:
    """The build whose objects are exchanged one at a time."""

    def __init__(self, place: pathlib.Path, number: int) -> None:
        self.tree = place / f"plain{number}"
        if number and not self.tree.exists():
            shutil.copytree(place / "plain0", self.tree, symlinks=True)
        self.compile: dict[str, list[str]] = {}
        for command in build(self.tree, "-O1 -g0"):
            if "-c" in command:
                self.compile[command[command.index("-c") + 1]] = command
            elif "-shared" in command:
                self.link = command
        self.users = users_of_headers(place / "users.json")
        self.tests = Tests(self.tree)
        self.changed = self.tree.with_suffix(".txt")  # has the mutant that runs now
        if self.changed.exists():  # the last run was killed
            self.restore(Mutant(**json.loads(self.changed.read_text())))

    def objects(self, mutant: Mutant) -> list[str]:
        """The sources whose objects have the code of the mutant's line."""
        if mutant.path in self.compile:
            return [mutant.path]
        return self.users.get(f"{mutant.path}:{mutant.line}", [])

    def restore(self, mutant: Mutant) -> None:
        shutil.copy(ROOT / mutant.path, self.tree / mutant.path)
        for name in self.objects(mutant):
            run(self.compile[name], cwd=self.tree)
        self.changed.unlink()

    def control(self, tests: list[tuple[str, float]]) -> None:
        """Stops if tests fail without a change."""
        self.link_objects()
        if (failed := self.tests.failed(tests)) is not None:
            sys.exit(f"fails without a change: {failed}; its output is in {self.tests.log}")

    def link_objects(self) -> bool:
        if run(self.link, cwd=self.tree).returncode != 0:
            return False
        linked = self.tree / self.link[self.link.index("-o") + 1]
        shutil.copy(linked, self.tree / "usmpy")  # where a build in place copies it
        return True

    def try_one(self, mutant: Mutant, tests: list[tuple[str, float]]) -> str:
        """ "found by TEST", "survived", "same" or "does not compile"."""
        source = self.tree / mutant.path
        text = source.read_text()
        lines = text.split("\n")
        line = lines[mutant.line - 1]
        end = mutant.column + len(mutant.old)
        lines[mutant.line - 1] = line[: mutant.column] + mutant.new + line[end:]
        replaced: dict[str, bytes] = {}
        self.changed.write_text(json.dumps(dataclasses.asdict(mutant)))
        try:
            source.write_text("\n".join(lines))
            same = True
            for name in self.objects(mutant):
                command = self.compile[name]
                target = self.tree / command[command.index("-o") + 1]
                replaced[str(target)] = target.read_bytes()
                if run(command, cwd=self.tree).returncode != 0:
                    return "does not compile"
                same = same and target.read_bytes() == replaced[str(target)]
            if same:
                return "same"
            if not self.link_objects():
                return "does not compile"
            for part in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
                if part and (failed := self.tests.failed(part)) is not None:
                    return f"found by {failed}"
            return "survived"
        finally:
            source.write_text(text)
            for name, content in replaced.items():
                pathlib.Path(name).write_bytes(content)
            self.changed.unlink()


def draw(executed: dict[str, set[int]], chosen: list[str], seed: int) -> list[Mutant]:
    """All mutants of executed lines in an order that takes one of each file in turn.

    A mutant's place in its file's pile depends on the mutant alone: lines that more tests execute move none.
    """
    piles = []
    for source in sorted(executed, key=lambda source: random.Random(f"{seed} {source}").random()):
        wanted = not chosen or any(source.startswith(name) for name in chosen)
        if wanted and not source.startswith(LEFT_OUT) and (ROOT / source).exists():
            pile = list(mutants_of(source, (ROOT / source).read_text(), executed[source]))
            pile.sort(key=lambda mutant: random.Random(f"{seed} {mutant.name}").random())
            if pile:
                piles.append(pile)
    return [
        pile[turn] for turn in range(max(map(len, piles), default=0)) for pile in piles if turn < len(pile)
    ]


def chosen_tests(mutant: Mutant, known: TestsByLine) -> list[tuple[str, float]]:
    """Those of tests/cts on two devices."""
    tests = known.tests(mutant.path, mutant.line)
    counts = collections.Counter(device_of(name) for name, _ in tests)
    del counts[""]
    devices = {"", *(device for device, _ in counts.most_common(1))}
    devices |= set(random.Random(mutant.name).sample(sorted(counts), min(len(counts), 1)))
    tests = [test for test in tests if device_of(test[0]) in devices]
    first, others = tests[:FIRST_TESTS], [test for test in tests[FIRST_TESTS:] if test[1] < 20]
    more = random.Random(mutant.name).sample(others, min(len(others), MOST_TESTS - FIRST_TESTS))
    return first + sorted(more, key=lambda test: test[1])


def tables(results: dict[str, str]) -> str:
    """Markdown: found and survived by folder, and the survivors."""
    equivalent = json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
    folders: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    survivors = []
    for name, result in sorted(results.items()):
        outcome = "found" if result.startswith("found") else result
        if outcome in NOT_COUNTED:
            continue
        if outcome == "survived" and name in equivalent:
            outcome = "explained"
        folders[str(pathlib.PurePath(name.split(":")[0]).parent)][outcome] += 1
        survivors += [name] if outcome == "survived" else []
    folders["all"] = sum(folders.values(), collections.Counter())
    outcomes = ["found", "explained", "survived"]
    rows = [f"| folder | mutants | {' | '.join(outcomes)} |", "| --- " * 5 + "|"]
    for folder, counts in folders.items():
        numbers = " | ".join(str(counts[outcome]) for outcome in outcomes)
        rows.append(f"| {folder} | {sum(counts.values())} | {numbers} |")
    return "\n".join([*rows, "", *(f"- `{name}`" for name in sorted(survivors))])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, help="mutants, those of earlier runs included")
    parser.add_argument("--files", nargs="+", default=[], metavar="PATH", help="folders or files of csrc")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="forget the build and the results")
    parser.add_argument("--again", action="store_true", help="run the survivors of earlier runs again")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    parser.add_argument("--place", type=pathlib.Path, default=PLACE, help="instead of build/mutants")
    parser.add_argument("--try", dest="mutant", metavar="MUTANT", help="run this one alone")
    parser.add_argument("tests", nargs="*", help="for --try")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    until = time.monotonic() + 60 * options.minutes
    place = options.place.absolute()
    if options.fresh:
        shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    path = place / "results.json"
    results: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    if options.mutant:
        tests = [(test, 100) for test in options.tests]  # a file, maybe
        results[options.mutant] = Workshop(place, 0).try_one(named(options.mutant), tests)
        path.write_text(json.dumps(results, indent=0))
        print(results[options.mutant])
        return 0
    if options.report:
        print(tables(results))
        return 0
    known = TestsByLine()
    if not known.results:
        sys.exit("which test executes which line is not known: run tests/tools/line_coverage.py first")
    mutants = iter(draw(known.lines(), options.files, options.seed))
    tried = 0
    lock = threading.Lock()  # of all three, and of the file

    def next_mutant() -> tuple[Mutant, list[tuple[str, float]]] | None:
        nonlocal tried
        for mutant in mutants:
            if tried >= options.count or time.monotonic() > until:
                return None
            done = results.get(mutant.name)
            if done is None or (options.again and done == "survived"):
                # None: it is executed while tests are collected, or by tests that fail.
                if tests := chosen_tests(mutant, known):
                    tried += 1
                    return mutant, tests
            else:
                tried += done not in NOT_COUNTED
        return None

    def work(workshop: Workshop) -> None:
        nonlocal tried
        ran = 0
        while True:
            with lock:
                if (chosen := next_mutant()) is None:
                    return
            mutant, tests = chosen
            result = workshop.try_one(mutant, tests)
            with lock:
                results[mutant.name] = result
                tried -= result in NOT_COUNTED
                path.write_text(json.dumps(results, indent=0))
                print(f"{tried}: {mutant.name}: {result}", flush=True)
            ran += 1
            if ran % CONTROL == 0 and result.startswith("found"):
                workshop.control(tests[:FIRST_TESTS])

    def work_or_stop(workshop: Workshop) -> None:
        nonlocal until
        try:
            work(workshop)
        except BaseException:
            until = 0  # for the others too
            raise

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work_or_stop, [Workshop(place, number) for number in range(options.jobs)]))
    print(tables(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
