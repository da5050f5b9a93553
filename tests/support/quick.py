"""The tests of ``pytest -m quick``, for after each change: every layer, on the host and one OpenCL driver.

They take less than a minute in one process. Files of other tests are not even collected.
"""

from __future__ import annotations

import pathlib

TESTS = pathlib.Path(__file__).resolve().parents[1]
FILES = {
    "api": "asyncio diagnose inspection pickle repr selectors",
    "cts": "array context copy creation device dlpack_export dlpack_import dtype event exchange_table fill"
    " hazard_gates host_task indexing launch launch_order manipulation mask memory methods operators order"
    " placement queue reductions setitem trace values where",
    "exchange": "capsules hostile_interfaces import_leaks routes specification",
    "portable": "refusals rewriting",
    "programs": "cache kernel_pointers options",
    "runtime": "faults fork leaks waiting_threads",
    "kernels": "stored",
    "structure": "docstrings layering messages operations_table",
}
QUICK = {TESTS / folder / f"test_{name}.py" for folder, names in FILES.items() for name in names.split()}
assert all(path.is_file() for path in QUICK), sorted(path for path in QUICK if not path.is_file())
DEVICES = {"host", "opencl-pocl"}


def leaves_out(path: pathlib.Path) -> bool:
    """Whether this file of tests need not be collected."""
    return path.name.startswith("test_") and path.suffix == ".py" and path not in QUICK
