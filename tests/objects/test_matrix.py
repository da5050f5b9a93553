"""Each object of other libraries at each entry: read as NumPy reads it, or refused with the words that help.

`wrong.txt` lists the cells that are wrong today. A wrong cell must be listed, and a listed cell must be
wrong: the list can only shrink. As a program, this file says what is wrong, and writes the list:

    python tests/objects/test_matrix.py                     the number of wrong cells, by library and entry
    python tests/objects/test_matrix.py 'pandas *' 'x *'    what is wrong of these objects at these entries
    python tests/objects/test_matrix.py --write             takes the cells that are right off the list
    python tests/objects/test_matrix.py --write --grow      also lists cells that have become wrong
    python tests/objects/test_matrix.py --page              writes the table of docs/exchange.md
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import functools
import importlib.metadata
import pathlib
import re
import sys
import warnings
from collections.abc import Iterable

if __name__ == "__main__":
    tests = pathlib.Path(__file__).resolve().parents[1]
    sys.path[:0] = map(str, (tests / "support", tests, tests.parent))

import libraries
import numpy as np
import pytest
from backends import BACKENDS, ORDER, Absent, Backend
from catalogue import CATALOGUE, Object, objects_of
from entries import ENTRIES, Case, Wrong, kernels

LIST = pathlib.Path(__file__).with_name("wrong.txt")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "exchange.md"
BEGIN, END = "<!-- objects: begin -->\n", "<!-- objects: end -->\n"
TYPES = re.compile(r"\b(of )?(bool|u?int\d+|float\d+|complex\d+)\b")  # one name stands for all types
HEAD = """\
# Cells of the matrix that are wrong: object | entries | devices. A * stands for the rest of a name, for all
# entries or for all devices. python tests/objects/test_matrix.py --write takes off what is right.
# Where a library is newer than here, a cell may be right: jax 0.10.
"""
DEVICES = [backend for backend in BACKENDS if backend.files is None]
# In the environment of all tests (the extra `test` and its requirements); with_objects.py makes others.
PRESENT = (
    "numpy",
    "python",
    "protocols",
    "pyarrow",
    "pillow",
    "torch",
    "jax",
    "array_api_strict",
    "pyopencl",
)

Cell = tuple[str, str, str]  # the names of the object, the entry and the device


def verdict(object: Object, entry: str, backend: Backend) -> str:
    """What the entry does wrong with the object; empty if it is right by one of the object's meanings."""
    wrongs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other libraries, about their own conversions
        for meaning in object.meanings:
            try:
                ENTRIES[entry](Case(object, meaning, backend.device(), "system-usm" in backend.tags))
                return ""
            except Wrong as error:
                wrongs.append(str(error))
            except Exception as error:
                wrongs.append(f"{type(error).__name__}: {error}")
    return wrongs[0][:300]


def verdicts(objects: Iterable[Object], backend: Backend) -> dict[Cell, str]:
    found = {
        (object.name, entry, backend.name): verdict(object, entry, backend)
        for object in objects
        for entry in ENTRIES
    }
    kernels.cache_clear()
    return found


