"""Runs Python with the Level Zero loader of Debian testing, which nothing of this machine is upgraded for.

    python tests/tools/newer_level_zero.py -m pytest -q -k level-zero-sim tests/cts
    python tests/tools/newer_level_zero.py --folder FOLDER -c "..."     keeps what was fetched

The packages (libze1, and the C libraries that it was built with) are fetched by apt, with lists of their own,
and unpacked into a folder; Python is started by the dynamic linker in it. Ends with 77, and says why, where
there is no apt or the mirror has no such package.
"""

from __future__ import annotations

import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile

SUITE = "testing"
PACKAGES = ["libze1", "libc6", "libstdc++6", "libgcc-s1"]
KEYS = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = "http://deb.debian.org/debian"
ABSENT = 77


class Absent(Exception):
    """The loader cannot be had here; the text says why."""


def apt(folder: pathlib.Path, sources: str) -> tuple[list[str], list[str]]:
    """The commands apt-get and apt-cache with these sources, updated; their lists are kept in `folder`."""
    if shutil.which("apt-get") is None or not KEYS.is_file():
        raise Absent("there is no apt-get with the keys of Debian")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    listed = folder / "sources.list"
    listed.write_text(sources)
    options = {
        "Dir::Etc::sourcelist": listed,
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Get::List-Cleanup": "0",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
    }
    own = [f"-o{name}={value}" for name, value in options.items()]
    command = ["apt-get", "-q", *own]
    run([*command, "update"], folder)
    return command, ["apt-cache", *own]


def run(command: list[str], folder: pathlib.Path) -> str:
    """The output of a command of apt."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise Absent(f"{shlex.join(command[-2:])} failed: {done.stderr.strip()[-400:]}")
    return done.stdout


def fetch(folder: pathlib.Path) -> None:
    """Unpacks the packages into ``folder``/root."""
    apt_get, _ = apt(folder, f"deb [signed-by={KEYS}] {MIRROR} {SUITE} main\n")
    run([*apt_get, "download", *PACKAGES], folder)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)


def interpreter(folder: pathlib.Path) -> pathlib.Path:
    """A command that is this Python with the libraries of ``folder``."""
    libraries = folder / "root" / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    linkers = sorted(libraries.glob("ld-linux*.so.*"))
    if not linkers or not (libraries / "libze_loader.so.1").exists():
        raise Absent(f"the packages have no linker and loader in {libraries}")
    command = [linkers[0], "--library-path", libraries, "--argv0", sys.executable]
    script = folder / "python"
    words = shlex.join(map(str, [*command, pathlib.Path(sys.executable).resolve()]))
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)
    return script


def main() -> int:
    arguments, kept = sys.argv[1:], None
    if arguments[:1] == ["--folder"]:
        kept, arguments = arguments[1], arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="usmpy-level-zero-") as scratch:
        folder = pathlib.Path(kept or scratch).resolve()
        try:
            if not (folder / "root").is_dir():
                fetch(folder)
            python = interpreter(folder)
        except Absent as error:
            print(f"no newer loader of Level Zero: {error}", file=sys.stderr)
            return ABSENT
        return subprocess.run([python, *arguments], env=os.environ).returncode


if __name__ == "__main__":
    sys.exit(main())
