"""The report of a run on a GPU: tests/gpu/run.sh calls it.

report.py figures BENCH.json        the figures as short lines
report.py write LOGS FILE           docs/gpu-report.md of the logs' counts and figures
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import pathlib
import platform
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

SUITES = {
    "gpu": "tests/gpu: other libraries, captures, borrow and lend, programs, faults",
    "cts": "tests/cts: the conformance suite on the GPU",
    "opencl-nvidia": "tests/cts on NVIDIA's OpenCL",
    "opencl-pocl": "tests/cts on PoCL",
}
PACKAGES = ["numpy", "cupy-cuda13x", "torch", "jax", "numba", "numba-cuda", "cuda-core", "cuda-bindings"]
INTRODUCTION = """\
Written by `tests/gpu/run.sh`, which builds usmpy on a machine with an NVIDIA GPU, runs the tests that need
one, and measures usmpy beside its peers in one process. CI has no GPU: there the same backend runs on a
driver in software (`tests/cuda_driver`)."""
FIGURES = """\
A release build, everything in one run; the best of many batches taken in turn (`benchmarks/cuda.py`). The
target is the largest ratio to the named peer. A row of submissions leaves the wait for them off the clock."""


def show(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def verdict(row: dict) -> str:
    return {True: "yes", False: "MISSED", None: ""}[row["reached"]]


def figures(path: pathlib.Path) -> None:
    if not path.is_file():
        print("no figures")
        return
    for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
        peers = ", ".join(f"{name} {show(value)}" for name, value in row["peers"].items())
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        limit = "" if row["limit"] is None else f"<= {row['limit']:.2f}"
        print(f"{row['name']:44} {show(row['ours']):>9} {ratio:>5} {limit:8} {verdict(row):7} {peers}")


def counts(path: pathlib.Path) -> dict[str, int] | None:
    """Passed, failed, skipped; and the seconds."""
    if not path.is_file():
        return None
    suite = ElementTree.parse(path).getroot()
    suite = suite if suite.tag == "testsuite" else suite.find("testsuite")
    total, failures, errors, skipped = (
        int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")
    )
    return {
        "passed": total - failures - errors - skipped,
        "failed": failures + errors,
        "skipped": skipped,
        "seconds": round(float(suite.get("time", 0))),
    }


def reasons(path: pathlib.Path) -> list[str]:
    """Why tests were skipped, and how many for each reason."""
    found: dict[str, int] = {}
    for skipped in ElementTree.parse(path).getroot().iter("skipped"):
        text = (skipped.get("message") or "").strip()
        found[text] = found.get(text, 0) + 1
    return [f"{n} × {text}" for text, n in sorted(found.items(), key=lambda item: -item[1])]


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def gpus() -> list[str]:
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def write(logs: pathlib.Path, target: pathlib.Path) -> None:
    found = gpus()
    project = (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    usmpy = re.search(r'^version = "(.*)"$', project, re.M)[1]
    lines = [
        "# The last run on a GPU",
        "",
        *INTRODUCTION.splitlines(),
        "",
        "| | |",
        "| --- | --- |",
        f"| date | {datetime.date.today().isoformat()} |",
        f"| GPU | {'; '.join(sorted(set(found)))}{f' ({len(found)} of them)' if len(found) > 1 else ''} |",
        f"| usmpy | {usmpy} |",
        f"| Python | {platform.python_version()}, {platform.system()} {platform.release()} |",
        f"| libraries | {', '.join(f'{name} {version(name)}' for name in PACKAGES if version(name))} |",
        "",
        "## Tests",
        "",
        "| suite | passed | failed | skipped | seconds |",
        "| --- | --- | --- | --- | --- |",
    ]
    skips: list[str] = []
    for name, title in SUITES.items():
        path = logs / f"{name}.xml"
        count = counts(path)
        if count is not None:
            lines.append(f"| {title} | " + " | ".join(str(value) for value in count.values()) + " |")
            skips += [f"- {title.split(':')[0]}: {reason}" for reason in reasons(path)]
    if skips:
        lines += ["", "Skipped, and why:", "", *skips]
    markdown = logs / "bench.md"
    if markdown.is_file():
        table = markdown.read_text(encoding="utf-8").strip().splitlines()
        lines += [
            "",
            "## Figures",
            "",
            "A release build, everything in one run; the best of many batches taken in",
        ]
        lines += [
            "turn (`benchmarks/cuda.py`). The target is the largest ratio to the named peer.",
            "",
            *table,
        ]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{target}: {len(lines)} lines")


def main() -> None:
    command, *paths = sys.argv[1:]
    {"figures": figures, "write": write}[command](*map(pathlib.Path, paths))


if __name__ == "__main__":
    main()
