"""usmpy.unpickle_device: on which device of this process unpickled objects are made."""

from __future__ import annotations

from .._arrays.objects import shown
from .._core import Device, Queue, USMArray
from ..errors import BackendUnavailable, DeviceNotFound
from ..selectors import DEVICE_TYPES, get_devices, is_backend

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import ContextVar

    from .._core import _Placement

    # A device for everything, or devices by filter strings and beginnings of them.
    _Target = Device | dict[str, Device]
    # The innermost block, and those around it.
    _Blocks = tuple[_Target, "_Blocks"] | None

_variables: dict[str, ContextVar[_Blocks]] = {}  # one; empty until there is a block
_found: dict[str, Device] = {}  # by the filter strings of pickles


def _variable() -> ContextVar[_Blocks]:
    from contextvars import ContextVar  # a library of its own, which `import usmpy` does not open

    name = "usmpy.unpickle_device"
    return _variables.setdefault(name, ContextVar(name, default=None))


def _name(name: object) -> str:
    """The key, if it is a filter string of a pickle or the beginning of one."""
    parts = name.split(":") if isinstance(name, str) else []
    if isinstance(name, str) and is_backend(parts[0]) and (len(parts) < 2 or parts[1] in DEVICE_TYPES):
        return name
    kind = ValueError if isinstance(name, str) else TypeError
    raise kind(
        f"where has the key {shown(name, 60)}; the filter_string of a device, such as 'cuda:gpu:1', or the "
        "beginning of one, 'cuda:gpu' or 'cuda', is allowed"
    )


def _placement(value: object, name: str) -> Device:
    if value is not None and not isinstance(value, (str, Device, Queue, USMArray)):
        raise TypeError(
            f"{name} is {shown(value, 60)}; None, a filter string, a Device, a Queue or a USMArray is "
            "allowed, or a mapping of filter strings to these"
        )
    return Device.create_device(value)


class unpickle_device:
    """Unpickle devices, queues, arrays and programs on another device than they were pickled on.

    Parameters
    ----------
    where : None, str, Device, Queue, USMArray or mapping
        The placement of everything that is unpickled inside the ``with`` block, as `Device.create_device`
        takes it; arrays are created on its queue. A mapping has such placements by the
        `Device.filter_string` of devices that objects were pickled on (``"cuda:gpu:1"``), or by the beginning
        of one (``"cuda:gpu"``, ``"cuda"``). The longest matching name counts; objects of other devices are
        unpickled on their own device.

    Raises
    ------
    DeviceNotFound
        There is no such device here.
    BackendUnavailable
        The backend of a placement has no library or no driver on this machine.
    ValueError
        A filter string is malformed.
    TypeError
        `where` is something else.

    Notes
    -----
    The block applies to the calling thread and to the current task of ``asyncio`` (`contextvars`). Blocks may
    be nested; the innermost one counts. Several threads may enter the same object, also at the same time.

    Examples
    --------
    >>> import pickle
    >>> import usmpy
    >>> data = pickle.dumps(usmpy.arange(3, device="host"))
    >>> queue = usmpy.Queue("host")
    >>> with usmpy.unpickle_device(queue):
    ...     x = pickle.loads(data)
    >>> x.queue == queue
    True
    >>> with usmpy.unpickle_device({"cuda": "host"}):  # pickles of the host stay on the host's own queue
    ...     y = pickle.loads(data)
    >>> y.queue == queue
    False
    """

    __slots__ = ("_target",)

    def __init__(self, where: _Placement | Mapping[str, _Placement]) -> None:
        self._target: _Target
        from collections.abc import Mapping

        if isinstance(where, Mapping):
            self._target = {_name(key): _placement(to, f"where[{key!r:.60}]") for key, to in where.items()}
        else:
            self._target = _placement(where, "where")

    def __enter__(self) -> None:
        blocks = _variable()
        blocks.set((self._target, blocks.get()))

    def __exit__(self, *exception: object) -> None:
        blocks = _variable()
        block = blocks.get()
        if block is not None:
            blocks.set(block[1])


def _own(place: str) -> Device:
    """The device of this filter string."""
    device = _found.get(place)
    if device is None:
        try:
            device = _found[place] = Device(place)
        except (DeviceNotFound, BackendUnavailable) as error:
            there = [device.filter_string for device in get_devices()]
            raise DeviceNotFound(
                f"this was pickled on the device {place!r:.60}, which this process does not have; it has "
                f"{', '.join(there)}. To unpickle it there, use: "
                f"with usmpy.unpickle_device({{{place!r:.60}: {there[0]!r:.60}}})",
                backend=error.backend,
            ) from error
    return device


def find_device(place: str) -> Device:
    """Return the device on which to unpickle what was pickled on the device of this filter string."""
    block = _variable().get() if _variables else None
    if block is None:
        return _own(place)
    target = block[0]
    if isinstance(target, Device):
        return target
    name = place
    while name and name not in target:
        name = name.rpartition(":")[0]
    return target[name] if name else _own(place)
