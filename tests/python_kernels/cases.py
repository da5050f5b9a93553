"""The form of the cases in peers_*.py, and how their arguments become arrays of a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Local:
    """An argument that is local memory of a work-group: n elements of a dtype."""

    n: int
    dtype: str


@dataclasses.dataclass(frozen=True)
class View:
    """An argument that is a strided view: `base` is on the device, and the kernel gets `view(base)`."""

    base: np.ndarray
    index: tuple[slice, ...]
    transposed: bool = False

    def view(self, base):
        return (base.transpose() if self.transposed else base)[self.index]


@dataclasses.dataclass(frozen=True)
class Case:
    """One launch of one kernel.

    Parameters
    ----------
    name : str
        Unique in its file.
    function : function
        The kernel, without a decorator.
    source : str
        ``FILE::KERNEL`` of the peer: the kernel whose idea this is. Several cases may share one.
    make : function
        Of a random generator. Returns the range and a list of arguments. The range is an int, a tuple of
        ints, or a pair (global, local) of tuples for an NdRange.
    expect : function
        Of the arguments before the launch. Returns for each what it holds afterwards, for a `View` its base;
        None is not compared. Missing ones at the end count as None.
    tolerance : float
        The relative and absolute difference that is allowed; 0 compares exactly, and NaN equals NaN.
    """

    name: str
    function: Callable[..., None]
    source: str
    make: Callable[[np.random.Generator], tuple[Any, list[Any]]]
    expect: Callable[[list[Any]], list[Any]]
    tolerance: float = 0.0


def is_nd_range(given: Any) -> bool:
    return isinstance(given, tuple) and isinstance(given[0], tuple)


def numbers_of(argument: Any) -> np.ndarray | None:
    """The array that an argument brings to the device, if it brings one."""
    if isinstance(argument, View):
        return argument.base
    return argument if isinstance(argument, np.ndarray) else None


def check(case: Case, arguments: list[Any], results: list[Any]) -> None:
    """Compare the arrays after the launch with what the case expects of its arguments before it."""
    expected = case.expect(arguments)
    for place, (want, got) in enumerate(zip(expected, results, strict=False)):
        if want is None:
            continue
        before = numbers_of(arguments[place])
        assert before is not None, f"{case.name}: argument {place} is no array"
        assert got.dtype == before.dtype, f"{case.name}: argument {place} changed its type"
        want = np.broadcast_to(np.asarray(want), before.shape)
        message = f"{case.name}: argument {place}"
        if case.tolerance:
            np.testing.assert_allclose(got, want, case.tolerance, case.tolerance, err_msg=message)
        else:
            np.testing.assert_array_equal(got, want, err_msg=message)


def sources(cases: list[Case]) -> set[str]:
    """The peers' kernels that the cases cover: several cases of one kernel count once."""
    return {case.source for case in cases}
