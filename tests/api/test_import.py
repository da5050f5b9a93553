"""What `import usmpy` reads, and what is read at its first use, which users cannot tell from the former."""

import ast
import importlib
import inspect
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from libraries import need

import usmpy
from usmpy import _core

ROOT = Path(usmpy.__file__).parents[1]
# Every program needs these, and C calls usmpy._failure by itself, also in a child that was forked while
# another thread imported something. Whoever adds one makes each start of a program slower.
MODULES = """
    usmpy usmpy._arrays usmpy._arrays.objects usmpy._core usmpy._enums usmpy._failure usmpy._inspection
    usmpy._inspection.trace usmpy._kernels usmpy._kernels.helpers usmpy._lazy usmpy._processes
    usmpy._processes.children usmpy._processes.share usmpy._processes.unpickle usmpy.errors usmpy.random
    usmpy.selectors
"""


def run(code):
    """What a new interpreter prints, which has only the standard library beside the package."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{textwrap.dedent(code)}"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_modules_that_an_import_reads():
    assert run("import usmpy; print(*sorted(n for n in sys.modules if n.startswith('usmpy')))") == (
        MODULES.split()
    )


def test_modules_of_the_standard_library_that_an_import_reads():
    slow = "asyncio contextlib dataclasses inspect logging pathlib re subprocess threading typing"
    assert run(f"import usmpy; print(*({slow!r}.split() & sys.modules.keys()))") == []


def in_python():
    """(name, module) of each function of csrc/py/functions/in_python.c."""
    source = ROOT / "csrc" / "py" / "functions" / "in_python.c"
    if not source.is_file():
        pytest.skip("an installed package has no sources")
    return [(n, m) for m, n in re.findall(r'EACH\("([\w.]+)", (\w+)\)', source.read_text(encoding="utf-8"))]


def test_functions_in_python_have_the_parameters_of_the_stub():
    rows = in_python()
    assert len(rows) > 20
    assert len({name for name, _ in rows}) == len(rows)  # the extension keeps them by name
    for name, module in rows:
        ours = inspect.signature(getattr(usmpy, name)).parameters.values()
        theirs = inspect.signature(getattr(importlib.import_module(module), name)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


def test_functions_in_python_are_read_at_their_first_call():
    for name, module in in_python():
        assert run(f"import usmpy; print(usmpy.{name}.__name__, {module!r} in sys.modules)") == [
            name,
            "False",
        ]


@pytest.mark.parametrize("name", ["mean", "unique_all", "put", "kernel", "diagnose", "arange"])
def test_functions_are_pickled_by_name(name):
    function = getattr(usmpy, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_wrong_call_names_the_function():
    with pytest.raises(TypeError, match=r"mean\(\)"):
        usmpy.mean()
    with pytest.raises(TypeError, match=r"var\(\).*'axes'"):
        usmpy.var(usmpy.ones(2, device="host"), axes=1)


@pytest.mark.parametrize(
    "use",
    [
        "from usmpy.random import Generator",
        "from usmpy import random; random.Generator",
        "import usmpy.random; usmpy.random.Generator",
        "import usmpy.random as random; random.Generator",
        "import importlib; importlib.import_module('usmpy.random').Generator",
        "import importlib, usmpy.random; importlib.reload(usmpy.random)",
        "import usmpy; usmpy.random.Generator",
        "import usmpy; dir(usmpy.random)",
        "import usmpy; vars(usmpy.random)",
        "import usmpy; usmpy.random.__doc__",
        "import usmpy; usmpy.random.__all__",
        "import usmpy; usmpy.random.mine = 1",
        "import usmpy; usmpy.random.normal = 1; assert usmpy.random.normal == 1",
        "import usmpy; del usmpy.random.normal; assert not hasattr(usmpy.random, 'normal')",
        "import usmpy, inspect; inspect.getmembers(usmpy.random)",
        "import usmpy; hasattr(usmpy.random, 'nothing')",
    ],
)
def test_random_is_read_by_its_first_use(use):
    assert run(
        f"""
        import usmpy
        assert "usmpy._kernels.elementwise" not in sys.modules
        repr(usmpy.random)
        before = usmpy.random, "usmpy._kernels.philox" in sys.modules
        {use}
        assert sys.modules["usmpy.random"] is usmpy.random is before[0]
        assert usmpy.random.Generator.__module__ == "usmpy.random"
        print(before[1], type(usmpy.random).__name__, "usmpy._kernels.philox" in sys.modules)
        """
    ) == ["False", "module", "True"]


def test_random_is_read_once_by_many_threads():
    assert run(
        """
        import threading, usmpy
        start, found = threading.Barrier(8), []
        def use():
            start.wait()
            found.append(usmpy.random.Generator)
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(found), len(set(found)))
        """
    ) == ["8", "1"]


def test_random_is_pickled_by_name_and_known_to_the_import_system():
    assert run(
        """
        import copy, pickle, usmpy
        module = usmpy.random
        assert pickle.loads(pickle.dumps(module)) is copy.copy(module) is module
        assert "usmpy._kernels.philox" not in sys.modules
        assert module.__cached__ == module.__spec__.cached and module.__package__ == "usmpy"
        print(type(module).__name__)
        """
    ) == ["_Unread"]


def test_functions_that_use_random_are_pickled_by_value():
    """As Dask, Ray and joblib do; the module has not been used yet."""
    cloudpickle = need("cloudpickle")
    paths = str(Path(cloudpickle.__file__).parents[1])
    assert (
        run(
            f"""
        sys.path.append({paths!r})
        import cloudpickle, usmpy
        def draw(n): return usmpy.random.normal(0, 1, n)
        from usmpy import random
        draws = lambda n: random.normal(0, 1, n)
        for function in (draw, draws):
            again = cloudpickle.loads(cloudpickle.dumps(function))
            print(again(3).shape)
        """
        )
        == ["(3,)"] * 2
    )


def test_a_child_of_a_fork_during_the_first_use_reads_random_itself():
    assert run(
        """
        import os, signal, threading, usmpy
        from importlib.machinery import SourceFileLoader
        exec_module = SourceFileLoader.exec_module
        reads, forked = threading.Event(), threading.Event()
        def read(self, module):
            if module.__name__ == "usmpy.random" and threading.current_thread() is thread:
                reads.set()
                forked.wait(30)
            return exec_module(self, module)
        SourceFileLoader.exec_module = read
        thread = threading.Thread(target=lambda: usmpy.random.Generator)
        thread.start()
        reads.wait(30)
        if (child := os.fork()) == 0:
            signal.alarm(30)
            os._exit(7 if usmpy.random.Generator.__name__ == "Generator" else 1)
        forked.set()
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    ) == ["7"]


