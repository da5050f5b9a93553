"""Prints the commands of the tests about a source, by tests/sources.txt.

    python tests/tools/tests_of.py csrc/core/tasks/hazard.c
    python tests/tools/tests_of.py $(git diff --name-only)    of what has changed; tests stand for themselves

The tests about a header are those of the source of its name. Each line of the table has a source and files of
tests that run its lines, those that run most of what others do not run first.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "sources.txt"


def table() -> dict[str, list[str]]:
    """The files of tests of each source, as paths of the repository."""
    rows = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            source, _, names = line.partition(": ")
            if source in rows:
                raise ValueError(f"{TABLE.name} has {source} twice")
            rows[source] = [test_file(name) for name in names.split()]
    return rows


def test_file(name: str) -> str:
    """tests/unit/test_hazard.c for unit/hazard, tests/cts/test_copy.py for cts/copy."""
    folder, _, stem = name.partition("/")
    return f"tests/{folder}/test_{stem}.{'c' if folder == 'unit' else 'py'}"


def commands(files: list[str]) -> list[str]:
    """One for the C tests, and one for those in Python."""
    unit = [pathlib.Path(file).stem.removeprefix("test_") for file in files if file.endswith(".c")]
    python = [file for file in files if file.endswith(".py")]
    found = [f"python tests/unit/run.py {' '.join(unit)}"] if unit else []
    return found + ([f"pytest {' '.join(python)}"] if python else [])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    rows, files, unknown = table(), {}, []
    for source in parser.parse_args().sources:
        path = pathlib.Path(source).resolve().relative_to(ROOT)
        name = str(path.with_suffix(".c") if path.suffix == ".h" else path)
        if path.parts[0] == "tests" and path.name.startswith("test_"):
            files[name] = None
        elif name in rows:
            files |= dict.fromkeys(rows[name])
        else:
            unknown.append(source)
    for command in commands(list(files)):
        print(command)
    if unknown:
        print(f"not in {TABLE.relative_to(ROOT)}, which has sources: {' '.join(unknown)}", file=sys.stderr)
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main())
