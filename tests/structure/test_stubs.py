"""usmpy/_core.pyi says the whole truth about the built module, and type checkers believe it."""

import importlib.util
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from libraries import need_tool
from test_docstrings import HINTS

import usmpy
from usmpy import _core

ROOT = Path(__file__).parents[2]
STUB = ROOT / "usmpy" / "_core.pyi"
pytestmark = [
    pytest.mark.not_sanitized("it reads sources and runs other programs"),
    pytest.mark.release("it types the package with three programs"),
]

# What stubtest may find, each with its reason; an entry that it does not need is a finding too.
ALLOWED = {
    r"usmpy\._core\.Program\.__getattr__": "kernels; the slot's name is __getattribute__",
    r"usmpy\._dask_array": "imports Dask, which this environment lacks (tests/tools/with_processes.py)",
    r"usmpy\.__all__": "mypy does not follow += _core.__all__; a test below compares these names",
    r"usmpy\._core\.where": "where(condition) alone, an overload, is taken before its table of parameters",
}
# What an array has not, as its error explains: for type checkers too.
ALLOWED |= {rf"usmpy\._core\.USMArray\.{name}": "raises AttributeError" for name in HINTS}
ALLOWED[r"usmpy\._python_kernels\.numbers\.Typed\.\w+"] = "operators, made in a loop"
if sys.version_info < (3, 12):
    ALLOWED[r"usmpy\._core\.USMArray\.__buffer__"] = "the slot has a name in Python only from 3.12 on"
# What a testing build has and a release has not (test_wheel.py checks the latter).
TESTING_ONLY = {
    "_fault",
    "_fault_calls",
    "_fault_entries",
    "_kernel_launches",
    "_kernel_sources",
    "_forget_reports",
    "_live_counts",
    "_set_dlpack_types",
}

GOOD = """
import asyncio
from typing import Any, assert_type

import numpy as np
import usmpy
from usmpy import Device, Event, Queue, USMArray

q = Queue("host", in_order=False, priority="low")
x = usmpy.zeros((3, 4), dtype=usmpy.float32, device=q)
y = usmpy.asarray([[1, 2], [3, 4.5]], dtype="float64", usm_type="shared")
z = usmpy.from_dlpack(np.ones(3), device=(1, 0), copy=False)
scalars = usmpy.asarray(np.float32(1)), usmpy.full(3, np.int64(2)), usmpy.asarray(1j), usmpy.asarray(b"12")
assert_type(x.shape, tuple[int, ...])
assert_type(x.flags.writable, bool)
e = q.memcpy(x, y, depends=[q.barrier()])
assert_type(e, Event)
e2 = q.fill(x, 1.5, depends=e)
q.fill(bytearray(3), 7)
q.fill(bytearray(3), 7, blocking=False)
assert_type(q.memcpy(x, y, blocking=None), Event)
q.host_task(print, x, "text", depends=(e, e2)).wait(1)
Event.wait_all({e, e2}, timeout=2.5)
for row in x:
    assert_type(row, USMArray)
x[0, ..., None, 1:2] = 3
x[:] = np.ones((3, 4))
back = np.from_dlpack(x)
view = memoryview(x)
names = (np.float32, np.dtype("int8"), float, bool, usmpy.bool, "bfloat16")
dtypes = [usmpy.empty(1, dtype=name).dtype for name in names]
numpy_dtype = np.dtype(usmpy.float32)
with usmpy.borrow(np.ones(3), q) as borrowed:
    assert_type(borrowed, USMArray)
with x.lend(q) as pointer:
    assert_type(pointer, int)
assert_type(usmpy.get_execution_queue([x, q]), Queue | None)
if usmpy.memory_connection(x, q.device) is usmpy.MemoryConnection.UNIFIED:
    usmpy.copyto(np.zeros(3), x, casting="unsafe")
program = usmpy.Program("kernel void add(global float *x, float a) {}", device=q, language="portable")
kernel: usmpy.Kernel = program.add if "add" in program.kernel_names else program["add"]
e3 = kernel[usmpy.Range(3, 4), [e2]](x, 1.5)
q.submit(kernel, (x, np.float32(2)), usmpy.NdRange((4, 4), (2, 2)), depends=[e3]).wait()
kernel[100](x, usmpy.LocalMemory(64), usmpy.LocalMemory(16, "float32"))
squared = usmpy.ElementwiseKernel("T x", "T y", "y = x * x", preamble="#define A 1")
assert_type(squared.name, str)
squared(x, out=x, where=x > 0, depends=[e3])
usmpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", 0)(x, axis=(0, 1), keepdims=True)
usmpy.ScanKernel("T x", "T y", "x", "a + b", identity=0, scan_type="T")(x, axis=0, include_initial=True)
assert_type(usmpy.random.Generator(1, device="host").normal(0, 1, (2, 3), dtype="float32"), USMArray)
usmpy.random.integers(3, size=4, queue=q, endpoint=True)
usmpy.Kernel.from_pointer(1234, ["const float32*", "int32"], name="f")
usmpy.concat([x, y], axis=None).astype(usmpy.int8).to_device("host")
x[[0, 2]] = y[0, [True, False], None]
x[np.array([0, 1]), 1:] = [[1, 2, 3]]
mask = (x > 0) & (x != 2) | ~(x == 1) ^ True
mask |= usmpy.isnan(x, out=mask)
y = 2 * x + y**2 - 1.5 // x % 3
y /= -abs(x)
assert_type(y, USMArray)
assert_type(divmod(x, 2), tuple[USMArray, USMArray])
assert_type(~usmpy.asarray([1, 2]) << 1 & 7, USMArray)
assert_type(usmpy.exp(x, out=y).sum(axis=0, keepdims=True), USMArray)
usmpy.cumulative_sum(usmpy.maximum(x, 0).max(1), dtype="float32")
assert_type(usmpy.where(mask), tuple[USMArray, ...])
assert_type(usmpy.where(mask, x, 0, order="F"), USMArray)
usmpy.put(x, [0, -1], 3.5, axis=0)
usmpy.put_along_axis(x, [[0], [1], [2]], 1.5, axis=1)
usmpy.expand_dims(usmpy.squeeze(x), axis=(0, -1)).swapaxes(0, 1).reshape(3, -1, order="F")
stacked = usmpy.asarray([[x, y], [np.ones(3), [1, 2, 3]]], dtype="<f4")
assert_type(f"{x[0, 0]:.2f}", str)
devices: list[Device] = usmpy.get_devices("host", "cpu")
assert_type(devices[0].platform.name, str)
assert_type(devices[0].max_clock_frequency, int | None)
devices.append(usmpy.select_device_with_aspects(["fp64"], excluded="gpu"))

async def wait() -> None:
    assert_type(await e, Any)
    assert_type(e.result(timeout=1), Any)
    e.add_done_callback(lambda event: event.exception())

asyncio.run(wait())
"""

