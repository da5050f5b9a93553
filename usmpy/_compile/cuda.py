"""Programs in source for CUDA: the text and the options for NVIDIA's run-time compiler.

A portable program is preprocessed and rewritten as for the host (portable.py). It becomes a namespace inside
another one, which has the functions of OpenCL C (cuda_prelude.py). Its kernels are inline functions, and an
entry calls each of them. The entry takes local memory as offsets into the one block of a launch, and for a
kernel that does not use its work-groups also the range, beyond which it does nothing.

Two arrays beside each entry describe the parameters (csrc/backends/cuda/ptx.c).
"""

from __future__ import annotations

import glob
import os
import re
import struct
import sys

from ..errors import BuildError, _build_error
from . import build_options, portable, portable_checked, portable_complex
from .cuda_prelude import FACTS
from .cuda_prelude import text as prelude
from .entry import Kernel, c_string
from .included import contents
from .parser import RECORDS, TYPEOF, is_type_word, parse
from .portable_constants import constants
from .preprocessor import NAME, Wishes, preprocess
from .tokens import Refused, Source

# Stands before the text that is appended to a source of language 'cuda'; csrc/backends/cuda/program.c
# cuts there.
_TAIL = '\n#line 1 "<usmpy>"\n'
_STANDARD = "--std=c++17"
# C++20 has designated initialisers.
_FLAGS = ["--std=c++20", "--device-as-default-execution-space", "--device-int128"]
# Warnings of C++ about C: narrowing in braces, jumps past initialisers. About our templates: x < 0.
_FLAGS += ["--diag-suppress=2361,546,186"]
_PLACED = frozenset({"get_global_size", "get_global_linear_id", "get_work_dim"})
_FIT_GROUPS, _FIT_RANGE = 1, 2

# Keywords of C++ that are names in C.
_CPP_TEXT = """
alignas alignof and and_eq asm bitand bitor catch char8_t char16_t char32_t class compl concept
const_cast consteval constexpr constinit co_await co_return co_yield decltype delete dynamic_cast
explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq protected
public reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid
typename using virtual wchar_t xor xor_eq signals threadIdx blockIdx blockDim gridDim warpSize
"""
_CPP = frozenset(_CPP_TEXT.split())
_OURS = "usm_c_"
_WORDS = dict.fromkeys(("restrict", "__restrict"), "__restrict__")
_WORDS |= {"__inline": "inline", "__inline__": "inline"}
_WORDS |= {"_Bool": "bool", "_Static_assert": "static_assert", "_Alignas": "alignas"}
_OPENCL_OPTIONS: dict[str, list[str]] = {
    "-cl-mad-enable": ["--fmad=true"],
    "-cl-unsafe-math-optimizations": ["--fmad=true"],
    "-cl-fast-relaxed-math": ["--use_fast_math", "--fmad=true"],
    "-cl-denorms-are-zero": ["--ftz=true"],
    "-cl-opt-disable": [],
}


def _half(number: str) -> str:
    try:
        value = float.fromhex(number) if "x" in number.lower() else float(number)
        bits = struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        bits = 0x7C00
    return f"half({bits:#06x}, 0)"


CUDA = portable.Target(_half, "__shared__", _PLACED, "__attribute__((always_inline))")


class _Options(Wishes):
    """The options of a program, for the preprocessor and for NVIDIA's compiler."""

    def __init__(self, options: str) -> None:
        read = build_options.read(options, build_options.NVRTC)
        super().__init__(read)
        self.others: list[str] = []
        for name, value in read:
            if name.startswith("-cl-"):
                self.others += _OPENCL_OPTIONS.get(name, [])
            elif not value:
                self.others.append(name)


