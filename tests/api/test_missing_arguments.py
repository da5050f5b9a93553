"""Calls without an argument that is required name it, for every function and method with a signature."""

from __future__ import annotations

import inspect

import pytest

import usmpy

EMPTY = inspect.Parameter.empty
KEYWORDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def objects():
    """Made anew: other tests count events."""
    x = usmpy.zeros(4, device="host")
    queue = x.queue
    return {
        "usmpy": usmpy,
        "USMArray": x,
        "Queue": queue,
        "Device": queue.device,
        "Event": queue.barrier(),
        "DType": x.dtype,
    }


ELSEWHERE = {
    "usmpy.where": "test_where.py: a condition alone is a call, too",
    "USMArray.put": "the function that it calls names its own parameters",
}


def calls():
    """(name, required parameters) of functions and methods."""
    for place, thing in objects().items():
        for name in dir(thing):
            function = getattr(type(thing), name, None) if place != "usmpy" else getattr(thing, name)
            if name[0] == "_" or not callable(function) or isinstance(function, type):
                continue
            function = getattr(thing, name)
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except ValueError:  # it has none
                continue
            required = [
                p
                for p in parameters
                if p.default is EMPTY and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            ]
            if required:
                yield f"{place}.{name}", required


CALLS = {name: required for name, required in calls() if name not in ELSEWHERE}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_named(name):
    place, _, method = name.partition(".")
    function, required = getattr(objects()[place], method), CALLS[name]
    for missing in required:
        positional = []
        for parameter in required:
            if parameter is missing or parameter.kind in KEYWORDS:
                break
            positional.append(None)
        keywords = {p.name: None for p in required if p is not missing and p.kind in KEYWORDS}
        one = r"|takes exactly one argument \(0 given\)" if len(required) == 1 else ""
        with pytest.raises(TypeError, match=rf"missing .*'{missing.name}'{one}"):
            function(*positional, **keywords)


def test_there_are_many():
    assert len(CALLS) > 150
    assert {"usmpy.take", "USMArray.from_pointer", "Queue.memcpy"} <= set(CALLS)
