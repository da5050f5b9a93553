"""What kernels written in Python call: ids of work-items, barriers, memory of work-groups, atomics."""

from __future__ import annotations

from typing import Any, NoReturn

LOCAL_MEM_FENCE, GLOBAL_MEM_FENCE = 1, 2


def _outside(name: str) -> NoReturn:
    raise RuntimeError(f"{name}() was called outside of a kernel")


def _id(name: str) -> Any:
    def function(dimension: int) -> int:
        _outside(name)

    function.__name__ = function.__qualname__ = name
    return function


get_global_id = _id("get_global_id")
get_global_size = _id("get_global_size")
get_global_offset = _id("get_global_offset")
get_local_id = _id("get_local_id")
get_local_size = _id("get_local_size")
get_group_id = _id("get_group_id")
get_num_groups = _id("get_num_groups")


def get_work_dim() -> int:
    _outside("get_work_dim")


def get_global_linear_id() -> int:
    _outside("get_global_linear_id")


def get_local_linear_id() -> int:
    _outside("get_local_linear_id")


def barrier(flags: int = LOCAL_MEM_FENCE | GLOBAL_MEM_FENCE) -> None:
    _outside("barrier")


def mem_fence(flags: int = LOCAL_MEM_FENCE | GLOBAL_MEM_FENCE) -> None:
    _outside("mem_fence")


def local_array(shape: Any, dtype: Any) -> Any:
    _outside("local_array")


def private_array(shape: Any, dtype: Any) -> Any:
    _outside("private_array")


def _atomic(name: str) -> Any:
    def function(x: Any, index: Any, value: Any, *, order: str = "relaxed") -> Any:
        _outside(name)

    function.__name__ = function.__qualname__ = name
    return function


atomic_add = _atomic("atomic_add")
atomic_sub = _atomic("atomic_sub")
atomic_min = _atomic("atomic_min")
atomic_max = _atomic("atomic_max")
atomic_and = _atomic("atomic_and")
atomic_or = _atomic("atomic_or")
atomic_xor = _atomic("atomic_xor")
atomic_exchange = _atomic("atomic_exchange")


def atomic_compare_exchange(x: Any, index: Any, expected: Any, value: Any, *, order: str = "relaxed") -> Any:
    _outside("atomic_compare_exchange")