# Each line is an error.
BAD = (
    "usmpy.zeros(3, usmpy.float32)  # dtype is keyword-only",
    'usmpy.zeros(3, usm_type="managed")',
    'usmpy.Queue(priority="urgent")',
    'usmpy.Queue("host", usmpy.Queue().context)',
    'usmpy.USMArray(3, order="K")',
    "usmpy.from_dlpack([1, 2])",
    "usmpy.from_dlpack(x=array)",
    "usmpy.copyto(array, array, casting='safely')",
    "usmpy.empty_like([1, 2])",
    "array.nothing",
    "array.mode()",
    "array + [1]",
    "usmpy.equal(array, [1, 2])",
    "array.reshape(3, order='K')",
    "array.shape = (3,)",
    'array.usm_type == "managed"',
    "array.wait(timeout='1 s')",
    "queue.fill([1, 2], 1.5)",
    "queue.fill(array, 1.5, blocking=1)",
    "queue.wait_for(1.5)",
    "usmpy.Program('', language='fortran')",
    "usmpy.ElementwiseKernel('T x', 'T y')",
    "usmpy.random.random(dtype=3)",
    "queue.submit(print, (), 1)",
    "class Mine(usmpy.USMArray): ...",
)


def check(program, tmp_path, *options):
    """mypy over a program: its exit status, and what it says."""
    path = tmp_path / "program.py"
    path.write_text(program)
    cache = tmp_path.parent / "mypy"  # of the whole run: the stubs of Python and NumPy are read once
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *options, path],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_stub_is_the_one_of_its_sources():
    stub = runpy.run_path(str(ROOT / "csrc/py/stub.py"))["stub"]
    assert STUB.read_text(encoding="utf-8") == stub(), "run python csrc/extension.py"


