"""Compiles OpenCL C to SPIR-V for Level Zero, whose drivers take only SPIR-V.

Intel's own compiler (libocloc, part of their OpenCL driver) comes first; else a clang, with the llvm-spirv of
its release where it has no SPIR-V of its own. csrc/py/programs/build.c calls this, and keeps the result on
disk.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from typing import NamedTuple

from ..errors import BackendUnavailable, BuildError, _build_error
from . import build_options, included, process
from .compiler import which

_LIBRARIES = ("libocloc.so", "libocloc.so.1")
_RELEASES = range(30, 13, -1)
# ocloc chooses extensions by the device. Old and new devices, since no release of ocloc has all of them.
_DEVICES = {True: ("pvc", "bmg", "skl"), False: ("tgllp", "dg2", "skl")}
# Without vectors and with unchanged loops, which the drivers' compilers handle better.
_CLANG = ["-x", "cl", "-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-discard-value-names"]
_CLANG += ["-Xclang", "-finclude-default-header", "-cl-kernel-arg-info", "-Wno-unused-command-line-argument"]
_CLANG += ["-Werror=int-conversion"]
_FEATURES = {"fp16": "cl_khr_fp16", "fp64": "cl_khr_fp64"}
NAME = "<source>"


class _Clang(NamedTuple):
    clang: str
    translator: str | None  # None: clang writes SPIR-V itself


def _release(path: str) -> int:
    """The release of an LLVM program; 0 if it is unknown."""
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0
    found = re.search(r"version (\d+)\.", text)
    return int(found[1]) if found else 0


def _translator_for(clang: str, release: int) -> str | None:
    """llvm-spirv of the same release: newer ones may not read older bitcode."""
    beside = os.path.join(os.path.dirname(os.path.realpath(clang)), "llvm-spirv")
    for name in (beside, f"llvm-spirv-{release}", "llvm-spirv"):
        path = which(name)
        if path is not None and _release(path) == release:
            return path
    return None


def _find_clang() -> tuple[_Clang | None, list[str]]:
    """The first clang that can write SPIR-V, and descriptions of those before it that cannot."""
    tried: list[str] = []
    named = os.environ.get("USMPY_CLANG")
    for name in [named] if named else ["clang", *(f"clang-{release}" for release in _RELEASES)]:
        path = which(name)
        if path is None:
            continue
        release = _release(path)
        translator = _translator_for(path, release)
        if translator is not None:
            return _Clang(path, translator), tried
        if release >= 20:
            return _Clang(path, None), tried
        tried.append(f"{path} (release {release}, and no llvm-spirv of that release)")
    return None, tried


_ocloc: ctypes.CDLL | None = None


def _find_ocloc() -> ctypes.CDLL | None:
    global _ocloc
    if _ocloc is None and os.environ.get("USMPY_CLANG") is None:
        for name in _LIBRARIES:
            try:
                _ocloc = ctypes.CDLL(name)
                break
            except OSError:
                continue
    return _ocloc


def compiler() -> str | None:
    """The program or library that compiles for Level Zero; None if there is none."""
    if (library := _find_ocloc()) is not None:
        return _mapped(library)
    tools, _ = _find_clang()
    return None if tools is None else tools.clang


def _missing(tried: list[str]) -> BackendUnavailable:
    found = f"; not enough: {', '.join(tried)}" if tried else ""
    return BackendUnavailable(
        "source for Level Zero needs a compiler from OpenCL C to SPIR-V, and there is none: Intel's "
        "libocloc (Debian and Ubuntu: intel-opencl-icd or intel-ocloc), or clang with the llvm-spirv of its "
        f"release (clang-14 and llvm-spirv-14, or newer){found}. language='spirv' takes what another machine "
        "has compiled",
        backend="level_zero",
    )


def _failure(log: str) -> BuildError:
    first = next((line for line in log.splitlines() if "error" in line), log.strip().split("\n")[0])
    return _build_error(first, log, "level_zero")


def _words(text: str, language: str) -> list[str]:
    words = [name + value for name, value in build_options.read(text, build_options.CLANG)]
    if not any(word.startswith("-cl-std=") for word in words):
        words.insert(0, "-cl-std=CL1.2")
    if language == "portable":  # the same bits on every device
        words.insert(0, "-ffp-contract=off")
    return words


def _run(command: list[str], folder: str) -> str:
    """Runs a command and returns its output. Raises BuildError if it fails."""
    try:
        done = process.run(command, folder=folder)
    except OSError as error:
        raise BackendUnavailable(f"{command[0]} does not run: {error}", backend="level_zero") from error
    output = (done.stderr + done.stdout).decode("utf-8", "replace")
    if done.returncode != 0:
        raise _failure(output or f"{command[0]} ended with status {done.returncode}\n")
    return output


def _half_in_memory(source: str, lacking: list[str]) -> str:
    """vload_half and vstore_half, which clang declares for devices with half precision alone."""
    if "fp16" not in lacking or not re.search(r"\bv(?:load|store)_half", source):
        return ""
    lines = []
    for space in ("global", "local", "private", "constant"):
        lines.append(f"float __attribute__((overloadable)) vload_half(size_t, const {space} half *);")
        for real in ("float",) if "fp64" in lacking else ("float", "double"):
            for mode in ("", "_rte", "_rtz", "_rtp", "_rtn") if space != "constant" else ():
                name = f"vstore_half{mode}"
                lines.append(f"void __attribute__((overloadable)) {name}({real}, size_t, {space} half *);")
    return "\n".join(lines) + "\n"


def _with_clang(tools: _Clang, source: str, options: list[str], lacking: list[str]) -> bytes:
    own_folder = os.getcwd()
    without = [f"-cl-ext=-{_FEATURES[name]}" for name in lacking]
    flags = [*_CLANG, *(word for flag in without for word in ("-Xclang", flag)), *options, "-I", own_folder]
    with tempfile.TemporaryDirectory(prefix="usmpy") as folder:
        with open(os.path.join(folder, "source.cl"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f'{_half_in_memory(source, lacking)}#line 1 "{NAME}"\n{source}')
        module = os.path.join(folder, "module.spv")
        if tools.translator is None:
            target = ["--target=spirv64", "-fintegrated-objemitter"]
            _run([tools.clang, *target, *flags, "-c", "source.cl", "-o", module], folder)
        else:
            target = ["--target=spir64-unknown-unknown", "-emit-llvm"]
            compile = [tools.clang, *target, *flags, "-c", "source.cl", "-o", "module.bc"]
            keep = "--preserve-ocl-kernel-arg-type-metadata-through-string"
            translate = [tools.translator, keep, "module.bc", "-o", module]
            _run(compile, folder)
            try:
                _run(translate, folder)
            except BuildError:
                # LLVM's passes write what the translator of their release does not know: `freeze`, and, for
                # `switch (i & 3)`, integers of 2 bits. Without the passes there is none; drivers optimise.
                _run([*compile, "-Xclang", "-disable-llvm-passes"], folder)
                _run(translate, folder)
        with open(module, "rb") as file:
            return file.read()


def _invoke(library: ctypes.CDLL, arguments: list[str], source: bytes) -> tuple[int, dict[str, bytes]]:
    """One call of ocloc: its status, and its output files by name."""
    words = (ctypes.c_char_p * len(arguments))(*(word.encode() for word in arguments))
    data = (ctypes.c_char_p * 1)(source)
    sizes = (ctypes.c_uint64 * 1)(len(source))
    names = (ctypes.c_char_p * 1)(b"source.cl")
    count = ctypes.c_uint32()
    outputs = ctypes.POINTER(ctypes.POINTER(ctypes.c_uint8))()
    lengths = ctypes.POINTER(ctypes.c_uint64)()
    titles = ctypes.POINTER(ctypes.c_char_p)()
    outs = [ctypes.byref(item) for item in (count, outputs, lengths, titles)]
    status = library.oclocInvoke(len(words), words, 1, data, sizes, names, 0, None, None, None, *outs)
    written = {titles[i].decode(): ctypes.string_at(outputs[i], lengths[i]) for i in range(count.value)}
    library.oclocFreeOutput(*outs)
    return status, written


def _for_ocloc(words: list[str]) -> tuple[str, str]:
    """(lines before the source, options as one text).

    ocloc cuts its text of options at blanks. A word with a blank or a quote in it must not become several
    options, such as one that writes a file: a macro is defined in the source instead, anything else refused.
    """
    lines, kept = [], []
    for word in words:
        if not re.search(r"[\s\"'\\]", word):
            kept.append(word)
            continue
        macro, _, value = word.removeprefix("-D").partition("=")
        if not word.startswith("-D") or not re.fullmatch(r"\w+(?:\([\w, .]*\))?", macro) or "\n" in word:
            raise ValueError(
                f"options: {word!r:.60} has a blank, a quote or a backslash in its value, which ocloc, the "
                "compiler for Level Zero, would read as several options; allowed are such values of -D "
                "alone: use a path without them"
            )
        lines.append(f"#define {macro} {value if '=' in word else '1'}\n")
    return "".join(lines), " ".join(kept)


def _with_ocloc(library: ctypes.CDLL, source: str, options: list[str], lacking: list[str]) -> bytes:
    text = f'#line 1 "{NAME}"\n{source}'.encode("utf-8", "surrogateescape") + b"\0"
    # ocloc takes the options of the driver, not those of clang.
    words = [word for word in options if not word.startswith("-ffp-contract")]
    if len(words) != len(options):
        text = b"#pragma OPENCL FP_CONTRACT OFF\n" + text
    definitions, joined = _for_ocloc(words)
    text = definitions.encode("utf-8", "surrogateescape") + text
    joined += " -cl-kernel-arg-info"
    if not re.search(r"[\s\"'\\]", own_folder := os.getcwd()):
        joined += f" -I {own_folder}"
    log = ""
    for device in _DEVICES["fp64" not in lacking]:
        command = ["ocloc", "compile", "-q", "-spv_only", "-file", "source.cl", "-device", device]
        status, written = _invoke(library, [*command, "-options", joined], text)
        log = written.get("stdout.log", b"").decode("utf-8", "replace")
        modules = [data for name, data in written.items() if name.endswith(".spv")]
        if status == 0 and modules:
            return modules[0]
        if NAME in log:
            break  # the source is wrong for any device
    raise _failure(log or "ocloc wrote no message\n")


def identify(source: str, options: str) -> bytes:
    """What the result depends on beside source and options: the compiler, and files that are included."""
    if (library := _find_ocloc()) is not None:
        paths = [_mapped(library)]
    else:
        tools, tried = _find_clang()
        if tools is None:
            raise _missing(tried)
        paths = [path for path in tools if path is not None]
    parts = []
    for path in [__file__, *paths]:
        try:
            status = os.stat(path)
            parts.append(f"{os.path.realpath(path)},{status.st_mtime_ns},{status.st_size}")
        except OSError:
            parts.append(path)
    return "\0".join(parts).encode("utf-8", "surrogateescape") + included.identify(source, options)


def _mapped(library: ctypes.CDLL) -> str:
    """The path of an open library."""
    name = os.path.basename(library._name)
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split(None, 5)[5].strip() for line in maps if name in line]
    except OSError:
        lines = []
    return lines[0] if lines else name


def _has_kernel(module: bytes) -> bool:
    """Whether an entry point stands in front of the first function (SPIR-V specification, 2.3 and 2.4)."""
    at = 20
    while at + 4 <= len(module):
        word = int.from_bytes(module[at : at + 4], "little")
        if word & 0xFFFF == 15 or word >> 16 == 0:  # OpEntryPoint; or damaged, which is checked elsewhere
            return True
        if word & 0xFFFF == 54:  # OpFunction
            return False
        at += word >> 16 << 2
    return False


def prepare(source: str, language: str, options: str, fp16: bool, fp64: bool) -> bytes:
    """The module. Raises BuildError if the source is wrong, BackendUnavailable without a compiler."""
    source = source.removeprefix("\ufeff")
    lacking = [name for name, has in (("fp16", fp16), ("fp64", fp64)) if not has]
    words = _words(options, language)
    if (library := _find_ocloc()) is not None:
        module = _with_ocloc(library, source, words, lacking)
    else:
        tools, tried = _find_clang()
        if tools is None:
            raise _missing(tried)
        module = _with_clang(tools, source, words, lacking)
    if not _has_kernel(module):
        from .kernel_hints import no_kernel

        raise no_kernel(source, language, "level_zero")
    return module
