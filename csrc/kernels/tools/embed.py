"""The built-in kernels as a C file: what is compiled beside csrc/core.

python csrc/kernels/tools/embed.py FILE     writes usm_kernel_archives (csrc/core/builtin/archive.h) to FILE

csrc/kernels/README.md compares the sizes of this form and of others.
"""

import functools
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
# The modules of sources that are compiled once for each type, or operation: {name: options}.
VARIANTS = OPERATIONS["modules"]()
# Registers and labels of PTX, which make_ptx.py numbers as they appear. In the archive, the byte of
# its place in this list, from 1 on, stands for one, and its number is apart.
NUMBERED = {
    name: bytes([i]) for i, name in enumerate((b"%p", b"%rs", b"%r", b"%rd", b"%f", b"%fd", b"$L"), 1)
}
REGISTER = re.compile(rb"(%p|%rs|%rd|%r|%fd|%f|\$L)([1-9]\d*)(?!\w)")
# What stands for itself at the beginning of a line of PTX: a variable, a function, a kernel.
ITEM = re.compile(r"^(?=\.(?:const|func|global|shared|visible)\b)", re.M)
ITEM_NAME = re.compile(
    r"\.(?:entry|func(?: \(.*?\))?) (\w+)|\.(?:const|global|shared) [^=;\[]*?(\w+)\s*[\[=;]"
)
# Operands of SPIR-V instructions (SPIR-V specification, 3.49): a literal, an id, a result's type, a
# label. The last one stands for all that follow; after "*", the last two take turns.
PATTERNS = {
    **{3: "l", 5: "il", 11: "il", 12: "tiili", 14: "l", 15: "lil", 16: "il", 17: "l", 21: "il", 22: "il"},
    **{23: "iil", 32: "ili", 43: "til", 50: "til", 54: "tili", 59: "tili", 61: "tiil", 62: "iil", 63: "iil"},
    **{
        64: "iiil",
        71: "il",
        81: "tiil",
        245: "ti*iL",
        246: "LLl",
        247: "Ll",
        248: "L",
        249: "L",
        250: "iLLl",
    },
    **{251: "iLl", 256: "il", 257: "il"},
    **dict.fromkeys((19, 20, 28, 30, 33, 56, 224, 253, 254), "i"),
    **dict.fromkeys((1, 41, 42, 46, 55, 57, 65, 66, 67, 70, 80, 232), "ti"),
    **dict.fromkeys((*range(109, 125), *range(126, 139), *range(162, 192), *range(194, 201)), "ti"),
}
KIND_LETTERS = "litL"  # as csrc/core/builtin/archive.c counts them
RECENT = 8192  # as in csrc/core/builtin/archive.c
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


def plain_modules():
    """The sources that are compiled once; what is stored of casts is made in other ways."""
    varied = {variant.partition(".")[0] for variant in VARIANTS}
    return [path.stem for path in sorted(SOURCES.glob("*.cl")) if path.stem not in {"cast", *varied}]


def missing():
    """What should be stored and is not, each with the script that makes it."""
    sys.path.insert(0, str(KERNELS / "tools"))
    import make_ptx
    import make_spirv

    files = [(f"ptx/{name}.ptx", "make_ptx.py") for name in make_ptx.FILES]
    files += [(f"spirv/{name}.spv", "make_spirv.py") for name in make_spirv.MODULES]
    yield from ((file, script) for file, script in files if not (GENERATED / file).is_file())
    if (elements := GENERATED / "ptx" / "cast_elements.ptx").is_file():
        pieces = set(re.findall(r"^// (.*)\n", elements.read_text(encoding="utf-8"), re.M))
        yield from ((piece, "make_ptx.py") for piece in make_ptx.CASTS if piece not in pieces)


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


@functools.cache
def varint(number):
    """Seven bits a byte, the lowest first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def parse_spirv(module):
    """(the five words of the head, [(opcode, operands)])."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    instructions, at = [], 5
    while at < len(words):
        count = words[at] >> 16
        instructions.append((words[at] & 0xFFFF, words[at + 1 : at + count]))
        at += count
    return words[:5], instructions


def kinds_of(opcode, n):
    """Of n operands, by their places alone."""
    before, star, turns = PATTERNS[opcode].partition("*")
    return (before + (turns * n if star else before[-1] * n))[:n]


