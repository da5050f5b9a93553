"""What Python kernels refuse: the class of the error, its line, the caret, and what to write."""

import ast
import cmath
import collections
import enum
import inspect
import math
import random
import re
import textwrap
import warnings

import numpy as np
import pytest
from python_kernels import cases, mutations, peers_cupy_jit, peers_dpex, peers_numba_cuda
from python_kernels.texts import function_of, program_of

import usmpy
from usmpy import kernel_api


class Shade(enum.Enum):
    RED = 1


class Hostile:
    __hash__ = None

    def __getattr__(self, name):
        raise ValueError(name)

    def __eq__(self, other):
        raise ValueError


class Point:
    def moved(self, a):
        return a

    @classmethod
    def made(cls, a):
        return a

    @staticmethod
    def double(a):
        return 2 * a


def recursive(a):
    return recursive(a)


def first(a):
    return second(a)


def second(a):
    return first(a)


def starred(*a):
    return 1


def generator(a):
    yield a


def sometimes(a):
    if a > 0:
        return 1


NAMES = {**{name: value for name, value in vars(kernel_api).items() if name[0] != "_"}, "math": math}
NAMES |= {
    "cmath": cmath,
    "np": np,
    "usmpy": usmpy,
    "Shade": Shade,
    "Point": Point,
    "point": Point(),
    "TEXT": "a",
}
NAMES |= {"recursive": recursive, "first": first, "starred": starred, "generator": generator, "LIST": [1, 2]}
NAMES |= {
    "ARRAY": np.ones(3),
    "ZERO": np.array(1.0),
    "OWN": usmpy.ones(1, device="host"),
    "sometimes": sometimes,
}
NAMES |= {
    "hostile": Hostile(),
    "eval_": eval(compile("lambda a: a", "<string>", "eval")),
    "WHEN": np.datetime64(1, "s"),
}

