"""csrc/ninja_build.py builds what a change concerns; a stored kernel that is missing ends the build."""

import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from ninja_build import Build, BuildError, keep_headers

KERNELS = Path(__file__).parents[2] / "csrc" / "kernels"
pytestmark = pytest.mark.not_sanitized("it runs other programs")
CC = (os.environ.get("CC", "cc").split()[0],)
FILES = {
    "one.c": '#include "shared.h"\n#include "table.h"\nint one(void) { return SHARED + TABLE; }\n',
    "folder/two.c": '#include "shared.h"\nint two(void) { return SHARED; }\n',
    "three.c": "int three(void) { return 3; }\n",
    "shared.h": "#define SHARED 1\n",
    "table.txt": "5\n",
    "write.py": "import pathlib, sys\n"
    "target, number = pathlib.Path(sys.argv[1]), pathlib.Path('table.txt').read_text().split()[0]\n"
    "text = f'#define TABLE {number}\\n'\n"
    "if not target.exists() or target.read_text() != text:\n"
    "    target.write_text(text)\n",
}


class Tree:
    """Three sources, a header of two, and a header that a script writes."""

    def __init__(self, root):
        self.root = root
        for name, text in FILES.items():
            self.change(name, text)

    def change(self, name, text):
        """The file is later than everything that was built: clocks of file systems have steps."""
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        built = [found.stat().st_mtime for found in self.root.glob("build/**/*")]
        os.utime(path, (max(built, default=0) + 0.001,) * 2)

    def build(self, *flags, sources=("one.c", "folder/two.c", "three.c")):
        """The names of what was made, and the build."""
        made = self.made()
        written = Build(self.root / "build" / "generated", root=self.root)
        header = written.write(written.folder / "table.h", self.root / "write.py", [self.root / "table.txt"])
        written.run([header], verbose=False)
        flags = ["-fPIC", "-Ibuild/generated", "-I.", *flags]
        build = Build.named(self.root / "build", "test", CC, flags, root=self.root)
        objects = [build.compile(self.root / name, ["-DTHREE"] * (name == "three.c")) for name in sources]
        library = build.link(build.folder / "library.so", [*CC, "-shared"], objects)
        build.run([library], jobs=1, verbose=False)
        now = self.made()
        return {path.name for path in now if now[path] != made.get(path)}, build

    def made(self):
        paths = (path for kind in ("*.o", "*.so", "*.h") for path in self.root.glob(f"build/**/{kind}"))
        return {path: path.stat().st_mtime_ns for path in paths}


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


ALL = {"one.o", "two.o", "three.o", "library.so"}


def test_the_first_build_makes_everything_and_the_second_nothing(tree):
    made, build = tree.build()
    assert made == {*ALL, "table.h"}
    assert (build.folder / "folder" / "two.o").is_file()  # the paths of the sources
    assert tree.build()[0] == set()


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("one.c", {"one.o"}),
        ("three.c", {"three.o"}),
        ("shared.h", {"one.o", "two.o"}),
        ("table.txt", {"table.h", "one.o"}),
    ],
)
def test_a_change_makes_what_depends_on_it(tree, name, made):
    tree.build()
    text = FILES[name]
    tree.change(name, "6\n" if name == "table.txt" else text.replace("1", "7") + "\n#define OTHER 2\n")
    assert tree.build()[0] == {*made, "library.so"}
    assert tree.build()[0] == set()


def test_a_script_that_writes_the_same_makes_nothing(tree):
    tree.build()
    tree.change("table.txt", "5 and a comment\n")
    assert tree.build()[0] == set()


def test_other_flags_have_another_folder_and_both_stay(tree):
    _, first = tree.build()
    made, second = tree.build("-DOTHER")
    assert made == ALL
    assert first.folder != second.folder
    assert tree.build()[0] == tree.build("-DOTHER")[0] == set()


def test_a_source_that_is_gone_is_not_linked_any_more(tree):
    tree.build()
    made, build = tree.build(sources=("one.c", "folder/two.c"))
    assert made == {"library.so"}
    (command,) = (words for words in build.commands([build.folder / "library.so"]) if "-shared" in words)
    assert not [word for word in command if word.endswith("three.o")]


def test_the_commands_have_the_flags_of_files(tree):
    _, build = tree.build()
    commands = build.commands([build.folder / "library.so"])
    flags = {words[words.index("-o") + 1].rpartition("/")[2]: "-DTHREE" in words for words in commands}
    assert flags == {"one.o": False, "two.o": False, "three.o": True, "library.so": False}


def test_a_failure_is_reported(tree, capfd):
    tree.change("three.c", "int three(void) { return nothing; }\n")
    with pytest.raises(BuildError, match=r"the build in build/test-\w+ failed"):
        tree.build()
    assert "nothing" in capfd.readouterr().out  # what the compiler says


def test_a_missing_ninja_is_named(tree, monkeypatch):
    monkeypatch.setenv("PATH", str(tree.root))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tree.root / name))
    with pytest.raises(BuildError) as caught:
        tree.build()
    assert f"ninja was not found in {tree.root / 'scripts'} or on the PATH" in str(caught.value)
    assert f"{sys.executable} -m pip install ninja" in str(caught.value)


def test_a_missing_compiler_is_named(tree):
    with pytest.raises(BuildError, match="the compiler no-such-cc was not found"):
        Build.named(tree.root / "build", "test", ["no-such-cc"], [])


