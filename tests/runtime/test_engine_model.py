"""Random programs of tasks against the model of the engine (engine_programs.py), on each device."""

from __future__ import annotations

import engine_programs
import pytest
from draws import drawn, first_of, parts

import usmpy


@pytest.mark.only_on("host-task")
@pytest.mark.parametrize("seeds", parts(1000), ids=first_of)
def test_tasks(backend, device, seeds):
    for seed in seeds if backend.name == "host" else drawn(seeds, 5):
        engine_programs.run(device, seed)


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
@pytest.mark.parametrize("seeds", parts(1000), ids=first_of)
def test_forks(seeds):
    for seed in seeds[::10]:
        engine_programs.run(usmpy.Device("host:cpu:0"), seed, forks=True)
