"""Kernels for the host: a program becomes a shared object, by the system's C compiler, once.

What is built is kept on disk (_cache.py), by the source, the options, the processor and the compiler, which
is known by its file: a program that was built before starts no process. A program that includes files is kept
with their names, times and sizes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from typing import NamedTuple

from . import _cache
from .errors import BuildError

TRIED = ("$CC", "cc", "gcc", "clang")
_CODE = ["-O3", "-march=native", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pipe"]
# OpenCL C has no errno, and pointers may be cast. Not -fno-trapping-math: GCC then takes (float)(int)x for
# trunc(x), which is another zero for -0.5.
_PORTABLE = ["-fno-math-errno", "-fno-strict-aliasing", "-fno-ident", "-w"]
_PORTABLE += ["-Werror=implicit-function-declaration", "-Werror=implicit-int", "-Werror=int-conversion"]
_PORTABLE += ["-Werror=incompatible-pointer-types"]
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
# Those of the compiler that would give something else than the object.
_NOT_OURS = re.compile(
    r"-(?:[cSEMx]|MM|o.*|x.*|static|pie|no-pie|r|save-temps.*|fsyntax-only|flto.*)\Z|@|[^-]"
)
_INCLUDES = re.compile(r"include|import|embed")


# Kernels begin with two size_t, and work on numbers of known widths: nobody has to include these.
_C_HEADERS = [word for header in ("stddef.h", "stdint.h", "stdbool.h") for word in ("-include", header)]


class CompileError(Exception):
    """The source is at fault; log is all that was said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.message = message
        self.log = log


class CompilerMissing(Exception):
    """There is no C compiler, or it does not run."""


class _Options(NamedTuple):
    version: str  # of OpenCL C
    preprocessor: list[str]
    compiler: list[str]  # with those of the preprocessor
    linker: list[str]


def _split_options(options: str) -> _Options:
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise CompileError(f"options: {error}", f"options: {error}\n") from None
    version, preprocessor, compiler, linker = "120", [], [], []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in ("-D", "-I", "-U", "-include", "-isystem", "-iquote", "-L", "-l"):
            if i == len(words):
                message = f"options: {word} without a value"
                raise CompileError(message, message + "\n")
            given = [word + words[i]] if len(word) == 2 else [word, words[i]]
            i += 1
        else:
            given = [word]
        if word.startswith(("-D", "-I", "-U", "-include", "-isystem", "-iquote")):
            preprocessor += given
            compiler += given
        elif word.startswith("-cl-std="):
            digits = re.sub(r"\D", "", word)
            version = (digits + "00")[:3] if digits else version
        elif word.startswith("-cl-"):
            mapped = _OPENCL_OPTIONS.get(word, [])
            preprocessor += [option for option in mapped if option.startswith("-D")]
            compiler += mapped
        elif word.startswith(("-l", "-L", "-Wl,")):
            linker += given
        elif _NOT_OURS.match(word):
            message = f"options: {word} is not for kernels"
            raise CompileError(message, message + "\n")
        else:
            compiler += given
    return _Options(version, preprocessor, compiler, linker)


class _Compiler(NamedTuple):
    command: list[str]
    identity: str


def find_compiler() -> _Compiler:
    """The first of $CC, cc, gcc and clang that is there."""
    tried = []
    for name in TRIED:
        if name == "$CC":
            try:
                command = shlex.split(os.environ.get("CC", ""))
            except ValueError:
                command = []
            if not command:
                tried.append("$CC (not set)")
                continue
        else:
            command = [name]
        path = shutil.which(command[0])
        if path is None:
            tried.append(f"$CC ({command[0]})" if name == "$CC" else name)
            continue
        status = os.stat(path)
        identity = [os.path.realpath(path), str(status.st_mtime_ns), str(status.st_size), *command[1:]]
        return _Compiler([path, *command[1:]], "\0".join(identity))
    raise CompilerMissing(
        "building kernels for the host needs a C compiler, and there is none; tried: "
        f'{", ".join(tried)}. Install one, such as "apt install gcc" or "dnf install gcc"; '
        "the environment variable CC names another one"
    )


_processor: str | None = None


def _identify_processor() -> str:
    """What -march=native goes by."""
    global _processor
    if _processor is None:
        text = ""
        try:
            # The kernel writes this as it is read: all processors of a large machine take long.
            with open("/proc/cpuinfo", "rb", buffering=0) as file:
                text = file.read(8192).decode("ascii", "replace").partition("\n\n")[0]
        except OSError:
            pass
        kept = re.compile(
            r"(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+|isa)\s*:"
        )
        lines = [line for line in text.splitlines() if kept.match(line)]
        _processor = "\n".join([os.uname().machine, *lines])
    return _processor


