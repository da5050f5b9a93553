"""Files that a program may include: the key of a kept build depends on their contents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

# A backslash at the end of a line, as GCC takes it: blanks may follow. The trigraph is one in ISO C.
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t\v\f\0]*\r?\n")
_INCLUDE = re.compile(r'(?:#|%:)\s*(?:include(?:_next)?|import)\b\s*(?:"([^"\n]+)"|<([^>\n]+)>)?')


def may_include(source: str, options: str = "") -> bool:
    """Whether the preprocessor may read files; true in doubt."""
    text = _SPLICE.sub("", source) + options
    return any(word in text for word in ("include", "import", "embed"))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def contents(source: str, folders: Iterable[str], files: Iterable[str] = ()) -> tuple[list[bytes], set[str]]:
    """The contents of all files that the source may include, also in untaken branches; missing names.

    folders: searched after the folder of the including file. files: included before the source. A name
    that comes from a macro is unknown: it is "" among the missing names.
    """
    folders = list(folders)
    waiting = [("", name) for name in files]
    parts: list[bytes] = []
    seen: set[str] = set()
    missing: set[str] = set()

    def scan(text: str, own: str) -> None:
        for match in _INCLUDE.finditer(_SPLICE.sub("", text)):
            waiting.append((own, match[1] or match[2] or ""))

    scan(source, "")
    while waiting:
        own, name = waiting.pop()
        paths = [os.path.join(folder, name) for folder in (own, *folders)] if name else []
        path = next((path for path in paths if os.path.isfile(path)), None)
        if path is None:
            missing.add(name)
        elif path not in seen:
            seen.add(path)
            data = _read(path)
            parts.append(data)
            scan(data.decode("utf-8", "replace"), os.path.dirname(path))
    return parts, missing


def files(source: str, options: str) -> tuple[list[bytes], set[str]]:
    """The contents of what a driver's program includes; names that are missing."""
    if not may_include(source, options):
        return [], set()
    from . import build_options

    try:
        read = build_options.read(options, build_options.DRIVER)
    except ValueError:  # the driver reports it
        return [], {""}
    folders = [value for name, value in read if name == "-I"]
    return contents(source, folders, [value for name, value in read if name == "-include"])


def own_text(name: str) -> str:
    """A file of this folder, which becomes part of programs."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def own_parts(name: str) -> dict[str, str]:
    """The parts of such a file, which begin with a line of their names."""
    return dict(part.split("\n", 1) for part in own_text(name).split("// --- ")[1:])


_state = ""


def own_state() -> str:
    """The state of the files of this folder, which change during development without a new release."""
    global _state
    if not _state:
        with os.scandir(os.path.dirname(__file__)) as entries:
            states = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
        _state = ";".join(f"{name},{state.st_mtime_ns},{state.st_size}" for name, state in sorted(states))
    return _state


def identify(source: str, options: str) -> bytes:
    """The part of a driver build's key beside source and options.

    If a file is not found, the key is different each time: the driver may find the file, and it may change.
    """
    parts, missing = files(source, options)
    return b"\0".join([own_state().encode(), *parts, os.urandom(16) if missing else b""])
