"""What is no int is refused by the name of the parameter, with what was given and what is allowed.

The words of NumPy and of CPython know no parameter: "only integer scalar arrays can be converted to a scalar
index", "cannot fit 'int' into an index-sized integer".
"""

import re

import numpy as np
import pytest
from test_number_parameters import CUBE, QUEUE, F, N, changed, counts, drawn
from together import together

import usmpy


class Raising:
    def __init__(self, kind):
        self.kind = kind

    def __index__(self):
        raise self.kind("mine")


# Some functions take arrays where others take an int or a tuple: their name begins with "array".
WRONG = {
    "float": 1.5,
    "str": "a",
    "bytes": b"a",
    "complex": 1j,
    "None": None,
    "object": object(),
    "list of str": ["a"],
    "NumPy's float": np.float32(1),
    "array of 2": np.array([1, 2]),
    "array of 1": np.array([1]),
    "array of USM": usmpy.asarray([1, 2], queue=QUEUE),
    "array of a float": np.array(1.0),
    "TypeError of __index__": Raising(TypeError),
}
MORE = {
    "Generator.seed": lambda v: usmpy.random.Generator(v, queue=QUEUE),
    "Generator.integers.low": lambda v: drawn().integers(v, 9),
    "Generator.integers.high": lambda v: drawn().integers(0, v),
    "Queue.fill.value": lambda v: changed(N, lambda y: QUEUE.fill(y, v)),
    "IPCHandle.from_bytes.fds": lambda v: usmpy.IPCHandle.from_bytes(
        bytes(usmpy.share(F).get_ipc_handle()), [v]
    ),
    "strides": lambda v: usmpy.USMArray.from_pointer(
        F.data_ptr, 3, F.dtype, strides=(v,), queue=QUEUE, owner=F
    ),
    "address": lambda v: usmpy.USMArray.from_pointer(v, 3, F.dtype, queue=QUEUE),
    "handle": lambda v: usmpy.Queue.from_native("opencl", v),
    "numpy.split.indices_or_sections": lambda v: np.split(F, v),
    "numpy.array_split.indices_or_sections": lambda v: np.array_split(F, [v]),
    "numpy.bincount.minlength": lambda v: np.bincount(N, minlength=v),
    "numpy.unravel_index.shape": lambda v: np.unravel_index(N, v),
    "numpy.median.axis": lambda v: np.median(CUBE, axis=v),
}
CALLS = dict(counts()) | MORE
# How messages call parameters of operators and methods that have no names of their own.
CALLED = {
    "Range.__new__.global_range": "Range",
    "Range.__getitem__.key": "index",
    "USMArray.item.args": "index",
}
KEYS = "USMArray.__getitem__.key"  # reads any object: tests/objects
RAW = re.compile("scalar arrays|interpreted as an integer|index-sized|C long|C ssize_t|0-dimensional")


def refused(name, what):
    """The class and the words of the refusal; None where the call takes the object."""
    try:
        CALLS[name](WRONG[what])
    except (TypeError, ValueError, IndexError) as error:
        return type(error), str(error)
    assert what == "None" or what.startswith("array"), "it is taken"
    return None, ""


@together("name, what", [(name, what) for name in CALLS for what in WRONG if name != KEYS])
def test_what_is_no_int_is_refused_by_the_name_of_the_parameter(name, what):
    error, told = refused(name, what)
    parameter = CALLED.get(name, name.rpartition(".")[2])
    assert not RAW.search(told), told
    assert len(told) <= 400
    if error is TypeError:
        assert re.search(rf"\b{parameter}\b", told), told
        assert re.search("allowed|; use |; give |only these", told), told


@together("name", [name for name in CALLS if name not in (KEYS, "Queue.fill.value")])
def test_other_errors_of_index_pass(name):
    with pytest.raises(RuntimeError, match="mine"):
        CALLS[name](Raising(RuntimeError))


@together("name", CALLS)
def test_ints_of_any_size_have_a_meaning_or_are_out_of_range(name):
    for value in (2**70, -(2**70)):
        told = ""
        try:
            CALLS[name](value)
        except (ValueError, IndexError, OverflowError, MemoryError) as error:
            told = str(error)
        assert not RAW.search(told), told
    QUEUE.wait()