_MODULES = ["_compiler", "_entry", "_plain_c", "_portable", "_portable_builtins", "_portable_constants"]
_MODULES += ["_portable_fibers", "_portable_loops", "_tokens"]


def _identify_ourselves() -> str:
    """The translator, which the release does not tell while it is being worked on."""
    parts = []
    folder = os.path.dirname(__file__)
    for name in _MODULES:
        try:
            status = os.stat(os.path.join(folder, name + ".py"))
        except OSError:
            continue
        parts.append(f"{status.st_mtime_ns},{status.st_size}")
    return ";".join(parts)


def _run(command: list[str], source: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, input=source.encode("utf-8", "surrogateescape"), capture_output=True, env=environment
        )
    except OSError as error:
        raise CompilerMissing(f"the C compiler {command[0]} does not run: {error}") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return _text(done.stderr) or f"{done.args[0]} ended with status {done.returncode}\n"


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


# Lines and names of what we write around the user's text.
_OURS = re.compile(r"^(?:<usmpy>|<stdin>:\d|In file included from <stdin>)|\busm_\w")


def _clean(log: str, source: str, name: str, whole: bool = False) -> str:
    """The compiler's words about the user's lines, with these, and without what it says of ours alone."""
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
            if at[2]:
                kept.append(f"      | {' ' * (int(at[2]) - 1)}^")
    if not whole and not any("error" in line for line in kept) and "error" in log:
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


def _refused(error: Exception, source: str, name: str) -> CompileError:
    from ._portable import Refused

    assert isinstance(error, Refused)
    column = ""
    lines = source.split("\n")
    if error.file == name and error.word and 0 < error.line <= len(lines):
        found = [
            m.start() for m in re.finditer(rf"(?<!\w){re.escape(error.word)}(?!\w)", lines[error.line - 1])
        ]
        if found:
            column = f"{found[0] + 1}:"
    return _error(f"{error.file or name}:{error.line}:{column} error: {error.message}", source, name)


def _marker(name: str) -> str:
    from ._entry import c_string

    return f"# 1 {c_string(name)}\n"


def _preprocess(compiler: _Compiler, options: _Options, prelude: str, source: str, name: str) -> str:
    command = [*compiler.command, "-E", "-std=gnu11", "-fdiagnostics-color=never", *options.preprocessor]
    done = _run([*command, "-x", "c", "-"], prelude + _marker(name) + source + "\n")
    if done.returncode:
        raise _error(_said(done), source, name)
    return _text(done.stdout)


def _compile(compiler: _Compiler, flags: list[str], options: _Options, text: str) -> tuple[bytes | None, str]:
    """(the object, None where it failed; what was said)."""
    import tempfile

    flags = [*_CODE, *flags, "-fdiagnostics-color=never", *options.compiler]
    # With options of fast arithmetic, linking adds code that changes the whole process's arithmetic.
    apart = any(re.match(r"-Ofast|-ffast-math|-funsafe-math", option) for option in options.compiler)
    with tempfile.TemporaryDirectory(prefix="build-", dir=_cache.temporary_folder()) as folder:
        out = os.path.join(folder, "kernels.so")
        link = [*_LINK, *options.linker, "-lm"]
        if apart:
            part = os.path.join(folder, "kernels.o")
            done = _run([*compiler.command, *flags, "-c", "-x", "c", "-", "-o", part], text)
            said = _text(done.stderr)
            if not done.returncode:
                done = _run([*compiler.command, "-fPIC", part, "-o", out, *link], "")
                said += _text(done.stderr)
        else:
            done = _run([*compiler.command, *flags, "-x", "c", "-", "-x", "none", "-o", out, *link], text)
            said = _text(done.stderr)
        if done.returncode:
            return None, said or _said(done)
        with open(out, "rb") as file:
            return file.read(), said


def _build_portable(compiler: _Compiler, options: _Options, source: str, name: str) -> tuple[bytes, str]:
    from . import _portable
    from ._portable_constants import CONSTANTS

    versions = (
        f"#define __OPENCL_VERSION__ {options.version}\n#define __OPENCL_C_VERSION__ {options.version}\n"
    )
    constants = CONSTANTS + versions
    text = _preprocess(compiler, options, constants, source, name)
    try:
        translated = _portable.translate(text, name)
    except _portable.Refused as error:
        raise _refused(error, source, name) from None
    macros = [o for o in options.compiler if o not in options.preprocessor]
    flags = [*_PORTABLE, *(["-fexcess-precision=16"] if re.search(r"\b_Float16\b|\bhalf\b", text) else [])]
    data, log = _compile(compiler, flags, options._replace(compiler=macros), translated)
    if data is None:
        raise _portable_error(compiler, options, constants, text, log, source, name)
    return data, text