# A statement, what of it the caret shows, and words of the message.
AT_THE_DECORATOR = """
for k in range(3): pass\\nelse: y[0] = 1 | y[0] = 1 | set a variable before break
while i: break\\nelse: pass | pass | set a variable before break
match i:\\n    case 1: pass | match i: | write if and elif
def f(): pass | def f(): pass | define it outside of the kernel
async def f(): pass | async def f(): pass | write def
class C: pass | class C: pass | pass its values as arguments
y[0] = i in (1, 2) | i in (1, 2) | compare with each value
y[0] = i not in (1, 2) | i not in (1, 2) | compare with each value
y[0] = x is y | x is y | write ==
y[0] = i is 1 | i is 1 | write ==
y[0] = [1, 2] | [1, 2] | write a tuple, or private_array
y[0] = {1, 2} | {1, 2} | write a tuple, or private_array
y[0] = {1: 2} | {1: 2} | write variables or tuples
y[0] = [k for k in x] | [k for k in x] | write a loop
y[0] = {k for k in x} | {k for k in x} | write a loop
y[0] = {k: k for k in x} | {k: k for k in x} | write a loop
y[0] = max(k for k in x) | (k for k in x) | write a loop
try: pass\\nexcept: pass | try: pass | test the values with if
with x: pass | with x: pass | no context managers
raise ValueError | raise ValueError | write assert
y[0] = (lambda: 1)() | lambda: 1 | define a function outside
yield i | yield i | store the values in an array
yield from x | yield from x | store the values in an array
y[0] = i if i else sum([1]) | [1] | write a tuple
global g | global g | pass an array to write to
import os | import os | import outside
from os import path | from os import path | import outside
del i | del i | leave it out
y[0] = (k := 1) | k := 1 | assign in a statement of its own
print(f"{i}") | f"{i}" | print('i =', i)
max(*y) | *y | write the values one by one
max(**y) | y | name each argument
y[0] = x[1:2] | 1:2 | write a loop over the indices
y[0] = x @ y | x @ y | write a loop over the products
y[0] = b"a" | b"a" | kernels have numbers
[a, b] = 1, 2 | [a, b] | write a tuple
a, *b = 1, 2 | *b | write the values one by one
"""
AT_THE_CALL = """
y[0] = nothing | nothing | no such name
y[0] = math.nothing | math.nothing | no such name
y[0] = usmpy.nothing(1) | usmpy.nothing | no such name
nothing(1) | nothing | no such name
y[0] = self.x | self | no such name
y[0] = "text" | "text" | allowed in print, in assert
y[0] = TEXT | TEXT | a number is allowed
y[0] = ... | ... | an index for each dimension
y[0] = None | None | a number is allowed
y[0] = ARRAY[0] | ARRAY | pass it to the kernel
y[0] = ZERO | ZERO | pass it to the kernel
y[0] = OWN[0] | OWN | pass it to the kernel
y[0] = LIST[0] | LIST | has no elements
y[0] = WHEN | WHEN | no such numbers
y[0] = x | x | write x[i]
y[0] = x + 1 | x | write x[i]
y[0] = y[0, 1] | y[0, 1] | y has 1 dimension, 2 indices were given
y[0] = x[0, 1, 2] | x[0, 1, 2] | x has 2 dimensions, 3 indices were given
x[0] = 1 | x[0] | x has 2 dimensions, 1 index was given
y[0] = y[()] | y[()] | write x[i]
y[0] = y[0.5] | 0.5 | integers are allowed
y[0] = y[i > 0] | i > 0 | integers are allowed
y[0] = x[0, 0] | y[0] = x[0, 0] | write y[0] = usmpy.int32(...)
y[0] = 1.5 | y[0] = 1.5 | write y[0] = usmpy.int32(...)
y[0] = 1j | y[0] = 1j | take .real or .imag
x[0, 0] = 1j * x[0, 0] | x[0, 0] = 1j * x[0, 0] | take .real or .imag
b[0] = i | b[0] = i | write b[0] = bool(...)
y[0] = u[0] + i | u[0] + i | usmpy.int64(...) of the left side
y[0] = i // u[0] | i // u[0] | usmpy.uint64(...) of the left side
y[0] = 1 << 2000 | 1 << 2000 | a shift by 2000
y[0] = i ** -1 | i ** -1 | write float(...) ** -1
y[0] = x[0, 0] << 1 | x[0, 0] << 1 | << takes integers
y[0] = 1j // 2 | 1j // 2 | //
y[0] = 1j * x[0, 0] < 2 | 1j * x[0, 0] < 2 | no order
y[0] = ~x[0, 0] | ~x[0, 0] | ~ takes integers
y[0] = (1, 2) < (2, 3) | (1, 2) < (2, 3) | numbers are compared
y[0] = (1, 2)[5] | 5 | index 5 of a tuple of 2
y[0] = int(1j) | int(1j) | take .real or .imag
y[0] = int(math.inf) | int(math.inf) | inf becomes no integer
y[0] = max(1j, 2) | max(1j, 2) | no order
y[0] = math.atan2(1j, 2) | math.atan2(1j, 2) | not for complex numbers
y[0] = math.sin(1, 2) | math.sin(1, 2) | takes 1 argument, 2 were given
y[0] = abs(x=1) | 1 | no arguments by name
y[0] = len(i) | len(i) | an array or a tuple
y[0] = round(i, 2) | 2 | round(x * 100) / 100
y[0] = range(3) | range(3) | only in for i in range(...)
y[0] = str(i) | str | kernels call Python functions
y[0] = np.cumsum(x) | np.cumsum | kernels call Python functions
y[0] = Point(1) | Point | kernels call Python functions
y[0] = Shade | Shade | a number is allowed
y[0] = Point.moved(1, 2) | self | use @staticmethod
y[0] = point.moved(1) | point.moved | use @staticmethod
y[0] = Point.made(1) | Point.made | use @staticmethod
y[0] = hostile | hostile | a number is allowed
y[0] = hostile.name | hostile.name | no such name
y[0] = hostile(1) | hostile | kernels call Python functions
y[0] = hostile[0] | hostile | has no elements
y[0] = hostile == hostile | hostile == hostile | numbers are compared
y[0] = recursive(1) | recursive(a) | no recursion; write a loop
y[0] = first(1) | first(a) | no recursion; write a loop
y[0] = starred(1) | a | name each argument
y[0] = generator(1) | yield a | store the values in an array
y[0] = sometimes(i) | def sometimes(a): | nothing at its end
y[0] = eval_(1) | - | write def in a file or a cell
y[0] = Point.double() | Point.double() | missing a required argument: 'a'
y[0] = Point.double(1, 2) | Point.double(1, 2) | too many positional arguments
y[0] = Point.double(1, b=2) | Point.double(1, b=2) | unexpected keyword argument 'b'
y[0] = i(1) | i | no function of this kernel
y[0] = i.nothing | i.nothing | no attribute nothing
y[0] = x.T[0, 0] | x.T | arrays have shape
x += 1 | x | write x[i]
x.shape = 1 | x.shape | names, x[i] and tuples
i[0] = 1 | i | elements of arrays
a, b = x | a, b | 2 names for an array
a, b = 1, 2, 3 | a, b | 2 names for a tuple of 3
for k in x: pass | x | range(len(x))
for k in 5: pass | 5 | range and tuples are allowed
for k in range(1.5): pass | 1.5 | integers are allowed
for k in range(0, 5, 0): pass | 0 | the step of range is 0
for k in range(): pass | range() | takes 1 to 3 integers
return 5 | return 5 | store the value in an array
y = 1\\nx = 2\\nx = y[0] | y | has no elements
k = x\\nk = 1 | k = 1 | use another name
k = (1, 2)\\nk = 1 | k = 1 | use another name
k = u[0]\\nk = i | k = i | k is uint64 at line 3, and int64 here
y[0] = get_global_id(3) | 3 | dimensions are 0, 1 and 2
y[0] = get_global_id() | get_global_id() | an argument is missing
y[0] = get_global_id(1.0) | 1.0 | a dimension is an integer
barrier(4) | 4 | LOCAL_MEM_FENCE, GLOBAL_MEM_FENCE
a = local_array(i, usmpy.int8) | i | a constant integer
a = private_array((), usmpy.int8) | () | 1 to
a = private_array(4, float) | float | such as usmpy.float32
a = private_array(4, usmpy.int8)\\na[-5] = 1 | a[-5] | index -5 of the private array
atomic_add(x, (0, 0), 1, order="never") | "never" | 'seq_cst'
atomic_add(i, 0, 1) | i | an array is allowed
atomic_and(x, (0, 0), 1) | x | int32, uint32, int64 and uint64 are allowed
atomic_add(y, 0) | atomic_add(y, 0) | an argument is missing
atomic_add(y, 0, 1.5) | 1.5 | usmpy.int32(...)
print(i, end="") | "" | no arguments by name
y[0] = 1 if i else None | None | a number is allowed
y[0] = k\\nk = 1 | k | k may have no value here
k += 1 | k | k may have no value here
k: int\\ny[0] = k | k | k may have no value here
"""
OVERFLOWS = """
y[0] = 2 ** 40 | y[0] = 2 ** 40 | does not fit into int32
y[0] += 2 ** 31 | y[0] += 2 ** 31 | does not fit into int32
i = i + 2 ** 63 | i + 2 ** 63 | does not fit into int64
k = 10 ** 400 * x[0, 0] | 10 ** 400 * x[0, 0] | does not fit into float32
for k in range(2 ** 70): pass | 2 ** 70 | does not fit into int64
"""
TYPES = ("float32[2]", "int32[1]", "uint64[1]", "bool[1]")


