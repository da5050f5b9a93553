"""Writes build.ninja and runs ninja: how C becomes the extension, the C tests and the fuzz targets.

A `Build` is a folder of objects that were made by one compiler with the same flags. `Build.named` puts its
digest into the folder's name: another compiler or flag is another folder, and the objects of the first stay
for the next time. Objects have the paths of their sources. ninja compiles what changed, by the dependencies
that the compiler writes down, and every command of a changed rule.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)

# Whose interpreter writes a file is no part of the command: the next one writes the same.
RULES = """\
ninja_required_version = 1.8
builddir = {folder}
rule compile
  command = {compiler} $flags -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = $in
rule link
  command = $linker $in -o $out $libraries
  description = $out
rule write
  command = "$$USMPY_BUILD_PYTHON" $script $out
  rspfile = $out.inputs
  rspfile_content = $in
  restat = 1
  description = $out
"""


class BuildError(Exception):
    """What went wrong; ninja has printed the output of the command that failed."""


def find_ninja():
    """The program: of the interpreter's environment, else on the PATH."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    found = shutil.which("ninja", path=path)
    if found is None:
        raise BuildError(
            f"ninja was not found in {sysconfig.get_path('scripts')} or on the PATH: "
            f"{sys.executable} -m pip install ninja"
        )
    return found


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


@functools.cache
def version_of(compiler):
    """The path of a compiler and what it says of itself. `compiler` is a tuple: a program, and options."""
    path = shutil.which(compiler[0])
    if path is None:
        raise BuildError(f"the compiler {compiler[0]} was not found: install it, or name another in CC")
    said = subprocess.run([*compiler, "--version"], capture_output=True, text=True, errors="replace")
    return f"{path}\n{said.stdout}"


def escaped(text):
    """As ninja reads it in a list of paths."""
    return re.sub(r"([$ :])", r"$\1", str(text))


def quoted(words):
    """As ninja reads a part of a command."""
    return shlex.join(map(str, words)).replace("$", "$$")


def replace(path, content):
    """Writes a file in one step, unless it has this content: its time says when it changed."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.{os.getpid()}")
    written.write_bytes(content)
    written.replace(path)


@contextlib.contextmanager
def locked(folder):
    """One process at a time builds in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep_headers(folder, names, place):
    """The include folder of a vendor's headers: a copy below `place`, named for what they hold.

    pip installs build requirements in a new folder for each build: objects would never be good again. Copied
    are the headers `names` and what they include of the folder.
    """
    found, wanted = {}, list(names)
    while wanted:
        name = wanted.pop()
        path = folder / name
        if name not in found and path.is_file():
            found[name] = path.read_bytes()
            for included in INCLUDE.findall(found[name].decode(errors="replace")):
                wanted += [included, os.path.normpath(os.path.join(os.path.dirname(name), included))]
    copy = place / digest(*(part for item in sorted(found.items()) for part in item))
    for name, content in found.items():
        replace(copy / name, content)
    return copy


class Build:
    """The rules of one folder. Paths of sources and results are relative to `root`, where ninja runs."""

    def __init__(self, folder, compiler=(), flags=(), root=ROOT):
        self.root, self.folder = Path(root), Path(folder)
        compiling = quoted([*compiler, *flags])
        self.lines = [RULES.format(folder=escaped(self.inside(self.folder)), compiler=compiling)]

    @classmethod
    def named(cls, place, name, compiler, flags, root=ROOT):
        """In `place`/NAME-DIGEST."""
        compiler = tuple(compiler)
        made = digest(version_of(compiler), *compiler, *flags)
        return cls(Path(place) / f"{name}-{made}", compiler, flags, root)

    def inside(self, path):
        """As commands name it: relative to the root where that is possible."""
        path = Path(path)
        return path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def add(self, rule, output, inputs, **variables):
        inputs = " ".join(escaped(self.inside(path)) for path in inputs)
        self.lines.append(f"build {escaped(self.inside(output))}: {rule} {inputs}\n")
        self.lines += [f"  {name} = {value}\n" for name, value in variables.items() if value]

    def compile(self, source, flags=()):
        """The object of a source, which has these flags besides those of the folder."""
        inside = self.inside(source)
        target = self.folder / (inside.name if inside.is_absolute() else inside).with_suffix(".o")
        self.add("compile", target, [source], flags=quoted(flags))
        return target

    def link(self, target, linker, objects, libraries=()):
        self.add("link", target, objects, linker=quoted(linker), libraries=quoted(libraries))
        return target

    def write(self, target, script, inputs=()):
        """What a Python script writes to the path that it is called with, unless that is written already."""
        self.add("write", target, [script, *inputs], script=quoted([self.inside(script)]))
        return target

    def run(self, targets, jobs=None, verbose=None):
        """Brings the targets up to date.

        `verbose`: True prints commands, False failures alone, None names too where somebody looks on.
        """
        if verbose is None and not sys.stdout.isatty():
            verbose = False
        shown = {None: [], True: ["-v"], False: ["--quiet"]}[verbose]
        environment = {**os.environ, "USMPY_BUILD_PYTHON": sys.executable}
        command = self.ninja("-j", jobs or len(os.sched_getaffinity(0)), *shown, *map(self.inside, targets))
        with locked(self.folder):
            self.save()
            sys.stdout.flush()
            if subprocess.run(command, cwd=self.root, env=environment).returncode != 0:
                raise BuildError(f"the build in {self.inside(self.folder)} failed")

    def commands(self, targets):
        """All commands that make the targets, as lists of words."""
        command = self.ninja("-t", "commands", *map(self.inside, targets))
        with locked(self.folder):
            self.save()
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return [shlex.split(line) for line in done.stdout.splitlines()]

    def ninja(self, *arguments):
        return [find_ninja(), "-f", str(self.inside(self.folder / "build.ninja")), *map(str, arguments)]

    def save(self):
        replace(self.folder / "build.ninja", "".join(self.lines).encode())
