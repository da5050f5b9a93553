"""A test run in which a call of Level Zero is wrong: test_level_zero_layers.py looks at how it ends."""

import os

import pytest
from level_zero_library import Library

import usmpy


def test_right_calls():
    x = usmpy.arange(10, dtype="int32", device="level_zero")
    assert x.tolist() == list(range(10))


def test_right_calls_again():
    test_right_calls()


@pytest.mark.leaves_objects("a context of the driver")
def test_a_wrong_call():
    library = Library()
    with pytest.raises(OSError, match=os.environ["WRONG_CALL"]):
        library(os.environ["WRONG_CALL"], None, None)
