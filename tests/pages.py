"""Runs the blocks of Python and C of one page of documentation, in order, as one session.

    python tests/pages.py docs/memory.md

A block that begins with `>>>` is a doctest: its output must be as shown (`...` is anything). A block of C
is a program of kernels in the portable language, which must build for the host. What a block needs that not
every machine has is said by a comment right above it, or for the whole page anywhere on it:

    <!-- needs: pyarrow -->
    <!-- page needs: opencl, pyopencl -->

A name is a module, or one of CONDITIONS. The block is left out only where that is really missing. The last
line written is JSON: {"blocks": ..., "left out": {line: [name, ...]}}.
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import pathlib
import re
import shutil
import sys
from collections.abc import Callable

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^>]*?) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S
)
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


CONDITIONS: dict[str, Callable[[], bool]] = {
    "a C compiler": has_compiler,
    "opencl": lambda: has_devices("opencl"),
    "cuda": lambda: has_devices("cuda"),
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
        if found["language"] in ("python", "c")
    ]


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
    sys.exit(main(sys.argv[1]))
