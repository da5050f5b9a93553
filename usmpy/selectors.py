"""Device selection: filter strings, aspects, the default device and the list of devices.

The grammar of filter strings is that of SYCL's extension sycl_ext_oneapi_filter_selector: parts of
``backend:type:index`` in this order, at least one of them, alternatives separated by commas. usmpy adds a
word of the platform in brackets, ``opencl[intel]``, and ``.K@UNITS`` after an index for part K of
``create_sub_devices(UNITS)``.
"""

from __future__ import annotations

import os

from ._arrays.objects import shown
from ._core import Device, _backends, _set_default_device
from .errors import BackendUnavailable, DeviceNotFound, UsmError

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._core import _BackendReport

__all__ = ["get_devices", "select_default_device", "select_device", "select_device_with_aspects"]

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

    __slots__ = ("backend", "device_type", "index", "parts", "platform", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.backend: str | None = None
        self.platform: str | None = None
        self.device_type: str | None = None
        self.index: int | None = None
        self.parts: list[tuple[int, int]] = []


def _rank(device: Device) -> int:
    """GPUs first, then accelerators, the host, and CPU devices of a driver."""
    if device.device_type == "gpu":
        return 0
    if device.device_type == "accelerator":
        return 1
    return 2 if device.backend == "host" else 3


def _all_devices(backend: str | None = None) -> list[Device]:
    """Devices of all backends, or of one; only that one is started then."""
    devices = [device for report in _backends(backend) for device in report["devices"]]
    return sorted(devices, key=_rank)  # stable: the order of the backends stays within a rank


def _check_choice(value: object, allowed: tuple[str, ...], name: str) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(
            f"{name} is {shown(value, 40)}; one of {', '.join(map(repr, allowed))} or None is allowed"
        )
    if value is not None and value not in allowed:
        raise ValueError(
            f"{name} is {value!r:.40}; one of {', '.join(map(repr, allowed))} or None is allowed"
        )


def get_devices(backend: str | None = None, device_type: str | None = None) -> list[Device]:
    """List the root devices, best first: GPUs, accelerators, the host, CPU devices of a driver.

    Parameters
    ----------
    backend : {'host', 'opencl', 'level_zero', 'cuda'}, optional
        Only devices of this backend. A backend whose driver is missing has no devices.
    device_type : {'cpu', 'gpu', 'accelerator'}, optional
        Only devices of this type.

    Returns
    -------
    list of Device

    Raises
    ------
    UsmError
        The driver of the backend that was asked for is broken.
    ValueError
        An argument is another word.
    TypeError
        An argument is not a str.

    Examples
    --------
    >>> import usmpy
    >>> [device.filter_string for device in usmpy.get_devices("host")]
    ['host:cpu:0']
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


def is_backend(name: str) -> bool:
    """Builds for tests have more backends than BACKENDS, which only their names find."""
    return name in BACKENDS or (name.isidentifier() and bool(_backends(name)))


def _malformed(selector: str, why: str, source: str) -> ValueError:
    return ValueError(
        f"{source} is {selector!r:.40}: {why}. A filter string has parts of 'backend:type:index' in this "
        f"order, at least one of them: the backend is one of {', '.join(BACKENDS)}, and may have a word of "
        f"its platform in brackets, as in 'opencl[intel]'; the type is one of {', '.join(DEVICE_TYPES)}; "
        "commas separate alternatives"
    )


def _parse_filter(text: str, selector: str, source: str) -> _Filter:
    import re

    found = _Filter(text.strip())
    stage = 0
    for part in text.lower().split(":"):
        word = _ALIASES.get(part.strip(), part.strip())
        name, bracket, platform = word.partition("[")
        number = re.fullmatch(r"(\d+)((?:\.\d+@\d+)*)", word)
        if is_backend(name.strip()) and (
            not bracket or re.fullmatch(r"[^\[\]]*[^\[\]\s][^\[\]]*\]", platform)
        ):
            kind = 1
            found.backend = name.strip()
            found.platform = platform[:-1].strip() or None
        elif word in DEVICE_TYPES:
            kind = 2
            found.device_type = word
        elif number:
            kind = 3
            found.index = int(number[1])
            found.parts = [(int(k), int(units)) for k, units in re.findall(r"\.(\d+)@(\d+)", number[2])]
        else:
            raise _malformed(
                selector,
                f"{word!r:.20} is not a backend, type or index" if word else "a part is empty",
                source,
            )
        if kind <= stage:
            raise _malformed(selector, f"{word!r:.20} is repeated or out of order", source)
        stage = kind
    return found


def _fits(device: Device, wanted: _Filter) -> bool:
    if wanted.device_type not in (None, device.device_type):
        return False
    return wanted.platform is None or any(wanted.platform in text.lower() for text in device.platform[:2])


def _find(wanted: _Filter) -> Device | None:
    """The device that a filter selects, or None."""
    fitting = [device for device in _all_devices(wanted.backend) if _fits(device, wanted)]
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


def _available(platforms: bool) -> str:
    """The devices for a message: filter strings, and with `platforms` their platforms in brackets."""
    return ", ".join(
        device.filter_string + (f" [{device.platform.name}, {device.platform.vendor}]" if platforms else "")
        for device in _all_devices()
    )


def _no_such(wanted: _Filter, source: str) -> UsmError:
    if wanted.backend is not None:
        report = _report(wanted.backend)
        if report["absent"]:
            kind = UsmError if report["broken"] else BackendUnavailable
            return kind(f"{source} is {wanted.text!r:.60}: {report['absent']}", backend=wanted.backend)
    return DeviceNotFound(
        f"{source} is {wanted.text!r:.60}, but there is no such device; available: "
        f"{_available(wanted.platform is not None)}. usmpy.diagnose() explains why others are missing",
        backend=wanted.backend,
    )


def select_device(selector: str, source: str = "selector") -> Device:
    """Return the device that a filter string selects, as ``usmpy.Device(selector)`` does.

    Parameters
    ----------
    selector : str
        A filter string, such as ``"opencl:gpu:1"``. Alternatives are separated by commas; the first one
        that is available is taken.
    source : str, default "selector"
        What error messages call the filter string, such as the name of an environment variable.

    Returns
    -------
    Device

    Raises
    ------
    ValueError
        The filter string is malformed.
    DeviceNotFound
        No device matches.
    BackendUnavailable
        The backend has no library or no driver on this machine.

    Examples
    --------
    >>> from usmpy.selectors import select_device
    >>> select_device("host:cpu").filter_string
    'host:cpu:0'
    """
    alternatives = [_parse_filter(text, selector, source) for text in selector.split(",")]
    for wanted in alternatives:
        device = _find(wanted)
        if device is not None:
            return device
    if len(alternatives) == 1:
        raise _no_such(alternatives[0], source)
    reasons = "; ".join(str(_no_such(wanted, "alternative")) for wanted in alternatives)
    raise DeviceNotFound(f"{source} is {selector!r:.100}, but no alternative is available: {reasons}")


def _aspects(words: str | Iterable[str], name: str, checker: Device) -> list[str]:
    from ._arrays.objects import items

    try:
        found = [words] if isinstance(words, str) else items(words, name, 1000)
    except TypeError:
        raise TypeError(
            f"{name} is {shown(words)}; an aspect such as 'fp64' or a sequence of them is allowed"
        ) from None
    for word in found:
        if not isinstance(word, str):
            raise TypeError(f"{name} has {shown(word, 20)}; names of aspects such as 'fp64' are allowed")
        checker.has_aspect(word)  # its ValueError lists them
    return found


def select_device_with_aspects(required: str | Iterable[str], excluded: str | Iterable[str] = ()) -> Device:
    """Return the best device that has some aspects and lacks others.

    Parameters
    ----------
    required : str or sequence of str
        Aspects that the device must have, such as ``"fp64"``; see `Device.aspects`.
    excluded : str or sequence of str, optional
        Aspects that it must not have.

    Returns
    -------
    Device
        The first such device of `get_devices`.

    Raises
    ------
    DeviceNotFound
        No device has these aspects.
    ValueError
        There is no such aspect; the message lists all of them.
    TypeError
        An argument is something else.

    Notes
    -----
    The function is named as in dpctl, whose aspects have the same names.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.select_device_with_aspects(["cpu", "fp64"], excluded="gpu").device_type
    'cpu'
    """
    devices = _all_devices()
    wanted = _aspects(required, "required", devices[0])
    unwanted = _aspects(excluded, "excluded", devices[0])
    for device in devices:
        if device.aspects.issuperset(wanted) and device.aspects.isdisjoint(unwanted):
            return device
    without = f" and lacks {', '.join(unwanted)}" if unwanted else ""
    raise DeviceNotFound(
        f"no device has {', '.join(wanted)}{without}; available: {_available(False)}, whose property "
        "`aspects` lists what they have. usmpy.diagnose() explains why others are missing"
    )


def _oneapi_matches(term: str, selector: str) -> list[Device]:
    """Devices that one term of ONEAPI_DEVICE_SELECTOR names: ``backend:devices``."""
    import re

    name = "ONEAPI_DEVICE_SELECTOR"
    backend, colon, choices = (word.strip().lower() for word in term.partition(":"))
    if not colon or not choices:
        raise ValueError(f"{name} is {selector!r:.100}: {term!r:.60} is not of the form 'backend:devices'")
    if backend != "*" and backend not in _ONEAPI_BACKENDS and backend not in _ONEAPI_ABSENT:
        raise ValueError(f"{name} is {selector!r:.100}: {backend!r:.60} is not a backend of it")
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
            raise ValueError(f"{name} is {selector!r:.100}: {choice!r:.60} is not a type, a number or '*'")
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
    """Return the device that is used where none is named.

    Returns
    -------
    Device
        The device that ``USMPY_DEVICE`` (a filter string) selects, or else the best that
        ``ONEAPI_DEVICE_SELECTOR`` (its own grammar) leaves, or else the first GPU of CUDA, Level Zero and
        OpenCL, or else the host device.

    Raises
    ------
    DeviceNotFound, BackendUnavailable
        A variable selects a device that is not there.
    ValueError
        A variable is malformed.

    Notes
    -----
    A CPU device of a driver is the default only if one of the variables selects it. The environment is read
    at each call of this function, of ``Device()`` and of ``Queue()``; creation functions use the last answer.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.select_default_device() == usmpy.Device()
    True
    """
    wish = os.environ.get("USMPY_DEVICE", "").strip()
    oneapi = os.environ.get("ONEAPI_DEVICE_SELECTOR", "").strip()
    if wish:
        device = select_device(wish, "USMPY_DEVICE")
    elif oneapi:
        devices = _oneapi_devices(oneapi)
        if not devices:
            raise DeviceNotFound(
                f"ONEAPI_DEVICE_SELECTOR is {oneapi!r:.60}, which selects no device; available: "
                f"{_available(False)}"
            )
        device = devices[0]
    else:
        device = next(d for d in _all_devices() if d.device_type == "gpu" or d.backend == "host")
    _set_default_device(device)
    return device