def _in_cpp(text: str) -> str:
    """Renames names that are keywords of C++, and replaces keywords of C. Strings are not changed."""
    pattern = re.compile(
        r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\W\d]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*"""
    )

    def other(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] == "'":
            return f"((int){word})"  # as in C
        return _OURS + word if word in _CPP else _WORDS.get(word, word)

    lines = [line if line.startswith("#") else pattern.sub(other, line) for line in text.split("\n")]
    return "\n".join(lines)


def _compound_literals(source: Source) -> None:
    """Writes (struct point){1, 2} as point{1, 2}."""
    for node in source.tree.nodes if source.tree else ():
        for k in range(node.first, node.inner[0].first) if node.kind == "literal" else ():
            if k in (node.first, node.inner[0].first - 1) or source.text[k] in RECORDS:
                source.replace(k, "")


def _hiding_bodies(source: Source) -> None:
    """Writes for (int i = 0; ...) { int i; } with more braces, as C has it: C++ has one scope for both."""
    for node in source.tree.nodes if source.tree else ():
        if node.kind == "for" and node.inner[3].kind == "block":
            body = node.inner[3]
            counters, inside = (
                {source.text[one.name] for part in parts for one in part.declares if one.name >= 0}
                for parts in (node.inner[:1], body.inner)
            )
            if counters & inside:
                source.prefix(body.first, "{ ")
                source.suffix(body.last - 1, " }")


def _typeof(source: Source) -> None:
    """Writes typeof, which NVRTC does not have, with decltype."""
    for i in (i for i, text in enumerate(source.text) if text in TYPEOF and source.text[i + 1] == "("):
        first, last = i + 2, source.match[i + 1]
        named = source.tree.names.get(first) if source.tree else None
        if is_type_word(source.text[first]) or (named is not None and named.kind == "typedef"):
            source.replace(i, "usm_the<")
            source.replace(i + 1, "")
            source.replace(last, ">")
        else:
            source.replace(i, "usm_typeof<decltype(")
            source.suffix(last, ")>")


def _statement_expressions(source: Source) -> None:
    """Writes ({ int a = x; a + 1; }) as a call of a lambda, since NVRTC has no such expressions."""
    nodes = source.tree.nodes if source.tree else []
    returns = [node.first for node in nodes if node.kind in ("return", "goto", "break", "continue")]
    for node in nodes:
        if node.kind != "statements" or any(node.first < at < node.last for at in returns):
            continue
        source.replace(node.first, "([&] ")
        last = node.inner[0].inner[-1:]
        if last and last[0].kind == "expression":
            source.prefix(last[0].first, "return ")
        source.prefix(node.last - 1, "()")


def _shown(name: str) -> str:
    return name.removeprefix(_OURS)


def _entry(kernel: Kernel, grouped: bool) -> str:
    """The function that is launched, and arrays that describe its parameters."""
    name, sizes = kernel.name, kernel.required
    parameters, arguments, local = [], [], 0
    for i, p in enumerate(kernel.parameters):
        if p.local:
            parameters.append(f"unsigned usm_at_{i}")
            arguments.append(f"usm_local_pointer{{usm_dynamic + usm_at_{i}}}")
            local |= 1 << i
        else:
            parameters.append(p.declaration)
            arguments.append(p.name)
    bounds = sizes[0] * sizes[1] * sizes[2]
    head = f'extern "C" __global__ void {f"__launch_bounds__({bounds}) " if bounds else ""}{name}'
    if grouped:
        body = (
            "    const usm_item usm_all = {(size_t)gridDim.x * blockDim.x, (size_t)gridDim.y * blockDim.y,\n"
        )
        body += "                              (size_t)gridDim.z * blockDim.z};\n"
    else:
        parameters.append("const usm_item usm_all")
        body = "    if (get_global_id(0) >= usm_all.n0 || get_global_id(1) >= usm_all.n1 ||\n"
        body += "        get_global_id(2) >= usm_all.n2) {\n        return;\n    }\n"
    body += f"    usm_user::{name}({', '.join(['usm_all', *arguments])});\n"
    fit = _FIT_GROUPS if grouped else _FIT_RANGE
    names = " ".join([str(fit), *map(str, sizes), *(_shown(p.name) for p in kernel.parameters)])
    return (
        f"{head}({', '.join(parameters)})\n{{\n{body}}}\n"
        f'extern "C" __device__ const auto usm_types_{name} = '
        f"usm_words_behind<{local}ull>(&usm_user::{name});\n"
        f'extern "C" __device__ const char usm_text_{name}[] = "{names}";\n'
    )


def translate(text: str) -> str:
    """CUDA C++ for a preprocessed program."""
    source = Source(_in_cpp(text))
    source.tree = parse(source)
    _compound_literals(source)
    _hiding_bodies(source)
    _statement_expressions(source)
    _typeof(source)
    names = {token.text for token in source.tokens if token.kind == "name"}
    body, kernels, _ = portable.program(source, CUDA)
    entries = "".join(_entry(kernel, kernel.groups) for kernel, _ in kernels)
    return (
        f'#line 1 "<usmpy>"\nnamespace usm_builtin {{\n{prelude(names)}'
        "extern __shared__ __align__(16) char usm_dynamic[];\nnamespace usm_user {\n"
        f"#line 1 {c_string(NAME)}\n{body}\n"
        f'#line 1 "<usmpy>"\nnamespace usm_entry {{\n{entries}}}\n}}\n}}\n'
    )


def _portable_source(source: str, options: _Options, check: bool) -> tuple[str, list[str]]:
    try:
        text = preprocess(source, constants("#define USMPY_CUDA 1\n"), options)
        contracts = re.search(r"^\s*#\s*pragma\s+OPENCL\s+FP_CONTRACT\s+ON\b", text, re.M)
        text = portable_complex.rewrite(text, operators=False)
        translated = translate(portable_checked.rewrite(text, portable_checked.CUDA) if check else text)
    except Refused as error:
        raise _refused(error, source) from None
    others = options.others
    fmad = [] if any(option.startswith("--fmad") for option in others) else ["--fmad=false"]
    return translated, [*_FLAGS, *([] if contracts else fmad), *others]


def _refused(error: Refused, source: str) -> BuildError:
    error.word = _shown(error.word)
    return _build_error(*error.describe(source, NAME), "cuda")


# Language 'cuda'.

_NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.S
)
_ATTRIBUTE = re.compile(r"(?:__launch_bounds__|__attribute__|__cluster_dims__|__block_size__|alignas)\s*\(")


def _close(text: str, at: int) -> int:
    """The index of the parenthesis that closes the one at `at`; the end if there is none."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i
    return len(text)


