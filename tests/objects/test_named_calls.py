"""The call that a refusal of an object names works as it is written, also for items of sequences."""

import re

import numpy
import pytest
from catalogue import CATALOGUE
from test_matrix import objects

import usmpy

# A call, and what is said of its result.
NAMED = re.compile(
    r"(?:[;:,] |use |pyarrow: )((?:obj|numpy\.|list\(|sorted\(|float\(|complex\()[^;]*?\)) (?:has|have|is)\b"
)
STEPS = 2  # a call may give what is refused in turn: records without a mask, say


def works(call: str, obj: object) -> bool:
    for _ in range(STEPS):
        try:
            result = eval(call, {"numpy": numpy, "obj": obj})
        except Exception:
            return False
        try:
            return usmpy.asarray(result, device="host") is not None
        except Exception as error:
            named = NAMED.search(str(error))
            if named is None:
                return False
            call, obj = named[1], result
    return False


@pytest.mark.parametrize("library", CATALOGUE)
@pytest.mark.filterwarnings("ignore")
def test_the_named_call_works(library):
    tried, fails = 0, []
    for object in objects(library):
        for depth in range(3):
            obj = object.make()
            for _ in range(depth):
                obj = [obj]
            try:
                usmpy.asarray(obj, device="host")
            except Exception as error:
                for call in NAMED.findall(str(error)):
                    tried += 1
                    if not works(call, obj):
                        fails.append(f"{object.name} at depth {depth}: {call}: {error}")
    assert not fails, "\n".join(fails)
    assert tried or library not in ("numpy", "python", "torch")


def test_a_sequence_names_the_type_that_holds_all_of_its_numbers():
    for values, type, named in (
        ([numpy.uint8(200), -1], None, "int16"),
        ([numpy.int8(1), 200, 300], None, "int16"),
        ([200, 300], "uint8", "uint16"),
        ([[1], [-300]], "uint8", "int16"),
        ([2**63, 1], None, "uint64"),
        ([usmpy.zeros((), dtype="int8", device="host"), 70_000], None, "int32"),
        ([2**63, -1], None, "float64"),
    ):
        with pytest.raises(OverflowError, match=f'dtype="{named}"') as caught:
            usmpy.asarray(values, dtype=type, device="host")
        assert len(str(caught.value)) < 400
        assert usmpy.asarray(values, dtype=named, device="host").dtype == named
