"""Options of the tests: ``pytest --help`` lists them under "usmpy".

The workers of pytest-xdist, and the processes that tests start, get them by an environment variable. The
modules that read them do so while they are imported: tests/conftest.py adds the options first.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
from typing import Any

VARIABLE = "USMPY_TEST_OPTIONS"
NUMBER, FLAG = {"type": int, "metavar": "N"}, {"action": "store_true"}
OPTIONS: dict[str, dict[str, Any]] = {
    "--devices": {
        "metavar": "NAMES",
        "help": "these devices of tests/support/backends.py alone: --devices=host,minimal",
    },
    "--all-files": {
        **FLAG,
        "help": "all cases of tests/cts on all devices, also where they run code that all devices share",
    },
    "--few-files": {
        **FLAG,
        "help": "devices other than the host run only files of tests/cts where the device matters",
    },
    "--cts-leaves-out": {"metavar": "NAMES", "help": "devices on which tests/cts does not run"},
    "--coarse-svm": {
        **FLAG,
        "help": "one OpenCL device alone, with memory that the host does not read, as a graphics card has",
    },
    "--without-fp64": {
        **FLAG,
        "help": "devices without double precision",
    },
    "--opencl-vendor": {
        "metavar": "VENDOR",
        "help": "this vendor's OpenCL device alone, for example NVIDIA",
    },
    "--software-cuda": {**FLAG, "help": "the CUDA driver in software, also on a machine that has NVIDIA's"},
    "--dlpack-type": {**NUMBER, "help": "10: CUDA's devices have the type of ROCm's in DLPack"},
    "--level-zero": {
        "choices": ("system", "layers"),
        "help": "system: the machine's Level Zero drivers, and none in software; "
        "layers: the loader's validation layer looks at every call",
    },
    "--require-libraries": {**FLAG, "help": "a library, a compiler or a driver that is missing is a failure"},
    "--require-gpu": {**FLAG, "help": "a GPU that is missing is a failure, for tests/gpu"},
    "--require-ocloc": {**FLAG, "help": "a missing libocloc is a failure, for tests/kernels"},
    "--seed": {**NUMBER, "help": "random tests draw from this seed on, and Hypothesis draws anew"},
    "--examples": {**NUMBER, "help": "examples of each fuzzer of tests/fuzz"},
    "--hazard-programs": {**NUMBER, "help": "random programs of tests/runtime/test_hazards.py"},
    "--model-programs": {**NUMBER, "help": "random programs against the model of the engine, on each device"},
    "--wheels": {"metavar": "FOLDER", "help": "where tests/structure/test_wheel.py puts the wheel"},
    "--mpiexec": {"metavar": "PATH", "help": "the launcher of MPI (default: that of the environment)"},
}
# What the library itself, or a driver in software, reads in the process and in those that it starts.
ENVIRONMENT = {
    "coarse_svm": {"USMPY_TEST_COARSE_SVM": "1"},
    "without_fp64": {"USMPY_TEST_WITHOUT_FP64": "1", "ZESIM_FP64": "0"},
    "software_cuda": {"USMPY_TEST_CUDA": "software"},
}


def given() -> dict[str, Any]:
    return json.loads(os.environ.get(VARIABLE, "{}"))


def value(name: str, default: Any = None) -> Any:
    """The value of ``--name``, with underscores; the default where it is not given."""
    return given().get(name, default)


def names(name: str) -> list[str]:
    return [word for word in value(name, "").split(",") if word]


def add(parser, arguments) -> None:
    """Adds the options to pytest's parser, and reads those of these arguments at once."""
    group = parser.getgroup("usmpy")
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for name, settings in OPTIONS.items():
        group.addoption(name, **settings)
        own.add_argument(name, **settings)
    read, _ = own.parse_known_args([*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *map(str, arguments)])
    os.environ[VARIABLE] = json.dumps(given() | vars(read))
    for name in vars(read):
        os.environ.update(ENVIRONMENT.get(name, {}))
