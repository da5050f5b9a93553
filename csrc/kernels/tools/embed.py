"""The built-in kernels as a C file: what setup.py and tests/unit/run.py compile beside csrc/core.

python csrc/kernels/tools/embed.py FILE     writes usm_kernel_archives (csrc/core/builtin/archive.h) to FILE

csrc/kernels/README.md compares the sizes of this form and of others.
"""

import re
import runpy
import struct
import sys
from pathlib import Path

try:
    import lzma
except ImportError:
    sys.exit("usmpy is built by a Python that has the module lzma; this one was made without liblzma")

KERNELS = Path(__file__).resolve().parents[1]
SOURCES, GENERATED = KERNELS / "src", KERNELS / "generated"
INCLUDE = re.compile(r'^#include "(.*)"$')
OPERATIONS = runpy.run_path(str(KERNELS / "operations.py"))
# Headers that no file holds.
WRITTEN = {"operations.h": OPERATIONS["header"], "costly.h": OPERATIONS["costly"]}
# Numbers of registers, labels, parameters and offsets in PTX; NUMBER stands for them.
NUMBERS = re.compile(r"((?:%[a-z]+|BB|_|\+))(0|[1-9]\d{0,8})(?!\d)")
NUMBER = "\1"
NAME_SIZE = 28
# Parameters as in csrc/core/base/lzma.h.
LZMA = {"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 0, "dict_size": 1 << 22, "nice_len": 273}
LZMA |= {"mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT4, "depth": 1000}


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


def without_comments(text):
    """C without comments, empty lines and indentation."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", text)).lstrip()


def varint(number):
    """Seven bits a byte, the lowest first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


class Archive:
    """Sources of one form, as csrc/core/builtin/archive.c restores them.

    `data` has the texts and opcodes, `numbers` the numbers in them: each as the difference from the last one
    in the same place, which is what makes them small.
    """

    def __init__(self):
        self.data, self.numbers, self.restored = bytearray(), bytearray(), 4

    def begin(self, name, size):
        assert len(name) < NAME_SIZE, name
        self.data += name.encode() + b"\0"
        self.restored += 4 + NAME_SIZE + size // 4 * 4 + 4
        self.last = {}

    def put_number(self, place, number):
        difference = number - self.last.get(place, 0) & 0xFFFFFFFF
        self.last[place] = number
        self.numbers += varint((difference << 1 ^ -(difference >> 31)) & 0xFFFFFFFF)

    def add_text(self, name, text):
        self.begin(name, len(text.encode()))
        assert NUMBER not in text, name
        for line in text.splitlines(keepends=True):
            at, place = 0, 0
            for match in NUMBERS.finditer(line):
                self.put_text(line[at : match.start(2)] + NUMBER)
                self.put_number((place % 16, match[1][-1]), int(match[2]))
                at, place = match.end(), place + 1
            self.put_text(line[at:])
        self.data += b"\0"

    def put_text(self, text):
        self.data += text.encode()
        if "{" in text:  # functions are often alike
            self.last = {}

    def add_spirv(self, name, module):
        self.begin(name, len(module))
        words = struct.unpack(f"<{len(module) // 4}I", module)
        self.numbers += b"".join(map(varint, words[:5]))
        at = 5
        while at < len(words):
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            self.data += varint(opcode) + varint(count)
            for i in range(1, count):
                self.put_number((opcode % 512, i % 16), words[at + i])
            at += count
        self.data += b"\0"

    def c_rows(self, form):
        """The array of the compressed stream, and the row of usm_kernel_archives."""
        whole = bytes(self.data) + b"\0" + bytes(self.numbers)
        stream = lzma.compress(whole, format=lzma.FORMAT_RAW, filters=[LZMA])
        lines = "".join(
            f"    {', '.join(map(str, stream[i : i + 24]))},\n" for i in range(0, len(stream), 24)
        )
        return (
            f"static const uint8_t {form}[] = {{\n{lines}}};\n",
            f"    {{{form}, {len(whole)}, {len(self.data) + 1}, {self.restored}}},\n",
        )


def c_source():
    forms = {form: Archive() for form in ("opencl", "ptx", "spirv")}  # in the order of usm_kernel_form
    for name, text in kernel_sources().items():
        forms["opencl"].add_text(name, without_comments(text))
    for name, text in ptx_texts().items():
        forms["ptx"].add_text(name, text)
    for path in sorted(GENERATED.glob("spirv/*.spv")):
        forms["spirv"].add_spirv(path.stem, path.read_bytes())
    arrays, rows = zip(*(archive.c_rows(form) for form, archive in forms.items()), strict=True)
    head = '/* Written by csrc/kernels/tools/embed.py. */\n#include "core/builtin/archive.h"\n'
    return "\n".join(
        [head, *arrays, f"const usm_kernel_archive usm_kernel_archives[] = {{\n{''.join(rows)}}};\n"]
    )


def write(path):
    """Writes the C file, unless it is as it ought to be: it is compiled again only after a change."""
    OPERATIONS["write"](Path(path).with_name("operations.h"))
    path, text = Path(path), c_source()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
