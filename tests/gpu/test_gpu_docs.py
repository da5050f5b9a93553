"""The examples of docs/interop-cuda.md run, section by section, behind those of its beginning."""

from __future__ import annotations

import gc
import pathlib

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
