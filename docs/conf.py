"""Sphinx: `python -m sphinx -W -n docs build/docs` (extra "docs", and graphviz for the drawings).

The build runs the notebooks and the programs of the gallery, so that the pages show what this version does.
"""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import itertools
import os
import pathlib
import re
import runpy
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The installed package comes first: the source folder, which is the current one, may have no extension.
sys.path.sort(key=lambda entry: entry in ("", str(ROOT)))
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning of debuggers, which no notebook needs

from docutils import nodes  # noqa: E402
from sphinx.ext import napoleon  # noqa: E402

import usmpy  # noqa: E402

project = "usmpy"
author = "The usmpy developers"
copyright = author
version = release = usmpy.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.graphviz",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# The gallery's pages are written to auto_gallery; numerics.md includes the table of errors.
exclude_patterns = ["examples", "gallery", "numerics-table.md"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Notebooks are stored without outputs (tests/docs/test_notebooks.py).
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 180  # seconds
nb_merge_streams = True

# Programs that need PyTorch are shown without their picture where it is not installed.
HAS_TORCH = importlib.util.find_spec("torch") is not None
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"\.py$" if HAS_TORCH else r"/(?!share_with_pytorch)\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (720, 300),
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "notebook_extensions": set(),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # seconds: pages do not show how long programs took
}

html_theme = "furo"
html_title = f"usmpy {release}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["pages.css"]
graphviz_output_format = "svg"
pygments_style = "a11y-high-contrast-light"  # of accessible-pygments, which furo brings
pygments_dark_style = "github-dark"

autodoc_typehints = "none"  # the stubs have them; the docstrings say what they mean
autodoc_member_order = "bysource"
# Docstrings have sections of numpydoc; a type in them links to its class.
NUMPYDOC = napoleon.Config(
    napoleon_google_docstring=False, napoleon_use_ivar=True, napoleon_preprocess_types=True
)

# Words that describe a type in a docstring and have no page of their own.
PLAIN_TYPES = """
    array arrays another library bytes bytes-like buffer callable capsule context function manager generator
    integers iterable mapping module nested number numbers object sequence sequences stream str int one
    ints float bool complex dict list tuple tuples type uuid.UUID numpy.dtype numpy.ndarray two three
    these None CUDA os.PathLike any Exception Allocation FloatLimits IntegerLimits NamespaceInfo Task
    UniqueAll UniqueCounts UniqueInverse
""".split()  # noqa: SIM905
# Classes that functions return: they have a page, but no name in a public module.
RETURNED = {"PythonKernel": "usmpy._python_kernels.kernel.PythonKernel"}
BUILTINS = set(vars(builtins))
WORD = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")


def parameters_of(value: Any) -> set[str]:
    try:
        return set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return set()


def numpydoc_to_rst(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn sections into fields, and words between single backticks into links or code."""
    parameters = parameters_of(value)
    parts = name.split(".")
    owners = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]

    def link(found: re.Match[str]) -> str:
        for owner in owners if found[1] not in parameters else ():
            target = f"{owner}.{found[1]}"
            if target != name and is_public(target):
                return f":py:obj:`{found[1]} <{target}>`"
        return f"``{found[1]}``"

    text = [line if line.lstrip().startswith((">>>", "...")) else WORD.sub(link, line) for line in lines]
    text = one_exception_an_entry(text)
    # Napoleon reads the first line of an attribute as "type: text".
    kind = "method" if what in ("attribute", "property") else what
    lines[:] = napoleon.NumpyDocstring(text, NUMPYDOC, app, kind, name, value, options).lines()


def one_exception_an_entry(lines: list[str]) -> list[str]:
    """Napoleon shows the first class of an entry such as "TypeError, ValueError" alone."""
    result: list[str] = []
    for i, line in enumerate(lines):
        if not re.fullmatch(r"[A-Z]\w+(, [A-Z]\w+)+", line):
            result.append(line)
            continue
        text = list(itertools.takewhile(lambda other: other.startswith(" "), lines[i + 1 :]))
        *names, last = line.split(", ")
        for name in names:
            result += [name, *text]
        result.append(last)
    return result


def is_public(path: str) -> bool:
    value: Any = usmpy
    for name in path.split(".")[1:]:
        if name.startswith("_") or not hasattr(value, name):
            return False
        value = getattr(value, name)
    return path != "usmpy" and (callable(value) or "." in path[len("usmpy.") :])


def resolve_type(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Plurals, and words that describe a type without being one."""
    if node.get("refdomain") != "py":
        return None
    target: str = node["reftarget"]
    if target in BUILTINS or all(word in PLAIN_TYPES for word in target.split()):
        return nodes.inline("", node.astext())
    path = RETURNED.get(target, f"usmpy.{target.removesuffix('s')}")
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", path, node, content)


def entries(names: list[str]) -> str:
    lines = "".join(f".. autofunction:: usmpy.{name}\n" for name in names)
    return f"```{{eval-rst}}\n{lines}```\n"


def list_functions(_app: Any, docname: str, source: list[str]) -> None:
    """The page of functions has those of the table of operations, and at its end all that no page names."""
    if docname != "reference/functions":
        return
    rows = [row.name for row in runpy.run_path(str(ROOT / "csrc/kernels/operations.py"))["OPERATIONS"]]
    before, after = re.split(r"<!-- elementwise functions:.*?-->\n", source[0])
    source[0] = before + entries(rows) + after
    pages = pathlib.Path(__file__).parent.glob("reference/*.md")
    named = set(re.findall(r":: usmpy\.(\w+)", "".join(page.read_text(encoding="utf-8") for page in pages)))
    functions = (name for name in usmpy.__all__ if inspect.isroutine(getattr(usmpy, name)))
    if others := [name for name in functions if name not in {*named, *rows}]:
        source[0] += f"\n## Others\n\n{entries(others)}"


def setup(app: Any) -> None:
    app.connect("source-read", list_functions)
    app.connect("autodoc-process-docstring", numpydoc_to_rst)
    app.connect("missing-reference", resolve_type)
