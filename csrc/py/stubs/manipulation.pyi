"""Functions that change shapes, and that take and join elements."""

import builtins
from collections.abc import Iterable, Sequence
from typing import Literal, SupportsIndex

from .array import USMArray
from .types import _Axes, _Indices, _Shape

def reshape(
    x: USMArray,
    /,
    shape: _Shape,
    *,
    order: Literal["C", "F", "A"] | None = "C",
    copy: builtins.bool | None = None,
) -> USMArray:
    """The same elements in another shape.

    Parameters
    ----------
    x : USMArray
        The array.
    shape : int or sequence of ints
        The new lengths; one of them may be -1 and is computed from the size.
    order : {"C", "F", "A"}, optional
        The order in which elements are read and placed: the last axis fastest, the first one, or "F" for
        column-major arrays and else "C".
    copy : bool, optional
        True always copies, False never does; by default the result is a view where strides allow it.

    Returns
    -------
    USMArray
        A view or a copy of `x`.

    Raises
    ------
    ValueError
        The numbers of elements differ, or ``copy=False`` and a copy is needed.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, reshape. `order` is NumPy's.

    Examples
    --------
    >>> usmpy.reshape(usmpy.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    >>> usmpy.reshape(usmpy.arange(6), (2, 3), order="F").tolist()
    [[0, 2, 4], [1, 3, 5]]
    """

def permute_dims(x: USMArray, /, axes: _Axes) -> USMArray:
    """A view with the axes in another order.

    Parameters
    ----------
    x : USMArray
        The array.
    axes : sequence of ints
        The axis of `x` that each axis of the result is; every one occurs once.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or one is left out.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, permute_dims.

    Examples
    --------
    >>> usmpy.permute_dims(usmpy.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """

def swapaxes(x: USMArray, /, axis1: SupportsIndex, axis2: SupportsIndex) -> USMArray:
    """A view with two axes exchanged.

    Parameters
    ----------
    x : USMArray
        The array.
    axis1, axis2 : int
        The axes; negative ones count from the end.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    As NumPy's and dpctl's swapaxes.

    Examples
    --------
    >>> usmpy.swapaxes(usmpy.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """

def squeeze(x: USMArray, /, axis: _Axes | None = None) -> USMArray:
    """A view without axes of length 1.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, optional
        The axes that go; by default all of length 1.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis has another length, or occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, squeeze. The default of `axis` is NumPy's.

    Examples
    --------
    >>> usmpy.squeeze(usmpy.zeros((1, 3, 1))).shape
    (3,)
    """

def expand_dims(x: USMArray, /, axis: _Axes = 0) -> USMArray:
    """A view with more axes, of length 1.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, default 0
        The positions of the new axes in the result; negative ones count from its end.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or there would be more than 64.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, expand_dims.

    Examples
    --------
    >>> usmpy.expand_dims(usmpy.zeros(3), axis=(0, -1)).shape
    (1, 3, 1)
    """

def flip(x: USMArray, /, *, axis: _Axes | None = None) -> USMArray:
    """A view with the order of elements reversed.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, optional
        Along which axes; by default all.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, flip.

    Examples
    --------
    >>> usmpy.flip(usmpy.arange(3)).tolist()
    [2, 1, 0]
    """