def _names(parameters: str) -> list[str] | None:
    """The name of each parameter; None if one has no name."""
    pieces, depth, start = [], 0, 0
    for i, c in enumerate(parameters + ","):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and not depth:
            pieces.append(parameters[start:i].split("=")[0].strip())
            start = i + 1
    if pieces in ([""], ["void"]):
        return []
    found = [re.search(r"([^\W\d]\w*)\s*(?:\[[^\]]*\]\s*)*\Z", piece) for piece in pieces]
    return [match[1] for match in found if match] if all(found) else None


def kernels_of(source: str) -> dict[str, list[str]]:
    """The names of the parameters of each kernel at file scope that is no template and is defined once."""
    text = _NOT_CODE.sub(lambda match: " " * len(match[0]) if match[0][0] in "/\"'R" else match[0], source)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", lambda match: " " * len(match[0]), text, flags=re.M | re.S)
    linkage = [match.end() - 1 for match in re.finditer(r"\bextern\s+\{", text)]
    found: dict[str, list[str] | None] = {}
    for match in re.finditer(r"\b__global__\b", text):
        before = text[: match.start()]
        depth = before.count("{") - before.count("}")
        depth -= sum(
            1 for at in linkage if at < match.start() and before.count("{", at) > before.count("}", at)
        )
        start = max(before.rfind(c) for c in ";{}") + 1
        if depth or "template" in before[start:] or "static" in before[start:]:
            continue
        at = match.end()
        while attribute := _ATTRIBUTE.search(text, at, text.find("{", at) + 1 or len(text)):
            opened = text.find("(", at)
            if opened >= 0 and opened < attribute.end() - 1:
                break
            at = _close(text, attribute.end() - 1) + 1
        named = re.compile(r"\s*(?:[\w:]+\s+)*?([^\W\d]\w*)\s*\(").match(text, at)
        if named is None:
            continue
        names = _names(text[named.end() : _close(text, named.end() - 1)])
        found[named[1]] = None if named[1] in found else names
    return {name: names for name, names in found.items() if names is not None}


def _facts(source: str) -> str:
    try:
        kernels = kernels_of(source)
    except (ValueError, IndexError):
        return ""
    if not kernels:
        return ""
    rows = "".join(
        f'extern "C" __device__ const auto usm_types_{name} = usm_words<0>(&::{name});\n'
        f'extern "C" __device__ const char usm_text_{name}[] = "{" ".join(["0 0 0 0", *names])}";\n'
        for name, names in kernels.items()
    )
    return f"{_TAIL}namespace usm_builtin {{\n{FACTS}{rows}}}\n"


def _header_folders() -> list[str]:
    """The folder of CUDA's own headers: of the toolkit, else of a package of this environment."""
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    packages = [
        path for folder in sys.path for path in sorted(glob.glob(os.path.join(folder, "nvidia/*/include")))
    ]
    for folder in (os.path.join(home, "include"), *packages):
        if os.path.isfile(os.path.join(folder, "cuda_fp16.h")):
            return [folder]
    return []


def _cuda_source(source: str, options: _Options) -> tuple[str, list[str]]:
    flags = [
        f"--define-macro={what}" if how == "-D" else f"--undefine-macro={what}"
        for how, what in options.defined
    ]
    flags += [f"--include-path={folder}" for folder in [*options.folders, *_header_folders()]]
    flags += [f"--pre-include={file}" for file in options.included]
    standard = any(re.match(r"-?-std", option) for option in options.others)
    return source + _facts(source), [*([] if standard else [_STANDARD]), *flags, *options.others]


def prepare(source: str, language: str, options: str, check: bool = False) -> tuple[str, str]:
    """(text for the compiler, its options, one a line). Raises BuildError if the source is wrong."""
    source = source.removeprefix("\ufeff")
    read = _Options(options)
    if language == "portable":
        text, flags = _portable_source(source, read, check)
    else:
        text, flags = _cuda_source(source, read)
    return text, "\n".join(flag.replace("\n", " ") for flag in flags)


def included(source: str, options: str) -> list[bytes]:
    """The contents of all files that the source may include, for the key of a kept build (cuda_key.py).

    Headers that are not found are NVRTC's own, or an error.
    """
    read = _Options(options)
    parts, missing = contents(source, [*read.folders, *_header_folders()], read.included)
    return [*parts, os.urandom(16)] if "" in missing else parts
