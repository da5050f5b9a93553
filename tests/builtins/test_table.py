"""Each call of a built-in function means the same on every device: verdict, type and value.

`differences.txt` lists how devices differ from the host today. CI makes a fixed thousand of the calls: each
difference must be listed. As a program, this file makes all of them, and a listed difference must be one:

    python tests/builtins/test_table.py --all                  what is not as listed, with status 1
    python tests/builtins/test_table.py --kind 'max(char, *'   how these calls differ
    python tests/builtins/test_table.py --write [--grow]       takes what no longer differs off the list

A device differs if it refuses what the host accepts, or accepts what the host refuses, if the result has
another type, or if a value is further off than OpenCL C allows; docs/numerics.md promises equal bits of most.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import functools
import pathlib
import sys
from collections.abc import Iterable, Sequence

if __name__ == "__main__":
    tests = pathlib.Path(__file__).resolve().parents[1]
    sys.path[:0] = map(str, (tests / "support", tests, tests.parent))

import cuda_drivers  # noqa: F401 (the drivers in software)
import level_zero_drivers  # noqa: F401
import numpy as np
import opencl_drivers  # noqa: F401
import pytest
from backends import BACKENDS, Absent
from builtin_calls import FAMILIES, REALS, TYPES, Call, calls, sample
from builtin_table import DTYPES, REFUSED, Result, Table, argument

LIST = pathlib.Path(__file__).with_name("differences.txt")
DEVICES = ["opencl-intel", "opencl-pocl", "level-zero", "cuda"]  # which the list names
HEAD = """\
# How the results of calls differ from the host's: what | devices | functions | arguments. * stands for all
# devices that have the types; `same` is the type of the first argument. test_table.py explains the words.
"""
Differences = dict[tuple[Call, str], str]  # of a call and a device
Box = tuple[frozenset[str], ...]  # alternatives for each argument


def name_of(backend: str) -> str:
    """The name in the list: a driver in software has the compiler of the real one."""
    return backend.removesuffix("-sim").removesuffix("-software")


def is_near(call: Call, type: str, ours: bytes, theirs: bytes) -> bool:
    """Whether the values are those that OpenCL C allows, where it defines them."""
    function = call.function
    bound = function.half if type == "half" else function.ulp
    if bound is None or (type not in REALS and has_reals(call) and not function.reals):
        return True  # a real that becomes an integer
    if function.name.startswith("as_") and call.arguments[0].endswith("*"):
        return True  # an address
    given = [argument(t, place) if t in TYPES else np.zeros(16) for place, t in enumerate(call.arguments)]
    if function.name == "clamp" or (function.reals and type in REALS):
        given = [values.astype(DTYPES[type]) for values in given]
    a, b = (np.frombuffer(data, "u8").view(np.dtype(DTYPES[type]))[:: 8 // np.dtype(DTYPES[type]).itemsize]
            for data in (ours, theirs))  # fmt: skip
    if type not in REALS:
        same = a == b
    else:
        a, b = a.astype("f8"), b.astype("f8")
        same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
        if bound:  # the host's own error may be four more
            info = np.finfo(DTYPES[type])
            unit = np.maximum(
                np.spacing(np.abs(b.astype(DTYPES[type]))).astype("f8"), info.smallest_subnormal
            )
            near = np.abs(a - b) <= np.maximum((bound + 4) * unit, info.tiny)
            same |= np.isfinite(a) & np.isfinite(b) & near
    return bool(np.all(same | ~is_defined(call, given)))


def has_reals(call: Call) -> bool:
    return any(t in REALS or t.startswith("1.5") for t in call.arguments)


def is_defined(call: Call, given: Sequence[np.ndarray]) -> np.ndarray:
    text = call.function.defined
    if not text:
        return np.ones(16, bool)
    if text == "fits":
        info = np.iinfo(DTYPES[call.function.name.split("_")[1]])
        x = given[0].astype("f8")
        return ~np.isin(call.arguments[0], REALS) | ((x > float(info.min) - 0.5) & (x < float(info.max)))
    if call.function.name != "clamp":
        given = [values.astype("f8") for values in given]
    x, y, z = (*given, *[np.zeros(16)] * 3)[:3]
    return eval(text, {"x": x, "y": y, "z": z, "isfinite": np.isfinite, "abs": np.abs})


def differs(call: Call, host: Result, theirs: Result) -> str:
    if host == REFUSED or theirs == REFUSED:
        return "" if host == theirs else "accepted" if host == REFUSED else "refused"
    if host.type != theirs.type:
        return f"{theirs.type} for {host.type}"
    with np.errstate(all="ignore"):
        return "" if have_near_values(call, host, theirs) else "value"


def have_near_values(call: Call, host: Result, theirs: Result) -> bool:
    """Of the result, and of what the first pointer points to."""
    stored = next((a[:-1].split(" ")[1].removeprefix("atomic_") for a in call.arguments if a[-1] == "*"), "")
    pairs = ((host.type, host.values, theirs.values), (stored, host.cells, theirs.cells))
    return all(is_near(call, type, ours, other) for type, ours, other in pairs if type in DTYPES)


@functools.cache
def host_results(chosen: tuple[Call, ...]) -> dict[Call, Result]:
    return Table(BACKENDS[0].device()).results(chosen)


def differences(name: str, device: object, chosen: Sequence[Call], host: dict[Call, Result]) -> Differences:
    """With an empty text for calls that do not differ."""
    return {
        (call, name): differs(call, host[call], result)
        for call, result in Table(device).results(chosen).items()
        if call in host
    }


# -- the list ---------------------------------------------------------------------------------------


def relative(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("same" if place and a == arguments[0] else a for place, a in enumerate(arguments))


def boxes(wanted: set[tuple[str, ...]], made: Iterable[tuple[str, ...]]) -> list[Box]:
    """Few products of alternatives that have all of the wanted arguments, and of those made no others."""
    left, unwanted, found = list(wanted), [a for a in made if a not in wanted], []
    alternatives = [list(dict.fromkeys(column)) for column in zip(*left, strict=True)]
    while left:
        box = [{a} for a in left[0]]
        for place, tokens in enumerate(alternatives):
            for token in tokens:
                trial = [*box[:place], box[place] | {token}, *box[place + 1 :]]
                if not any(all(a in side for a, side in zip(u, trial, strict=True)) for u in unwanted):
                    box = trial
        found.append(tuple(map(frozenset, box)))
        left = [w for w in left if not all(a in side for a, side in zip(w, box, strict=True))]
    return found


def written(side: frozenset[str]) -> str:
    words = []
    for family, members in FAMILIES.items():
        if side.issuperset(members):
            side, words = side - set(members), [*words, family]
    return " or ".join([*words, *sorted(side)])


def read(side: str) -> frozenset[str]:
    return frozenset(member for word in side.split(" or ") for member in FAMILIES.get(word, (word,)))


def lines_of(found: Differences) -> list[str]:
    """The list of these differences, where found has all calls that were made."""
    capable, where = collections.defaultdict(list), collections.defaultdict(list)
    made = collections.defaultdict(dict)
    for (call, device), what in found.items():
        capable[call].append(device)
        made[call.function.name][relative(call.arguments)] = None
        if what:
            where[call, what].append(device)
    kinds = collections.defaultdict(set)
    for (call, what), devices in where.items():
        places = "*" if devices == capable[call] else ", ".join(devices)
        kinds[what, places, call.function.name].add(relative(call.arguments))
    alike = collections.defaultdict(list)
    for (what, places, name), wanted in kinds.items():
        by_length = {len(a): None for a in wanted}
        sides = [box for n in by_length for box in boxes({a for a in wanted if len(a) == n},
                 [a for a in made[name] if len(a) == n])]  # fmt: skip
        for box in sides:
            alike[what, places, ", ".join(map(written, box))].append(name)
    rows = collections.defaultdict(list)
    for (what, places, arguments), names in alike.items():
        rows[what, places, ", ".join(dict.fromkeys(names))].append(arguments)
    return [f"{what} | {places} | {names} | {a}" for (what, places, names), all in rows.items() for a in all]


@functools.cache
def listed() -> dict[str, list[tuple[str, set[str], list[frozenset[str]]]]]:
    """By function: what, devices, arguments."""
    found = collections.defaultdict(list)
    for line in LIST.read_text().splitlines() if LIST.exists() else ():
        if not line.startswith("#"):
            what, devices, names, arguments = line.split(" | ")
            for name in names.split(", "):
                sides = [read(side) for side in arguments.split(", ")] if arguments else []
                found[name].append((what, set(devices.split(", ")), sides))
    return found


def is_listed(call: Call, device: str, what: str) -> bool:
    arguments = relative(call.arguments)
    return any(
        what == kind and devices & {device, "*"} and len(sides) == len(arguments)
        and all(a in side for a, side in zip(arguments, sides, strict=True))
        for kind, devices, sides in listed().get(call.function.name, ())
    )  # fmt: skip


def wrong(found: Differences, gone: bool) -> list[str]:
    """Differences that are not listed; with gone, also listed ones that are none."""
    new = [f"{call} on {device}: {what}" for (call, device), what in found.items()
           if what and not is_listed(call, device, what)]  # fmt: skip
    for (call, device), what in found.items() if gone else ():
        for kind in {row[0] for row in listed().get(call.function.name, ())} - {what}:
            if is_listed(call, device, kind):
                new.append(f"{call} on {device}: no longer {kind}: run with --write")
    return new


@pytest.mark.only_on("!host")
@pytest.mark.leaves_objects("queues of devices are cached")
@pytest.mark.not_sanitized("the compilers are no part of it")
def test_a_thousand_calls_differ_from_the_host_as_listed(backend, device):
    if name_of(backend.name) not in DEVICES:
        pytest.skip("differences.txt does not name this device")
    chosen = sample(calls(), 1000)
    host = host_results(tuple(chosen))
    few = sample(chosen, 250) if backend.name == "level-zero-sim" else chosen  # half a second a program
    found = differences(name_of(backend.name), device, few, host)
    told = wrong(found, gone=False)
    assert not told, f"{len(told)} calls of {len(found)}:\n" + "\n".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="all calls; without it, a thousand of them")
    parser.add_argument("--device", action="append", help="the name of a device in the list")
    parser.add_argument("--kind", help="a pattern of calls, of which each difference is shown")
    parser.add_argument("--write", action="store_true", help="write the list, of all calls")
    parser.add_argument("--grow", action="store_true", help="with differences that are not yet in it")
    arguments = parser.parse_args()
    chosen = calls()
    if arguments.kind:
        chosen = [call for call in chosen if fnmatch.fnmatchcase(str(call), arguments.kind)]
    elif not (arguments.all or arguments.write):
        chosen = sample(chosen, 1000)
    found: Differences = {}
    for backend in BACKENDS[1:]:
        name = name_of(backend.name)
        if backend.files is not None or name not in (arguments.device or DEVICES):
            continue
        try:
            own = differences(name, backend.device(), chosen, host_results(tuple(chosen)))
            print(f"{name}: {sum(map(bool, own.values()))} differences of {len(own)}", flush=True)
            found |= own
        except Absent as absent:
            print(f"{name} is left out: {absent}")
    if arguments.kind:
        print("\n".join(f"{call} on {device}: {what}" for (call, device), what in found.items() if what))
        return
    told = wrong(found, gone=arguments.all or arguments.write)
    print("\n".join(told[:200]))
    if arguments.write:
        missing = set(DEVICES) - {device for _, device in found}
        grown = [text for text in told if "no longer" not in text]
        if missing or (grown and not arguments.grow):
            parser.error(
                f"not written: {f'no device {missing}' if missing else 'the list would grow (--grow)'}"
            )
        LIST.write_text(HEAD + "".join(f"{line}\n" for line in lines_of(found)))
    sys.exit(bool(told) and not arguments.write)


if __name__ == "__main__":
    main()
