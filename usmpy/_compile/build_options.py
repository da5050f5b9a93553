"""Compiler options of programs.

This is an allow-list, since compilers also have options that write files, run other programs, or produce
output other than the kernel. Any other option raises a ValueError that names it.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

# These take the next word as their value if they are a word of their own.
_WITH_VALUE = ("-include", "-isystem", "-iquote", "-D", "-U", "-I", "-L", "-l")
# The same options of NVIDIA's compiler.
_LONG = {"--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I"}
_LONG["--pre-include"] = "-include"


class Option(NamedTuple):
    name: str  # "-D", or the whole word of an option without a value
    value: str


class Compiler(NamedTuple):
    with_value: frozenset[str]
    others: re.Pattern[str]
    described: str  # all of it, for messages


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(f"(?:{one})" for one in alternatives) + r")\Z", re.S)


_OPENCL = r"-cl-[\w-]+(?:=[\w.+-]+)?"
# Arithmetic, and the code of loops and calls: nothing that writes a file, needs a library at run time, or
# changes how functions are called.
_ARITHMETIC = [
    *("fast-math", "math-errno", "finite-math-only", "signed-zeros", "signaling-nans", "trapping-math"),
    *("associative-math", "reciprocal-math", "rounding-math", "unsafe-math-optimizations", "approx-func"),
    *("single-precision-constant", "cx-limited-range", "cx-fortran-rules", "fp-int-builtin-inexact"),
    *("honor-infinities", "honor-nans", r"fp-contract=\w+", r"excess-precision=\w+", r"fp-model=\w+"),
    *(r"denormal-fp-math=[\w,-]+", r"fp-exception-behavior=\w+"),
]
_CODE = [
    *(r"align-\w+(?:=[\d:]+)?", r"builtin(?:-\w+)?", "delete-null-pointer-checks", r"gcse(?:-\w+)*", "ident"),
    *("if-conversion2?", r"inline(?:-[a-z-]+)?", r"inline-limit=\d+", r"ipa-[\w-]+", "ivopts", "jump-tables"),
    *(r"(?:aggressive-)?loop-[\w-]+", "merge-(?:all-)?constants", "modulo-sched", "omit-frame-pointer"),
    *("openmp-simd", r"optimize-[\w-]+", "peel-loops", "predictive-commoning", "prefetch-loop-arrays"),
    *(
        "rename-registers",
        r"reorder-[\w-]+",
        r"sched-[\w-]+",
        "schedule-insns2?",
        r"(?:simd|vect)-cost-model=\w+",
    ),
    *(
        "(?:slp-)?vectorize",
        "split-(?:loops|paths|wide-types)",
        r"stack-protector(?:-\w+)?",
        "strict-aliasing",
    ),
    *("strict-overflow", "trapv", r"tree-[\w-]+", "unroll-(?:all-)?loops", "unswitch-loops", "wrapv"),
]
_CODE_OF_C = r"-f(?:no-)?(?:" + "|".join([*_ARITHMETIC, *_CODE]) + ")"
_LEVEL = r"-O(?:[0-3gsz]|fast)?"
_WARNINGS = r"-w|-pedantic|-W(?:no-)?[a-z][\w+-]*(?:=[\w-]+)?"
_DEBUG = r"-g(?:gdb)?[0-3]?"
_STANDARD = r"-std=(?:c|gnu|iso9899:)\w+"
# Options of the processor; none that change the word size or the calling convention, and none of LLVM.
_PROCESSOR = r"-m(?!llvm\b|(?:x?32|16|iamcu)\b|abi=)[a-z0-9][\w.-]*(?:=[\w.,+-]+)?"

C = Compiler(
    frozenset(_WITH_VALUE),
    _pattern(_OPENCL, _CODE_OF_C, _LEVEL, _WARNINGS, _DEBUG, _STANDARD, _PROCESSOR, r"-Wl,-rpath[=,][^,]+"),
    "-D, -U, -I, -include, -isystem, -iquote, -l, -L, -Wl,-rpath, -O<level>, -f<arithmetic or code of loops "
    "and calls>, -m<processor>, -std=, -W<warning>, -w, -g and -cl-<OpenCL>",
)
CLANG = Compiler(
    frozenset(_WITH_VALUE) - {"-l", "-L"},
    _pattern(_OPENCL, r"-ze-[\w-]+", _CODE_OF_C, _LEVEL, _WARNINGS, _DEBUG),
    "-D, -U, -I, -include, -isystem, -iquote, -O<level>, -f<arithmetic or code of loops and calls>, "
    "-W<warning>, -w, -g, -cl-<OpenCL> and -ze-<Level Zero>",
)
_TRUE = "=(?:true|false)"
NVRTC = Compiler(
    frozenset({"-D", "-U", "-I", "-include"}),
    _pattern(
        _OPENCL,
        r"(?:-arch|--gpu-architecture)=[\w-]+",
        rf"--?(?:ftz|prec-div|prec-sqrt|fmad){_TRUE}|--?use_fast_math|--?Ofast-compile=\w+",
        r"-lineinfo|--generate-line-info|-G|--device-debug|-dopt(?:=on)?|--dopt(?:=on)?|--?minimal",
        r"--?maxrregcount=\d+|--?extra-device-vectorization|--?restrict|--?jump-table-density=\d+",
        r"--?std=c\+\+\d\d|-default-device|--device-as-default-execution-space|--?device-(?:int|float)128",
        rf"--?(?:modify-stack-limit|builtin-move-forward|builtin-initializer-list|device-stack-protector){_TRUE}",
        rf"-w|--disable-warnings|--?Wreorder|--warning-as-error|--?brief-diagnostics{_TRUE}",
        r"--?diag-(?:error|suppress|warn)=[\d,]+|--?(?:no-)?display-error-number|--?optimization-info=\w+",
        r"--?no-cache|--?split-compile=\d+|--?frandom-seed=\w+|(?:-Xptxas|--ptxas-options)=[\w=,-]+",
    ),
    "-D, -U, -I, -include, -cl-<OpenCL>, and of NVRTC's own those of arithmetic (--use_fast_math, --fmad=, "
    "--ftz=, --prec-div=, --prec-sqrt=), of code (--gpu-architecture=, --maxrregcount=, -lineinfo, -G, "
    "--std=) and of messages",
)
# Drivers check their options themselves: only those of the preprocessor are read here.
DRIVER = Compiler(frozenset({"-D", "-U", "-I", "-include"}), _pattern(".*"), "")


def _refuse(what: str, compiler: Compiler) -> ValueError:
    return ValueError(f"options: {what:.150}; allowed are {compiler.described}")


def read(text: str, compiler: Compiler) -> list[Option]:
    """The options in their order. Raises ValueError for an option that is not allowed.

    text: as a shell takes them, with quotes and backslashes.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"options is {text!r:.60}: {error}") from None
    found = []
    given = iter(words)
    for word in given:
        long, equals, behind = word.partition("=")
        if equals and long in _LONG:
            word = _LONG[long] + behind
        name = next((name for name in _WITH_VALUE if word.startswith(name)), word)
        if name in compiler.with_value:
            value = word[len(name) :] or next(given, "")
            if not value:
                raise _refuse(f"{name} has no value", compiler)
            found.append(Option(name, value))
        elif compiler.others.match(word):
            found.append(Option(word, ""))
        else:
            raise _refuse(f"{word} is not allowed", compiler)
    return found


def version_of(options: list[Option]) -> str:
    """The value of __OPENCL_C_VERSION__, from the last -cl-std=."""
    version = "120"
    for option in options:
        if option.name.startswith("-cl-std="):
            digits = re.sub(r"[^0-9]", "", option.name)
            version = (digits + "00")[:3] if digits else version
    return version
