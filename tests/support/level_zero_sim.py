"""Level Zero without a GPU: prints the environment in which a loader takes the software driver.

The driver's sources are in the source tree, in ``tests/level_zero_driver``, and not in a wheel; it is built
on first use, and kept by the content of its sources::

    eval "$(python tests/support/level_zero_sim.py --layers)"
    python tests/support/level_zero_sim.py --set ZESIM_DEVICES=4 -- python program.py
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
SOURCES = TREE / "tests" / "level_zero_driver"
FLAGS = [
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
]
# The loader closes drivers when the process ends, while threads of this one may still be at work.
LINK = ["-Wl,--version-script=exports.map", "-Wl,-z,nodelete", "-Wl,-z,defs", "-lpthread", "-ldl"]

# Not ZE_ENABLE_HANDLE_LIFETIME: up to loader 1.10 it does nothing, and later ones (1.29 too) refuse all that
# is appended to an immediate command list.
LAYERS = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}


class NotBuilt(Exception):
    """The driver cannot be built here; the text says what is missing."""


def _includes() -> list[str]:
    """Folders of headers that are not where compilers look."""
    named = [os.environ[name] for name in ("LEVEL_ZERO_INCLUDE", "OPENCL_INCLUDE") if os.environ.get(name)]
    found = [
        str(header.parents[1])
        for entry in sys.path
        for header in pathlib.Path(entry, "nvidia").glob("*/include/CL/cl.h")
        if not pathlib.Path("/usr/include/CL/cl.h").is_file()
    ]
    return named + found[:1]


def build(
    sources: os.PathLike[str] | str = SOURCES,
    folder: os.PathLike[str] | str | None = None,
    extra: list[str] | None = None,
) -> pathlib.Path:
    """The driver's library, built into ``folder`` (the tree's build folder) unless it is there already."""
    sources = pathlib.Path(sources)
    files = sorted(file for file in sources.glob("*") if file.suffix in (".c", ".h", ".inc", ".map"))
    if not files:
        raise NotBuilt(
            f"no sources of the driver in {sources}: they come with the source tree, not with wheels"
        )
    compiler = shlex.split(os.environ.get("CC", "")) or [shutil.which("cc") or shutil.which("gcc") or "clang"]
    command = [*compiler, *FLAGS, *(extra or []), *(f"-I{include}" for include in _includes())]
    digest = hashlib.sha256(repr(command).encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    folder = pathlib.Path(folder) if folder is not None else TREE / "build" / "level_zero_sim"
    library = folder.resolve() / f"libze_software-{digest.hexdigest()[:16]}.so"
    if library.is_file():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        made = pathlib.Path(scratch) / library.name
        command += [file.name for file in files if file.suffix == ".c"] + ["-o", str(made), *LINK]
        try:
            done = subprocess.run(command, cwd=sources, text=True, capture_output=True)
        except OSError as error:
            raise NotBuilt(f"no C compiler: {error}") from None
        if done.returncode != 0:
            hint = ""
            if "level_zero/ze_api.h" in done.stderr:
                hint = "the headers of Level Zero are missing: Debian's libze-dev, or LEVEL_ZERO_INCLUDE\n"
            elif "CL/cl.h" in done.stderr:
                hint = "the headers of OpenCL are missing: Debian's opencl-headers, or OPENCL_INCLUDE\n"
            raise NotBuilt(hint + done.stderr)
        os.replace(made, library)  # whole, or not there
    return library


def opencl() -> str | None:
    """Intel's OpenCL runtime for processors, where this Python environment has it (intel-opencl-rt)."""
    library = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"
    return str(library) if library.is_file() else None


def environment(library: os.PathLike[str] | str, *, layers: bool = False) -> dict[str, str]:
    """The environment that a process needs before it opens Level Zero."""
    found = {"ZE_ENABLE_ALT_DRIVERS": os.fspath(library)}
    if "ZESIM_OPENCL" not in os.environ and (runtime := opencl()) is not None:
        found["ZESIM_OPENCL"] = runtime
    return {**found, **(LAYERS if layers else {})}


def _variables(sources: pathlib.Path) -> str:
    """The lines of the driver's README about its environment variables."""
    try:
        text = (sources / "README.md").read_text(encoding="utf-8")
    except OSError:
        return ""
    rows = [line.replace("`", "").split("|")[1:4] for line in text.splitlines() if line.startswith("| `ZE")]
    cells = [[cell.strip() for cell in row] for row in rows]
    lines = [f"  {name}: {meaning} (default: {value or 'none'})" for name, meaning, value in cells]
    return "\n".join(["variables of the driver, for --set:", *lines])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python tests/support/level_zero_sim.py",
        description=__doc__,
        epilog=_variables(SOURCES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--sources", default=SOURCES, metavar="FOLDER", help="the driver's sources (those of the source tree)"
    )
    parser.add_argument(
        "--folder", help="where the built library is kept (build/level_zero_sim of the source tree)"
    )
    parser.add_argument(
        "--layers", action="store_true", help="every call looked at by the loader's validation layer"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the driver, of those below; as often as you like",
    )
    parser.add_argument(
        "command", nargs="*", help="behind --: run this in the environment, instead of printing it"
    )
    asked = parser.parse_args(arguments)
    try:
        library = build(asked.sources, asked.folder)
    except NotBuilt as error:
        print(f"level_zero_sim: {error}", file=sys.stderr)
        return 1
    variables = environment(library, layers=asked.layers)
    for setting in asked.set:
        name, equals, value = setting.partition("=")
        if not equals:
            parser.error(f"not NAME=VALUE: {setting}")
        variables[name] = value
    if asked.command:
        try:
            return subprocess.run(asked.command, env={**os.environ, **variables}).returncode
        except OSError as error:
            print(f"level_zero_sim: {asked.command[0]} does not run: {error}", file=sys.stderr)
            return 127
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
