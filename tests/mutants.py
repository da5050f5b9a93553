"""How good are the tests? One small change of csrc/ at a time: do the tests that execute the line notice it?

    python tests/mutants.py --count 1000               draws mutants evenly over files, and runs them
    python tests/mutants.py --count 1000               again: goes on where it was stopped
    python tests/mutants.py --files csrc/core/share    of these files alone
    python tests/mutants.py --minutes 60               stops after the mutant that runs then
    python tests/mutants.py --report                   prints the tables of docs/reliability.md

Everything lies in build/mutants, which a later run uses again: a copy of the tree with two builds
(USMPY_TESTING=1), of which one counts lines; which file of tests executes which lines (lines.json); and the
result of each mutant (results.json), by its file, line and change. A change of the sources needs --fresh.

A mutant changes one operator, constant, condition, lock or count. It is compiled and linked with the other
objects. The files of tests that execute the line run, the shortest first, until one fails, crashes or takes
too long: then the mutant is found. A mutant that does not compile, or whose object is the same, is not
counted. Mutants that no test can find are listed with the reason in tests/equivalent_mutants.json.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sanitize import LEFT_BEHIND

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "mutants"
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.json"
LEFT_OUT = ("csrc/kernels/", "csrc/backends/fault/", "csrc/backends/minimal/")
# Folders whose tests say nothing of C, or build the extension themselves.
NO_TESTS = ("tests/gpu/", "tests/docs/", "tests/structure/", "tests/unit/")
MOST_FILES = 12  # of tests, for one mutant
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


@dataclass(frozen=True)
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


def mutants_of(path: str, text: str, executed: set[int]) -> Iterator[Mutant]:
    for number, line in enumerate(code_of(text), 1):
        if number not in executed or "static_assert" in line:
            continue
        for kind, pattern, replacements in CHANGES:
            for found in re.finditer(pattern, line):
                for new in replacements:
                    yield Mutant(path, number, found.start(1), found[1], new, kind)


# -- builds ------------------------------------------------------------------------------------------------


def run(command: list[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def build(tree: pathlib.Path, flags: str) -> list[list[str]]:
    """Copies the sources, builds them in place, and returns the commands of the compiler and the linker."""
    log = tree / "commands.json"
    if log.exists():
        return json.loads(log.read_text())
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=LEFT_BEHIND)
    environment = {
        **os.environ,
        "USMPY_DEBUG": "1",
        "USMPY_TESTING": "1",
        "USMPY_CFLAGS": f"-g0 {flags}",
        "USMPY_LDFLAGS": flags,
    }
    done = run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=tree, env=environment)
    if done.returncode != 0:
        sys.exit(done.stdout)
    commands = [
        shlex.split(line)
        for line in done.stdout.splitlines()
        if re.match(r"\S*(gcc|cc|clang)\S* .* -o ", line)
    ]
    log.write_text(json.dumps(commands))
    return commands


def test_environment(tree: pathlib.Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "USMPY_TEST_FEW_FILES": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def pytest(tree: pathlib.Path, file: str, limit: float, **more: str) -> tuple[int | None, float]:
    """The exit status of one file of tests (None: it took too long), and the seconds."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=1",
        file,
    ]
    began = time.monotonic()
    try:
        done = run(command, cwd=tree, env=test_environment(tree) | more, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, time.monotonic() - began
    return done.returncode, time.monotonic() - began


def files_of_tests() -> list[str]:
    found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    return [name for name in found if not name.startswith(NO_TESTS)]


def count_lines(tree: pathlib.Path, folder: pathlib.Path) -> dict[str, list[int]]:
    """The lines that were executed, by source, of the counts that a run left in the folder."""
    notes = {path.name: path for path in tree.rglob("*.gcno")}
    lines: dict[str, set[int]] = collections.defaultdict(set)
    with_notes = []
    for data in folder.rglob("*.gcda"):
        note = notes.get(data.with_suffix(".gcno").name)
        if note is not None:
            shutil.copy(note, data.with_suffix(".gcno"))
            with_notes.append(data)
    out = folder / "json"
    out.mkdir()
    for first in range(0, len(with_notes), 64):
        run(["gcov", "--json-format", "--preserve-paths", *with_notes[first : first + 64]], cwd=out)
    for path in out.glob("*.gcov.json.gz"):
        for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
            if file["file"].startswith("csrc/"):
                lines[file["file"]] |= {line["line_number"] for line in file["lines"] if line["count"]}
    return {name: sorted(found) for name, found in lines.items()}


def coverage(names: list[str]) -> dict[str, Any]:
    """{file of tests: {"seconds": ..., "lines": {source: [line, ...]}}}, kept in lines.json."""
    path = PLACE / "lines.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    missing = [name for name in names if name not in known]
    if missing:
        tree = PLACE / "counted"
        build(tree, "--coverage -fprofile-update=atomic")
        plain = PLACE / "plain"
        build(plain, "-O1")
    for i, name in enumerate(missing):
        counts = PLACE / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        status, _ = pytest(tree, name, 1800, GCOV_PREFIX=str(counts))
        lines = count_lines(tree, counts) if counts.exists() else {}
        again, seconds = pytest(plain, name, 900)
        passes = status == 0 and again == 0
        known[name] = {"seconds": seconds, "passes": passes, "lines": lines if passes else {}}
        path.write_text(json.dumps(known))
        print(
            f"{i + 1}/{len(missing)} {name}: {seconds:.0f} s, {sum(map(len, lines.values()))} lines"
            f"{'' if passes else ', does not pass: left out'}",
            flush=True,
        )
    return {name: known[name] for name in names}


# -- mutants -----------------------------------------------------------------------------------------------


class Workshop:
    """The build whose objects are exchanged one at a time."""

    def __init__(self) -> None:
        self.tree = PLACE / "plain"
        self.compile: dict[str, list[str]] = {}
        for command in build(self.tree, "-O1"):
            if "-c" in command:
                self.compile[command[command.index("-c") + 1]] = command
            elif "-shared" in command:
                self.link = command
        self.includers: dict[str, list[str]] = collections.defaultdict(list)
        for source, command in self.compile.items():
            listed = run([*self.without_output(command), "-MM"], cwd=self.tree).stdout
            for header in re.findall(r"csrc/\S+\.(?:h|inc)", listed):
                self.includers[header].append(source)

    @staticmethod
    def without_output(command: list[str]) -> list[str]:
        at = command.index("-o")
        return [part for part in command[:at] + command[at + 2 :] if part != "-c"]

    def objects(self, path: str) -> list[str]:
        return [path] if path in self.compile else self.includers.get(path, [])

    def try_one(self, mutant: Mutant, tests: list[tuple[str, float]]) -> str:
        """ "found by TEST", "survived", "same" or "does not compile"."""
        source = self.tree / mutant.path
        text = source.read_text()
        lines = text.split("\n")
        line = lines[mutant.line - 1]
        end = mutant.column + len(mutant.old)
        lines[mutant.line - 1] = line[: mutant.column] + mutant.new + line[end:]
        replaced: dict[str, bytes] = {}
        try:
            source.write_text("\n".join(lines))
            same = True
            for name in self.objects(mutant.path):
                command = self.compile[name]
                target = self.tree / command[command.index("-o") + 1]
                replaced[str(target)] = target.read_bytes()
                if run(command, cwd=self.tree).returncode != 0:
                    return "does not compile"
                same = same and target.read_bytes() == replaced[str(target)]
            if same:
                return "same"
            if run(self.link, cwd=self.tree).returncode != 0:
                return "does not compile"
            linked = self.tree / self.link[self.link.index("-o") + 1]
            shutil.copy(linked, self.tree / "usmpy")  # where setuptools copies it in a build in place
            for test, seconds in tests:
                status, _ = pytest(self.tree, test, 4 * seconds + 30)
                if status != 0:
                    return f"found by {test}" + (" (timeout)" if status is None else "")
            return "survived"
        finally:
            source.write_text(text)
            for name, content in replaced.items():
                pathlib.Path(name).write_bytes(content)


def draw(lines: dict[str, Any], chosen: list[str], seed: int) -> list[Mutant]:
    """All mutants of executed lines in an order that takes one of each file in turn."""
    executed: dict[str, set[int]] = collections.defaultdict(set)
    for entry in lines.values():
        for source, numbers in entry["lines"].items():
            executed[source].update(numbers)
    piles = []
    for source in sorted(executed):
        wanted = not chosen or any(source.startswith(name) for name in chosen)
        if wanted and not source.startswith(LEFT_OUT) and (ROOT / source).exists():
            pile = list(mutants_of(source, (ROOT / source).read_text(), executed[source]))
            random.Random(f"{seed} {source}").shuffle(pile)
            if pile:
                piles.append(pile)
    random.Random(seed).shuffle(piles)
    return [
        pile[turn] for turn in range(max(map(len, piles), default=0)) for pile in piles if turn < len(pile)
    ]


def tests_for(mutant: Mutant, lines: dict[str, Any]) -> list[tuple[str, float]]:
    found = [
        (name, entry["seconds"])
        for name, entry in lines.items()
        if mutant.line in entry["lines"].get(mutant.path, ())
    ]
    return sorted(found, key=lambda pair: pair[1])[:MOST_FILES]


def tables(results: dict[str, str]) -> str:
    """Markdown: found and survived by folder, and the survivors."""
    equivalent = json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
    folders: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    survivors = []
    for name, result in sorted(results.items()):
        outcome = "found" if result.startswith("found") else result
        if outcome in ("same", "does not compile"):
            continue
        if outcome == "survived" and name in equivalent:
            outcome = "equivalent"
        folders[str(pathlib.PurePath(name.split(":")[0]).parent)][outcome] += 1
        survivors += [name] if outcome == "survived" else []
    folders["all"] = sum(folders.values(), collections.Counter())
    outcomes = ["found", "equivalent", "survived"]
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
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="folders or files of tests")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="forget builds, lines and results")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    if options.fresh:
        shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / "results.json"
    results: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    names = [n for n in files_of_tests() if not options.tests or n.startswith(tuple(options.tests))]
    if options.report:
        print(tables(results))
        return 0
    lines = coverage(names)
    workshop = Workshop()
    tried = 0
    for mutant in draw(lines, options.files, options.seed):
        if tried >= options.count or time.monotonic() > until:
            break
        if mutant.name not in results:
            results[mutant.name] = workshop.try_one(mutant, tests_for(mutant, lines))
            path.write_text(json.dumps(results, indent=0))
            print(f"{tried + 1}: {mutant.name}: {results[mutant.name]}", flush=True)
        tried += results[mutant.name] not in ("same", "does not compile")
    print(tables(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
