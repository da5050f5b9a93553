"""The address and the version of the project, which pyproject.toml defines and other files repeat."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

import usmpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPEAT = {"README.md", "SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"}
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
URLS = dict(re.findall(r'^(\w+) = "(.*)"$', TEXT.partition("[project.urls]\n")[2].partition("\n\n")[0], re.M))
HOME = URLS["Homepage"]
FIX = (
    f"docs/contributing/release.md, 'The address of the project', has the command that puts {HOME} everywhere"
)


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8")
    if listed.returncode:
        pytest.skip("this is no clone with git: a source distribution has the same files")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]  # not yet removed ones


def test_all_urls_are_below_the_home_page():
    assert {"Homepage", "Source", "Issues", "Changelog", "Documentation"} <= set(URLS)
    assert not HOME.endswith("/")
    for name, url in URLS.items():
        assert url == HOME or url.startswith(f"{HOME}/"), (name, FIX)


@pytest.mark.parametrize("name", sorted(REPEAT))
def test_files_that_repeat_the_address_have_this_one(name):
    assert HOME in (ROOT / name).read_text(encoding="utf-8"), FIX


def test_no_file_has_the_placeholder_but_those():
    here = pathlib.Path(__file__).name
    for name in tracked():
        if name.endswith((".png", ".jpg", ".spv", ".zip")) or name in ("pyproject.toml", f"tests/{here}"):
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found = re.findall(r"https://example\.invalid\S*", text)
        assert all(url.startswith(HOME) for url in found), (name, FIX)
        assert not found or name in REPEAT, f"{name} repeats the address: list it in this test"


def test_the_version_is_the_same_everywhere():
    (version,) = re.findall(r'^version = "(.*)"$', TEXT, re.M)
    assert usmpy.__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
