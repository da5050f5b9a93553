"""Docstrings of public classes, functions, methods and properties: sections, parameters, units, sources."""

import ast
import builtins
import enum
import inspect
import re
from pathlib import Path

import pytest
from test_doctests import PUBLIC
from together import together

import usmpy
from usmpy import _core, errors

CLASSES = [_core.Context, _core.Device, _core.DType, _core.Event, _core.Queue, _core.USMArray, _core.borrow]
CLASSES += [_core.Program, _core.Kernel, _core.Range, _core.NdRange, _core.LocalMemory]
CLASSES += [_core.Flags, _core.FloatLimits, _core.IntegerLimits, type(_core.empty(1).lend())]
# Methods of NumPy's arrays that USMArray lacks; the AttributeError names the function.
HINTS = {"sort", "dot", "cumsum", "cumprod", "round", "conj"}
MACHINERY = {"__new__", "__module__", "__doc__", "__match_args__"}


def members(cls):
    """(qualified name, descriptor) of the members that the class itself defines and documents."""
    for name, value in vars(cls).items():
        # Wrappers of CPython's slots (__eq__, __len__, ...) have the interpreter's docstring.
        if value is None or name in MACHINERY or (cls is _core.USMArray and name in HINTS):
            continue
        if type(value).__name__ in ("wrapper_descriptor", "int", "PyCapsule"):
            continue
        if issubclass(cls, tuple) and name in ("__reduce__", "__replace__"):  # of every struct sequence
            continue
        yield f"{cls.__name__}.{name}", value


def functions():
    for name in usmpy.__all__:
        value = getattr(usmpy, name)
        if inspect.isroutine(value):
            yield name, value


MEMBERS = [member for cls in CLASSES for member in members(cls)]
PROPERTIES = [(name, value) for name, value in MEMBERS if not callable(value)]
CALLABLES = [
    *functions(),
    *((name, value) for name, value in MEMBERS if callable(value)),
    *(
        (cls.__name__, cls)
        for cls in CLASSES
        if not issubclass(cls, tuple) and cls.__name__ not in ("Event", "_Loan", "Kernel")
    ),
]


def ids(pairs):
    return [name for name, _ in pairs]


def parameters(value):
    """Names of the parameters that a caller passes."""
    function = getattr(value, "__func__", value)  # of a class method in Python
    names = [parameter.name for parameter in inspect.signature(function).parameters.values()]
    return [name for name in names if name not in ("self", "type", "cls")]


def test_the_lists_are_not_empty():
    assert len(PROPERTIES) > 60
    assert len(CALLABLES) > 60
    assert {"Queue.memcpy", "from_dlpack", "Device", "get_devices"} <= set(ids(CALLABLES))
    assert {"USMArray.strides", "Device.uuid", "Flags.writable"} <= set(ids(PROPERTIES))


