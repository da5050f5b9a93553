"""Another library on the same Level Zero loader: contexts, memory and command lists by ctypes."""

from __future__ import annotations

import ctypes

import level_zero_drivers

OUT = ctypes.byref
POINTER = ctypes.c_void_p


class ContextDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", POINTER), ("flags", ctypes.c_uint32)]


class DeviceMemoryDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_uint32),
        ("next", POINTER),
        ("flags", ctypes.c_uint32),
        ("ordinal", ctypes.c_uint32),
    ]


class HostMemoryDesc(ctypes.Structure):
    _fields_ = ContextDesc._fields_


class QueueDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_uint32),
        ("next", POINTER),
        ("ordinal", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("mode", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
    ]


class ListDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_uint32),
        ("next", POINTER),
        ("ordinal", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    ]


class Library:
    """Functions by name; one that fails raises OSError."""

    def __init__(self):
        self._loader = ctypes.CDLL(level_zero_drivers.LOADER)
        self("zeInit", 0)
        count, self.driver = ctypes.c_uint32(1), POINTER()
        self("zeDriverGet", OUT(count), OUT(self.driver))
        self.devices = self.listed("zeDeviceGet", self.driver)

    def __call__(self, name, *arguments):
        function = getattr(self._loader, name)
        function.restype = ctypes.c_uint32
        result = function(*arguments)
        if result != 0:
            raise OSError(f"{name} returned 0x{result:x}")

    def has(self, name) -> bool:
        return hasattr(self._loader, name)

    def listed(self, name, of) -> list[int]:
        count = ctypes.c_uint32()
        self(name, of, OUT(count), None)
        handles = (POINTER * count.value)()
        self(name, of, OUT(count), handles)
        return list(handles)

    def sub_devices(self, device: int) -> list[int]:
        return self.listed("zeDeviceGetSubDevices", POINTER(device))

    def context(self) -> int:
        out = POINTER()
        self("zeContextCreate", self.driver, OUT(ContextDesc(0xD)), OUT(out))
        return out.value

    def allocate(self, context: int, kind: str, nbytes: int, device: int | None = None) -> int:
        out, place = POINTER(), POINTER(device or self.devices[0])
        here, there = HostMemoryDesc(0x16), DeviceMemoryDesc(0x15)
        size, alignment = ctypes.c_size_t(nbytes), ctypes.c_size_t(64)
        if kind == "device":
            self("zeMemAllocDevice", POINTER(context), OUT(there), size, alignment, place, OUT(out))
        elif kind == "shared":
            self(
                "zeMemAllocShared", POINTER(context), OUT(there), OUT(here), size, alignment, place, OUT(out)
            )
        else:
            self("zeMemAllocHost", POINTER(context), OUT(here), size, alignment, OUT(out))
        return out.value

    def free(self, context: int, pointer: int):
        self("zeMemFree", POINTER(context), POINTER(pointer))

    def list_of_commands(self, context: int, *, immediate=True, waits=True, device: int | None = None) -> int:
        """One that waits has done its work when its functions return."""
        out, place = POINTER(), POINTER(device or self.devices[0])
        if immediate:
            desc = QueueDesc(0xE, mode=1 if waits else 2)
            self("zeCommandListCreateImmediate", POINTER(context), place, OUT(desc), OUT(out))
        else:
            self("zeCommandListCreate", POINTER(context), place, OUT(ListDesc(0xF)), OUT(out))
        return out.value

    def fill(self, commands: int, pointer: int, value: int, nbytes: int):
        pattern = ctypes.c_int32(value)
        size, n = ctypes.c_size_t(4), ctypes.c_size_t(nbytes)
        self(
            "zeCommandListAppendMemoryFill",
            *(POINTER(commands), POINTER(pointer), OUT(pattern), size, n, None, 0, None),
        )

    def barrier(self, commands: int):
        self("zeCommandListAppendBarrier", POINTER(commands), None, 0, None)

    def wait(self, commands: int):
        self("zeCommandListHostSynchronize", POINTER(commands), ctypes.c_uint64(2**64 - 1))

    def destroy(self, commands: int):
        self("zeCommandListDestroy", POINTER(commands))

    def destroy_context(self, context: int):
        self("zeContextDestroy", POINTER(context))