def test_sources_of_the_stub_lose_nothing_and_share_no_name(tmp_path):
    module = runpy.run_path(str(ROOT / "csrc/py/stub.py"))
    source = tmp_path / "subject.pyi"
    function = 'def {}() -> None:\n    """What it does."""\n'
    heads = "", '"""A subject."""\n\n', "import os\n\n", '"""A subject."""\n\nfrom .types import Queue\n\n'
    for head in heads:
        source.write_text(head + function.format("first") + "\n" + function.format("second"))
        _, text = module["parts_of"](source)
        assert [*module["names_of"](text)] == ["first", "second"]
        assert text.startswith("def first")
    shutil.copytree(module["STUBS"], tmp_path / "stubs")
    (tmp_path / "stubs" / "subject.pyi").write_text(function.format("arange"))
    module["stub"].__globals__["STUBS"] = tmp_path / "stubs"
    with pytest.raises(SystemExit, match=r"subject\.pyi defines arange, and so does .*creation\.pyi"):
        module["stub"]()


def test_mypy_finds_nothing_in_the_package():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubtest_finds_nothing(tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text("\n".join(ALLOWED))
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "usmpy",
        "--allowlist",
        allowed,
        "--mypy-config-file",
        ROOT / "pyproject.toml",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success" in done.stdout


def test_a_typed_program_passes(tmp_path):
    status, said = check(GOOD, tmp_path)
    assert status == 0, said


SETUP = "import usmpy\narray = usmpy.empty(3)\nqueue = usmpy.Queue()\n"
BAD_LINES = set(range(SETUP.count("\n") + 1, SETUP.count("\n") + 1 + len(BAD)))


def test_wrong_programs_are_refused(tmp_path):
    status, said = check(SETUP + "\n".join(BAD), tmp_path, "--strict-equality")
    assert status == 1, said
    lines = {int(line) for line in re.findall(r"^\S*program\.py:(\d+): error: ", said, re.M)}
    assert lines == BAD_LINES, said


# PyTorch is in the extra "test", not in "dev".
TOUR = [str(ROOT / "docs" / "examples" / "tour.py")] if importlib.util.find_spec("torch") else []


@pytest.mark.skipif(not TOUR, reason="the tour imports PyTorch, which is not installed")
def test_mypy_finds_nothing_in_the_tour():
    need_tool("rich")
    command = [sys.executable, "-m", "mypy", "--strict", "docs/examples/tour.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# Pyright, which basedpyright brings with all that it needs; "strict" means the same there.


def pyright(*arguments):
    """Its output as JSON; it may report errors."""
    need_tool("basedpyright")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)


def test_strict_pyright_takes_the_tour_the_stub_and_a_typed_program_and_refuses_wrong_ones(tmp_path):
    need_tool("rich")
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(SETUP + "\n".join(BAD))
    project = {
        "include": [*TOUR, str(STUB), str(tmp_path / "good.py"), str(tmp_path / "bad.py")],
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(project))
    said = pyright("--project", tmp_path)
    assert said["summary"]["filesAnalyzed"] == len(project["include"])
    refused = set()
    for finding in said["generalDiagnostics"]:
        assert finding["file"].endswith("bad.py"), finding
        refused.add(finding["range"]["start"]["line"] + 1)
    assert refused == BAD_LINES


def test_every_type_of_the_public_interface_is_known():
    said = pyright("--verifytypes", "usmpy", "--ignoreexternal")
    report = said["typeCompleteness"]
    assert report["exportedSymbolCounts"]["withKnownType"] > 150
    unknown = [symbol["name"] for symbol in report["symbols"] if not symbol["isTypeKnown"]]
    assert report["completenessScore"] == 1, unknown


@pytest.mark.parametrize("module", [usmpy, _core], ids=["usmpy", "usmpy._core"])
def test_every_public_callable_has_a_signature(module):
    without = []
    for name, value in vars(module).items():
        if name in TESTING_ONLY or name.startswith("__") or not callable(value):
            continue
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        members = [(name, value)]
        if isinstance(value, type) and value.__module__.startswith("usmpy") and not issubclass(value, tuple):
            members += [(f"{name}.{key}", member) for key, member in vars(value).items() if callable(member)]
        for label, member in members:
            try:
                inspect.signature(member)
            except ValueError:
                without.append(label)
    assert not without


def test_every_public_name_of_the_package_is_in_the_stub_of_the_extension_or_written_in_python():
    stub = STUB.read_text(encoding="utf-8")
    for name in usmpy.__all__:
        if hasattr(_core, name):
            assert re.search(rf"^(?:class |def )?{name}\b[:(]", stub, re.M), name
        else:
            value = getattr(usmpy, name)
            assert not callable(value) or value.__module__.startswith("usmpy."), name


def test_the_stub_has_every_name_of_the_extension_but_those_of_the_tests():
    stub = STUB.read_text(encoding="utf-8")
    names = {name for name in vars(_core) if not name.startswith("__")}
    missing = {name for name in names if not re.search(rf"^(?:class |def )?{name}\b[:(]", stub, re.M)}
    assert missing == TESTING_ONLY


def test_arrays_are_iterable_as_the_stub_says():
    array = usmpy.asarray([[1, 2], [3, 4]])
    assert isinstance(array, Iterable)
    assert [row.tolist() for row in array] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="0 dimensions"):
        iter(usmpy.asarray(1))


