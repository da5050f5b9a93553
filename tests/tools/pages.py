"""Runs the blocks of Python and C of one page of documentation, in order, as one session.

    python tests/tools/pages.py docs/memory.md

A block that begins with `>>>` is a doctest: its output must be as shown (`...` is anything). A block of C
is a program of kernels in the portable language, which must build for the host. What a block needs that not
every machine has is said by a comment right above it, or for the whole page anywhere on it:

    <!-- needs: pyarrow -->
    <!-- page needs: opencl, pyopencl -->

A block under `<!-- from: FILE -->` quotes a source and does not run; test_documentation.py compares the two.

A name is a module, or one of CONDITIONS. The block is left out only where that is really missing. The last
line written is JSON: {"blocks": ..., "left out": {line: [name, ...]}}.

    python tests/tools/pages.py --shell docs/first-steps.md
    python tests/tools/pages.py --shell-pages
    python tests/tools/pages.py --command test

prints the blocks of ``sh`` of a page as one script, as a reader would type them in a clone on a new machine,
with those of the pages that follow it; the pages that begin so; or a command of README.md. fresh_machine.sh
runs them. A block that is left out says why by a name of SHELL_NEEDS, in the same way.
Two more comments:

    <!-- command: test -->                         above a block that fresh_machine.sh runs by itself
    <!-- shell follows: docs/first-steps.md -->    the reader has typed the blocks of that page before
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Callable

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^>]*?) -->\n|<!-- command: (?P<command>\w+) -->\n|"
    r"<!-- from: (?P<source>\S+) -->\n)?"
    r"^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.M | re.S,
)
FOLLOWS = re.compile(r"^<!-- shell follows: ([^>]*?) -->$", re.M)
# Why blocks of shell are left out where every command is typed.
SHELL_NEEDS = {
    "a GPU": "an NVIDIA GPU",
    "Docker": "containers of cibuildwheel",
    "minutes": "it takes long, and .ci/run runs it elsewhere",
}
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE_NEEDS = re.compile(r"^<!-- page needs: ([^>]*?) -->$", re.M)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def has_compiler() -> bool:
    return any(map(shutil.which, ("cc", "gcc", "clang")))


def has_devices(backend: str) -> bool:
    import usmpy

    try:
        return bool(usmpy.get_devices(backend))
    except usmpy.UsmError:
        return False


def has_cupy() -> bool:
    """CuPy has NVIDIA's driver, and usmpy none in software (tests/cuda_drivers.py) in its place."""
    software = "usmpy-cuda-driver" in os.environ.get("USMPY_CUDA_LIBRARY", "")
    return importlib.util.find_spec("cupy") is not None and not software


CONDITIONS: dict[str, Callable[[], bool]] = {
    "a C compiler": has_compiler,
    "opencl": lambda: has_devices("opencl"),
    "cuda": lambda: has_devices("cuda"),
    "cupy": has_cupy,
}


@dataclasses.dataclass(frozen=True)
class Block:
    line: int  # of its first line of code, from 0
    language: str
    code: str
    needs: tuple[str, ...]


def names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def blocks(text: str) -> list[Block]:
    page = tuple(name for found in PAGE_NEEDS.finditer(text) for name in names(found[1]))
    return [
        Block(
            text.count("\n", 0, found.start("code")),
            found["language"],
            found["code"],
            page + names(found["needs"]) + (("a C compiler",) if found["language"] == "c" else ()),
        )
        for found in BLOCK.finditer(text)
        if found["language"] in ("python", "c") and not found["source"]
    ]


def every_page() -> list[str]:
    folders = [ROOT / name for name in ("docs", "benchmarks", "csrc", "tests")]
    found = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def shell_blocks(page: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """(code, name of a command or "", needs) of each block of shell."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        (found["code"], found["command"] or "", names(found["needs"]))
        for found in BLOCK.finditer(text)
        if found["language"] == "sh"
    ]


def shell_typed(page: str) -> str:
    return "".join(code for code, command, needs in shell_blocks(page) if not (command or needs))


def shell_pages() -> dict[str, list[str]]:
    """Pages whose blocks of shell begin on a new machine, and those that are typed there afterwards."""
    pages: dict[str, list[str]] = {}
    for page in filter(shell_typed, every_page()):
        follows = FOLLOWS.search((ROOT / page).read_text(encoding="utf-8"))
        if follows is None:
            pages.setdefault(page, [])
        else:
            pages.setdefault(follows[1], []).append(page)
    return pages


def shell_script(page: str) -> str:
    """Of a page and those that follow it, each of these in a shell of its own."""
    followers = [f": {name}\n(\n{shell_typed(name)})\n" for name in shell_pages()[page]]
    return "".join([f": {page}\n", shell_typed(page), *followers])


def there(name: str) -> bool:
    if name in CONDITIONS:
        return CONDITIONS[name]()
    try:
        importlib.import_module(name)
    except (ImportError, RuntimeError):  # RuntimeError: mpi4py without an MPI library
        return False
    return True


def run(block: Block, page: str, session: dict[str, object]) -> None:
    if block.language == "c":
        import usmpy

        assert usmpy.Program(block.code, device="host").kernel_names
        return
    if not block.code.lstrip().startswith(">>>"):
        # Lines of errors are those of the page.
        exec(compile("\n" * block.line + block.code, page, "exec"), session)
        return
    test = doctest.DocTestParser().get_doctest(block.code, session, page, page, block.line)
    test.globs = session  # the session's own dict, so that names stay
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
    if said:
        raise SystemExit("".join(said))


def main(page: str) -> int:
    session: dict[str, object] = {"__name__": "page"}
    found = blocks(pathlib.Path(page).read_text(encoding="utf-8"))
    left_out: dict[int, list[str]] = {}
    for block in found:
        missing = [name for name in block.needs if not there(name)]
        if missing:
            left_out[block.line + 1] = missing
        else:
            run(block, page, session)
    session.clear()
    print()
    print(json.dumps({"blocks": len(found), "left out": left_out}))
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--shell-pages":
        print(*shell_pages(), sep="\n")
    elif sys.argv[1] == "--command":
        (found,) = [code for code, command, _ in shell_blocks("README.md") if command == sys.argv[2]]
        print(found, end="")
    elif sys.argv[1] == "--shell":
        print(shell_script(sys.argv[2]), end="")
    else:
        sys.exit(main(sys.argv[1]))
