"""The rule of csrc/core/device/backend.h: what may block, and that every call of an entry is checked."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "csrc" / "core"
pytestmark = pytest.mark.not_sanitized("it reads the sources")

TABLE = (CORE / "device" / "backend.h").read_text()
RULE = (CORE / "device" / "rule.h").read_text()
ENTRY = re.compile(r"/\*((?:(?!\*/).)*)\*/\n    [\w *]+\(\*(\w+)\)\(", re.S)
GROUPS = ("usm_native_entries", "usm_share_entries", "usm_backend")
COMMENTS = {
    name: comment
    for group in GROUPS
    for comment, name in ENTRY.findall(
        re.search(rf"typedef struct {group} {{\n(.*?)\n}} {group};", TABLE, re.S)[1]
    )
}
# Nobody else has functions in structs of these names: (file, what is called).
OTHER_CALLS = {("csrc/core/device/place.c", "(*part)->create(")}
# Entries that do not block always, with what says so at the call.
WITH_DRIVER = {
    "close",
    "context_create",
    "context_destroy",
    "kernel_create",
    "memory_allocate",
    "program_destroy",
    "queue_create",
    "queue_destroy",
}
SOMETIMES = {"memory_free": "free_waits(alloc)"}


def words_of(comment):
    return re.findall(r"\bBlocks: (\w+)", comment)


def test_each_entry_says_in_one_word_what_it_waits_for():
    assert len(COMMENTS) == 38
    words = {name: words_of(comment) for name, comment in COMMENTS.items()}
    assert not {
        name: found for name, found in words.items() if found not in (["never"], ["driver"], ["work"])
    }


def test_the_check_knows_the_words():
    told = dict(re.findall(r"USM_BLOCKS_OF_(\w+) = USM_BLOCKS_(\w+)", RULE))
    assert {name: word.lower() for name, word in told.items()} == {
        name: words_of(comment)[0] for name, comment in COMMENTS.items()
    }


def unchecked_calls(text):
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return [match[0] for match in re.finditer(rf"[\w()*]+(?:->|\.)({'|'.join(COMMENTS)})\(", code)]


def test_every_call_of_an_entry_is_checked():
    files = [*CORE.rglob("*.[ch]"), *(ROOT / "tests" / "unit").glob("*.[ch]")]
    found = {
        (path.relative_to(ROOT).as_posix(), call)
        for path in files
        for call in unchecked_calls(path.read_text())
    }
    assert found == OTHER_CALLS  # csrc/py reads no table (test_layering.py)


@pytest.mark.parametrize(
    "line",
    [
        "queue->backend->event_poll(event, error);",
        "if (!backend->native->admit(queue, waits, n, error)) {",
        "(*backend)->memory_trim(device);",
        "usm_memfd_entries.close(place, memory);",
    ],
)
def test_each_unchecked_call_is_found(line):
    assert unchecked_calls(line)


def test_only_entries_that_say_so_block_sometimes():
    text = " ".join(path.read_text() for path in CORE.rglob("*.c"))
    calls = re.findall(r"USM_CALL_IF\((\S+), \S+, (\w+)\)", text)
    assert {(e, c) for c, e in calls if not c.endswith("->has_driver")} == set(SOMETIMES.items())
    assert {entry for condition, entry in calls if condition.endswith("->has_driver")} == WITH_DRIVER
    assert len(calls) == text.count("USM_CALL_IF(")
    without = re.compile(r"never\s[\s*]*without\s[\s*]*has_driver")
    says = {name for name, comment in COMMENTS.items() if without.search(comment)}
    assert says == WITH_DRIVER
    assert all("; never " in COMMENTS[entry] for entry in SOMETIMES)


def test_the_core_counts_its_mutexes():
    """usm_mutex_lock counts, pthread_mutex_lock does not; that of a start is for nothing else."""
    plain = re.compile(r"\bpthread_mutex_(?:try)?(?:un)?lock\(")
    found = {path.name for path in CORE.rglob("*.[ch]") if plain.search(path.read_text())}
    assert found == {"sync.h", "sync.c", "registry.c"}
