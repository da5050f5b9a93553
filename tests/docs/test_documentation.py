"""The blocks of Python and C of all pages run, page by page, each in a process of its own."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import pages
import pytest
from libraries import REQUIRED

import usmpy

pytestmark = pytest.mark.not_sanitized("it runs other programs, and what they do is tested elsewhere")

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
# 2.9 GB that few environments have: pages that are about it run where it is (tests/tools/with_dpctl.py).
OPT_IN = {name for name in ("dpctl", "dpnp") if importlib.util.find_spec(name) is None}
# Run there.
ELSEWHERE = {
    "collectives.md": "tests/interop/test_torch_distributed.py",
    "errors.md": "tests/docs/test_errors_page.py",
    "from-dpctl.md": "tests/docs/test_from_dpctl.py",
}
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("csrc/**/*.md"),
    ]
    if path.name not in ELSEWHERE
    and any(not OPT_IN & set(block.needs) for block in pages.blocks(path.read_text(encoding="utf-8")))
)
# What an environment of the tests may lack: GPUs and their libraries, SYCL (2.9 GB), Dask and
# Ray (with_processes.py).
MAY_LACK = {"cuda", "cupy", "dask.array", "distributed", "dpctl", "dpnp", "nccl.core", "ray", "zarr"}


def run_page(page, folder, **environment):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "tools" / "pages.py"), str(ROOT / page)],
        cwd=folder,  # some pages write files
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYOPENCL_CTX": "0", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_there_are_pages():
    assert len(PAGES) > 12
    assert {"README.md", "docs/first-steps.md", "docs/memory.md", "docs/interop-cuda.md"} <= set(PAGES)
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, tmp_path):
    report = run_page(page, tmp_path)
    left_out = report["left out"]
    if REQUIRED:
        assert not {line: set(names) - MAY_LACK for line, names in left_out.items() if set(names) - MAY_LACK}
    if len(left_out) == report["blocks"]:
        missing = sorted({name for names in left_out.values() for name in names})
        pytest.skip(
            f"there is no NVIDIA GPU: every block needs {missing}" if "cupy" in missing else str(missing)
        )


@pytest.mark.parametrize(
    ("block", "error"),
    [
        ("```python\nassert 1 == 2\n```\n", "line 3"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```c\nkernel void f(global float *x) { x[0] = y; }\n```\n", "BuildError"),
        ("<!-- needs: json -->\n```python\nundefined_name\n```\n", "undefined_name"),
        ("```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n", "Expected"),
    ],
)
def test_a_wrong_block_is_found(tmp_path, block, error):
    (tmp_path / "page.md").write_text(f"\n{block}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, pages.__file__, "page.md"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert error in done.stdout + done.stderr


def test_only_blocks_with_missing_requirements_are_skipped(tmp_path):
    text = "<!-- needs: no_such_module -->\n```python\nundefined\n```\n\n```python\nprint('run')\n```\n"
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert run_page(page, tmp_path) == {"blocks": 2, "left out": {"3": ["no_such_module"]}}


def test_comments_about_needs_stand_where_they_are_read():
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        needs = len(re.findall(r"<!-- needs: ", text))
        assert needs == sum(bool(block["needs"]) for block in pages.BLOCK.finditer(text)), page


def test_the_command_line_matches_the_page():
    from usmpy import _cli

    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.S)
    for line in block.splitlines():
        words = line.partition("#")[0].split()[1:]
        _cli._parser().parse_args(words)  # SystemExit for unknown words


# Shell. tests/tools/fresh_machine.sh types every block that has no mark, on a machine that has nothing.


def test_unrun_shell_blocks_are_few_and_state_a_reason():
    left_out = {
        (page, need)
        for page in pages.every_page()
        for _, _, needs in pages.shell_blocks(page)
        for need in needs
    }
    assert left_out == {
        ("benchmarks/README.md", "a GPU"),
        ("benchmarks/README.md", "minutes"),  # .ci/run has them with --quick
        ("docs/dask.md", "minutes"),  # tests/interop/test_dask.py runs it with a smaller plate
        ("tests/README.md", "minutes"),  # .ci/run has them
    }
    assert {need for _, need in left_out} <= set(pages.SHELL_NEEDS)
    commands = {command for page in pages.every_page() for _, command, _ in pages.shell_blocks(page)} - {""}
    assert commands == {"tour", "test"}


def test_commands_that_take_long_are_in_ci():
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for page in pages.every_page():
        for code, _, needs in pages.shell_blocks(page):
            for program in re.findall(r"python ([\w/]+\.py)", code) if "minutes" in needs else ():
                assert program in ci, f"{page}: {program}"


def test_every_page_with_shell_is_a_script():
    found = pages.shell_pages()
    assert {"CONTRIBUTING.md", "docs/first-steps.md"} <= set(found)
    assert {"docs/command-line.md", "docs/c-api.md"} <= set(found["docs/first-steps.md"])
    script = pages.shell_script("docs/first-steps.md")
    assert script.index("apt-get") < script.index("usmpy check host")
    assert not re.search(r"\[[A-Z-]", script), "what is typed has no placeholders"


def test_no_shell_hides_in_blocks_without_a_language():
    typed = re.compile(r"^(\$ |\S*python\S* |pip |pytest |usmpy |apt|git |sudo )", re.M)
    for page in pages.every_page():
        for language, code in re.findall(
            r"^```([^\n`]*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S
        ):
            assert language or not typed.search(code), f"{page}: {code}"


def test_files_named_in_the_text_exist():
    """Commands between backticks: a script of the tree that they run, or a file that they test, exists."""
    named = [
        (page, word)
        for page in pages.every_page()
        for command in re.findall(
            r"`((?:\w+=\S+ )*(?:python3?|pytest|sh|bash|SUITE=\w+)? ?[^`\n]*)`", (ROOT / page).read_text()
        )
        if re.match(r"(\w+=\S+ )*(python3?|pytest|tests/|\.ci/)", command)
        for word in re.findall(r"(?<![\w./-])(?:tests|docs|benchmarks|csrc|\.ci)/[\w./-]+", command)
    ]
    assert len(named) > 20
    assert not [(page, word) for page, word in named if not (ROOT / word).exists() and "build/" not in word]


# The reference.


def test_the_reference_has_every_public_name():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^\.\. auto(?:class|function|exception):: usmpy\.(\w+)$", text, re.M))
    tables = set(
        re.findall(r"`(\w+)`", "\n".join(line for line in text.splitlines() if line.startswith("|")))
    )
    functions = {name for name in usmpy.__all__ if inspect.isroutine(getattr(usmpy, name))}
    # docs/conf.py puts functions that no page names at the end of the page of functions.
    assert not set(usmpy.__all__) - functions - listed - tables
    assert not listed - set(usmpy.__all__)


def test_every_page_is_in_a_table_of_contents():
    entries = {
        str((page.parent / entry).relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        for contents in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        )
        for entry in re.findall(r"^[\w/-]+$", contents, re.M)
    }
    pages = {
        str(path.relative_to(DOCS).with_suffix(""))
        for path in [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
        if not {"examples", ".ipynb_checkpoints", "numerics-table.md"}
        & set(path.parts)  # a part of numerics.md
    }
    assert entries == pages - {"index"} | {"auto_gallery/index"}  # the gallery's pages are made by the build


def test_quotes_of_sources_are_what_the_sources_say():
    quotes = [
        (page, found["source"], found["code"])
        for page in pages.every_page()
        for found in pages.BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))
        if found["source"]
    ]
    assert len(quotes) >= 5
    for page, source, code in quotes:
        assert code.strip(), (page, source)
        assert code in (ROOT / source).read_text(encoding="utf-8"), f"{page}: {source} has changed"


def test_the_drawing_has_every_folder_of_the_backends():
    drawing = (DOCS / "architecture.md").read_text(encoding="utf-8")
    folders = {path.name for path in (ROOT / "csrc" / "backends").iterdir() if path.is_dir()}
    assert folders
    for name in folders:
        assert re.search(rf'^ +{name} \[label="{name}', drawing, re.M), name
    for name in re.findall(r'label="(usm_\w+)', drawing):
        headers = (ROOT / "csrc" / "core").rglob("*.h")
        assert any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in headers), name
