"""The line that ExecutionPlacementError ends with works: it is executed as printed, for every function of
several arrays. A public function of several arrays that is not in the table below fails a test."""

import ast
import re
import runpy
from pathlib import Path

import pytest
from together import together

import usmpy

# Each call in the words of its documentation, with arguments that live on different queues: "x" an array of
# float32 and shape (2, 3), "i" of int64, "b" of bool; a list of these letters is a list of arrays.
CALLS = {
    "broadcast_arrays": ("usmpy.broadcast_arrays(*arrays)", {"arrays": "xx"}),
    "concat": ("usmpy.concat(arrays)", {"arrays": "xxx"}),
    "stack": ("usmpy.stack(arrays)", {"arrays": "xx"}),
    "meshgrid": ("usmpy.meshgrid(*arrays)", {"arrays": "vv"}),
    "repeat": ("usmpy.repeat(x, repeats)", {"x": "v", "repeats": "n"}),
    "take": ("usmpy.take(x, indices)", {"x": "v", "indices": "n"}),
    "take_along_axis": ("usmpy.take_along_axis(x, indices)", {"x": "x", "indices": "i"}),
    **{
        name: (f"usmpy.{name}(x, out=out)", {"x": "x", "out": "b"}) for name in ("isnan", "isinf", "isfinite")
    },
    "logical_not": ("usmpy.logical_not(x, out=out)", {"x": "x", "out": "b"}),
    "where": ("usmpy.where(condition, x1, x2)", {"condition": "b", "x1": "x", "x2": "x"}),
    "clip": ("usmpy.clip(x, min)", {"x": "x", "min": "x"}),
    "diff": ("usmpy.diff(x, prepend=prepend)", {"x": "v", "prepend": "v"}),
    "isin": ("usmpy.isin(x1, x2)", {"x1": "v", "x2": "v"}),
    "searchsorted": ("usmpy.searchsorted(x1, x2)", {"x1": "v", "x2": "v"}),
    **{
        name: (f"usmpy.{name}(x1, x2)", {"x1": "x", "x2": "x"})
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    **{
        name: (f"usmpy.{name}(x1, x2)", {"x1": "b", "x2": "b"})
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    "matmul": ("usmpy.matmul(x1, x2.T)", {"x1": "x", "x2": "x"}),
    "tensordot": ("usmpy.tensordot(x1, x2)", {"x1": "x", "x2": "x"}),
    "vecdot": ("usmpy.vecdot(x1, x2)", {"x1": "x", "x2": "x"}),
}
ROWS = runpy.run_path(str(Path(__file__).parents[2] / "csrc/kernels/operations.py"))["OPERATIONS"]
for row in ROWS:
    letter = "i" if row.real is None else "x"
    if row.inputs == 1:
        out = "b" if row.result == "bool" else letter
        CALLS[row.name] = (f"usmpy.{row.name}(x, out=out)", {"x": letter, "out": out})
    else:
        CALLS[row.name] = (f"usmpy.{row.name}(x1, x2)", {"x1": letter, "x2": letter})
# Operators call themselves what the standard calls their functions.
OPERATORS = {
    "USMArray.__eq__": "equal",
    "USMArray.__ne__": "not_equal",
    "USMArray.__lt__": "less",
    "USMArray.__le__": "less_equal",
    "USMArray.__gt__": "greater",
    "USMArray.__ge__": "greater_equal",
}
OPERATORS |= {f"USMArray.__{row.operator}__": row.name for row in ROWS if row.operator and row.inputs == 2}
CALLS |= {name: (f"x1.{name[9:]}(x2)", CALLS[OPERATORS[name]][1]) for name in OPERATORS}
# What takes arrays and brings none of them together.
NAMES_A_PLACE = {"asarray", "copyto", "explain_copy", "from_dlpack"}  # copies may move between places
LOOKS_ONLY = {
    "explain_matmul",
    "explain_operation",
    "get_execution_queue",
    "memory_connection",
    "result_type",
    "can_cast",
    "finfo",
    "iinfo",
}
MAKERS = {"arange", "linspace", "empty", "zeros", "ones", "full", "eye", "borrow"}
MAKERS |= {"empty_like", "zeros_like", "ones_like", "full_like"}  # device= is where the result goes


def is_there(name):
    first, _, rest = name.partition(".")
    owner = getattr(usmpy, first, None)
    return owner is not None and (not rest or rest in vars(owner))


PRESENT = [name for name in CALLS if is_there(name)]


def arrays_taken(function):
    """How many arrays the stub's function takes; 2 for any number."""
    arguments = function.args
    count = sum(
        "USMArray" in ast.unparse(argument.annotation)
        and (("Iterable" in ast.unparse(argument.annotation) and 2) or 1)
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if argument.annotation is not None
    )
    if arguments.vararg is not None and arguments.vararg.annotation is not None:
        count += 2 * ("USMArray" in ast.unparse(arguments.vararg.annotation))
    return count


def test_every_function_of_several_arrays_is_in_the_table():
    stub = Path(usmpy.__file__).parent / "_core.pyi"
    found = {
        node.name
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.name in usmpy.__all__
        and arrays_taken(node) > 1
    }
    assert {"concat", "stack"} <= found
    assert found - NAMES_A_PLACE - LOOKS_ONLY - MAKERS - set(CALLS) == set()


def make(letter, queue):
    return {
        "x": lambda: usmpy.ones((2, 3), dtype="float32", queue=queue),
        "i": lambda: usmpy.zeros((2, 3), dtype="int64", queue=queue),
        "b": lambda: usmpy.zeros((2, 3), dtype="bool", queue=queue),
        "v": lambda: usmpy.ones(3, dtype="float32", queue=queue),
        "n": lambda: usmpy.ones(3, dtype="int64", queue=queue),
    }[letter]()


@together("name", PRESENT, thin=True)
def test_the_printed_line_mends_it(device, name):
    call, parameters = CALLS[name]
    names, made = {"usmpy": usmpy}, []
    for parameter, letters in parameters.items():
        arrays = [make(letter, usmpy.Queue(device)) for letter in letters]
        made += arrays
        names[parameter] = arrays if parameter == "arrays" else arrays[0]
    for _ in range(1, len(made)):
        with pytest.raises(usmpy.ExecutionPlacementError) as caught:
            eval(call, names)
        lines = str(caught.value).splitlines()
        assert OPERATORS.get(name, name.rpartition(".")[2]) in lines[0].partition(":")[0]
        assert len(lines) == len(made) + 2  # a line for each argument
        assert all(re.search(r"queue 0x[0-9a-f]+, context 0x[0-9a-f]+", line) for line in lines[1:-1])
        exec(lines[-1].partition(": ")[2], names)
    result = eval(call, names)
    results = result if isinstance(result, (list, tuple)) else [result]
    assert all(result is None or result.queue is made[0].queue for result in results)


def test_the_first_array_on_another_queue_is_named(device):
    queues = [usmpy.Queue(device) for _ in range(3)]
    a, b, c = (usmpy.zeros(2, queue=queue) for queue in queues)
    for arrays in ([a, b, c], [a, a, b, a, c]):
        i = [x is b for x in arrays].index(True)
        with pytest.raises(usmpy.ExecutionPlacementError) as info:
            usmpy.concat(arrays)
        assert f"arrays[{i}] = arrays[{i}].to_device(arrays[0].queue)" in str(info.value)
