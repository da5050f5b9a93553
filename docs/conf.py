"""Sphinx: `python -m sphinx -W -n docs build/docs` (extra "docs", and graphviz for the drawings).

The build runs the notebooks and the programs of the gallery, so that the pages show what this version does.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The installed package comes first: the source folder, which is the current one, may have no extension.
sys.path.sort(key=lambda entry: entry in ("", str(ROOT)))
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning of debuggers, which no notebook needs

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
exclude_patterns = ["examples", "gallery"]  # the gallery's pages are written to auto_gallery
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Notebooks are stored without outputs (tests/test_notebooks.py).
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
# What docstrings call their parameters: "device: anything that ...".
PARAMETER = re.compile(r"(?<![\w`*])([a-z_]\w*(?:, [a-z_]\w*)*(?: and [a-z_]\w*)?): ")


def parameters_of(value: Any) -> set[str]:
    try:
        return set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return set()


def plain_text_to_rst(_app: Any, _what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: nothing in them is markup but words between backticks."""
    names = parameters_of(value)

    def parameter(found: re.Match[str]) -> str:
        listed = re.split(r", | and ", found[1])
        if names.isdisjoint(listed):
            return found[0]
        return re.sub(r"\w+", lambda word: word[0] if word[0] == "and" else f"**{word[0]}**", found[1]) + ": "

    result: list[str] = []
    code = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not code and result and not result[-1]:
            result += ["::", ""]
            code = True
        elif line and not indented:
            code = False
        if re.fullmatch(r"\s*-{4,}\s*", line):  # sections of numpydoc
            line = ""
        result.append(line if code else marked_up(line, parameter))
    lines[:] = result


def marked_up(line: str, parameter: Callable[[re.Match[str]], str]) -> str:
    """One line of plain text: words between backticks are code, names of parameters bold, all else text."""
    pieces = re.split(r"(`[^`]*`)", line.replace("``", "`").replace("\\", "\\\\"))
    for i, piece in enumerate(pieces):
        if piece.startswith("`") and len(piece) > 1:
            pieces[i] = f"`{piece}`"
        else:
            escaped = re.sub(r"_(?!\w)", r"\\_", re.sub(r"([*|])", r"\\\1", piece))
            pieces[i] = PARAMETER.sub(parameter, escaped)
    return "".join(pieces)


def list_the_others(_app: Any, docname: str, source: list[str]) -> None:
    """Public functions that no page of the reference names stand at the end of the page of functions."""
    if docname != "reference/functions":
        return
    pages = pathlib.Path(__file__).parent.glob("reference/*.md")
    named = set(re.findall(r":: usmpy\.(\w+)", "".join(page.read_text(encoding="utf-8") for page in pages)))
    others = [name for name in usmpy.__all__ if inspect.isroutine(getattr(usmpy, name)) and name not in named]
    if others:
        functions = "\n".join(f".. autofunction:: usmpy.{name}" for name in others)
        source[0] += f"\n## Others\n\n```{{eval-rst}}\n{functions}\n```\n"


def setup(app: Any) -> None:
    app.connect("source-read", list_the_others)
    app.connect("autodoc-process-docstring", plain_text_to_rst)
