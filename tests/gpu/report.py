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
`tests/gpu/run.sh` writes this report. It builds usmpy on a machine with an NVIDIA GPU, runs the tests that
need one, and measures usmpy and its peers in one process. CI has no GPU; it runs the same backend on a
software driver (`tests/cuda_driver`)."""
FIGURES = """\
All rows are from one run of a release build: the best of many batches, with usmpy and its peers taking turns
(`benchmarks/cuda.py`). The target is the largest allowed ratio to the named peer. Rows of submissions do not
include the wait for their completion."""


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


def suites(logs: pathlib.Path, name: str) -> list[ElementTree.Element]:
    """The summary of each file of a suite."""
    roots = [ElementTree.parse(path).getroot() for path in sorted(logs.glob(f"{name}-test_*.xml"))]
    found = [root if root.tag == "testsuite" else root.find("testsuite") for root in roots]
    return [suite for suite in found if suite is not None]


def counts(logs: pathlib.Path, name: str) -> dict[str, int] | None:
    """Passed, failed, skipped; and the seconds. A file whose process ended early counts as one failure."""
    found = suites(logs, name)
    if not found:
        return None
    total, failures, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in found) for key in ("tests", "failures", "errors", "skipped")
    )
    early = len(list(logs.glob(f"{name}-test_*.log"))) - len(found)
    return {
        "passed": total - failures - errors - skipped,
        "failed": failures + errors + early,
        "skipped": skipped,
        "seconds": round(sum(float(suite.get("time", 0)) for suite in found)),
    }


def reasons(logs: pathlib.Path, name: str) -> list[str]:
    """Why tests were skipped, and how many for each reason."""
    found: dict[str, int] = {}
    for suite in suites(logs, name):
        for skipped in suite.iter("skipped"):
            text = (skipped.get("message") or "").strip()
            found[text] = found.get(text, 0) + 1
    return [f"{n} × {text}" for text, n in sorted(found.items(), key=lambda item: -item[1])]


def count(logs: pathlib.Path, name: pathlib.Path) -> None:
    found = counts(logs, str(name)) or {}
    print(", ".join(f"{n} {what}" for what, n in found.items()) or "no tests")


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
    present = gpus()
    project = (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    usmpy = re.search(r'^version = "(.*)"$', project, re.M)[1]
    lines = [
        "# GPU test report",
        "",
        *INTRODUCTION.splitlines(),
        "",
        "| | |",
        "| --- | --- |",
        f"| date | {datetime.date.today().isoformat()} |",
        f"| GPU | {len(present)} × {'; '.join(sorted(set(present)))} |",
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
        found = counts(logs, name)
        if found is not None:
            lines.append(f"| {title} | " + " | ".join(str(value) for value in found.values()) + " |")
            skips += [f"- {title.split(':')[0]}: {reason}" for reason in reasons(logs, name)]
    if skips:
        lines += ["", "Reasons for skipped tests:", "", *skips]
    markdown = logs / "bench.md"
    if markdown.is_file():
        table = markdown.read_text(encoding="utf-8").strip().splitlines()
        lines += ["", "## Figures", "", *FIGURES.splitlines(), "", *table]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{target}: {len(lines)} lines")


def main() -> None:
    command, *paths = sys.argv[1:]
    {"figures": figures, "count": count, "write": write}[command](*map(pathlib.Path, paths))


if __name__ == "__main__":
    main()
