"""Parameters of NumPy's functions for USMArrays: names, defaults, and what is said of missing ones."""

import copy
import inspect
import re

import numpy as np
import pytest
from array_api_strict import __dict__ as standard
from together import together

import usmpy
from usmpy._numpy import functions as _numpy_functions

X = usmpy.asarray([[3.0, 1.0], [2.0, 4.0]], device="host")
N = usmpy.asarray([[1, 0], [1, 1]], device="host")
ARGUMENTS = [
    (X,),
    (X, X),
    (X, 0),
    (N[0],),
    ([X, X],),
    (X, 0, 1),
    (X, N, 0),
    (X, N, X, 0),
    (X, N > 0, X),
    (X, [0], [1.0]),
    (N, (2, 2)),
    ((N, N), (2, 2)),
    (X, "float32"),
    (X, (2, 2)),
    (X[0], X[0]),
    ([N > 0], [X]),
    (N, [X, X]),
    ("ij->ji", X),
]


def has_signature(function):
    """False for NumPy's functions in C before NumPy 2.4."""
    try:
        return bool(inspect.signature(function))
    except ValueError:
        return False


FUNCTIONS = [each for each in _numpy_functions._FUNCTIONS if each is not None and has_signature(each)]
# A word of a function that is usmpy's own, or of none.
PRIVATE = re.compile(r"\b_\w+\(|lambda|locals|unexpected keyword|positional argument")
# NumPy's functions that usmpy has beyond the array API standard, with what they lack.
BEYOND = {"copyto": {"where"}, "extract": set(), "place": set(), "put": {"mode"}, "put_along_axis": set()}
OTHER = {"trace": "records tasks", "get_include": "of usmpy", "swapaxes": "all of NumPy's names are taken"}


def seen(result):
    if isinstance(result, (tuple, list)):
        return [seen(item) for item in result]
    return (result.dtype, result.tolist()) if isinstance(result, usmpy.USMArray) else result


def called(function, arguments, **words):
    return function(*copy.deepcopy(arguments), **words)


def example(function):
    """Arguments that the function takes."""
    for arguments in ARGUMENTS:
        try:
            called(function, arguments)
        except Exception:
            continue
        return arguments
    raise AssertionError(f"no arguments for {function.__name__}")


def keywords(function, arguments):
    """The parameters that a call with these arguments may name, with their defaults."""
    signature = inspect.signature(function)
    given = signature.bind(*arguments).arguments
    for name, parameter in signature.parameters.items():
        plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if plain and name not in given and name != "like":
            yield name, parameter.default


def refusal(function, arguments, **words):
    """The message of the exception of a call; empty if there is none."""
    try:
        called(function, arguments, **words)
    except Exception as error:
        return str(error)
    return ""


@together("function", FUNCTIONS)
def test_a_parameter_of_numpy_may_have_its_default(function):
    arguments = example(function)
    expected = seen(called(function, arguments))
    for name, default in keywords(function, arguments):
        try:
            got = seen(called(function, arguments, **{name: default}))
        except Exception as error:
            raise AssertionError(f"{name}={default!r}: {type(error).__name__}: {error}") from error
        assert got == expected, name


@together("function", FUNCTIONS)
def test_other_values_are_taken_or_refused_by_name(function):
    arguments = example(function)
    for name, _ in keywords(function, arguments):
        for value in (N > 0, "other", object(), 1):
            said = refusal(function, arguments, **{name: value})
            assert not PRIVATE.search(said), f"{name}={value!r}: {said}"
            assert len(said) < 400


def test_a_missing_parameter_is_named():
    message = "numpy.mean: where is not supported for USMArrays; NumPy's own function takes x.asnumpy()"
    with pytest.raises(TypeError, match=re.escape(message)):
        np.mean(X, where=X > 1)
    with pytest.raises(TypeError, match=r"numpy.unique: axis=0 is not supported"):
        np.unique(X, axis=0)
    assert np.mean(X, where=np._NoValue) == 2.5


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("axis", [0, -1, None])
def test_sorting_in_descending_order(axis, descending):
    """A parameter of NumPy 2.5: NumPy before it does not pass it on, so the protocol is called."""
    for function, ours in ((np.sort, usmpy.sort), (np.argsort, usmpy.argsort)):
        words = {"axis": axis, "descending": descending}
        got = X.__array_function__(function, (usmpy.USMArray,), (X,), words)
        x = usmpy.reshape(X, (-1,)) if axis is None else X
        expected = ours(x, axis=0 if axis is None else axis, descending=descending)
        assert got.tolist() == expected.tolist()
        if "descending" in inspect.signature(function).parameters:
            assert function(X, **words).tolist() == expected.tolist()


@together("name", [name for name in BEYOND if has_signature(getattr(np, name))])
def test_functions_beyond_the_standard_have_the_names_of_numpy(name):
    theirs = list(inspect.signature(getattr(np, name)).parameters)[1:]
    ours = inspect.signature(getattr(usmpy, name)).parameters
    named = [word for word, parameter in ours.items() if parameter.kind is not parameter.POSITIONAL_ONLY]
    assert set(theirs) - BEYOND[name] <= set(named)
    order = [word for word in theirs if word in named]
    assert [word for word in named if word in order] == order


def test_no_function_beyond_the_standard_is_forgotten():
    shared = {name for name in usmpy.__all__ if inspect.isroutine(getattr(np, name, None))} - set(standard)
    assert shared == set(BEYOND) | set(OTHER)


def test_put_along_axis_by_name():
    x = X.copy()
    usmpy.put_along_axis(x, indices=N[:, :1], values=9.0, axis=1)
    assert x.tolist() == [[3.0, 9.0], [2.0, 9.0]]
    usmpy.put(x, ind=[0], v=7.0)
    usmpy.place(x, mask=x > 8, vals=[5.0])
    usmpy.copyto(dst=x[1], src=[0.0, 1.0])
    assert x.tolist() == [[7.0, 5.0], [0.0, 1.0]]
    assert usmpy.extract(condition=x > 4, arr=x).tolist() == [7.0, 5.0]


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
