"""The command line, ``usmpy`` or ``python -m usmpy``: parsing here, one file a command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import UsmError

USAGE_ERROR = 2


def _parser() -> argparse.ArgumentParser:
    from .. import __version__

    parser = argparse.ArgumentParser(
        prog="usmpy",
        description="Devices that usmpy finds, and why others are missing.",
        epilog="usmpy COMMAND --help describes a command. python -m usmpy does the same.",
    )
    parser.add_argument("--version", action="version", version=f"usmpy {__version__}")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--verbose", "-v", action="store_true", help="print all properties of each device")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    check = commands.add_parser(
        "check",
        help="test exchange, copies and kernels on a device",
        description="Tests exchange, copies and kernels. The exit status is 1 if a test failed.",
    )
    bench = commands.add_parser(
        "bench",
        help="measure copies between places, and launches",
        description="Measures copies between places of memory, and launches of kernels.",
    )
    for command in (check, bench):
        command.add_argument(
            "device", nargs="?", metavar="DEVICE", help="a filter string; default: all devices"
        )
        command.add_argument("--json", action="store_true", dest="json_too", help="the results as JSON")
    bench.add_argument(
        "--mib", type=_size, default=64, metavar="N", help="size of a copy in MiB (default: 64)"
    )
    bench.add_argument(
        "--picture", metavar="FILE", help="also draw the matrix, as .png, .svg or .pdf (needs matplotlib)"
    )
    return parser


def _size(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if not 1 <= value <= 1 << 20:
        raise argparse.ArgumentTypeError(f"{text!r} is not an int from 1 to {1 << 20}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Return the exit status: 0, 1 if a check failed, 2 if the command cannot run."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "check":
            from .check import run as run_check

            return run_check(options.device, options.json or options.json_too)
        if options.command == "bench":
            from .bench import run as run_bench

            return run_bench(
                options.device, options.json or options.json_too, options.mib << 20, options.picture
            )
        from .report import run as run_report

        return run_report(options.json, options.verbose)
    except BrokenPipeError:  # the reader, such as head or a pager, has closed the pipe
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
    except (UsmError, ValueError, OSError) as error:
        print(f"usmpy: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE_ERROR
