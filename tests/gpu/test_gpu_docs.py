"""The examples of docs/interop-cuda.md run section by section, after those of its beginning."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "interop-cuda.md"
NEEDS = {
    "CuPy": ["cupy"],
    "PyTorch": ["torch"],
    "JAX": ["jax"],
    "Numba": ["numba_cuda"],
    "cuda.core": ["core"],
    "CUDA graphs": ["torch", "cupy"],
    "Kinds of memory": ["cupy"],
}
ROOT = pathlib.Path(__file__).parents[2]
RECIPES = ROOT / "docs" / "recipes.md"


def blocks(text: str) -> list[str]:
    return [part.split("```")[0] for part in text.split("```python\n")[1:]]


def sections() -> dict[str, list[str]]:
    first, *others = PAGE.read_text(encoding="utf-8").split("\n## ")
    found = {"": blocks(first)}
    return found | {part.partition("\n")[0]: blocks(part) for part in others}


def test_every_section_with_examples_is_run():
    assert {name for name, code in sections().items() if name and code} == set(NEEDS)
    assert sum(len(code) for code in sections().values()) >= 10


@pytest.mark.parametrize("name", NEEDS)
def test_the_examples_run(request, device, name):
    for library in NEEDS[name]:
        request.getfixturevalue(library)
    names: dict[str, object] = {"__name__": "examples"}
    for part in ("", name):
        for i, block in enumerate(sections()[part]):
            exec(compile(block, f"{PAGE.name}, {part or 'the beginning'}, block {i}", "exec"), names)
    names.clear()
    gc.collect()


def test_the_recipes_run(cupy, device):
    """CuPy's among them, which CI leaves out."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "tools" / "pages.py", RECIPES],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    left_out = json.loads(done.stdout.splitlines()[-1])["left out"]
    assert not [names for names in left_out.values() if "cupy" in names or "cuda" in names]
