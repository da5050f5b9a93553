"""Compiles a program for the host: options, preprocessing, translation, and messages with the user's
lines."""

from __future__ import annotations

import os
import re
import subprocess
from typing import NamedTuple

from . import build_options, cache, process
from .compiler import CompileError, Compiler, CompilerMissing, LanguageError

_CODE = ["-O3", "-march=native", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pipe"]
# OpenCL C has no errno, and pointers may be cast. Not -w: GCC then ignores -Werror.
_PORTABLE = ["-fno-math-errno", "-fno-strict-aliasing", "-fno-ident"]
_PORTABLE += ["-Werror=implicit-function-declaration", "-Werror=implicit-int", "-Werror=int-conversion"]
_PORTABLE += ["-Werror=incompatible-pointer-types"]
_MOST_PRIVATE = 4 << 20  # bytes of a frame: threads have stacks of 8 MiB
# Without traps, GCC puts branches into vectors on every processor. See _compile for what else it does then.
_GCC = ["-fno-trapping-math"]
_NO_FMA = ["-mno-fma", "-mno-avx512f"]
_IS_GCC = "#ifndef __clang__\nusm_gcc\n#endif\n"  # in front of what is preprocessed
_C = ["-Werror=implicit-function-declaration"]
_LINK = ["-shared", "-Wl,-z,defs", "-Wl,-z,noexecstack"]
_OPENCL_OPTIONS: dict[str, list[str]] = {
    "-cl-mad-enable": ["-ffp-contract=fast"],
    "-cl-single-precision-constant": ["-fsingle-precision-constant"],
    "-cl-no-signed-zeros": ["-fno-signed-zeros"],
    "-cl-finite-math-only": ["-ffinite-math-only"],
    "-cl-unsafe-math-optimizations": ["-funsafe-math-optimizations", "-ffp-contract=fast"],
    "-cl-fast-relaxed-math": ["-ffast-math", "-ffp-contract=fast", "-D__FAST_RELAXED_MATH__=1"],
    "-cl-opt-disable": ["-O0"],
}
# Kernels begin with two size_t and often use types of fixed width, so these headers are always included.
_C_HEADERS = [word for header in ("stddef.h", "stdint.h", "stdbool.h") for word in ("-include", header)]


class _Options(NamedTuple):
    version: str  # of OpenCL C
    preprocessor: list[str]
    compiler: list[str]  # with those of the preprocessor
    linker: list[str]


def _split_options(options: str) -> _Options:
    read = build_options.read(options, build_options.C)
    preprocessor, compiler, linker = [], [], []
    for name, value in read:
        if name in ("-l", "-L") or name.startswith("-Wl,"):
            linker.append(name + value)
        elif value:
            preprocessor.append(name + value)
            compiler.append(name + value)
        elif name.startswith("-cl-"):
            mapped = _OPENCL_OPTIONS.get(name, [])
            preprocessor += [option for option in mapped if option.startswith("-D")]
            compiler += mapped
        else:
            compiler.append(name)
    return _Options(build_options.version_of(read), preprocessor, compiler, linker)


def _run(command: list[str], source: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return process.run(command, source.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CompilerMissing(f"the C compiler {command[0]} does not run: {error}") from error


def _output_of(done: subprocess.CompletedProcess[bytes]) -> str:
    return _text(done.stderr) or f"{done.args[0]} ended with status {done.returncode}\n"


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


# Lines and names of the text that is written around the user's.
_OURS = re.compile(r"^(?:<usmpy>|<stdin>:\d|In file included from <stdin>)|'usm_(?:[a-z]_?|old|new|item)'")


def _clean(log: str, source: str, name: str, whole: bool = False) -> str:
    """The log with the user's lines shown, and without messages about the generated text."""
    lines, kept, ours = source.split("\n"), [], False
    place = re.compile(re.escape(name) + r":(\d+):(?:(\d+):)? ")
    for line in log.splitlines():
        if _OURS.search(line) and not whole:
            ours = True
            continue
        if ours and line.startswith(" "):
            continue
        ours = False
        kept.append(line)
        if (at := place.match(line)) and 0 < int(at[1]) <= len(lines):
            text = lines[int(at[1]) - 1].expandtabs(1).rstrip("\r")
            kept.append(f"{at[1]:>5} | {text}")
            if at[2] and int(at[2]) <= len(text):  # no place of a text that was written anew
                kept.append(f"      | {' ' * (int(at[2]) - 1)}^")
    if not whole and not any("error:" in line for line in kept) and "error:" in log:
        return _clean(log, source, name, whole=True)
    return "\n".join(kept) + "\n" if kept else ""


def _error(log: str, source: str, name: str) -> CompileError:
    clean = _clean(log, source, name) or log
    undefined = re.findall(r"undefined reference to [`']?([^'\n]*)|undefined symbol: (.*)", clean)
    if undefined:
        names = sorted({one or other for one, other in undefined})
        return CompileError(f"{name}: error: used, and not defined: {', '.join(names)}", clean)
    first = next((line for line in clean.splitlines() if "error:" in line), clean.strip().split("\n")[0])
    return CompileError(first or "the C compiler failed", clean)


def _refused(error: Exception, source: str, name: str) -> LanguageError:
    from .tokens import Refused

    assert isinstance(error, Refused)
    return LanguageError(*error.describe(source, name))


def _marker(name: str) -> str:
    from .entry import c_string

    return f"# 1 {c_string(name)}\n"


def _preprocess(compiler: Compiler, options: _Options, prelude: str, source: str, name: str) -> str:
    command = [*compiler.command, "-E", "-std=gnu11", "-fdiagnostics-color=never", *options.preprocessor]
    done = _run([*command, "-x", "c", "-"], prelude + _marker(name) + source + "\n")
    if done.returncode:
        raise _error(_output_of(done), source, name)
    return _text(done.stdout)


def _compile(
    compiler: Compiler, flags: list[str], options: _Options, text: str
) -> tuple[bytes | None, str, list[int]]:
    """(the object, or None if it failed; the log; the frames' sizes, with -fstack-usage)."""
    import tempfile

    given = flags
    flags = [*_CODE, *flags, "-fdiagnostics-color=never", *options.compiler]
    # With options of fast arithmetic, linking adds code that changes the whole process's arithmetic.
    apart = any(re.match(r"-Ofast|-ffast-math|-funsafe-math", option) for option in options.compiler)
    private = cache.temporary_folder()
    with tempfile.TemporaryDirectory(prefix="build-", dir=private) as folder:
        out = os.path.join(folder, "kernels.so")
        link = [*_LINK, *options.linker, "-lm"]
        optimized = os.path.join(folder, "optimized")
        dump = [f"-fdump-tree-optimized={optimized}"] if _GCC[0] in flags else []
        if apart:
            part = os.path.join(folder, "kernels.o")
            done = _run([*compiler.command, *flags, *dump, "-c", "-x", "c", "-", "-o", part], text)
            output = _text(done.stderr)
            if not done.returncode:
                done = _run([*compiler.command, "-fPIC", part, "-o", out, *link], "")
                output += _text(done.stderr)
        else:
            command = [*compiler.command, *flags, *dump, "-x", "c", "-", "-x", "none", "-o", out, *link]
            done = _run(command, text)
            output = _text(done.stderr)
        if done.returncode:
            return None, output or _output_of(done), []
        with open(out, "rb") as file:
            data = file.read()
        frames: list[int] = []
        if dump:  # GCC 12 then takes (float)(int)x for trunc(x), which is another zero for -0.5
            is_known = os.path.isfile(optimized)  # not with -flto
            with open(optimized if is_known else os.devnull, encoding="utf-8", errors="replace") as file:
                found = file.read()
            if not is_known or ".TRUNC (" in found:
                return _compile(compiler, [o for o in given if o not in _GCC], options, text)
            # It also contracts a * c - b * d beside a * d + b * c, whatever -ffp-contract says.
            if (
                re.search(r"\.VEC_FM(?:ADDSUB|SUBADD) \(", found)
                and not {*_NO_FMA} & {*flags}
                and not any(
                    re.match(r"-ffp-contract=fast|-Ofast|-ffast-math", option) for option in options.compiler
                )
            ):
                return _compile(compiler, [*given, *_NO_FMA], options, text)
        for usage in (entry.path for entry in os.scandir(folder) if entry.name.endswith(".su")):
            with open(usage, encoding="utf-8", errors="replace") as file:
                frames += [int(line.split("\t")[1]) for line in file]
    if cache.temporary_folder() != private:  # what was read may be another user's
        message = f"the temporary folder {private} was replaced while the program was built; build it again"
        raise CompileError(message, message + "\n")
    return data, output, frames


def _build_portable(
    compiler: Compiler, options: _Options, source: str, name: str, check: bool
) -> tuple[bytes, str]:
    from . import portable, portable_complex
    from .portable_constants import CONSTANTS

    versions = (
        f"#define __OPENCL_VERSION__ {options.version}\n#define __OPENCL_C_VERSION__ {options.version}\n"
    )
    constants = CONSTANTS + versions
    text = _preprocess(compiler, options, _IS_GCC + constants, source, name)
    is_gcc, text = "\nusm_gcc\n" in text, text.replace("\nusm_gcc\n", "\n\n", 1)
    try:
        written = portable_complex.rewrite(text)
        translated = portable.translate(_checked(written) if check else written, name)
    except portable.Refused as error:
        raise _refused(error, source, name) from None
    given, macros = options, [o for o in options.compiler if o not in options.preprocessor]
    flags = [*_PORTABLE, "-fstack-usage", *(_GCC if is_gcc else ["-fbracket-depth=4096"])]
    flags += ["-fexcess-precision=16"] if re.search(r"\b_Float16\b|\bhalf\b", text) else []
    if is_gcc and "USM_ITEMS {" in translated:  # GCC 12 moves the memset of `a[i] = x; a[i] = 0` to the front
        flags.append("-fno-tree-loop-distribute-patterns")
    options = options._replace(compiler=macros)
    data, log, frames = _compile(compiler, flags, options, translated)
    if data is None:
        shown = source if written == text else written
        raise _portable_error(compiler, given, constants, text, log, source, shown, name)
    if (largest := max(frames, default=0)) > _MOST_PRIVATE:
        message = f"{name}: error: a work-item has {largest} bytes of private variables, and on the host at "
        message += f"most {_MOST_PRIVATE}; keep large arrays in global memory"
        raise CompileError(message, message + "\n")
    if sum(frames) > 128 << 10 and "USM_STACK" in translated:  # one may call all others
        room = f"#define USM_STACK {(256 << 10) + sum(frames) + 65535 & -65536}\n"
        data = _compile(compiler, flags, options, room + translated)[0]
        assert data is not None
    return data, text


def _checked(text: str) -> str:
    from .portable_checked import HOST, rewrite

    return rewrite(text, HOST)


def _portable_error(
    compiler: Compiler,
    options: _Options,
    constants: str,
    text: str,
    log: str,
    source: str,
    own: str,
    name: str,
) -> CompileError:
    """The compiler's messages about the user's own text, with columns and macros."""
    from . import portable

    plain = re.sub(r"(?<![\w.])(\.?\d(?:[eEpP][+-]|[\w.])*)[hH](?![\w.])", r"\1f16", own)
    check = portable.for_messages(text) + constants + _marker(name) + plain + "\n"
    flags = ["-fsyntax-only", "-std=gnu11", *_PORTABLE, "-fdiagnostics-color=never", *options.compiler]
    done = _run([*compiler.command, *flags, "-x", "c", "-"], check)
    output = _text(done.stderr)
    clean = _clean(output, source, name)
    return _error(output if done.returncode and "error:" in clean else log, source, name)


def _build_c(compiler: Compiler, options: _Options, source: str, name: str) -> tuple[bytes, str]:
    from . import plain_c, portable

    options = options._replace(
        preprocessor=[*_C_HEADERS, *options.preprocessor], compiler=[*_C_HEADERS, *options.compiler]
    )
    text = _preprocess(compiler, options, "", source, name)
    try:
        tail = plain_c.tail(text)
    except portable.Refused as error:
        raise _refused(error, source, name) from None
    except plain_c.Unreadable:
        tail = ""  # the compiler's message is better
    data, log, _ = _compile(compiler, _C, options, _marker(name) + source + "\n" + tail)
    if data is None:
        raise _error(log, source, name)
    return data, text


def _files(text: str, name: str) -> list[str]:
    """The files that the preprocessor read."""
    found = re.findall(r'^# \d+ "((?:[^"\\]|\\.)*)"', text, re.M)
    files = {re.sub(r"\\(.)", r"\1", file) for file in found}
    return sorted(
        f for f in files if f != name and not (f.startswith("<") and f.endswith(">")) and f[-2:] != "//"
    )


def compile(
    compiler: Compiler, source: str, language: str, options: str, name: str, check: bool
) -> tuple[bytes, list[str]]:
    """The shared object, and the files that the preprocessor read."""
    split = _split_options(options)
    if language == "portable":
        data, text = _build_portable(compiler, split, source, name, check)
    else:
        data, text = _build_c(compiler, split, source, name)
    return data, _files(text, name)
