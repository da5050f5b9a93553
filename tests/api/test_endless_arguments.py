"""An object whose `__getitem__` never ends and that has no length is no sequence, wherever one is allowed."""

import pytest
from together import together

import usmpy


class Endless:
    """As a mock of a scalar of NumPy is."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, index):
        self.asked += 1
        assert self.asked < 1000, "it does not end"
        return 1


class Counted(Endless):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return range(2)[index]


CALLS = {
    "shape": lambda x, items: usmpy.zeros(items),
    "reshape": lambda x, items: usmpy.reshape(x, items),
    "axes": lambda x, items: usmpy.sum(x, axis=items),
    "tile": lambda x, items: usmpy.tile(x, items),
    "Range": lambda x, items: usmpy.Range(items),
    "arrays": lambda x, items: usmpy.concat(items),
    "stacked arrays": lambda x, items: usmpy.stack(items),
    "depends": lambda x, items: x.queue.fill(x, 1, depends=items),
    "x[key]": lambda x, items: x[items],
    "asarray": lambda x, items: usmpy.asarray(items),
    "x[...] =": lambda x, items: x.__setitem__(..., items),
    "take": lambda x, items: usmpy.take(x, items),
    "repeat": lambda x, items: usmpy.repeat(x, items),
}


@together("call", CALLS)
def test_what_has_no_length_is_no_sequence(call):
    with pytest.raises((TypeError, IndexError)):
        CALLS[call](usmpy.zeros(3, device="host"), Endless())


def test_what_has_a_length_is_one():
    assert usmpy.zeros(Counted()).shape == (0, 1)
    assert usmpy.asarray(Counted()).tolist() == [0, 1]
