"""python -m usmpy: the devices, and the reason if a backend has none."""

from __future__ import annotations

import json
from typing import Any

from .. import selectors
from .._core import Device, _backends
from .._inspection import diagnose as _diagnose
from .._inspection.timeline.tasks import bytes_text
from ..errors import UsmError
from .screen import table


def _kinds(device: Device) -> list[str]:
    return [kind for kind in ("device", "shared", "host", "system") if getattr(device, f"has_usm_{kind}")]


def _info(device: Device) -> dict[str, Any]:
    info = device.info()
    return {
        **info,
        "platform": device.platform._asdict(),
        "aspects": sorted(info["aspects"]),
        "uuid": str(info["uuid"]),
        "usm_kinds": _kinds(device),
    }


def _default() -> tuple[Device | None, str | None]:
    try:
        return selectors.select_default_device(), None
    except (UsmError, ValueError) as error:  # the environment selects a missing device
        return None, str(error)


def report() -> dict[str, Any]:
    """The output of --json."""
    from .. import __version__

    default, why = _default()
    return {
        "usmpy": __version__,
        "default_device": default.filter_string if default is not None else None,
        "default_device_error": why,
        "backends": [
            {
                "name": report["name"],
                "state": _diagnose.state(report),
                "reasons": _diagnose.reasons(report),
                "libraries": _diagnose.libraries(report),
                "devices": [_info(device) for device in report["devices"]],
            }
            for report in _diagnose.in_order(_backends())
        ],
    }


def _device_table() -> None:
    default, why = _default()
    rows = []
    for device in selectors.get_devices():
        mark = " *" if default is not None and device.filter_string == default.filter_string else ""
        memory = bytes_text(device.global_mem_size)
        units, kinds = str(device.max_compute_units), " ".join(_kinds(device))
        driver = f"{device.platform.name}, {device.driver_version}"
        rows.append([device.filter_string + mark, device.name, units, memory, kinds, driver])
    table(["device", "name", "units", "memory", "USM", "platform and driver"], rows, right=(2, 3))
    print("* the default device" if default is not None else f"no default device: {why}")


def run(as_json: bool, verbose: bool) -> int:
    if as_json:
        print(json.dumps(report(), indent=2, default=str))
        return 0
    _device_table()
    for backend in _diagnose.in_order(_backends()):
        lines = _diagnose.reasons(backend)
        if lines:
            state = _diagnose.state(backend)
            print(f"\n{backend['name']}{': ' + state if state != 'works' else ''}")
            print("\n".join(f"  {line}" for line in lines))
    if verbose:
        print(f"\n{_diagnose.diagnose()}")
        for device in selectors.get_devices():
            print()
            rows = [[word, str(value)] for word, value in sorted(_info(device).items())]
            table(["property", "value"], rows, title=device.filter_string)
    return 0