def ids_of(opcode, operands, labels):
    """Which operands are ids. `labels` are those of the module."""
    ids = [kind != "l" for kind in kinds_of(opcode, len(operands))]
    if opcode == 15:  # OpEntryPoint: ids of variables follow its name, whose last byte is 0
        end = next(i for i in range(2, len(operands)) if operands[i] < 1 << 24)
        ids[end + 1 :] = [True] * (len(operands) - end - 1)
    if opcode == 251:  # OpSwitch: literals of one word or two, each with a label
        step = 2 if labels.issuperset(operands[3::2]) else 3
        ids[1 + step :: step] = [True] * len(ids[1 + step :: step])
        assert labels.issuperset(operands[1 + step :: step])
    return ids


def place_of(i):
    """Of operand i, from 1 on, in tables of 16."""
    return i if i < 16 else 14 + i % 2


def packed_kinds(opcode):
    """Two bits for each place of place_of."""
    kinds = kinds_of(opcode, 15)
    return sum(KIND_LETTERS.index(kind) << 2 * i for i, kind in enumerate(kinds, 1))


class Archive:
    """Sources of one form, as csrc/core/builtin/archive.c restores them.

    `data` has the texts and opcodes, `numbers` the numbers in them, which compress better apart.
    """

    def __init__(self):
        self.index, self.data, self.numbers, self.n = bytearray(), bytearray(), bytearray(), 0

    def end(self, name, size, data, numbers):
        self.n += 1
        self.index += name.encode() + b"\0" + varint(size) + varint(len(data)) + varint(len(numbers))
        self.data += data
        self.numbers += numbers

    def add_text(self, name, text):
        """A register is written as how many of its kind were named since it was, from 1 on; 0: a new one."""
        text, data, numbers = text.encode(), bytearray(), bytearray()
        for function in re.split(rb"(?<=\n)(?={)", text):
            recent, at = {kind: [] for kind in NUMBERED}, 0
            for match in REGISTER.finditer(function):
                kind, number = match[1], int(match[2])
                known = recent[kind]
                data += function[at : match.start()] + NUMBERED[kind]
                at = match.end()
                place = known.index(number) + 1 if number <= len(known) else 0
                assert place > 0 or number == len(known) + 1 < RECENT, (name, match[0])
                numbers += varint(place)
                known.insert(0, known.pop(place - 1) if place > 0 else number)
            data += function[at:]
        self.end(name, len(text), data, numbers)

    def add_spirv(self, name, module):
        """A literal is written as its difference from the last one in that place of such an instruction.

        An id is written as how many others of its kind were named since it was, from 2 on; 0 is one above the
        greatest, 1 stands before any other.
        """
        head, instructions = parse_spirv(module)
        data, numbers = bytearray(), bytearray(b"".join(map(varint, head)))
        last, recent, greatest = {}, {kind: [] for kind in "itL"}, 0
        for opcode, operands in instructions:
            data += varint(opcode) + varint(len(operands) + 1)
            for i, kind in enumerate(kinds_of(opcode, len(operands))):
                number = operands[i]
                if kind == "l":
                    place = (opcode, place_of(i + 1))
                    difference = number - last.get(place, 0) & 0xFFFFFFFF
                    last[place] = number
                    numbers += varint((difference << 1 ^ -(difference >> 31)) & 0xFFFFFFFF)
                    continue
                known = recent[kind]
                if number in known:
                    numbers += varint(known.index(number) + 2)
                    known.remove(number)
                else:
                    numbers += b"\0" if number == greatest + 1 else b"\1" + varint(number)
                    greatest = max(greatest, number)
                known.insert(0, number)
                assert greatest < RECENT, name
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
            f"    {{{form}, {len(whole)}, {self.n}, {len(self.index)}, "
            f"{len(self.index) + len(self.data)}}},\n",
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
    kinds = [f"[{opcode}] = {packed_kinds(opcode)}" for opcode in sorted(PATTERNS)]
    arrays = [*arrays, f"const uint32_t usm_spirv_kinds[512] = {{{', '.join(kinds)}}};\n"]
    return "\n".join(
        [head, *arrays, f"const usm_kernel_archive usm_kernel_archives[] = {{\n{''.join(rows)}}};\n"]
    )


def write(path):
    """Writes the C file, unless it is as it ought to be: it is compiled again only after a change."""
    if lines := [
        f"the stored kernel {name} is missing: run python csrc/kernels/tools/{script}"
        for name, script in missing()
    ]:
        sys.exit("\n".join(lines))
    path, text = Path(path), c_source()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
