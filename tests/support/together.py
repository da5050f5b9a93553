"""``pytest.mark.parametrize`` for checks that take less time than a test of their own does."""

from __future__ import annotations

import functools
import inspect
import pathlib
from collections.abc import Callable, Iterable

import pytest
from backends import drawn, takes_a_part


def together(names: str, cases: Iterable, *, thin: bool = False) -> Callable:
    """One test of all cases, whose failure names those that failed. Fixtures are set up once for all.

    thin: each device takes a part of the cases, as it does of parameters. For tests that have no others.
    """
    own, cases = [name.strip() for name in names.split(",")], list(cases)
    assert cases, f"no case of {names}"

    def decorate(function: Callable) -> Callable:
        signature = inspect.signature(function)
        assert set(own) <= set(signature.parameters), f"{function.__name__} has no parameter {names}"
        others = [value for name, value in signature.parameters.items() if name not in own]
        adds = thin and "backend" not in signature.parameters
        if adds:
            others.insert(0, inspect.Parameter("backend", inspect.Parameter.POSITIONAL_OR_KEYWORD))
        file = pathlib.Path(inspect.getfile(function)).stem

        @functools.wraps(function)
        def test(**fixtures):
            chosen, wrong, skipped = cases, [], []
            if thin:
                backend = fixtures.pop("backend") if adds else fixtures["backend"]
                chosen = drawn(backend, cases) if takes_a_part(backend, file) else cases
            for case in chosen:
                values = dict(zip(own, case if len(own) > 1 else [case], strict=True))
                try:
                    function(**fixtures, **values)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append((case, error))
            if wrong:
                failed = "\n".join(f"{case!r}: {type(error).__name__}: {error}" for case, error in wrong)
                raise AssertionError(f"{len(wrong)} of {len(chosen)} cases:\n{failed}") from wrong[0][1]
            if len(skipped) == len(chosen):
                raise skipped[0]

        test.__signature__ = signature.replace(parameters=others)
        return test

    return decorate
