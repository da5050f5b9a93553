"""Layouts of the operands of one loop: shapes that broadcast, and axes that merge."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

# A length, and the stride of each operand in elements.
Axis: TypeAlias = tuple[int, tuple[int, ...]]
MOST_AXES = 8


def broadcast(name: str, operands: Iterable[tuple[str, tuple[int, ...]]]) -> tuple[int, ...]:
    """The common shape. ValueError that lists the operands where there is none."""
    operands = list(operands)
    try:
        return _core.broadcast_shapes(*(shape for _, shape in operands))
    except ValueError:
        listed = ", ".join(f"{who} {shape}" for who, shape in operands)
        raise ValueError(f"{name}: the shapes do not broadcast: {listed}") from None


def broadcast_strides(
    shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, ...]:
    """The strides of an operand of the shape `own` as one of `shape`; 0 where it is repeated."""
    missing = len(shape) - len(own)
    kept = (0 if length == 1 else stride for length, stride in zip(own, strides, strict=True))
    return (0,) * missing + tuple(kept)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def merge(shape: Sequence[int], strides: Sequence[Sequence[int]], *, keep_order: bool = False) -> list[Axis]:
    """The axes from the fastest to the slowest, as few as there can be; none has length 1.

    strides: of each operand. The first operand with a stride decides which of two axes is faster, unless
    keep_order says that the last axis is the fastest.
    """
    axes = [(length, tuple(of[d] for of in strides)) for d, length in enumerate(shape) if length != 1]
    axes.reverse()
    if not keep_order:
        axes.sort(key=lambda axis: [abs(stride) for stride in axis[1]])
    merged: list[Axis] = []
    for length, steps in axes:
        if merged:
            inner, inner_steps = merged[-1]
            if all(step == other * inner for step, other in zip(steps, inner_steps, strict=True)):
                merged[-1] = inner * length, inner_steps
                continue
        merged.append((length, steps))
    return merged


def is_contiguous(axes: Sequence[Axis]) -> bool:
    """Whether each operand is one block of elements in the order of the loop."""
    return not axes or (len(axes) == 1 and all(stride == 1 for stride in axes[0][1]))


def span(x: _core.USMArray) -> tuple[int, int]:
    """The addresses of the first byte, and of the first byte behind the elements."""
    if x.flags.forc or x.size == 0:
        return x.data_ptr, x.data_ptr + x.nbytes
    ends = [(length - 1) * stride for length, stride in zip(x.shape, x.strides, strict=True)]
    first = x.data_ptr + x.itemsize * sum(end for end in ends if end < 0)
    return first, x.data_ptr + x.itemsize * (1 + sum(end for end in ends if end > 0))


def overlap(x: _core.USMArray, y: _core.USMArray) -> bool:
    """Whether the bytes between first and last elements meet."""
    low, high = span(x)
    other_low, other_high = span(y)
    return low < other_high and other_low < high


def repeats(x: _core.USMArray) -> bool:
    """Whether two elements share memory, for layouts that slices and broadcasts make."""
    axes = sorted(
        (abs(stride), length) for length, stride in zip(x.shape, x.strides, strict=True) if length > 1
    )
    reach = 0
    for stride, length in axes:
        if stride <= reach:
            return x.size > 0
        reach += stride * (length - 1)
    return False


def size(shape: Iterable[int]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product


def pack(axes: Sequence[Axis], operands: int) -> bytes:
    """The struct usm_layout of kernels: the number of axes, their lengths, the strides of each operand."""
    import struct

    missing = MOST_AXES - len(axes)
    numbers = [len(axes), *(length for length, _ in axes), *[1] * missing]
    for k in range(operands):
        numbers += [*(steps[k] for _, steps in axes), *[0] * missing]
    return struct.pack(f"={len(numbers)}q", *numbers)
