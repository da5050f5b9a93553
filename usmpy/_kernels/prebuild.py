"""prebuild: the kernels of all functions, built before they are needed."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._core import Queue, _Placement

# A function of each kernel that is not elementwise. These take every type that the function has.
_ONE = "all sum max argmax sort unique_inverse nonzero triu zeros_like"
_TWO = "matmul"


def _elementwise(arguments: str) -> list[str]:
    """Names of all elementwise functions of these arguments: their signatures are alike."""
    import usmpy

    text = f"({arguments}, /, *, out=None, order='K')"
    return [
        name for name in usmpy.__all__ if getattr(getattr(usmpy, name), "__text_signature__", None) == text
    ]


def _calls(queue: Queue, dtype: Any, types: list[Any]) -> Iterator[Callable[[], object]]:
    """Calls that need all kernels for arrays of this type."""
    import functools

    import usmpy as us

    rows = us.ones((3, 2), dtype=dtype, queue=queue)
    x, square = rows[:, 0], us.ones((2, 2), dtype=dtype, queue=queue)
    one, two = [*_ONE.split(), *_elementwise("x")], [*_TWO.split(), *_elementwise("x1, x2")]
    mask, places = us.ones(3, dtype="bool", queue=queue), us.zeros(2, dtype="int64", queue=queue)
    yield from (lambda name=name: getattr(us, name)(rows) for name in one)
    yield from (lambda name=name: getattr(us, name)(square, square) for name in two)
    yield from (lambda target=target: rows.astype(target) for target in types if target != dtype)
    # On CUDA each kernel is built alone: also those of other layouts, and of larger arrays.
    apart, long = (
        us.ones((4, 4), dtype=dtype, queue=queue)[::2, ::2],
        us.ones((3, 4096), dtype=dtype, queue=queue),
    )
    yield from (lambda name=name: getattr(us, name)(apart, apart.T) for name in two)
    yield from (lambda name=name: getattr(us, name)(apart) for name in one)
    for name in ("sum", "max", "argmax", "sort", "cumulative_sum"):
        for array in (long, long.T):
            for axis in (0, 1):
                yield functools.partial(getattr(us, name), array, axis=axis)
    yield lambda: us.sum(long)
    yield lambda: us.searchsorted(x, x)
    yield lambda: us.cumulative_sum(x, dtype=dtype)
    yield lambda: us.full(3, 1, dtype=dtype, queue=queue)
    yield lambda: us.logical_and(mask, mask)
    yield lambda: us.where(mask, x, x)
    yield lambda: us.arange(3, dtype=dtype, queue=queue)
    yield lambda: x.copy()
    yield lambda: us.take(rows, places, axis=0)
    yield lambda: us.take(rows, places, axis=1)
    yield lambda: us.repeat(x, us.asarray([1, 2, 0], queue=queue))
    yield lambda: rows[mask]
    yield lambda: rows.__setitem__(mask, 1)
    yield lambda: rows.__setitem__(places, rows[:2])
    yield lambda: x.__setitem__(..., 1)


def prebuild(device: _Placement = None) -> None:
    import contextlib
    import os
    from concurrent.futures import ThreadPoolExecutor

    from .. import _core
    from .._arrays.namespace_info import __array_namespace_info__ as info

    queue = _core.empty(0, dtype="uint8", device=device).queue
    found = info().dtypes(device=queue.device)
    types = [*found.values(), _core.float16, _core.bfloat16]

    def build(dtype: Any) -> None:
        for call in _calls(queue, dtype, types):
            with contextlib.suppress(TypeError):  # the function does not take this type
                call()

    with ThreadPoolExecutor(min(len(types), os.cpu_count() or 1)) as pool:
        list(pool.map(build, types))
    queue.wait()
