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
# Registers and labels of PTX, which make_ptx.py numbers as they appear. In the archive, the byte of that place in
# this list, from 1 on, stands for one, and its number is apart.
NUMBERED = ("%p", "%rs", "%r", "%rd", "%f", "%fd", "$L")
REGISTER = re.compile(r"(%p|%rs|%rd|%r|%fd|%f|\$L)([1-9]\d*)(?!\w)")
# What stands for itself at the beginning of a line of PTX: a variable, a function, a kernel.
ITEM = re.compile(r"^(?=\.(?:const|func|global|shared|visible)\b)", re.M)
ITEM_NAME = re.compile(
    r"\.(?:entry|func(?: \(.*?\))?) (\w+)|\.(?:const|global|shared) [^=;\[]*?(\w+)\s*[\[=;]"
)
RECENT = 4096  # as in csrc/core/builtin/archive.c
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
    """{name: text}: each kernel with what it needs, by its name; the head of a module; elements of casts."""
    texts = {"head": (GENERATED / "ptx" / "head.ptx").read_text(encoding="utf-8")}
    elements = (GENERATED / "ptx" / "cast_elements.ptx").read_text(encoding="utf-8")
    _, *pieces = re.split(r"^// (.*)\n", elements, flags=re.M)
    texts |= dict(zip(pieces[::2], pieces[1::2], strict=True))
    for path in sorted(GENERATED.glob("ptx/*.ptx")):
        if path.stem not in ("head", "cast_elements"):
            texts |= ptx_kernels(path.read_text(encoding="utf-8").removeprefix(texts["head"]))
    return texts


def ptx_kernels(text):
    """{name: text} of the kernels of a module, each with the variables and functions that it needs."""
    items = [(ITEM_NAME.search(item).expand(r"\1\2"), item) for item in ITEM.split(text)[1:]]
    needs = {name: set() for name, _ in items}
    for name, item in items:
        needs[name] |= set(re.findall(r"\w+", item)) & needs.keys() - {name}
    kernels = {}
    for kernel in (name for name, item in items if ".entry" in item):
        needed = {kernel}
        while more := set().union(*(needs[name] for name in needed)) - needed:
            needed |= more
        kernels[kernel] = "".join(item for name, item in items if name in needed)
    return kernels


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

    `data` has the texts and opcodes, `numbers` the numbers in them, which compress better apart from the rest.
    """

    def __init__(self):
        self.index, self.data, self.numbers, self.n = bytearray(), bytearray(), bytearray(), 0

    def end(self, name, size, data, numbers):
        self.n += 1
        self.index += name.encode() + b"\0" + varint(size) + varint(len(data)) + varint(len(numbers))
        self.data += data
        self.numbers += numbers

    def add_text(self, name, text):
        """A register is written as how many others of its kind were named since it was: 1 the last, 0 a new one."""
        data, numbers, at = bytearray(), bytearray(), 0
        for function in re.split(r"(?<=\n)(?={)", text):
            recent, at = {kind: [] for kind in NUMBERED}, 0
            for match in REGISTER.finditer(function):
                known, number = recent[match[1]], int(match[2])
                data += function[at : match.start()].encode() + bytes([1 + NUMBERED.index(match[1])])
                at = match.end()
                if number <= len(known):
                    place = known.index(number)
                    numbers += varint(place + 1)
                    known.insert(0, known.pop(place))
                else:
                    assert number == len(known) + 1 < RECENT, (name, match[0])
                    numbers += b"\0"
                    known.insert(0, number)
            data += function[at:].encode()
        self.end(name, len(text.encode()), data, numbers)

    def add_spirv(self, name, module):
        """An operand is written as its difference from the last one in the same place of such an instruction."""
        data, last = bytearray(), {}
        words = struct.unpack(f"<{len(module) // 4}I", module)
        numbers, at = bytearray(b"".join(map(varint, words[:5]))), 5
        while at < len(words):
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            data += varint(opcode) + varint(count)
            for i in range(1, count):
                place, number = (opcode % 512, i % 16), words[at + i]
                difference = number - last.get(place, 0) & 0xFFFFFFFF
                last[place] = number
                numbers += varint((difference << 1 ^ -(difference >> 31)) & 0xFFFFFFFF)
            at += count
        self.end(name, len(module), data, numbers)

    def c_rows(self, form):
        """The array of the compressed stream, and the row of usm_kernel_archives."""
        whole = bytes(self.index) + bytes(self.data) + bytes(self.numbers)
        stream = lzma.compress(whole, format=lzma.FORMAT_RAW, filters=[LZMA])
        lines = "".join(
            f"    {', '.join(map(str, stream[i : i + 24]))},\n" for i in range(0, len(stream), 24)
        )
        return (
            f"static const uint8_t {form}[] = {{\n{lines}}};\n",
            f"    {{{form}, {len(whole)}, {self.n}, {len(self.index)}, {len(self.index) + len(self.data)}}},\n",
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
