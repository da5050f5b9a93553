"""The built-in kernels as a C file: what is compiled beside csrc/core.

python csrc/kernels/tools/embed.py FILE     writes the tables of csrc/core/builtin/kernel_source.h to FILE
"""

import functools
import re
import runpy
import sys
import zipfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
SOURCES, GENERATED = KERNELS / "src", KERNELS / "generated"
INCLUDE = re.compile(r'^#include "(.*)"$')
OPERATIONS = runpy.run_path(str(KERNELS / "operations.py"))
# Headers that no file holds.
WRITTEN = {"operations.h": OPERATIONS["header"], "costly.h": OPERATIONS["costly"]}
# The modules of sources that are compiled once for each type, or operation: {name: options}.
VARIANTS = OPERATIONS["modules"]()
# What stands for itself at the beginning of a line of PTX: a variable, a function, a kernel.
ITEM = re.compile(r"^(?=\.(?:const|func|global|shared|visible)\b)", re.M)
ITEM_NAME = re.compile(
    r"\.(?:entry|func(?: \(.*?\))?) (\w+)|\.(?:const|global|shared) [^=;\[]*?(\w+)\s*[\[=;]"
)
# In string literals of C. A question mark could begin a trigraph.
ESCAPES = {i: f"\\{i:03o}" for i in (*range(32), *b'"?\\', *range(127, 256))}


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


@functools.cache
def kernel_sources():
    """{name without suffix: text}"""
    return {path.stem: "\n".join(expand(path, set())) + "\n" for path in sorted(SOURCES.glob("*.cl"))}


def plain_modules():
    """The sources that are compiled once; what is stored of casts is made in other ways."""
    varied = {variant.partition(".")[0] for variant in VARIANTS}
    return [path.stem for path in sorted(SOURCES.glob("*.cl")) if path.stem not in {"cast", *varied}]


def missing():
    """A message for each kernel that should be stored and is not."""
    sys.path.insert(0, str(KERNELS / "tools"))
    import make_ptx
    import make_spirv

    for form, names in (("ptx", make_ptx.inputs()), ("spirv", make_spirv.inputs())):
        remedy = "is missing: run python csrc/kernels/tools/make.py"
        files = stored(form)
        if not files:
            yield f"csrc/kernels/generated/{form}.zip {remedy}"
            continue
        pieces = re.findall(r"^// (.*)\n", files.get("cast_elements.ptx", b"").decode(), re.M)
        wanted = [*names, *(make_ptx.CASTS if pieces else ())]
        yield from (
            f"the stored kernel {name} {remedy}"
            for name in wanted
            if name not in files and name not in pieces
        )


def stored(form):
    """{name: bytes} of generated/FORM.zip; of a file that is none, no members."""
    if not zipfile.is_zipfile(GENERATED / f"{form}.zip"):
        return {}
    with zipfile.ZipFile(GENERATED / f"{form}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def ptx_programs():
    """{name: text}: each kernel with what it needs; of each cast the function that comes before usm_cast."""
    texts = {name[:-4]: text.decode() for name, text in stored("ptx").items() if name.endswith(".ptx")}
    head = texts.pop("head")
    _, *pieces = re.split(r"^// (.*)\n", texts.pop("cast_elements"), flags=re.M)
    programs = ptx_kernels(texts.pop("cast"))
    programs |= {name: head + text for name, text in zip(pieces[::2], pieces[1::2], strict=True)}
    for text in texts.values():
        programs |= {name: head + kernel for name, kernel in ptx_kernels(text).items()}
    return programs


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


def embedded():
    """{name: bytes} of each form, in the order of usm_kernel_form."""
    texts = {name: without_comments(text) for name, text in kernel_sources().items()}
    modules = {name[:-4]: module for name, module in stored("spirv").items() if name.endswith(".spv")}
    encoded = ({name: text.encode() for name, text in form.items()} for form in (texts, ptx_programs()))
    return [*encoded, modules]


def c_source():
    """Sorted by names, since they are searched; a wheel compresses neighbours better that are alike."""
    lines = ["/* Written by csrc/kernels/tools/embed.py. */", '#include "core/builtin/kernel_source.h"', ""]
    tables = []
    for form, sources in zip(("opencl", "ptx", "spirv"), embedded(), strict=True):
        rows = []
        for i, (name, data) in enumerate(sorted(sources.items())):
            literal = data.decode("latin-1").translate(ESCAPES)
            lines.append(f'_Alignas(4) static const char {form}_{i}[] = "{literal}";')
            rows.append(f'    {{"{name}", {form}_{i}, {len(data)}}},')
        lines += [f"static const usm_kernel_source {form}[] = {{", *rows, "};", ""]
        tables.append(f"    {{{form}, {len(rows)}}},")
    return "\n".join([*lines, "const struct usm_kernel_sources usm_kernel_sources[] = {", *tables, "};", ""])


def write(path):
    """Writes the C file, unless it is as it ought to be: it is compiled again only after a change."""
    if messages := list(missing()):
        sys.exit("\n".join(messages))
    path, text = Path(path), c_source()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