def _portable_error(
    compiler: _Compiler, options: _Options, constants: str, text: str, log: str, source: str, name: str
) -> CompileError:
    """What the compiler says of the user's own text, with columns and macros."""
    from . import _portable

    check = _portable.for_messages(text) + constants + _marker(name) + source + "\n"
    flags = ["-fsyntax-only", "-std=gnu11", *_PORTABLE, "-fdiagnostics-color=never", *options.compiler]
    done = _run([*compiler.command, *[f for f in flags if f != "-w"], "-x", "c", "-"], check)
    said = _text(done.stderr)
    clean = _clean(said, source, name)
    return _error(said if done.returncode and "error:" in clean else log, source, name)


def _build_c(compiler: _Compiler, options: _Options, source: str, name: str) -> tuple[bytes, str]:
    from . import _plain_c, _portable

    options = options._replace(
        preprocessor=[*_C_HEADERS, *options.preprocessor], compiler=[*_C_HEADERS, *options.compiler]
    )
    text = _preprocess(compiler, options, "", source, name)
    try:
        tail = _plain_c.tail(text)
    except _portable.Refused as error:
        raise _refused(error, source, name) from None
    except _plain_c.Unreadable:
        tail = ""  # the compiler says it better
    data, log = _compile(compiler, _C, options, _marker(name) + source + "\n" + tail)
    if data is None:
        raise _error(log, source, name)
    return data, text


def _files(text: str, name: str) -> list[str]:
    """Those that the preprocessor read."""
    found = re.findall(r'^# \d+ "((?:[^"\\]|\\.)*)"', text, re.M)
    files = {re.sub(r"\\(.)", r"\1", file) for file in found}
    return sorted(
        f for f in files if f != name and not (f.startswith("<") and f.endswith(">")) and f[-2:] != "//"
    )


def _state(files: list[str]) -> str | None:
    """What would change if one of them did; None where one is gone."""
    lines = []
    for file in files:
        try:
            status = os.stat(file)
        except (OSError, ValueError):
            return None
        lines.append(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\0{status.st_ino}")
    return "\n".join(lines)


def build(source: str, language: str, options: str = "", *, name: str = "<source>") -> str:
    """The path of a shared object that exports usmpy_kernels, checked just now.

    Raises CompileError where the source is at fault, CompilerMissing where nothing can compile it.
    """
    if language not in ("portable", "c"):
        raise ValueError(f"language {language!r} is not one that the host compiles: 'portable' or 'c'")
    split = _split_options(options)
    compiler = find_compiler()
    parts = [language, name, source, options, compiler.identity, _identify_processor(), _identify_ourselves()]
    includes = bool(_INCLUDES.search(source.replace("\\\n", "") + options))
    if includes:
        paths = [os.environ.get(variable, "") for variable in ("CPATH", "C_INCLUDE_PATH")]
        parts += [os.getcwd(), *paths]
    key = _cache.key(*parts)
    if not includes:
        if (path := _cache.path(key, ".so")) is not None:
            return path
    elif (listed := _cache.load(key, ".files")) is not None:
        files = listed.decode("utf-8", "surrogateescape").split("\n") if listed else []
        state = _state(files)
        if state is not None and (path := _cache.path(_cache.key(key, state), ".so")) is not None:
            return path
    data, text = (_build_portable if language == "portable" else _build_c)(compiler, split, source, name)
    if includes:
        files = _files(text, name)
        state = _state(files)
        if state is not None:
            _cache.store(key, ".files", "\n".join(files).encode("utf-8", "surrogateescape"))
            key = _cache.key(key, state)
    return _cache.store(key, ".so", data)


def program(source: str, language: str, options: str) -> str:
    """build() for Program: what goes wrong is a BuildError, with the full log."""
    try:
        return build(source, language, options)
    except CompileError as error:
        message, log = error.message, error.log
    except CompilerMissing as error:
        message, log = str(error), None
    said = message if log is None or log in message else f"{message}\n{log}"
    raise BuildError(f"the program does not build for the host device: {said}", backend="host", log=log)
