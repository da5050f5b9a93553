"""The tree is formatted, clean to the linters, and speaks of no machine."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from libraries import DEV, need_tool

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.not_sanitized("it reads the sources")

# clang-format's output differs between versions: this one decides (the extra "dev" brings it).
CLANG_FORMAT = "14"


def tracked(*patterns):
    """Files of the tree, also those that are not committed yet."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return [name for name in names if name and (ROOT / name).is_file()]


def lines_of(name):
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def ruff(*arguments):
    need_tool("ruff")
    return subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "."], cwd=ROOT, capture_output=True, text=True
    )


def find_clang_format():
    scripts = sysconfig.get_path("scripts")  # the package of the same name puts it there
    for candidate in (shutil.which("clang-format", path=scripts), "clang-format-14", "clang-format"):
        if candidate is None or shutil.which(candidate) is None:
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True).stdout
        if re.search(rf"version {CLANG_FORMAT}\.", said):
            return candidate
    return None


def test_ruff_has_nothing_to_say():
    done = ruff("check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_is_formatted():
    done = ruff("format", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_c_is_formatted():
    program = find_clang_format()
    assert program, f"there is no clang-format {CLANG_FORMAT}: {DEV}"
    files = tracked("csrc/*.c", "csrc/*.h", "tests/*.c", "tests/*.h")
    assert len(files) > 80
    tables = [name for name in tracked("csrc/*.inc", "tests/*.inc") if max(map(len, lines_of(name))) > 120]
    assert not tables, "these have lines of more than 120 characters"
    done = subprocess.run([program, "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\nto format: clang-format -i FILE, of the extra dev"


# A comment that begins on its first line (`/* text`) and goes on for others.
COMMENT = re.compile(r"^ */\* [^\n]*(?:\n *\* [^\n]*?)*?\n *\*?([^\n]*)\*/$", re.M)


def badly_wrapped(text):
    """Comments whose last line is a word alone, or nothing: what clang-format leaves when it wraps a line."""
    return [match[0] for match in COMMENT.finditer(text) if len(match[1].split()) < 2]


def test_comments_do_not_end_in_a_line_of_one_word():
    assert badly_wrapped("int a;\n    /* A long line that was\n     * wrapped. */\nint b;\n")
    assert badly_wrapped("/* A long line that was wrapped.\n */\n")
    assert not badly_wrapped("/* One line. */\n/* Two lines, and\n * the second. */\n/*\n * A block.\n */\n")
    found = {
        name: badly_wrapped((ROOT / name).read_text(encoding="utf-8"))
        for name in tracked("*.c", "*.h", "*.inc")
    }
    assert not {name: comments for name, comments in found.items() if comments}


# What would name a machine, or a person's folder on it.
MACHINE = re.compile(r"(?<![\w./])/(?:home|Users|root|work|mnt|srv|tmp)/[\w.-]")


def test_the_tree_mentions_no_path_of_a_machine():
    assert MACHINE.search(" ".join(["cd", "/home" + "/somebody"]))
    found = []
    for name in tracked():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {match[0]}" for match in MACHINE.finditer(text)]
    assert not found


def test_text_ends_in_a_newline_and_has_neither_tabs_nor_blanks_at_line_ends():
    wrong = []
    for name in tracked("*.py", "*.pyi", "*.c", "*.h", "*.inc", "*.cl", "*.md", "*.toml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        if text and not text.endswith("\n"):
            wrong.append(f"{name}: no newline at its end")
        if "\r" in text or "\t" in text or re.search(r"[ \t]$", text, re.M):
            wrong.append(f"{name}: tabs, carriage returns or blanks at the end of a line")
    assert not wrong
