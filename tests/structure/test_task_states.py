"""csrc/README.md draws the states of a task as csrc/core/tasks/task_state.h lists them."""

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
HEADER = (CSRC / "core/tasks/task_state.h").read_text()
README = (CSRC / "README.md").read_text()


STATES = re.findall(r'X\((\w+), "', HEADER)
TRANSITIONS = re.findall(r'X\((\w+), (\w+), (\w+), (\w+), "(.*?)"\)', HEADER.replace("\\\n", ""))


def diagram():
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> NEW"]
    lines += [f"    {start} --> {end}: {when}" for start, end, _, _, when in TRANSITIONS]
    return "\n".join([*lines, "    COMPLETE --> [*]", "    ERROR --> [*]", "```"])


def test_the_diagram_is_drawn_from_the_list():
    assert diagram() in README, f"csrc/README.md should have:\n{diagram()}"


def test_every_state_is_reached_and_left():
    assert {row[0] for row in TRANSITIONS} | {row[1] for row in TRANSITIONS} == set(STATES)
    assert {row[0] for row in TRANSITIONS} == set(STATES) - {"COMPLETE", "ERROR"}
    assert {row[1] for row in TRANSITIONS} == set(STATES) - {"NEW"}
    assert len({(row[0], row[1]) for row in TRANSITIONS}) == len(TRANSITIONS)


@pytest.mark.parametrize("guard", sorted({row[3] for row in TRANSITIONS}))
def test_what_makes_a_transition_safe_is_explained(guard):
    assert re.search(rf"^ \*   {guard} ", HEADER, re.M)


@pytest.mark.parametrize("function", sorted({row[2] for row in TRANSITIONS}))
def test_functions_of_transitions_exist(function):
    sources = [path.read_text() for path in (CSRC / "core/tasks").glob("*.c")]
    assert any(re.search(rf"^\S.*\b{function}\(", source, re.M) for source in sources)
