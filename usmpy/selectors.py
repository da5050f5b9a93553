"""Which device is meant: filter strings, the default choice, the list of devices.

The grammar of filter strings is that of SYCL's ``filter_selector`` extension: parts of ``backend:type:index``
in this order, at least one of them, alternatives separated by commas. ``Device.filter_string`` adds
``.K@UNITS`` to an index for part K of ``create_sub_devices(UNITS)``.
"""

from __future__ import annotations

import os

from ._core import Device, _backends, _set_default_device
from .errors import BackendUnavailable, DeviceNotFound, UsmError

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from ._core import _BackendReport

__all__ = ["get_devices", "select_default_device", "select_device"]

BACKENDS = ("host", "opencl", "level_zero", "cuda")
DEVICE_TYPES = ("cpu", "gpu", "accelerator")

_ALIASES = {"acc": "accelerator"}
# SYCL's names of backends, as ONEAPI_DEVICE_SELECTOR has them.
_ONEAPI_BACKENDS = {
    "native_cpu": "host",
    "host": "host",
    "opencl": "opencl",
    "level_zero": "level_zero",
    "cuda": "cuda",
}
_ONEAPI_ABSENT = ("hip", "esimd_emulator")


class _Filter:
    """One alternative of a filter string: a plain class, and no re, so that `import usmpy` stays quick."""

    __slots__ = ("backend", "device_type", "index", "parts", "text")

    def __init__(
        self,
        backend: str | None,
        device_type: str | None,
        index: int | None,
        parts: list[tuple[int, int]],
        text: str,
    ) -> None:
        self.backend = backend
        self.device_type = device_type
        self.index = index
        self.parts = parts
        self.text = text


def _rank(device: Device) -> int:
    """GPUs first, then accelerators, the host, and CPUs behind a driver."""
    if device.device_type == "gpu":
        return 0
    if device.device_type == "accelerator":
        return 1
    return 2 if device.backend == "host" else 3


def _all_devices(backend: str | None = None) -> list[Device]:
    """Of every backend, or of this one, which alone is started then."""
    devices = [device for report in _backends(backend) for device in report["devices"]]
    return sorted(devices, key=_rank)  # stable: the order of the backends stays within a rank


def _check_choice(value: object, allowed: tuple[str, ...], name: str) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; one of {', '.join(map(repr, allowed))} or None is allowed")
    if value is not None and value not in allowed:
        raise ValueError(f"{name} is {value!r}; one of {', '.join(map(repr, allowed))} or None is allowed")


def get_devices(backend: str | None = None, device_type: str | None = None) -> list[Device]:
    """All root devices, best first: GPUs, accelerators, the host, CPUs behind a driver.

    Parameters
    ----------
    backend : str, optional
        Only this one: ``"host"``, ``"opencl"``, ``"level_zero"`` or ``"cuda"``. A missing driver has no
        devices, a broken one raises ``UsmError`` when it is asked for by name.
    device_type : str, optional
        Only ``"cpu"``, ``"gpu"`` or ``"accelerator"``.

    Raises ValueError for other words, TypeError for what is no word.
    """
    _check_choice(backend, BACKENDS, "backend")
    _check_choice(device_type, DEVICE_TYPES, "device_type")
    if backend is not None:
        report = _report(backend)
        if report["broken"]:
            raise UsmError(report["absent"], backend=backend)
    return [
        device for device in _all_devices(backend) if device_type is None or device.device_type == device_type
    ]


def _report(backend: str) -> _BackendReport:
    return _backends(backend)[0]


def _malformed(selector: str, why: str, source: str) -> ValueError:
    return ValueError(
        f"{source} is {selector!r}: {why}. Parts of 'backend:type:index' in this order are allowed, with "
        f"backend one of {', '.join(BACKENDS)}, type one of {', '.join(DEVICE_TYPES)}, alternatives "
        "separated by commas"
    )


def _parse_filter(text: str, selector: str, source: str) -> _Filter:
    import re

    backend = device_type = index = None
    parts: list[tuple[int, int]] = []
    stage = 0
    for word in text.split(":"):
        word = _ALIASES.get(word.strip().lower(), word.strip().lower())
        number = re.fullmatch(r"(\d+)((?:\.\d+@\d+)*)", word)
        if word in BACKENDS:
            kind = 1
            backend = word
        elif word in DEVICE_TYPES:
            kind = 2
            device_type = word
        elif number:
            kind = 3
            index = int(number[1])
            parts = [(int(k), int(units)) for k, units in re.findall(r"\.(\d+)@(\d+)", number[2])]
        else:
            raise _malformed(
                selector,
                f"{word!r} is no backend, no type and no index" if word else "a part is empty",
                source,
            )
        if kind <= stage:
            raise _malformed(selector, f"{word!r} is repeated or out of order", source)
        stage = kind
    return _Filter(backend, device_type, index, parts, text.strip())


