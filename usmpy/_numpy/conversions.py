"""Conversions to NumPy; NumPy is imported by their first call."""

from __future__ import annotations

from .._arrays.objects import PACKED

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from .._core import DType, USMArray


def dtype_of(dtype: DType) -> np.dtype[Any]:
    """Return the equivalent numpy.dtype. Raise TypeError if neither NumPy nor ml_dtypes has one."""
    import numpy as np

    if dtype.name in PACKED:  # ml_dtypes uses these names for types of one byte an element
        raise TypeError(f"NumPy has no type for the packed elements of {dtype!r}")
    try:
        return np.dtype(dtype.name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has no type for {dtype!r}; the package ml_dtypes brings one") from None
    found = getattr(ml_dtypes, dtype.name, None)
    if found is None:
        raise TypeError(f"neither NumPy nor ml_dtypes has a type for {dtype!r}")
    converted: np.dtype[Any] = np.dtype(found)
    return converted


class _OnHost:
    """Exports an array as memory of the CPU, also if its own device is another, such as kDLCUDAHost."""

    def __init__(self, array: USMArray) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**{**keywords, "dl_device": (1, 0)})


def _readable(copy: USMArray) -> Any:
    return copy if copy.__dlpack_device__()[0] == 1 else _OnHost(copy)


def adopt(copy: USMArray) -> np.ndarray[Any, Any]:
    """Return a numpy.ndarray over the memory of an array on the host to which nothing else refers."""
    import numpy as np

    from .. import _core

    if copy.dtype.name in PACKED:
        raise TypeError(
            f"NumPy has no type for the packed elements of {copy.dtype!r}; use from_dlpack of their consumer"
        )
    dtype = dtype_of(copy.dtype)
    if dtype.type.__module__ == "numpy":
        return np.from_dlpack(_readable(copy))
    # NumPy's DLPack does not support bfloat16 and float8: export their bits as integers.
    raw = _core._reinterpret(copy, {1: "uint8", 2: "uint16", 4: "uint32"}[dtype.itemsize])
    return np.from_dlpack(_readable(raw)).view(dtype)
