"""The array API standard 2025.12 against array_api_strict: every function's results, types and errors."""

import itertools
import pathlib
import re
import runpy

import numpy as np
import pytest
from libraries import need
from standard_calls import CALLS, COMPLEX, DTYPES, INTEGERS, REALS, Source, random_calls

import usmpy

strict = need("array_api_strict")

TABLE = pathlib.Path(__file__).parents[2] / "csrc/kernels/operations.py"
ERRORS = (IndexError, ValueError, TypeError, OverflowError)


@pytest.fixture(autouse=True)
def _version():
    strict.set_array_api_strict_flags(api_version="2025.12")
    yield
    strict.reset_array_api_strict_flags()


class Put:
    """Makes one namespace's arrays of sources."""

    def __init__(self, xp, device):
        self.xp, self.device, self.given = xp, device, []

    def __call__(self, source: Source):
        x = source.seen(self.xp, self.xp.asarray(source.base, device=self.device, copy=True))
        self.given.append(x)
        return x


def result_of(call, put):
    try:
        return call(put.xp, put), None
    except ERRORS as error:
        return None, error


def numbers(x):
    return x.asnumpy() if isinstance(x, usmpy.USMArray) else np.asarray(x)


def check_same(ours, theirs, device):
    if isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple))
        assert len(ours) == len(theirs)
        for x, s in zip(ours, theirs, strict=True):
            check_same(x, s, device)
        return
    assert isinstance(ours, usmpy.USMArray)
    assert ours.shape == theirs.shape
    assert ours.device == device
    wanted = str(theirs.dtype).rpartition(".")[2]
    if wanted != ours.dtype:  # a device without float64 gives float32 where NumPy's rules would give that
        assert not device.has_fp64
        assert (ours.dtype, wanted) in [("float32", "float64"), ("complex64", "complex128")]
    np.testing.assert_array_equal(numbers(ours), numbers(theirs))


@pytest.mark.parametrize("name", CALLS)
def test_calls(backend, device, name):
    @random_calls(backend, device, few=4, many=30)
    def check(draw):
        call = CALLS[name](draw)
        theirs, refused = result_of(call, Put(strict, strict.Device("CPU_DEVICE")))
        put = Put(usmpy, device)
        ours, error = result_of(call, put)
        if refused is None:
            assert error is None, repr(error)
            check_same(ours, theirs, device)
        elif error is None and isinstance(refused, TypeError):
            # What the standard leaves open, since kinds of types differ, is as NumPy has it.
            with np.errstate(all="ignore"):
                theirs, refused = result_of(call, Put(np, "cpu"))
            assert refused is None, repr(refused)
            check_same(ours, theirs, device)
        else:
            assert error is not None, f"array_api_strict refuses: {refused!r}"
            if isinstance(refused, TypeError) and not isinstance(error, TypeError):
                # Types whose promotion the standard leaves open, and another fault, which NumPy finds, too.
                with np.errstate(all="ignore"):
                    _, refused = result_of(call, Put(np, "cpu"))
                assert refused is not None, repr(error)
            check_class(name, error, refused)


def check_class(name, ours, theirs):
    """NumPy's error of an axis is of two classes, and some of its functions raise one of them alone."""
    kinds = [kind for kind in ERRORS if isinstance(theirs, kind)]
    if "item" not in name and not {IndexError, ValueError}.isdisjoint(kinds):
        kinds = [IndexError, ValueError]
    assert isinstance(ours, tuple(kinds)), f"{ours!r} for {theirs!r}"


def test_every_function_of_the_groups_is_called():
    described = {"can_cast", "result_type", "isdtype", "finfo", "iinfo"}  # below, as empty and its like
    described |= {"broadcast_shapes", "empty", "empty_like", "__array_namespace_info__"}
    # Against NumPy, on every backend: tests/cts/test_operations.py, test_reductions.py, test_statistics.py.
    described |= {row.name for row in runpy.run_path(str(TABLE))["OPERATIONS"]}
    described |= {"sum", "prod", "max", "min", "cumulative_sum", "cumulative_prod", "argmax", "argmin"}
    described |= {"mean", "std", "var", "clip", "diff"}
    described |= {"matmul", "tensordot", "vecdot", "isin"}  # tests/cts/test_matmul.py, test_sorting.py
    names = {name for name in strict.__all__ if name in usmpy.__all__ and callable(getattr(strict, name))}
    names = {name for name in names if not isinstance(getattr(usmpy, name), usmpy.DType)}
    assert names - described - set(CALLS) == {"Device"}