def test_headers_are_kept_by_what_they_hold(tmp_path):
    place = tmp_path / "kept"
    for folder in ("a", "b", "c"):
        (tmp_path / folder / "CL").mkdir(parents=True)
        (tmp_path / folder / "CL" / "cl.h").write_text(
            '#include <CL/version.h>\n#include <stdint.h>\n# include "near.h"\n'
        )
        (tmp_path / folder / "CL" / "version.h").write_text(f"#define VERSION {folder == 'c'}\n")
        (tmp_path / folder / "CL" / "near.h").write_text("")
        (tmp_path / folder / "CL" / "other.h").write_text(folder)
    first, same, other = (keep_headers(tmp_path / folder, ["CL/cl.h"], place) for folder in ("a", "b", "c"))
    assert first == same
    assert first != other
    assert {path.name for path in (first / "CL").iterdir()} == {"cl.h", "near.h", "version.h"}
    assert "VERSION True" in (other / "CL" / "version.h").read_text()


@pytest.fixture
def embed(tmp_path):
    """What csrc/kernels/tools/embed.py says of a copy of the kernels that a function has changed."""

    def run(change):
        copy = tmp_path / "csrc" / "kernels"
        shutil.copytree(KERNELS, copy, ignore=shutil.ignore_patterns("__pycache__"))
        change(copy)
        target = tmp_path / "kernels.c"
        command = [sys.executable, copy / "tools" / "embed.py", target]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert not target.exists()
        return done.stderr.splitlines()

    return run


def changed_zip(kernels, form, name, change=None):
    """Changes one file of generated/FORM.zip, or leaves it out."""
    path = kernels / "generated" / f"{form}.zip"
    with zipfile.ZipFile(path) as archive:
        files = {member: archive.read(member) for member in archive.namelist()}
    content = files.pop(name)
    with zipfile.ZipFile(path, "w") as archive:
        for member, kept in files.items():
            archive.writestr(member, kept)
        if change is not None:
            archive.writestr(name, change(content))


def test_no_stored_kernel_is_missing():
    assert list(runpy.run_path(str(KERNELS / "tools" / "embed.py"))["missing"]()) == []


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("ptx", "strided.ptx"),
        ("ptx", "operate.exp_float32.ptx"),
        ("ptx", "head.ptx"),
        ("spirv", "sequence_fp64.spv"),
        ("spirv", "cast_twofold_fp64.spv"),
        ("spirv", "scan.uint64.spv"),
    ],
)
def test_a_missing_stored_kernel_ends_the_build(embed, form, name):
    said = embed(lambda kernels: changed_zip(kernels, form, name))
    assert said == [f"the stored kernel {name} is missing: run python csrc/kernels/tools/make.py"]


@pytest.mark.parametrize("form", ["ptx", "spirv"])
def test_missing_stored_kernels_end_the_build(embed, form):
    said = embed(lambda kernels: (kernels / "generated" / f"{form}.zip").unlink())
    assert said == [f"csrc/kernels/generated/{form}.zip is missing: run python csrc/kernels/tools/make.py"]


def test_a_source_without_stored_kernels_ends_the_build(embed):
    said = embed(
        lambda kernels: (kernels / "src" / "another.cl").write_text("kernel void usm_another() {}\n")
    )
    assert said == [
        f"the stored kernel {name} is missing: run python csrc/kernels/tools/make.py"
        for name in ("another.ptx", "another.spv")
    ]


def test_a_missing_cast_ends_the_build(embed):
    def rename(content):
        return content.replace(b"// cast bool int8\n", b"// cast bool nothing\n")

    said = embed(lambda kernels: changed_zip(kernels, "ptx", "cast_elements.ptx", rename))
    assert said == ["the stored kernel cast bool int8 is missing: run python csrc/kernels/tools/make.py"]


# Registers 4, 5 and 7 are local. 1 is written before the label and read behind it, the next round of the loop
# reads 6 before it writes it, 8 may keep what it had, and the inner block has a register 1 of its own.
PTX = """{
\t.reg .pred %p<2>;
\t.reg .b32 %r<9>;
\tmov.u32 %r1, 1;
\tmov.u32 %r8, 2;
$L1_9:
\tld.u32 %r4, [a0];
\tadd.s32 %r5, %r4, %r6;
\t{
\t.reg .u32 %r0, %r1;
\tmul.lo.u32 %r1, %r0, %r5;
\t}
\tst.u32 [a0], %r5;
\tsetp.eq.s32 %p1, %r1, %r8;
\t@%p1 mov.u32 %r8, 3;
\tmov.u32 %r6, %r8;
\tmov.u32 %r7, %r6;
\tst.u32 [a0], %r7;
\t@%p1 bra $L1_9;
}
"""
RENUMBERED = """{
\t.reg .pred %p<2>;
\t.reg .b32 %r<6>;
\tmov.u32 %r1, 1;
\tmov.u32 %r2, 2;
$L1:
\tld.u32 %r4, [a0];
\tadd.s32 %r5, %r4, %r3;
\t{
\t.reg .u32 %q0, %q1;
\tmul.lo.u32 %q1, %q0, %r5;
\t}
\tst.u32 [a0], %r5;
\tsetp.eq.s32 %p1, %r1, %r2;
\t@%p1 mov.u32 %r2, 3;
\tmov.u32 %r3, %r2;
\tmov.u32 %r4, %r3;
\tst.u32 [a0], %r4;
\t@%p1 bra $L1;
}
"""


def test_local_registers_of_ptx_share_numbers(monkeypatch):
    monkeypatch.syspath_prepend(KERNELS / "tools")
    tool = runpy.run_path(str(KERNELS / "tools" / "make_ptx.py"))
    assert tool["renumbered"](PTX) == RENUMBERED