def _find(wanted: _Filter) -> Device | None:
    """The device that a filter means, or None."""
    fitting = [
        device for device in _all_devices(wanted.backend) if wanted.device_type in (None, device.device_type)
    ]
    index = wanted.index or 0
    if index >= len(fitting):
        return None
    device = fitting[index]
    for k, units in wanted.parts:
        if not 1 <= units <= device.max_compute_units:
            return None
        siblings = device.create_sub_devices(units)
        if k >= len(siblings):
            return None
        device = siblings[k]
    return device


def _no_such(wanted: _Filter, source: str) -> UsmError:
    if wanted.backend is not None:
        report = _report(wanted.backend)
        if report["absent"]:
            kind = UsmError if report["broken"] else BackendUnavailable
            return kind(f"{source} is {wanted.text!r}: {report['absent']}", backend=wanted.backend)
    there = ", ".join(device.filter_string for device in _all_devices())
    return DeviceNotFound(
        f"{source} is {wanted.text!r}, and there is no such device; there are {there or 'none'}. "
        "usmpy.diagnose() says why others are missing",
        backend=wanted.backend,
    )


def select_device(selector: str, source: str = "selector") -> Device:
    """The device that a filter string means; see :class:`usmpy.Device`."""
    alternatives = [_parse_filter(text, selector, source) for text in selector.split(",")]
    for wanted in alternatives:
        device = _find(wanted)
        if device is not None:
            return device
    if len(alternatives) == 1:
        raise _no_such(alternatives[0], source)
    reasons = "; ".join(str(_no_such(wanted, "alternative")) for wanted in alternatives)
    raise DeviceNotFound(f"{source} is {selector!r}, and no alternative is there: {reasons}")


def _oneapi_matches(term: str, selector: str) -> list[Device]:
    """Devices that one term of ONEAPI_DEVICE_SELECTOR names: ``backend:devices``."""
    import re

    name = "ONEAPI_DEVICE_SELECTOR"
    backend, colon, choices = (word.strip().lower() for word in term.partition(":"))
    if not colon or not choices:
        raise ValueError(f"{name} is {selector!r}: {term!r} is not of the form 'backend:devices'")
    if backend != "*" and backend not in _ONEAPI_BACKENDS and backend not in _ONEAPI_ABSENT:
        raise ValueError(f"{name} is {selector!r}: {backend!r} is no backend of it")
    if backend == "*":
        candidates = _all_devices()
    else:
        candidates = _all_devices(_ONEAPI_BACKENDS[backend]) if backend in _ONEAPI_BACKENDS else []
    found = []
    for choice in (word.strip() for word in choices.split(",")):
        if choice == "*":
            found += candidates
        elif choice in ("cpu", "gpu", "acc", "fpga"):
            wanted = "accelerator" if choice in ("acc", "fpga") else choice
            found += [device for device in candidates if device.device_type == wanted]
        elif re.fullmatch(r"\d+", choice):
            found += candidates[int(choice) : int(choice) + 1]
        elif not re.fullmatch(r"(\d+|\*)(\.(\d+|\*)){1,2}", choice):  # sub-devices: never a default here
            raise ValueError(f"{name} is {selector!r}: {choice!r} is no device, no number and no '*'")
    return found


def _oneapi_devices(selector: str) -> list[Device]:
    """ONEAPI_DEVICE_SELECTOR: terms separated by ``;``, those with ``!`` take devices away."""
    terms = [term.strip() for term in selector.split(";") if term.strip()]
    accepted: list[Device] = []
    positive = [term for term in terms if not term.startswith("!")]
    for term in positive or ["*:*"]:
        accepted += [device for device in _oneapi_matches(term, selector) if device not in accepted]
    for term in terms:
        if term.startswith("!"):
            refused = _oneapi_matches(term[1:], selector)
            accepted = [device for device in accepted if device not in refused]
    return sorted(accepted, key=_rank)


def select_default_device() -> Device:
    """The device that is used where none is named.

    ``USMPY_DEVICE`` (a filter string) decides, then ``ONEAPI_DEVICE_SELECTOR`` (its grammar), then the first
    GPU of CUDA, Level Zero and OpenCL, then the host device. A CPU behind a driver is the default only when
    one of the variables asks for it. The environment is read at each call of this function, of ``Device()``
    and of ``Queue()``; creation functions follow the last answer.
    """
    wish = os.environ.get("USMPY_DEVICE", "").strip()
    oneapi = os.environ.get("ONEAPI_DEVICE_SELECTOR", "").strip()
    if wish:
        device = select_device(wish, "USMPY_DEVICE")
    elif oneapi:
        devices = _oneapi_devices(oneapi)
        if not devices:
            there = ", ".join(device.filter_string for device in _all_devices())
            raise DeviceNotFound(
                f"ONEAPI_DEVICE_SELECTOR is {oneapi!r} and leaves no device; there are {there}"
            )
        device = devices[0]
    else:
        device = next(d for d in _all_devices() if d.device_type == "gpu" or d.backend == "host")
    _set_default_device(device)
    return device
