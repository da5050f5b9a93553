"""Writes what the table of operations says into usmpy/_core.pyi: the functions and the operators of USMArray.

python csrc/kernels/tools/make_stubs.py
"""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STUB = ROOT / "usmpy" / "_core.pyi"
TABLE = runpy.run_path(str(ROOT / "csrc" / "kernels" / "operations.py"))


def replace(text, indent, subject, written):
    """`text` with `written` between the two lines that mark it."""
    begin = f"{indent}# {subject}: csrc/kernels/tools/make_stubs.py writes them from operations.py.\n"
    end = f"{indent}# End of {subject[0].lower()}{subject[1:]}.\n"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{STUB} lacks the lines {begin!r} and {end!r}")
    return before + begin + written + end + after


def with_stubs(text):
    """The text of _core.pyi with the stubs of the table as it is now."""
    functions = "\n".join(map(TABLE["stub"], TABLE["OPERATIONS"]))
    text = replace(text, "    ", "The operators of the table", TABLE["operators"]())
    return replace(text, "", "The operations of the table", f"\n{functions}\n")


if __name__ == "__main__":
    STUB.write_text(with_stubs(STUB.read_text(encoding="utf-8")), encoding="utf-8")
