"""Copies between types and between arrays."""

import builtins

from typing_extensions import Buffer

from .array import USMArray
from .types import _Array, _ArrayLike, _Casting, _CopyOrder, _DTypeLike, _Placement

def astype(
    x: USMArray,
    dtype: _DTypeLike,
    /,
    *,
    copy: builtins.bool = True,
    order: _CopyOrder | None = "K",
    device: _Placement = None,
) -> USMArray:
    """The elements cast to another type.

    Parameters
    ----------
    x : USMArray
        The array.
    dtype : DType, str, type or numpy.dtype
        The new type.
    copy : bool, default True
        With False, an array that needs no change is returned itself.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.

    Returns
    -------
    USMArray
        A new array, or `x` itself.

    Raises
    ------
    TypeError
        A complex type would become a real one, a type is only stored and exchanged, or an argument has a
        wrong type.
    ValueError
        A word is not one of those above, or neither device has double precision where a cast needs it.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, astype. Floating point to integer rounds towards zero, saturates at
    the ends of the type, and makes 0 of NaN.

    Examples
    --------
    >>> usmpy.astype(usmpy.asarray([1.9, -1.9]), "int32").tolist()
    [1, -1]
    """

def copyto(
    dst: USMArray | _ArrayLike,
    src: _ArrayLike,
    casting: _Casting = "same_kind",
) -> None:
    """Copy elements between any two places, and between libraries: ``dst[...] = src``.

    Parameters
    ----------
    dst : USMArray or array of another library
        The destination.
    src : USMArray, array, number or sequence
        The source; it broadcasts to the shape of `dst`.
    casting : {"no", "safe", "same_kind", "unsafe"}, default "same_kind"
        The allowed casts: none, those that keep every value, those within a kind of numbers or to a
        higher kind, all. A Python number has the type of `dst` if its kind allows it.

    Raises
    ------
    TypeError
        `casting` does not allow the cast, or an argument has a wrong type.
    OverflowError
        `dst` does not hold the int.
    ValueError
        `src` does not broadcast, `dst` is read-only, or neither device has double precision where a cast
        needs it.
    BufferError
        Memory of another library cannot be exchanged.
    UsmError
        A side is memory of another library, so that the call waits for the copy, and it is made inside a host
        task after which the copy would be ordered. Nothing is submitted.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The copy runs on the queue of `dst`, and may cross devices. Memory of other libraries is finished with
    on return.

    Examples
    --------
    >>> x = usmpy.zeros(3)
    >>> usmpy.copyto(x, np.arange(3))
    >>> x.tolist()
    [0.0, 1.0, 2.0]
    """

def explain_copy(
    dst: _Array | Buffer,
    src: _ArrayLike,
    /,
    *,
    casting: _Casting = "same_kind",
) -> str:
    """Describe how `copyto` would copy, as text with a line for each fact; nothing is copied.

    Parameters
    ----------
    dst : array
        As in `copyto`.
    src : array, number or nested sequence
        As in `copyto`.
    casting : {'same_kind', 'no', 'safe', 'unsafe'}, optional
        As in `copyto`.

    Returns
    -------
    str
        The axes after merging; memory and strides (in bytes) of both sides; their connection as
        `memory_connection` tells it; the path; the number of pieces; runs of neighbouring elements; buffers
        with their bytes; each step with its command, cast and queue; and the events that it would wait for
        now.

    Raises
    ------
    ValueError
        `dst` is read-only, the shapes do not broadcast, or `casting` is none of the four.
    TypeError
        The cast is not allowed, or an argument is not an array.
    BufferError
        The memory cannot be exchanged.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    `copyto` follows the same plan.

    Examples
    --------
    >>> import usmpy
    >>> x, y = usmpy.zeros(8, device="host"), usmpy.ones(8, device="host")
    >>> print(usmpy.explain_copy(x, y))
    copy of 8 elements, 64 bytes in dst; axes merged to (8,)
    ...
    connection: UNIFIED
    path: direct, one command
    ...
    """