# Parsers in C have tables of parameters; the text that help() shows must agree with them.
TABLE = (
    r"\{\s*\"(?P<name>\w+)\",\s*(?P<n>\d+),\s*(?P<positional>\d+),"
    r"\s*(?P<only>\d+),\s*(?P<required>\d+)(?: \| USMPY_AND\((?P<also>\d+)\))?,\s*\{(?P<names>[^}]*)\}"
)


def parsers():
    """
    (file or the macro of docstrings.h, function, number of positional, of positional-only parameters, the
    required ones, names).
    """
    generated = runpy.run_path(str(ROOT / "csrc" / "py" / "docstrings.py"))["c_header"]
    generated = generated(STUB.read_text(encoding="utf-8"))
    texts = {path.name: path.read_text() for path in sorted((ROOT / "csrc" / "py").rglob("*.c"))}
    matches = [
        (match["macro"], match)
        for match in re.finditer(rf"(?P<macro>SIGNATURE_\w+) \\\n    {TABLE}", generated)
    ]
    for name, text in texts.items():
        matches += [(name, match) for match in re.finditer(rf"usmpy_signature signature = {TABLE}", text)]
    found = []
    for file, match in matches:
        names = [name.strip().removeprefix("USMPY_") for name in match["names"].split(",")]
        names = names[: int(match["n"])]
        required = names[: int(match["required"])] + ([names[int(match["also"])]] if match["also"] else [])
        found.append((file, match["name"], int(match["positional"]), int(match["only"]), required, names))
    return found


def holders(name):
    """Callables of the module with this name: functions, classes and methods."""
    found = [getattr(_core, name)] if callable(getattr(_core, name, None)) else []
    for value in vars(_core).values():
        if (
            isinstance(value, type)
            and value.__module__.startswith("usmpy")
            and callable(vars(value).get(name))
        ):
            found.append(vars(value)[name])
    return found


def test_text_signatures_agree_with_the_tables_that_parse_the_arguments():
    tables = parsers()
    uses, written = set(), 0  # tables from the stub, and others
    for path in (ROOT / "csrc" / "py").rglob("*.c"):
        text = path.read_text()
        uses |= set(
            re.findall(r"USMPY_(?:(?:FUNCTION|FUNCTION_OF|MEMBER|CLASS_MEMBER|NEW)\(|SIGNATURE_)(\w+)", text)
        )
        if "USMPY_ENTER(USMArray_##name" in text:  # a list of methods
            uses |= {f"USMArray_{name}" for name in re.findall(r"\bEACH\((\w+)", text)}
        # Tables that are not static are of several functions, and get their names from the caller.
        written += text.count("static const usmpy_signature signature = {")
    assert sum(".c" in file for file, *_ in tables) == written  # the pattern finds them all
    tables = [table for table in tables if ".c" in table[0] or table[0].removeprefix("SIGNATURE_") in uses]
    assert len(tables) > 100
    for file, name, positional, only, required, names in tables:
        shown = []
        for holder in holders(name):
            signature = list(inspect.signature(holder).parameters.values())
            if signature and signature[0].name in ("self", "type"):
                signature = signature[1:]
            signature = [part for part in signature if part.kind != part.VAR_POSITIONAL]  # *arrays
            kinds = [parameter.kind for parameter in signature]
            shown.append(
                (
                    sum(kind != inspect.Parameter.KEYWORD_ONLY for kind in kinds),
                    sum(kind == inspect.Parameter.POSITIONAL_ONLY for kind in kinds),
                    {
                        parameter.name
                        for parameter in signature
                        if parameter.default is inspect.Parameter.empty
                    },
                    {parameter.name for parameter in signature},
                )
            )
        wanted = (positional, only, set(required), set(names))
        assert wanted in shown, f"{file}: {name}: parsed {wanted}, shown {shown}"
