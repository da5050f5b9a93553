"""The built-in kernels as a C file: what setup.py and tests/unit/run.py compile beside csrc/core.

python csrc/kernels/tools/embed.py FILE     writes usm_kernel_sources (csrc/core/builtin/kernels.h) to FILE
"""

import re
import runpy
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
SOURCES, GENERATED = KERNELS / "src", KERNELS / "generated"
INCLUDE = re.compile(r'^#include "(.*)"$')
OPERATIONS = runpy.run_path(str(KERNELS / "operations.py"))
WRITTEN = {
    "operations.h": OPERATIONS["header"],
    "costly.h": OPERATIONS["costly"],
}  # headers that no file holds


def expand(path, seen):
    """The lines of a source with its headers in place, each of them once: drivers have no include folder."""
    for line in path.read_text(encoding="utf-8").splitlines():
        match = INCLUDE.match(line)
        if match is None:
            yield line
            continue
        if match[1] in WRITTEN:
            yield from WRITTEN[match[1]]().splitlines()
            continue
        near = path.parent / match[1]
        header = near if near.is_file() else KERNELS.parent / match[1]
        if header not in seen:
            seen.add(header)
            yield from expand(header, seen)


def kernel_sources():
    """{name without suffix: text}"""
    return {path.stem: "\n".join(expand(path, set())) + "\n" for path in sorted(SOURCES.glob("*.cl"))}


def ptx_texts():
    """{name: text} of what make_ptx.py wrote; the pieces of a file by the comments between them."""
    texts = {}
    for path in sorted(GENERATED.glob("ptx/*.ptx")):
        whole, *pieces = re.split(r"^// (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
        texts |= {path.stem: whole} if whole else {}
        texts |= dict(zip(pieces[::2], pieces[1::2], strict=True))
    return texts


def literal(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'    "{escaped}\\n"'


def table(texts, name):
    """The texts, and an array of usm_kernel_source over them."""
    parts, rows = [], []
    for i, (key, text) in enumerate(texts.items()):
        lines = "\n".join(map(literal, text.splitlines()))
        parts.append(f"static const char {name}_{i}[] =\n{lines};\n")
        rows.append(f'    {{"{key}", {name}_{i}, sizeof {name}_{i} - 1}},\n')
    parts.append(
        f"const usm_kernel_source usm_kernel_{name}[] = {{\n{''.join(rows)}    {{NULL, NULL, 0}},\n}};\n"
    )
    return parts


def spirv_table():
    """What make_spirv.py wrote, as words, and an array of usm_kernel_source over them."""
    parts, rows = [], []
    for path in sorted(GENERATED.glob("spirv/*.spv")):
        data = path.read_bytes()
        words = [f"{int.from_bytes(data[i : i + 4], 'little'):#x}" for i in range(0, len(data), 4)]
        lines = "".join(f"    {', '.join(words[i : i + 12])},\n" for i in range(0, len(words), 12))
        parts.append(f"static const unsigned spirv_{len(rows)}[] = {{\n{lines}}};\n")
        rows.append(f'    {{"{path.stem}", (const char *)spirv_{len(rows)}, {len(data)}}},\n')
    parts.append(
        f"const usm_kernel_source usm_kernel_spirv[] = {{\n{''.join(rows)}    {{NULL, NULL, 0}},\n}};\n"
    )
    return parts


def c_source():
    parts = ['/* Written by csrc/kernels/tools/embed.py. */\n#include "core/builtin/kernels.h"\n']
    parts += table(kernel_sources(), "sources") + table(ptx_texts(), "ptx") + spirv_table()
    return "\n".join(parts)


def write(path):
    """Writes the C file, unless it is as it ought to be: it is compiled again only after a change."""
    OPERATIONS["write"](Path(path).with_name("operations.h"))
    path, text = Path(path), c_source()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