@functools.cache
def lines() -> list[tuple[str, set[str], set[str]]]:
    rows = [line.split(" | ") for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return [(object, set(entries.split(", ")), set(devices.split(", "))) for object, entries, devices in rows]


def stands_for(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


@functools.cache
def lines_of(object: str) -> list[tuple[set[str], set[str]]]:
    return [(entries, devices) for pattern, entries, devices in lines() if stands_for(pattern, object)]


@functools.cache
def is_newer(library: str) -> bool:
    """Whether the installed version is above that of the list's head."""
    listed = re.search(rf"\b{library} (\d+)\.(\d+)", HEAD)
    if listed is None:
        return False
    installed = importlib.metadata.version(library).split(".")[:2]
    return tuple(map(int, installed)) > (int(listed[1]), int(listed[2]))


def is_listed(cell: Cell) -> bool:
    object, entry, device = cell
    return any(entries & {entry, "*"} and devices & {device, "*"} for entries, devices in lines_of(object))


def objects(library: str) -> list[Object]:
    try:
        return objects_of(library)
    except ImportError:
        if library in PRESENT:
            libraries.need({"pillow": "PIL"}.get(library, library))
        pytest.skip(
            f"{library} is not installed; python tests/tools/with_objects.py makes an environment that has it"
        )


@pytest.mark.parametrize("library", CATALOGUE)
def test_the_wrong_cells_are_those_of_the_list(library, backend, device):
    found = verdicts(objects(library), backend)
    differ = [cell for cell, wrong in found.items() if bool(wrong) != is_listed(cell)]
    differ = [cell for cell in differ if found[cell] or not is_newer(library)]
    told = "\n".join(
        f"{' | '.join(cell)}: {found[cell] or 'right: take it off wrong.txt'}" for cell in differ
    )
    assert not differ, f"{len(differ)} cells of {len(found)} differ from wrong.txt:\n{told}"


@pytest.mark.parametrize("library", CATALOGUE)
def test_each_line_names_objects_entries_and_devices(library):
    names = [object.name for object in objects(library)]
    assert len(set(names)) == len(names)
    for pattern, entries, devices in lines():
        if pattern.startswith(f"{library} "):
            assert any(stands_for(pattern, name) for name in names), pattern
        assert entries <= {*ENTRIES, "*"}, pattern
        assert devices <= {"*", *ORDER}, pattern


# -- the table of docs/exchange.md ------------------------------------------------------------------


def row(library: str) -> str:
    """What asarray reads of a library's objects, and what it refuses; `wrong.txt` has the exceptions."""
    kinds: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for object in objects(library):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numpy.matrix
            is_read = isinstance(object.meanings[0], np.ndarray)
        name = (
            " ".join(TYPES.sub("", object.name.removeprefix(library)).split()).replace(" ,", ",").strip(" ,")
        )
        kinds[is_read][name or "numbers"] = None
    read, refused = ("; ".join(kinds[is_read]) or "none" for is_read in (True, False))
    return f"| {library} | {read} | {refused} |"


def table() -> dict[str, str]:
    rows = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    return {line.split(" | ")[0].strip("| "): line for line in rows}


@pytest.mark.parametrize("library", [name for name in CATALOGUE if name != "protocols"])
def test_the_page_lists_what_is_read_and_what_is_refused(library):
    assert table()[library] == row(library), "python tests/objects/test_matrix.py --page writes it"


def write_page() -> None:
    rows = table()
    for library in CATALOGUE:
        try:
            if library != "protocols" and objects_of(library):
                rows[library] = row(library)
        except ImportError:
            print(f"{library} is not installed: its row stays")
    lines = [
        "| library | read as NumPy reads it | refused, with the call that works |",
        "| --- | --- | --- |",
    ]
    lines += [rows[library] for library in CATALOGUE if library in rows]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    made = "".join(f"{line}\n" for line in lines)
    PAGE.write_text(f"{before}{BEGIN}{made}{END}{rest.partition(END)[2]}", encoding="utf-8")


# -- the program ------------------------------------------------------------------------------------


def compact(wrong: set[Cell], names: list[str], devices: list[str]) -> list[str]:
    """The lines that list these cells, where `names` are all objects of a library."""
    rows: dict[str, list[str]] = {}
    for name in names:
        by_devices = collections.defaultdict(list)
        for entry in ENTRIES:
            if places := [device for device in devices if (name, entry, device) in wrong]:
                by_devices["*" if places == devices else ", ".join(places)].append(entry)
        rows[name] = [
            f"{'*' if len(entries) == len(ENTRIES) else ', '.join(entries)} | {places}"
            for places, entries in by_devices.items()
        ]
    made: list[str] = []
    done: set[str] = set()
    for name in names:
        words = name.split(" ")
        for length in range(1, len(words) + 1):
            pattern = " ".join(words[:length]) + " *" if length < len(words) else name
            alike = [other for other in names if stands_for(pattern, other)]
            if all(rows[other] == rows[name] for other in alike) and (len(alike) > 1 or pattern == name):
                break
        if name not in done:
            made += [f"{pattern} | {row}" for row in rows[name]]
            done.update(alike)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write wrong.txt")
    parser.add_argument("--page", action="store_true", help="write the table of docs/exchange.md")
    parser.add_argument("--grow", action="store_true", help="with cells that are not yet in it")
    parser.add_argument("objects", nargs="?", default="*", help="a pattern of names")
    parser.add_argument("entries", nargs="?", default="*", help="a pattern of names")
    arguments = parser.parse_args()
    if arguments.page:
        write_page()
        return
    devices = []
    for backend in DEVICES:
        try:
            backend.device()
            devices.append(backend)
        except Absent as absent:
            print(f"{backend.name} is left out: {absent}")
    if arguments.write and len(devices) < len(DEVICES):
        parser.error("the list is written where all devices are")
    rows = {
        name: [line for line in LIST.read_text().splitlines() if line.startswith(f"{name} ")]
        for name in CATALOGUE
    }
    for library in CATALOGUE:
        try:
            made = objects_of(library)
        except ImportError:
            print(f"{library} is not installed")
            continue
        found: dict[Cell, str] = {}
        for backend in devices:
            found |= verdicts(made, backend)
        wrong = {cell for cell, told in found.items() if told and (arguments.grow or is_listed(cell))}
        if arguments.write:
            names = [object.name for object in made]
            rows[library] = compact(wrong, names, [backend.name for backend in DEVICES])
        elif arguments.objects == arguments.entries == "*":
            counts = collections.Counter(cell[1] for cell, told in found.items() if told)
            print(
                f"{library}: {counts.total()} of {len(found)} cells are wrong: {dict(counts.most_common())}"
            )
        else:
            patterns = (arguments.objects, arguments.entries)
            for cell, told in found.items():
                if told and all(map(fnmatch.fnmatchcase, cell, patterns)):
                    print(f"{' | '.join(cell)}: {told}")
    if arguments.write:
        LIST.write_text(HEAD + "".join(f"{line}\n" for lines in rows.values() for line in lines))


if __name__ == "__main__":
    main()
