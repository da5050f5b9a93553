"""Messages that name a way out: the way works as it is written there."""

import os
import re

import numpy as np
import pytest
from together import together

import usmpy

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
LIMITS = {name: (usmpy.iinfo(name).min, usmpy.iinfo(name).max) for name in INTEGERS}
VALUES = sorted({limit + step for limits in LIMITS.values() for limit in limits for step in (-1, 0, 1)})
WAYS = {
    "asarray": lambda value, dtype: usmpy.asarray([value], dtype=dtype, device="host"),
    "full": lambda value, dtype: usmpy.full(2, value, dtype=dtype, device="host"),
    "x[0] = value": lambda value, dtype: usmpy.zeros(2, dtype=dtype, device="host").__setitem__(0, value),
    "x + value": lambda value, dtype: usmpy.zeros(2, dtype=dtype, device="host") + value,
}


@together("way", WAYS)
def test_an_integer_that_does_not_fit_names_the_type_that_holds_it(way):
    for dtype, (least, most) in LIMITS.items():
        for value in VALUES:
            if least <= value <= most:
                WAYS[way](value, dtype)
                continue
            with pytest.raises(OverflowError, match=f"{value} does not fit into dtype {dtype}; ") as caught:
                WAYS[way](value, dtype)
            holding = [name for name, (low, high) in LIMITS.items() if low <= value <= high]
            own = [name for name in holding if name.rstrip("0123456789") == dtype.rstrip("0123456789")]
            if holding:
                name = re.search(r' are allowed: dtype="(\w+)" holds it$', str(caught.value))[1]
                assert name == (own or holding)[0]
                assert WAYS["asarray"](value, name).tolist() == [value]
            else:
                assert str(caught.value).endswith(": no integer type holds it")


def test_an_integer_without_a_type():
    with pytest.raises(OverflowError, match=r'dtype="uint64" holds it'):
        usmpy.asarray([2**63], device="host")
    for value in (2**64, -(2**63) - 1, 10**50):
        with pytest.raises(OverflowError, match="no integer type holds it"):
            usmpy.asarray([value], device="host")


SEQUENCES = {
    "concat": lambda *arrays: usmpy.concat(arrays),
    "stack": lambda *arrays: usmpy.stack(arrays),
    "broadcast_arrays": usmpy.broadcast_arrays,
    "meshgrid": usmpy.meshgrid,
    "np.broadcast_arrays": np.broadcast_arrays,
    "np.concatenate": lambda *arrays: np.concatenate(arrays),
    "np.meshgrid": np.meshgrid,
}


@together("name", SEQUENCES)
def test_arrays_of_two_libraries_name_the_calls_that_make_one(name):
    function, x, a = SEQUENCES[name], usmpy.ones(3, device="host"), np.ones(3)
    for arrays in ((x, a), (a, x)):
        with pytest.raises(TypeError, match=r"is a numpy.ndarray; .*asarray\(.*device=.*asnumpy\(\)"):
            function(*arrays)
    function(x, usmpy.asarray(a, device=x.device))
    if name.startswith("np."):
        function(x.asnumpy(), a)


TWO = {
    "add": usmpy.add,
    "+": lambda x, y: x + y,
    "concat": lambda x, y: usmpy.concat([x, y]),
    "where": lambda x, y: usmpy.where(x > 0, x, y),
    "matmul": usmpy.matmul,
    "clip": lambda x, y: usmpy.clip(x, y),
    "diff": lambda x, y: usmpy.diff(x, append=y),
    "isin": usmpy.isin,
    "searchsorted": usmpy.searchsorted,
    "sorter": lambda x, y: usmpy.searchsorted(x, 1.0, sorter=usmpy.astype(y, "int64") - 1),
    "ElementwiseKernel": lambda x, y: usmpy.ElementwiseKernel("T x, T y", "T z", "z = x + y")(x, y),
}


@together("name", TWO)
def test_an_array_on_the_default_device_names_the_variable(name):
    part = usmpy.Device("host").create_sub_devices(1)[0]
    before = os.environ.pop("USMPY_DEVICE", None)
    try:
        default = usmpy.select_default_device()
        x = usmpy.ones(3, device=part)
        for arrays in ((x, usmpy.ones(3)), (usmpy.ones(3), x)):
            with pytest.raises(usmpy.ExecutionPlacementError) as caught:
                TWO[name](*arrays)
            lines = str(caught.value).splitlines()
            said = re.search(r"\w+(\[\d\])? is on the default device, .* to change it: (.*)$", lines[-2])
            assert lines[-1].startswith("to bring them together: ")
            assert "USMPY_DEVICE" not in str(placement_error(name, x, usmpy.ones(3, queue=usmpy.Queue(part))))
            other = usmpy.Queue()  # of the default device
            assert "USMPY_DEVICE" not in str(placement_error(name, usmpy.ones(3), usmpy.ones(3, queue=other)))
        exec(said[2], {"os": os, "usmpy": usmpy})
        assert usmpy.ones(3).device == part != default
        TWO[name](x, usmpy.ones(3))
    finally:
        os.environ.pop("USMPY_DEVICE", None)
        if before is not None:
            os.environ["USMPY_DEVICE"] = before
        usmpy.select_default_device()


def placement_error(name, x, y):
    with pytest.raises(usmpy.ExecutionPlacementError) as caught:
        TWO[name](x, y)
    return caught.value
