"""Programs for the host: the system's C compiler makes a shared object.

The object is kept on disk (cache.py) under a digest of the source, the options, the processor and the
compiler, which is identified by its file. Loading a kept program starts no process and imports little; the
compilation itself is in host.py. Files that a program includes count by name, time and size.
"""

from __future__ import annotations

import os

from ..errors import _build_error
from . import cache
from .included import may_include, own_state

TRIED = ("$CC", "cc", "gcc", "clang")


class CompileError(Exception):
    """The source is wrong; log is all that the compiler wrote."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.message = message
        self.log = log


class LanguageError(CompileError):
    """The source is not in its language, independent of the compiler."""


class CompilerMissing(Exception):
    """No C compiler is installed, or it does not run."""


class Compiler:
    """A command, and an identity that changes with the compiler."""

    __slots__ = ("command", "identity")

    def __init__(self, command: list[str], identity: str) -> None:
        self.command = command
        self.identity = identity


def _words(command: str) -> list[str]:
    if not set(command) & set("\"'\\#"):
        return command.split()
    import shlex

    try:
        return shlex.split(command)
    except ValueError:
        return []


def which(name: str) -> str | None:
    """The file that a shell would run."""
    folders = [""] if os.path.dirname(name) else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def find_compiler() -> Compiler:
    """The first of $CC, cc, gcc and clang that exists."""
    tried = []
    for name in TRIED:
        command = _words(os.environ.get("CC", "")) if name == "$CC" else [name]
        if not command:
            tried.append("$CC (not set)")
            continue
        path = which(command[0])
        if path is None:
            tried.append(f"$CC ({command[0]})" if name == "$CC" else name)
            continue
        status = os.stat(path)
        identity = [os.path.realpath(path), str(status.st_mtime_ns), str(status.st_size), *command[1:]]
        return Compiler([path, *command[1:]], "\0".join(identity))
    raise CompilerMissing(
        "building kernels for the host needs a C compiler, and there is none; tried: "
        f'{", ".join(tried)}. Install one, such as "apt install gcc" or "dnf install gcc"; '
        "the environment variable CC names another one"
    )


_processor: str | None = None


def _identify_processor() -> str:
    """A text that identifies the processor, on which -march=native depends."""
    global _processor
    if _processor is None:
        text = ""
        try:
            # The kernel writes this file as it is read; reading the first processor is enough, and quick.
            with open("/proc/cpuinfo", "rb", buffering=0) as file:
                text = file.read(8192).decode("ascii", "replace").partition("\n\n")[0]
        except OSError:
            pass
        kept = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ", "isa")
        lines = [line for line in text.splitlines() if line.startswith(kept)]
        _processor = "\n".join([os.uname().machine, *lines])
    return _processor


def _state(files: list[str]) -> str | None:
    """A text that changes if one of the files does; None if one is missing."""
    lines = []
    for file in files:
        try:
            status = os.stat(file)
        except (OSError, ValueError):
            return None
        lines.append(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\0{status.st_ino}")
    return "\n".join(lines)


def build(
    source: str, language: str, options: str = "", check: bool = False, *, name: str = "<source>"
) -> str:
    """The path of a shared object that exports usmpy_kernels, which was checked by this call.

    Raises CompileError if the source is wrong, CompilerMissing if there is no compiler, and
    UnicodeEncodeError if a text has no UTF-8.
    """
    if language not in ("portable", "c"):
        raise ValueError(f"language {language!r:.60} is not one that the host compiles: 'portable' or 'c'")
    source = source.removeprefix("\ufeff")  # a byte order mark
    (source + options + name).encode()  # UnicodeEncodeError, as on devices of drivers
    compiler = find_compiler()
    parts = [language, "checked" * check, name, source, options, compiler.identity]
    parts += [_identify_processor(), own_state()]
    includes = may_include(source, options)
    if includes:
        paths = [os.environ.get(variable, "") for variable in ("CPATH", "C_INCLUDE_PATH")]
        try:
            parts += [os.getcwd(), *paths]
        except OSError:  # it was removed
            parts += ["", *paths]
    key = cache.key(*parts)
    if not includes:
        if (path := cache.path(key, ".so")) is not None:
            return path
    elif (listed := cache.load(key, ".files")) is not None:
        files = listed.decode("utf-8", "surrogateescape").split("\n") if listed else []
        state = _state(files)
        if state is not None and (path := cache.path(cache.key(key, state), ".so")) is not None:
            return path
    from . import host

    data, files = host.compile(compiler, source, language, options, name, check)
    if includes:
        state = _state(files)
        if state is not None:
            cache.store(key, ".files", "\n".join(files).encode("utf-8", "surrogateescape"))
            key = cache.key(key, state)
    return cache.store(key, ".so", data)


def program(source: str, language: str, options: str, check: bool) -> str:
    """build() for Program: raises BuildError with the full log."""
    where = " for the host device"
    try:
        return build(source, language, options, check)
    except CompileError as error:
        message, log = error.message, error.log
        where = "" if isinstance(error, LanguageError) else where
    except CompilerMissing as error:
        message, log = str(error), None
    raise _build_error(message, log, "host", where)