def test_missing_functions_are_listed_in_the_design():
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.partition("| not there | why |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.split("\n") if row.startswith("| `")]
    absent = {name for row in rows for part in re.findall(r"`([^`]*)`", row) for name in part.split()}
    flags = {"ArrayAPIStrictFlags", "Device", *(n for n in strict.__all__ if n.endswith("_strict_flags"))}
    assert absent == set(strict.__all__) - set(dir(usmpy)) - flags
    ours = set(dir(usmpy.USMArray))
    theirs = (name for name in dir(strict.asarray(1.0)) if name.startswith("__"))
    methods = set(theirs) - ours
    # What every class in Python has, by version of Python, is no part of the standard.
    of_any = {n for n in methods if not callable(getattr(type(strict.asarray(1.0)), n, None)) or "annot" in n}
    in_place = {"__imatmul__"}  # Python asks __matmul__ where it is missing
    assert methods - of_any - in_place <= {"__buffer__"}


# --- types ------------------------------------------------------------------------------------------------


def outcome(xp, *arguments):
    try:
        return str(xp.result_type(*arguments)).rpartition(".")[2]
    except TypeError:
        return TypeError


def expected_of(*names):
    """The standard's, or NumPy's where that has none, but for integers that have no common integer type."""
    standard = outcome(strict, *(getattr(strict, name) for name in names))
    if standard is not TypeError:
        return standard
    name = np.result_type(*names).name
    return TypeError if "float" in name and all("int" in n or n == "bool" for n in names) else name


@pytest.mark.parametrize("a", DTYPES)
def test_promotion_tables(a):
    ours, theirs = getattr(usmpy, a), getattr(strict, a)
    x, s = usmpy.empty(1, dtype=a, device="host"), strict.empty(1, dtype=theirs)
    for b in DTYPES:
        expected = expected_of(a, b)
        assert outcome(usmpy, ours, getattr(usmpy, b)) == expected
        assert outcome(usmpy, x, usmpy.empty(0, dtype=b, device="host")) == expected
        assert usmpy.can_cast(ours, getattr(usmpy, b)) is (expected == b)
        if outcome(strict, theirs, getattr(strict, b)) is not TypeError:
            assert usmpy.can_cast(ours, getattr(usmpy, b)) is strict.can_cast(theirs, getattr(strict, b))
    for number in (True, 1, 1.0, 1j):
        standard = outcome(strict, s, number)
        assert outcome(usmpy, x, number) == (
            np.result_type(np.empty(1, a), number).name if standard is TypeError else standard
        )
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating"]
    for kind in [*kinds, "numeric", ("bool", "integral")]:
        assert usmpy.isdtype(ours, kind) is strict.isdtype(theirs, kind)
    if a in INTEGERS:
        for field in ("bits", "min", "max"):
            assert getattr(usmpy.iinfo(ours), field) == getattr(strict.iinfo(theirs), field)
    if a in REALS + COMPLEX:
        for field in ("bits", "eps", "min", "max", "smallest_normal"):
            assert getattr(usmpy.finfo(ours), field) == getattr(strict.finfo(theirs), field)


def test_promotion_of_three():
    for names in itertools.product(DTYPES, repeat=3):
        assert outcome(usmpy, *(getattr(usmpy, name) for name in names)) == expected_of(*names)


@pytest.mark.parametrize("a", DTYPES)
def test_casts_of_all_pairs(a):
    n = np.asarray([0, 1, 2, 100, 127]).astype(a)
    x, s = usmpy.asarray(n, device="host", copy=True), strict.asarray(n)
    for b in DTYPES:
        try:
            expected = strict.astype(s, getattr(strict, b))
        except TypeError:
            with pytest.raises(TypeError, match=b):
                usmpy.astype(x, getattr(usmpy, b))
            continue
        for y in (usmpy.astype(x, getattr(usmpy, b)), usmpy.astype(x[::-1], getattr(usmpy, b))[::-1]):
            assert y.dtype == b
            np.testing.assert_array_equal(y.asnumpy(), numbers(expected))


def test_uninitialised_arrays_and_shapes():
    for shape in [(), 3, (0, 2), (2, 3)]:
        assert usmpy.empty(shape, device="host").shape == strict.empty(shape).shape
        x, s = usmpy.empty(shape, dtype="int8", device="host"), strict.empty(shape, dtype=strict.int8)
        assert usmpy.empty_like(x).shape == strict.empty_like(s).shape
        assert usmpy.empty_like(x, dtype=usmpy.float32).dtype == "float32"
    for shapes in [((3, 1), (1, 4)), ((), (2,)), ((2, 0), (1,)), ((2, 3), (3, 3))]:
        expected, refused = None, None
        try:
            expected = np.broadcast_shapes(*shapes)
        except ValueError as error:
            refused = error
        if refused:
            with pytest.raises(ValueError, match="broadcast"):
                usmpy.broadcast_shapes(*shapes)
        else:
            assert usmpy.broadcast_shapes(*shapes) == expected


# --- where arrays are made --------------------------------------------------------------------------------


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_creation_takes_places(device, usm_type):
    if not getattr(device, f"has_usm_{usm_type}"):
        pytest.skip(f"the device has no memory of kind {usm_type}")
    queue = usmpy.Queue(device)
    x = usmpy.ones((2, 2), queue=queue)
    for name, arguments in [
        ("empty", (2,)),
        ("zeros", (2,)),
        ("ones", (2,)),
        ("full", (2, 3)),
        ("arange", (3,)),
        ("linspace", (0, 1, 3)),
        ("eye", (2,)),
        ("asarray", ([1, 2],)),
        *[(f"{kind}_like", (x,)) for kind in ("empty", "zeros", "ones")],
        ("full_like", (x, 2)),
    ]:
        make = getattr(usmpy, name)
        on = make(*arguments, queue=queue, usm_type=usm_type, dtype="float32")
        assert (on.queue, on.usm_type, on.dtype) == (queue, usm_type, usmpy.float32)
        by = make(*arguments, device=device, usm_type=usm_type)
        assert (by.queue, by.device) == (device.queue, device)
        with pytest.raises(ValueError, match="queue"):
            make(*arguments, device=device, queue=queue)