@pytest.mark.parametrize("name", sorted(HINTS))
def test_a_missing_method_names_the_function(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': use usmpy"):
        getattr(_core.empty(1), name)


@together("name, value", [*PROPERTIES, *CALLABLES, *((cls.__name__, cls) for cls in CLASSES)])
def test_it_starts_with_a_sentence(name, value):
    text = inspect.getdoc(value)
    assert text
    first = text.split("\n\n")[0]
    assert re.match(r"[A-Z'`(]|dst\[|start \+|num |c_contiguous|usm_type|uuid|complex\(\)", first), first
    assert re.search(r"[.?]$", first.rstrip()), first
    assert not re.search(r"[ \t]$", text, re.M)
    assert max(map(len, text.splitlines())) <= 110


@together("name, value", CALLABLES)
def test_it_names_each_parameter(name, value):
    text = inspect.getdoc(value)
    missing = [parameter for parameter in parameters(value) if not re.search(rf"\b{parameter}\b", text)]
    assert not missing


@together("name, value", CALLABLES)
def test_a_callable_with_parameters_documents_its_exceptions(name, value):
    text = inspect.getdoc(value)
    if not parameters(value):
        return
    said = re.search(r"^Raises\s(.*)", text, re.M | re.S)
    assert said, "a paragraph or a section that begins with 'Raises'"
    known = {name for module in (builtins, errors) for name in vars(module)}
    for error in re.findall(r"\b\w+(?:Error|Unavailable|NotFound)\b", said[1]):
        assert error in known, error


def returns_none():
    """Names of the functions and methods whose annotation says that they return None."""
    stub = Path(usmpy.__file__).with_name("_core.pyi")
    for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8"))):
        methods = node.body if isinstance(node, ast.ClassDef) else ()
        for method in (*methods, node):
            if isinstance(method, ast.FunctionDef) and ast.unparse(method.returns) == "None":
                yield f"{node.name}.{method.name}" if method is not node else method.name
    for name, value in PUBLIC.items():
        if getattr(value, "__annotations__", {}).get("return") == "None":
            yield name


RETURN_NONE = set(returns_none())


def sections(value):
    return re.findall(r"^(\w+)\n-{3,}$", inspect.getdoc(value), re.M)


def is_inherited(value):
    """A class that another class's __init__ makes, or an enumeration: it has no parameters of its own."""
    return (
        isinstance(value, type)
        and issubclass(value, (BaseException, enum.Enum))
        and ("__init__" not in vars(value) or issubclass(value, enum.Enum))
    )


@together("name", sorted(PUBLIC))
def test_it_has_the_sections_of_numpydoc(name):
    value = PUBLIC[name]
    wanted = []
    if not is_inherited(value) and parameters(value):
        wanted.append("Parameters")
    if not isinstance(value, type) and name not in RETURN_NONE:
        wanted.append("Returns")
    if wanted[:1] == ["Parameters"] and not (isinstance(value, type) and issubclass(value, BaseException)):
        wanted.append("Raises")
    wanted.append("Examples")
    found = sections(value)
    assert [section for section in wanted if section not in found] == []
    order = ["Parameters", "Returns", "Raises", "Notes", "Examples"]
    known = [section for section in found if section in order]
    assert known == sorted(known, key=order.index)


@together("name, value", PROPERTIES)
def test_properties_that_measure_name_the_unit(name, value):
    text = inspect.getdoc(value)
    for ending, unit in {
        "_ns": "nanoseconds",
        "bytes": "bytes",
        "itemsize": "bytes",
        "_size": "bytes",
        "strides": "[Ee]lements",
        "shape": "elements",
        "bits": "bits",
    }.items():
        if name.endswith(ending) and not name.endswith(("group_size", "image_max_buffer_size")):
            assert re.search(unit, text), text


SPECIFICATIONS = {
    "array API standard 2025.12": """
        arange asarray astype broadcast_to concat empty empty_like expand_dims eye flip from_dlpack full
        full_like linspace ones ones_like permute_dims reshape squeeze stack zeros zeros_like USMArray.T
        USMArray.mT USMArray.__dlpack__ USMArray.__dlpack_device__ USMArray.__array_namespace__
        USMArray.to_device USMArray.astype""",
    "DLPack 1.3": """
        from_dlpack USMArray.__dlpack__ USMArray.__dlpack_device__ borrow Device.dlpack_device DType.dlpack
        DType""",
    "SYCL 2020": """
        Context Device.create_sub_devices Event Event.wait Event.submit_time_ns Queue Queue.memcpy Queue.fill
        Queue.prefetch Queue.wait Queue.host_task USMArray USMArray.usm_type""",
    "PEP 3118": "borrow Queue.memcpy",
}


@pytest.mark.parametrize(
    ("name", "specification"),
    [(name, specification) for specification, names in SPECIFICATIONS.items() for name in names.split()],
)
def test_it_names_the_specification_that_it_follows(name, specification):
    value = _core
    for part in name.split("."):
        value = inspect.getattr_static(value, part)
    assert specification in " ".join(inspect.getdoc(value).split())


def test_python_modules_have_docstrings():
    for module in ("selectors", "errors", "_inspection.diagnose", "_enums"):
        loaded = __import__(f"usmpy.{module}", fromlist=["x"])
        assert loaded.__doc__
        for name in getattr(loaded, "__all__", []):
            assert inspect.getdoc(getattr(loaded, name)), name
