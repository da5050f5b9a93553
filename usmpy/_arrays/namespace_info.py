"""``__array_namespace_info__()`` of the array API standard 2025.12."""

from __future__ import annotations

from .. import _core
from ..selectors import get_devices, select_default_device
from .objects import shown

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from .._core import _Placement

# By kind, as the standard names them; JOINED combines them.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
JOINED = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
WIDE = ("float64", "complex128")


def names_of(kind: object) -> list[str]:
    """Names of the dtypes of a kind, of a tuple of kinds, or (None) of all kinds."""
    if kind is None:
        return names_of(tuple(KINDS))
    if isinstance(kind, tuple):
        return [name for one in kind for name in names_of(one)]
    if kind in JOINED:
        return names_of(JOINED[kind])
    if not isinstance(kind, str) or kind not in KINDS:
        allowed = ", ".join(map(repr, (*KINDS, *JOINED)))
        raise ValueError(f"kind is {shown(kind, 60)}; None, {allowed} or a tuple of them is allowed")
    return list(KINDS[kind])


def device_of(device: _Placement) -> _core.Device:
    return select_default_device() if device is None else _core.Device.create_device(device)


class NamespaceInfo:
    """Capabilities, devices and dtypes of the namespace.

    The array API standard 2025.12, inspection.
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return which optional features of the standard usmpy has.

        Returns
        -------
        dict of str to bool or int
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> _core.Device:
        """Return the Device that creation functions use if none is given.

        Returns
        -------
        Device
        """
        return select_default_device()

    def default_dtypes(self, *, device: _Placement = None) -> dict[str, _core.DType]:
        """Return the dtypes that functions use on a device if none is given.

        Parameters
        ----------
        device : Device, Queue, USMArray or str, optional
            By default, the default device.

        Returns
        -------
        dict of str to DType

        Raises
        ------
        ValueError, TypeError, DeviceNotFound, BackendUnavailable
            As ``Device.create_device()`` raises them.
        """
        wide = device_of(device).has_fp64
        return {
            "real floating": _core.float64 if wide else _core.float32,
            "complex floating": _core.complex128 if wide else _core.complex64,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def devices(self) -> tuple[_core.Device, ...]:
        """Return all root devices, best first.

        Returns
        -------
        tuple of Device
        """
        return tuple(get_devices())

    def dtypes(
        self, *, device: _Placement = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, _core.DType]:
        """Return the dtypes of the standard that a device computes with.

        Parameters
        ----------
        device : Device, Queue, USMArray or str, optional
            By default, the default device.
        kind : str or tuple of str, optional
            A kind of dtypes, as in :func:`usmpy.isdtype`; by default all.

        Returns
        -------
        dict of str to DType

        Raises
        ------
        ValueError
            `kind` is another word.
        TypeError, DeviceNotFound, BackendUnavailable
            As ``Device.create_device()`` raises them.
        """
        wide = device_of(device).has_fp64
        return {name: getattr(_core, name) for name in names_of(kind) if wide or name not in WIDE}


def __array_namespace_info__() -> NamespaceInfo:
    return NamespaceInfo()
