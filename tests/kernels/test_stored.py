"""The built-in kernels that are stored as PTX and SPIR-V are what their sources give."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import options
import pytest

KERNELS = Path(__file__).parents[2] / "csrc" / "kernels"
pytestmark = [
    pytest.mark.not_sanitized("it runs other programs"),
    pytest.mark.parametrize("form", ["ptx", "spirv"]),
]
TEXT = {"capture_output": True, "text": True}
SUFFIXES = {"ptx": ".ptx", "spirv": ".spv"}


def compare(folder, form, option):
    return subprocess.run([sys.executable, "-B", folder / "tools" / f"make_{form}.py", option], **TEXT)


def test_the_digests_are_those_of_the_sources_and_files(form):
    done = compare(KERNELS, form, "--digests")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.release("it compiles all stored kernels")
def test_the_compilers_make_the_same_again(form):
    """Byte for byte, by the versions that the README's test command installs."""
    done = compare(KERNELS, form, "--check")
    if done.returncode == 77 and not options.value("require_libraries", False):
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs", None], ids=["empty", "text", "none"])
def test_a_file_that_is_no_archive_is_missing(form, tmp_path, content):
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS, folder)
    stored = folder / "generated" / f"{form}.zip"
    stored.unlink() if content is None else stored.write_bytes(content)
    done = compare(folder, form, "--digests")
    assert done.returncode == 1, done.stderr
    assert "run python csrc/kernels/tools/make.py" in done.stdout
    done = subprocess.run(
        [sys.executable, "-B", folder / "tools" / "embed.py", tmp_path / "kernels.c"], **TEXT
    )
    assert done.returncode != 0
    assert (
        f"csrc/kernels/generated/{form}.zip is missing: run python csrc/kernels/tools/make.py" in done.stderr
    )


def test_stale_kernels_are_named(form, tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS, folder)
    stored, suffix = folder / "generated" / f"{form}.zip", SUFFIXES[form]
    source = folder / "src" / "fill.cl"
    source.write_text(source.read_text().replace("usm_fill_any", "usm_fill_some"))
    with zipfile.ZipFile(stored) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    del files[f"strided{suffix}"]
    files[f"logic{suffix}"] = files[f"logic{suffix}"][:-4]
    files[f"nothing{suffix}"] = b""
    with zipfile.ZipFile(stored, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    done = compare(folder, form, "--digests")
    named = {line.partition(" ")[0] for line in done.stdout.splitlines()}
    assert (done.returncode, named) == (
        1,
        {f"{name}{suffix}" for name in ("fill", "strided", "logic", "nothing")},
    )


def test_a_zip_depends_on_its_files_alone(form):
    """Not on who writes it, and when: the same kernels are no change for git."""
    with zipfile.ZipFile(KERNELS / "generated" / f"{form}.zip") as archive:
        members = archive.infolist()
    assert [member.filename for member in members] == sorted(member.filename for member in members)
    attributes = {(member.date_time, member.create_system, member.external_attr) for member in members}
    assert attributes == {((1980, 1, 1, 0, 0, 0), 3, 0o644 << 16)}