def test_random_that_could_not_be_read_is_read_again():
    assert run(
        """
        import usmpy
        sys.modules["usmpy._kernels.philox"] = None
        for _ in range(2):
            try:
                usmpy.random.Generator
            except ImportError:
                print("refused")
        del sys.modules["usmpy._kernels.philox"]
        print(usmpy.random.Generator.__name__)
        """
    ) == ["refused", "refused", "Generator"]


@pytest.mark.parametrize("name", ["ElementwiseKernel", "ReductionKernel", "ScanKernel"])
def test_helpers_of_kernels_are_classes_before_their_first_use(name):
    kind = getattr(usmpy, name)
    assert list(inspect.signature(kind).parameters)[:2] == ["inputs", "outputs"]
    assert "depends" in inspect.signature(kind.__call__).parameters
    derived = type("Derived", (kind,), {"extra": 1})
    assert issubclass(derived, _core._Immutable)
    texts = {
        "ElementwiseKernel": ["y = x"],
        "ReductionKernel": ["x", "a + b", "y = a", 0],
        "ScanKernel": ["x", "a + b"],
    }
    made = derived("T x", "T y", *texts[name])
    assert made.extra == 1
    assert made(usmpy.ones(3, dtype="int32", device="host")).sum() in (3, 6)


def test_python_functions_of_arrays_submit_nothing_themselves():
    """The rule of docs/architecture.md: what submits work is C; Python puts functions together."""
    for folder in ("_arrays", "_numpy"):
        for path in sorted((ROOT / "usmpy" / folder).glob("*.py")):
            names = {
                n.attr
                for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(n, ast.Attribute)
            }
            assert not names & {"Program", "Kernel", "create_kernel", "memcpy", "submit", "fill"}, path
