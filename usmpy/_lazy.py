"""Modules of the package that are read when they are first used."""

from __future__ import annotations

import os
import sys
from _thread import RLock
from types import ModuleType

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

_lock = RLock()  # a module may use itself while it is read
_reading: set[str] = set()
# What `import` and `repr` ask of a module that nobody uses yet.
_KNOWN = {
    *("__cached__", "__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"),
    "__reduce_ex__",
}


def _forget_threads() -> None:
    """In a forked child, which has none of the threads that may have been reading."""
    global _lock
    _lock = RLock()
    _reading.clear()


os.register_at_fork(after_in_child=_forget_threads)


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

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _KNOWN:
            self.__dict__  # noqa: B018 - reads the module, which would set it again
        ModuleType.__setattr__(self, name, value)  # the class is another one now

    def __delattr__(self, name: str) -> None:
        self.__dict__  # noqa: B018
        ModuleType.__delattr__(self, name)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """cloudpickle pickles modules by name, but knows them by their exact type."""
        from importlib import import_module

        return import_module, (self.__name__,)


def lazy(name: str, path: list[str]) -> ModuleType:
    """The module, as an import would make it. `path`: that of its package."""
    if name in sys.modules:  # the package was imported again
        return sys.modules[name]
    finders = [finder.find_spec for finder in sys.meta_path if hasattr(finder, "find_spec")]
    spec = next(filter(None, (find(name, path) for find in finders)))
    module = _Unread(name)
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__cached__, module.__package__ = spec.cached, spec.parent
    sys.modules[name] = module
    return module
