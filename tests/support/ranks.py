"""Two ranks of a collective: a program runs in two processes at once."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def two_ranks(code: str, folder: pathlib.Path) -> list[str]:
    """
    What each writes to its standard output. RANK, WORLD_SIZE and MEETING, a file that does not exist, are in
    the environment. AssertionError with all of the output if one fails.
    """
    program = folder / "program.py"
    program.write_text(code, encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    common = {"PYTHONPATH": paths, "WORLD_SIZE": "2", "MEETING": str(folder / "meeting")}
    ranks = [
        subprocess.Popen(
            [sys.executable, program],
            env={**os.environ, **common, "RANK": str(rank), "GLOO_SOCKET_IFNAME": "lo"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        ended = [(process.communicate(timeout=180), process.returncode) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    for (out, err), status in ended:
        assert status == 0, out + err
    return [out for (out, _), _ in ended]