def rows(text):
    return [tuple(part.strip() for part in line.split(" | ")) for line in text.strip().splitlines()]


def kernel_of(statement):
    lines = textwrap.indent(statement.replace("\\n", "\n"), "    ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return function_of(f"def kernel(x, y, u, b):\n    i = get_global_id(0)\n{lines}\n", **NAMES)


def check_place(message, marked):
    """The caret stands under these words of the line, which the message shows."""
    found = re.search(r":(\d+):(\d+): [^\n]*\n    ([^\n]*)\n    ( *)(\^~*)", message)
    assert found, message
    shown = found[3][len(found[4]) :][: len(found[5])]
    assert shown == marked, message
    return int(found[1])


@pytest.mark.parametrize(("statement", "marked", "words"), rows(AT_THE_DECORATOR))
def test_what_needs_no_types_fails_at_the_decorator(statement, marked, words):
    function = kernel_of(statement)
    with pytest.raises(usmpy.BuildError, match=re.escape(words)) as caught:
        usmpy.kernel(function)
    check_place(str(caught.value), marked)


@pytest.mark.parametrize(
    ("kind", "statement", "marked", "words"),
    [(usmpy.BuildError, *row) for row in rows(AT_THE_CALL)]
    + [(OverflowError, *row) for row in rows(OVERFLOWS)],
)
def test_the_rest_fails_at_the_call(kind, statement, marked, words):
    function = kernel_of(statement)
    kernel = usmpy.kernel(function)
    with pytest.raises(kind, match=re.escape(words)) as caught:
        program_of(function, *TYPES)
    if marked != "-":
        check_place(str(caught.value), marked)
    arrays = [
        usmpy.zeros(s, dtype=t, device="host") for s, t in (((2, 2), "float32"), (2, "int32"), (2, "uint64"))
    ]
    arrays.append(usmpy.zeros(2, dtype="bool", device="host"))
    with pytest.raises(kind):
        kernel[usmpy.Range(1)](*arrays)
    assert [bool(array.asnumpy().any()) for array in arrays] == [False] * 4  # nothing was enqueued
    assert kernel.specialisations == []


# Definite assignment.

ASSIGNED = {
    "if x[0] > 0:\n    k = 1\nelse:\n    k = 2": True,
    "if x[0] > 0:\n    k = 1": False,
    "if x[0] > 0:\n    k = 1\nelif x[0] < 1:\n    k = 2": False,
    "if x[0] > 0:\n    k = 1\nelse:\n    return": True,
    "for k in range(3):\n    pass": True,
    "for k in range(3, 3):\n    pass": False,
    "for k in range(len(x)):\n    pass": False,
    "for k in (1, 2):\n    pass": True,
    "for k in ():\n    pass": False,
    "for j in range(2):\n    if x[j] > 0:\n        break\n    k = 1": False,
    "for j in range(2):\n    if x[j] > 0:\n        continue\n    k = 1": False,
    "for j in range(2):\n    k = 1\n    if x[j] > 0:\n        break": True,
    "for j in (1, 2):\n    if x[j] > 0:\n        break\n    k = 1": False,
    "for j in (1, 2):\n    k = j\n    if x[j] > 0:\n        continue": True,
    "while x[0] > 0:\n    k = 1": False,
    "while True:\n    k = 1\n    break": True,
    "while True:\n    if x[0] > 0:\n        break\n    k = 1": False,
    "while True:\n    if x[0] > 0:\n        k = 1\n        break": True,
    "k = 1 if x[0] > 0 else 2": True,
    "if None is None:\n    k = 1": True,
    "(k, j) = (1, 2)": True,
    "assert x[0] > 0\nk = 1": True,
}


@pytest.mark.parametrize("text", ASSIGNED)
def test_definite_assignment(text):
    body = textwrap.indent(text, "    ")
    function = function_of(f"def kernel(x):\n{body}\n    x[0] = k\n", **NAMES)
    if ASSIGNED[text]:
        usmpy.Program(program_of(function, "float32[1]").text(), device="host", options="-O0")
        return
    with pytest.raises(usmpy.BuildError, match="k may have no value here") as caught:
        program_of(function, "float32[1]")
    assert check_place(str(caught.value), "k") == body.count("\n") + 3


# Lines, columns and carets.

PLACES = [
    ("def k(x):\n    x[0] = (1 +\n            nothing)\n", 3, "nothing"),
    ("def k(x):\n    x[0] = (1 << x[0] +\n            1)\n", 2, "1 << x[0] +"),
    ("def k(x):\n\tif x[0] > 0:\n\t\tx[0] = nothing\n", 3, "nothing"),
    ("def k(x):\n    x[0] = 'größer' + nothing\n", 2, "'größer'"),
    ("def k(x):\n    é = 1; x[0] = é + nothing\n", 2, "nothing"),
    ("class C:\n    class D:\n        def k(x):\n            x[0] = nothing\n", 4, "nothing"),
    ('class C:\n    def k(x):\n        """Text\nat column 0"""\n        x[0] = nothing\n', 5, "nothing"),
    ("def of(n):\n    def k(x):\n        x[n] = nothing\n    return k\n", 3, "nothing"),
    (
        "import functools\nd = lambda *a: lambda f: f\n@d(1,\n   2)\n@d()\ndef k(x):\n    x[0] = nothing\n",
        7,
        "nothing",
    ),
    (
        "class C:\n    @staticmethod\n    def k(x):\n        x[0] = (\n            nothing + 1)\n",
        5,
        "nothing",
    ),
    (
        "if True:\n    def k(\n        x,  # it\n    ):\n        # a comment\n        x[0] = nothing\n",
        6,
        "nothing",
    ),
]


@pytest.mark.parametrize(("text", "line", "marked"), PLACES)
def test_lines_and_carets(text, line, marked):
    where = {"class C:\n    class": "C.D.k", "class C:\n    ": "C.k", "def of": "of(1)"}
    place = next((name for start, name in where.items() if text.startswith(start)), "k")
    found = function_of(f"{text}k = {place}\n", "k")
    with pytest.raises(usmpy.BuildError) as caught:
        program_of(found, "float32[1]")
    assert check_place(str(caught.value), marked) == line


def test_static_methods_and_closures_are_kernels():
    class Own:
        @usmpy.kernel
        @staticmethod
        def twice(x):
            __first = x[0]
            x[0] = Point.double(__first)

    def adder(n):
        @usmpy.kernel
        def add(x):
            x[0] += n

        return add

    x = usmpy.ones(1, device="host")
    Own.twice[usmpy.Range(1)](x)
    adder(3)[usmpy.Range(1)](x)
    assert x.tolist() == [5.0]


def test_nonlocal_is_refused():
    count = 0

    def kernel(x):
        nonlocal count
        count = 1

    with pytest.raises(usmpy.BuildError, match="pass an array to write to") as caught:
        usmpy.kernel(kernel)
    check_place(str(caught.value), "nonlocal count")


def test_warnings_are_not_repeated():
    function = kernel_of("y[0] = 5(0)")  # a SyntaxWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usmpy.kernel(function)


def test_self_is_refused_at_the_decorator():
    with pytest.raises(usmpy.BuildError, match="use @staticmethod") as caught:
        usmpy.kernel(Point.moved)
    check_place(str(caught.value), "self")


def test_functions_without_a_source():
    names = {}
    exec("def kernel(x):\n    x[0] = 1\n", names)
    for function in (names["kernel"], eval("lambda x: x")):
        with pytest.raises(usmpy.BuildError, match="write def in a file or a cell"):
            usmpy.kernel(function)
    with pytest.raises(usmpy.BuildError, match="define a function outside"):
        usmpy.kernel(lambda x: x)


def test_a_changed_file_is_noticed():
    function = function_of("def kernel(x):\n    x[0] = 1\n")
    function.__code__ = function.__code__.replace(co_name="other")
    with pytest.raises(usmpy.BuildError, match="the file has changed"):
        usmpy.kernel(function)


def test_deep_nesting_is_refused():
    tests = "".join(f"    {'el' * (k > 0)}if x[0] == {k}:\n        x[0] = 1\n" for k in range(600))
    with pytest.raises(usmpy.BuildError, match="nested too deeply"):
        program_of(function_of(f"def kernel(x):\n{tests}"), "float32[1]")


# Random changes of the corpus.

PEERS = (peers_dpex, peers_numba_cuda, peers_cupy_jit)
CORPUS = [case for module in PEERS for case in module.CASES]
BUILT = 0.08  # of the mutants that the translator takes


def on_host(argument):
    if isinstance(argument, cases.Local):
        return usmpy.LocalMemory(argument.n, argument.dtype)
    numbers = cases.numbers_of(argument)
    if numbers is None:
        return argument
    array = usmpy.asarray(numbers, device="host", copy=True)
    return argument.view(array) if isinstance(argument, cases.View) else array


def outcome(function, arguments, check, built):
    """What building it for the arguments gave: None, or the class of an error that is allowed."""
    source = error = None
    try:
        source = usmpy.kernel(function, check=check).source(*arguments)
    except (usmpy.BuildError, OverflowError, TypeError) as refusal:
        error = refusal
    if error is not None:
        assert re.search(r" does not build: [^\n]*:\d+:\d+: ", str(error)), str(error)
        return type(error).__name__
    if built:
        usmpy.Program(source, device="host", options="-O0")
    return None


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_raise_nothing_else(seed):
    draw = random.Random(seed)
    counts = collections.Counter()
    for _ in range(150):
        case = draw.choice(CORPUS)
        tree = ast.parse(textwrap.dedent(inspect.getsource(case.function))).body[0]
        tree.decorator_list = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            text = mutations.mutant(tree, draw)
            if text is None:
                continue
            closure = inspect.getclosurevars(case.function).nonlocals
            try:
                function = function_of(text, **{**NAMES, **case.function.__globals__, **closure})
            except (NameError, TypeError):  # of a default
                continue
        arguments = [on_host(argument) for argument in case.make(np.random.default_rng(5))[1]]
        counts[outcome(function, arguments, draw.random() < 0.3, draw.random() < BUILT)] += 1
    assert counts[None] > 10
    assert counts["BuildError"] > 10
