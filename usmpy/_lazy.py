"""Modules of the package that are read when they are first used."""

from __future__ import annotations

import sys
from _thread import RLock
from types import ModuleType

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

_lock = RLock()  # a module may use itself while it is read
_reading: set[str] = set()
# What `import` and `repr` ask of a module that nobody uses yet.
_KNOWN = {"__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"}


class _Unread(ModuleType):
    """A module that has not been read: any other attribute reads it."""

    def __getattribute__(self, name: str) -> Any:
        get = object.__getattribute__
        if name not in _KNOWN:
            own = get(self, "__name__")
            with _lock:
                if type(self) is _Unread and own not in _reading:
                    _reading.add(own)
                    try:
                        get(self, "__spec__").loader.exec_module(self)
                        object.__setattr__(self, "__class__", ModuleType)
                    finally:
                        _reading.remove(own)
        return get(self, name)


def lazy(name: str, path: list[str]) -> ModuleType:
    """The module, as an import would make it. `path`: that of its package."""
    if name in sys.modules:  # the package was imported again
        return sys.modules[name]
    spec = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)))
    module = _Unread(name)
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    return module