def broadcast_to(x: USMArray, /, shape: _Shape) -> USMArray:
    """A view in a larger shape, in which elements repeat.

    Parameters
    ----------
    x : USMArray
        The array.
    shape : int or sequence of ints
        The new shape.

    Returns
    -------
    USMArray
        A view of `x`, read-only where elements repeat.

    Raises
    ------
    ValueError
        `x` does not broadcast to `shape`.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, broadcast_to.

    Examples
    --------
    >>> usmpy.broadcast_to(usmpy.arange(2), (3, 2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

def concat(arrays: Iterable[USMArray], /, *, axis: SupportsIndex | None = 0) -> USMArray:
    """Arrays joined along an axis that they have.

    Parameters
    ----------
    arrays : iterable of USMArrays
        Equal shapes but for `axis`; one queue.
    axis : int, default 0
        Along which axis; None joins them flat, in row-major order.

    Returns
    -------
    USMArray
        A new array, with the widest usm_type of theirs (device < shared < host).

    Raises
    ------
    ValueError
        There are none, or shapes differ.
    ExecutionPlacementError
        They share no queue.
    TypeError
        They have no common type, or are not USMArrays.
    AxisError
        An axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, concat. Types are promoted as in result_type.

    Examples
    --------
    >>> x = usmpy.arange(2)
    >>> usmpy.concat([x, x]).tolist()
    [0, 1, 0, 1]
    """

def stack(arrays: Iterable[USMArray], /, *, axis: SupportsIndex = 0) -> USMArray:
    """Arrays joined along a new axis.

    Parameters
    ----------
    arrays : iterable of USMArrays
        Equal shapes; one queue.
    axis : int, default 0
        The position of the new axis in the result.

    Returns
    -------
    USMArray
        A new array, with the widest usm_type of theirs (device < shared < host).

    Raises
    ------
    ValueError
        There are none, or shapes differ.
    ExecutionPlacementError
        They share no queue.
    TypeError
        They have no common type, or are not USMArrays.
    AxisError
        An axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, stack. Types are promoted as in result_type.

    Examples
    --------
    >>> x = usmpy.arange(2)
    >>> usmpy.stack([x, x], axis=1).tolist()
    [[0, 0], [1, 1]]
    """

def unstack(x: USMArray, /, *, axis: SupportsIndex = 0) -> tuple[USMArray, ...]:
    """Views of the parts of an array along an axis.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int, default 0
        The axis, which the parts lack.

    Returns
    -------
    tuple of USMArrays
        A view for each index of the axis.

    Raises
    ------
    ValueError
        `x` has 0 dimensions.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, unstack.

    Examples
    --------
    >>> [part.tolist() for part in usmpy.unstack(usmpy.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """

def matrix_transpose(x: USMArray, /) -> USMArray:
    """A view with the last two axes exchanged.

    Parameters
    ----------
    x : USMArray
        The array.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        `x` has fewer than two axes.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, matrix_transpose.

    Examples
    --------
    >>> usmpy.matrix_transpose(usmpy.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """

def moveaxis(x: USMArray, source: _Axes, destination: _Axes, /) -> USMArray:
    """A view with axes moved to other places; the others keep their order.

    Parameters
    ----------
    x : USMArray
        The array.
    source : int or sequence of ints
        The axes that move.
    destination : int or sequence of ints
        Their positions in the result, one for each.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or their numbers differ.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, moveaxis.

    Examples
    --------
    >>> usmpy.moveaxis(usmpy.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """

def roll(x: USMArray, /, shift: _Axes, *, axis: _Axes | None = None) -> USMArray:
    """Elements moved along axes; those that leave at one end enter at the other.

    Parameters
    ----------
    x : USMArray
        The array.
    shift : int or sequence of ints
        By how many elements, for each axis.
    axis : int or sequence of ints, optional
        Along which axes; by default the array is rolled as if it were flat.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        The numbers of shifts and axes differ.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, roll.

    Examples
    --------
    >>> usmpy.roll(usmpy.arange(5), 2).tolist()
    [3, 4, 0, 1, 2]
    """

def repeat(
    x: USMArray,
    repeats: SupportsIndex | USMArray | Sequence[SupportsIndex],
    /,
    *,
    axis: SupportsIndex | None = None,
) -> USMArray:
    """Each element several times, one after the other.

    Parameters
    ----------
    x : USMArray
        The array.
    repeats : int, USMArray or sequence of ints
        The number of repetitions, 0 or more: for all elements, or for each index of the axis. An array is
        on the queue of `x`; the host waits for it and reads it.
    axis : int, optional
        Along which axis; by default the array is taken as flat.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative, or there are too few or too many.
    ExecutionPlacementError
        `repeats` is an array on another queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, repeat.

    Examples
    --------
    >>> usmpy.repeat(usmpy.asarray([7, 8]), [1, 3]).tolist()
    [7, 8, 8, 8]
    """

def tile(x: USMArray, repetitions: _Shape, /) -> USMArray:
    """The whole array several times along its axes.

    Parameters
    ----------
    x : USMArray
        The array.
    repetitions : int or sequence of ints
        The number of repetitions, 0 or more, for each axis, aligned with the last one. If there are more
        than `x` has axes, axes are added in front.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tile.

    Examples
    --------
    >>> usmpy.tile(usmpy.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

def take(
    x: USMArray,
    indices: _Indices,
    /,
    *,
    axis: SupportsIndex | None = None,
    out: USMArray | None = None,
) -> USMArray:
    """Elements by index along one axis.

    Parameters
    ----------
    x : USMArray
        The array.
    indices : int, USMArray, sequence or array of integers
        The indices of the elements, in any shape; negative ones count from the end. An int is an index of no
        dimensions, so the result has no `axis`.
    axis : int, optional
        Along which axis; it may be left out where `x` has one dimension.
    out : USMArray, optional
        An array of the shape and dtype of the result, on the same queue, that it is written into.

    Returns
    -------
    USMArray
        `out`, or a new array, in which the axes of `indices` stand in the place of `axis`.

    Raises
    ------
    IndexError
        An index is out of range, as far as the host can read them; kernels take the nearest element for
        others.
    ValueError
        `axis` is left out for several dimensions, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, take. Arrays of any number of dimensions as `indices`, and `out`, are
    NumPy's.

    Examples
    --------
    >>> usmpy.take(usmpy.asarray([10, 20, 30]), [2, 0, -1]).tolist()
    [30, 10, 30]
    """

def take_along_axis(x: USMArray, indices: _Indices, /, *, axis: SupportsIndex = -1) -> USMArray:
    """Elements by index along one axis, an index for each element of the other axes.

    Parameters
    ----------
    x : USMArray
        The array.
    indices : USMArray, sequence or array of integers
        Indices with as many dimensions as `x`; the other axes broadcast against those of `x`.
    axis : int, default -1
        Along which axis.

    Returns
    -------
    USMArray
        A new array in the common shape.

    Raises
    ------
    IndexError
        An index is out of range, as far as the host can read them.
    ValueError
        The numbers of dimensions differ, or shapes do not broadcast.
    ExecutionPlacementError
        The arrays share no queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, take_along_axis.

    Examples
    --------
    >>> x = usmpy.asarray([[1, 2], [3, 4]])
    >>> usmpy.take_along_axis(x, [[1], [0]]).tolist()
    [[2], [3]]
    """

def broadcast_arrays(*arrays: USMArray) -> tuple[USMArray, ...]:
    """Views of arrays in the shape that all of them broadcast to.

    Parameters
    ----------
    *arrays : USMArray
        Arrays on one queue.

    Returns
    -------
    tuple of USMArrays
        A view for each, read-only where elements repeat.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    ExecutionPlacementError
        The arrays share no queue.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, broadcast_arrays.

    Examples
    --------
    >>> x, y = usmpy.broadcast_arrays(usmpy.zeros((2, 1)), usmpy.zeros(3))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """

def broadcast_shapes(*shapes: _Shape) -> tuple[int, ...]:
    """The shape that several shapes broadcast to.

    Parameters
    ----------
    *shapes : int or sequence of ints
        Shapes of arrays.

    Returns
    -------
    tuple of ints
        The common shape.

    Raises
    ------
    ValueError
        There is none, or a length is negative.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    As NumPy's broadcast_shapes; the rules are those of the array API standard 2025.12.

    Examples
    --------
    >>> usmpy.broadcast_shapes((2, 1), 3)
    (2, 3)
    """
