"""The blocks of Python in pages of the documentation run, one after another, as a reader would type them."""

import re
from pathlib import Path

import pytest

import usmpy

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("memory.md", "timeline.md")


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_python_run(page, tmp_path, monkeypatch):
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = [
        (text.count("\n", 0, found.start(1)), found[1])
        for found in re.finditer(r"```python\n(.*?)```", text, re.S)
    ]
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "page"}
    before = usmpy.track_allocations(False)
    try:
        for line, block in blocks:  # lines of errors are those of the page
            exec(compile("\n" * line + block, str(DOCS / page), "exec"), names)
    finally:
        usmpy.track_allocations(before)
        names.clear()


def test_the_command_line_is_what_the_page_says():
    from usmpy import _cli

    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.S)
    for line in block.splitlines():
        words = line.partition("#")[0].split()[3:]
        words = ["host" if word == "[DEVICE]" else word for word in words]
        _cli._parser().parse_args(words)  # SystemExit for what is not there
