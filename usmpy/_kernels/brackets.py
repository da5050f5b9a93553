"""The TypeError for an unsupported key in kernel[...], with a key that works."""

from __future__ import annotations

import operator
from typing import NoReturn


def _extents(part: object) -> tuple[int, ...]:
    """The ints of an int, or of a tuple or list of 1 to 3 ints; empty for anything else."""
    items = tuple(part) if isinstance(part, (tuple, list)) else (part,)
    if len(items) > 3 or any(isinstance(item, bool) or not hasattr(item, "__index__") for item in items):
        return ()
    try:
        return tuple(operator.index(item) for item in items)
    except TypeError:  # an array's method of that name
        return ()


def _space(extents: tuple[int, ...]) -> str:
    return str(extents[0]) if len(extents) == 1 else f"Range{extents}"


def _groups(groups: tuple[int, ...], items: tuple[int, ...]) -> str:
    """The key as CUDA reads it: a number of work-groups, and a number of work-items in each."""
    everything = tuple(a * b for a, b in zip(groups, items, strict=True))
    return f"NdRange({everything[0]}, {items[0]})" if len(items) == 1 else f"NdRange({everything}, {items})"


def _given(value: object) -> str:
    name = type(value).__name__[:80]
    return f"{'an' if name[0] in 'aeio' else 'a'} {name} was given"


def refuse(name: str, key: object) -> NoReturn:
    """Raise TypeError for kernel[key].

    name: the kernel's name. key: the object in the brackets.
    """
    allowed = f"{name}[...] takes a Range, an NdRange or an int, and optionally Events: {name}[range, events]"
    items = key if isinstance(key, tuple) and len(key) > 1 else ()
    parts = [_extents(item) for item in items]
    if len(parts) > 1 and parts[0] and len(parts[0]) == len(parts[1]):
        shown = ", ".join(map(str, items))
        groups = f"{name}[{_groups(*parts[:2])}] for work-groups of {items[1]}"
        space = _space(_extents(items) or parts[0])
        raise TypeError(f"{name}[{shown}] has two meanings: write {name}[{space}] for a range, or {groups}")
    if len(parts) == 2 and (parts[1] or hasattr(items[1], "__index__")):
        given, wanted = items[1], ""
    elif len(parts) == 2:
        given, wanted = items[0], f": write {name}[{_space(parts[0])}, events]" if parts[0] else ""
    else:
        given, extents = key, _extents(key)
        wanted = f": write {name}[{_space(extents)}]" if extents else ""
    raise TypeError(f"{allowed}; {_given(given)}{wanted}")
