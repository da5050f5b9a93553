"""Random numbers from Philox4x32-10, the same on every device for one seed.

Each block of four 32-bit words is a function of the seed and of the block's number alone, so that the numbers
depend neither on the device nor on how work is divided. ``PHILOX`` holds the same functions for kernels.

Examples
--------
>>> import usmpy
>>> generator = usmpy.random.Generator(7, device="host")
>>> generator.integers(0, 10, 5).tolist()
[9, 7, 1, 0, 4]
>>> generator.random(2, dtype="float32").shape
(2,)
"""

from __future__ import annotations

from . import _core
from ._arrays.objects import as_int, shown
from ._kernels.helpers import ElementwiseKernel
from ._kernels.philox import PHILOX

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any, SupportsFloat, SupportsIndex

    from ._core import Queue, USMArray, _DTypeLike, _Placement, _Shape, _UsmType

__all__ = ["PHILOX", "Generator", "default_rng", "integers", "normal", "random", "seed"]

_STATE = "uint32 k0, uint32 k1, uint64 first, uint64 count"
# Work-item i makes the elements of one block, {per} of them. An element behind the last one is not written.
_BLOCK = """\
const ulong block = first + (ulong)i;
uint w[4];
philox4x32_10((uint)block, (uint)(block >> 32), 0u, 0u, k0, k1, w);
{values}
for (int k = 0; k < {per}; k++) {{
    const ulong at = {per} * (ulong)i + (ulong)k;
    if (at < count) {{
        {element}
        z[at] = {result};
    }}
}}"""
_LONG = "((ulong)w[{high}] << 32 | w[{low}])"
_FIRST, _SECOND = _LONG.format(high=1, low=0), _LONG.format(high=3, low=2)
_WORD = _LONG.format(high="2 * k + 1", low="2 * k")

# Lemire's method: the high half of a product, drawn again where the low half is below 2**bits modulo span.
# Each attempt has a counter of its own, so that elements do not depend on each other.
_REDRAW = """\
{word} x = {draw}, low_half = (({word})span) * x;
        const {word} least = span == 0 || ({word})span == 0 ? 0 : ({word})(0 - ({word})span) % ({word})span;
        for (uint attempt = 1; low_half < least; attempt++) {{
            uint w[4];
            philox4x32_10((uint)block, (uint)(block >> 32), attempt, 0u, k0, k1, w);
            x = {draw};
            low_half = (({word})span) * x;
        }}"""


def _text(per: int, result: str, element: str = "", values: str = "") -> str:
    return _BLOCK.format(per=per, result=result, element=element, values=values)


# For each kind of numbers: the inputs beside the state, the elements of a block, the operation.
_KERNELS = {
    "random float32": ("", 4, _text(4, "philox_uniform_float(w[k])")),
    "random float64": ("", 2, _text(2, f"philox_uniform_double({_WORD})")),
    "normal float32": (
        ", float32 loc, float32 scale",
        4,
        _text(
            4,
            "loc + scale * v[k]",
            values="float v[4];\nphilox_normal_float(w[0], w[1], v, v + 1);\n"
            "philox_normal_float(w[2], w[3], v + 2, v + 3);",
        ),
    ),
    "normal float64": (
        ", float64 loc, float64 scale",
        2,
        _text(
            2,
            "loc + scale * v[k]",
            values=f"double v[2];\nphilox_normal_double({_FIRST}, {_SECOND}, v, v + 1);",
        ),
    ),
    "integers 32": (
        ", uint64 least_value, uint64 span",
        4,
        _text(
            4,
            "(T)(least_value + ((ulong)x * span >> 32))",
            _REDRAW.format(word="uint", draw="w[k]"),
        ),
    ),
    "integers 64": (
        ", uint64 least_value, uint64 span",
        2,
        _text(
            2,
            "(T)(least_value + (span == 0 ? x : mul_hi(x, span)))",
            _REDRAW.format(word="ulong", draw=_WORD),
        ),
    ),
}


class Generator:
    """A stream of random numbers: a seed, and the position that the next call begins at.

    Parameters
    ----------
    seed : int, optional
        From 0 to 2**64 - 1; the operating system's random numbers by default.
    device : Device, Queue, USMArray or str, optional
        The place of results whose call names none, as `empty` takes it.
    queue : Queue, optional
        The queue of results whose call names none; it must be the device's if both are given.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        The seed is out of range.

    Notes
    -----
    The key of Philox4x32-10 is the seed, its counter the number of the block. A block makes four elements of
    32 bits or two of 64, and each call begins with a new block. For one seed, the same calls give the same
    bits on every device. Calls of several threads are safe; their order decides which gets which part.

    Examples
    --------
    >>> import usmpy
    >>> a, b = (usmpy.random.Generator(3, device="host") for _ in range(2))
    >>> bool(usmpy.all(a.normal(size=100) == b.normal(size=100)))
    True
    """

    def __init__(
        self, seed: SupportsIndex | None = None, *, device: _Placement = None, queue: Queue | None = None
    ) -> None:
        import threading

        self._seed = _checked_seed(seed)
        if queue is not None and not isinstance(queue, _core.Queue):
            raise TypeError(f"queue is a {type(queue).__name__:.80}; a Queue or None is allowed")
        self._device, self._queue = device, queue
        if device is not None or queue is not None:
            _core.empty(0, device=device, queue=queue)  # the errors of creation functions
        self._position = 0  # of the next block
        self._kernels: dict[str, ElementwiseKernel] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed})"

    def __deepcopy__(self, memo: object) -> Generator:
        copy = Generator(self._seed, device=self._device, queue=self._queue)
        copy._position = self._position
        return copy

    @property
    def seed(self) -> int:
        """The seed."""
        return self._seed

    def random(
        self,
        size: _Shape = (),
        *,
        dtype: _DTypeLike | None = None,
        device: _Placement = None,
        queue: Queue | None = None,
        usm_type: _UsmType | None = None,
    ) -> USMArray:
        """Random numbers, uniform in [0, 1).

        Parameters
        ----------
        size : int or sequence of ints, optional
            Lengths of the axes, in elements.
        dtype : DType, str or type, optional
            float32 (multiples of 2**-24) or float64 (of 2**-53); by default float64, or float32 where the
            device lacks that.
        device : Device, Queue, USMArray or str, optional
            The place of the result, as `empty` takes it.
        queue : Queue, optional
            The queue of the result.
        usm_type : {"device", "shared", "host"}, optional
            The kind of memory; by default "device".

        Returns
        -------
        USMArray

        Raises
        ------
        TypeError
            `dtype` is another type, or one that the device lacks.
        ValueError
            As `empty` raises it.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.random.Generator(1, device="host").random(3, dtype="float32").tolist()
        [0.8902591466903687, 0.8946846723556519, 0.5857259035110474]
        """
        x = self._empty("random", size, dtype, device, queue, usm_type)
        return self._fill(f"random {_floating(x, 'random')}", x)

    def normal(
        self,
        loc: SupportsFloat = 0.0,
        scale: SupportsFloat = 1.0,
        size: _Shape = (),
        *,
        dtype: _DTypeLike | None = None,
        device: _Placement = None,
        queue: Queue | None = None,
        usm_type: _UsmType | None = None,
    ) -> USMArray:
        """Random numbers of the normal distribution.

        Parameters
        ----------
        loc : float, default 0.0
            The mean.
        scale : float, default 1.0
            The standard deviation; 0 or more.
        size : int or sequence of ints, optional
            Lengths of the axes, in elements.
        dtype : DType, str or type, optional
            float32 or float64; by default float64, or float32 where the device lacks that.
        device : Device, Queue, USMArray or str, optional
            The place of the result, as `empty` takes it.
        queue : Queue, optional
            The queue of the result.
        usm_type : {"device", "shared", "host"}, optional
            The kind of memory; by default "device".

        Returns
        -------
        USMArray

        Raises
        ------
        TypeError
            `dtype` is another type, or one that the device lacks, or `loc` or `scale` is no number.
        ValueError
            `scale` is negative or NaN, or as `empty` raises it.

        Notes
        -----
        The method of Box and Muller, with functions that use exact operations alone: the bits are the same on
        every device. Standard normal numbers are within 4 units in the last place of the exact values, and at
        most 6.7 (float32) or 9.5 (float64) in magnitude.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.random.Generator(1, device="host").normal(10, 2, 1000, dtype="float32").asnumpy()
        >>> bool(abs(x.mean() - 10) < 0.2), bool(abs(x.std() - 2) < 0.2)
        (True, True)
        """
        values = [_real(loc, "loc"), _real(scale, "scale")]
        if not values[1] >= 0:
            raise ValueError(f"scale is {scale!r:.60}; 0 or more is allowed")
        x = self._empty("normal", size, dtype, device, queue, usm_type)
        return self._fill(f"normal {_floating(x, 'normal')}", x, *values)

    def integers(
        self,
        low: SupportsIndex,
        high: SupportsIndex | None = None,
        size: _Shape = (),
        *,
        dtype: _DTypeLike | None = None,
        endpoint: bool = False,
        device: _Placement = None,
        queue: Queue | None = None,
        usm_type: _UsmType | None = None,
    ) -> USMArray:
        """Random integers, uniform in [low, high).

        Parameters
        ----------
        low : int
            The least value; 0 if `high` is None, and `low` is `high` then.
        high : int, optional
            The value above the largest one.
        size : int or sequence of ints, optional
            Lengths of the axes, in elements.
        dtype : DType, str or type, optional
            An integer type, or bool; by default int64.
        endpoint : bool, default False
            Whether `high` may occur as well.
        device : Device, Queue, USMArray or str, optional
            The place of the result, as `empty` takes it.
        queue : Queue, optional
            The queue of the result.
        usm_type : {"device", "shared", "host"}, optional
            The kind of memory; by default "device".

        Returns
        -------
        USMArray

        Raises
        ------
        TypeError
            `dtype` is another type, or a bound is no integer.
        ValueError
            The bounds enclose no integer, or one does not fit into the type; or as `empty` raises it.

        Notes
        -----
        Every value is exactly as likely as any other (Lemire's method). Ranges of up to 2**32 values take one
        32-bit word for each element, wider ones two.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.random.Generator(1, device="host").integers(1, 6, 8, endpoint=True).tolist()
        [6, 6, 4, 5, 5, 6, 3, 4]
        """
        bounds = {"high": low} if high is None else {"low": low, "high": high}
        found = [_whole(value, name) for name, value in bounds.items()]
        if high is None:
            found.insert(0, 0)
        least, most = found[0], found[1] - (not endpoint)
        kind = _core.int64 if dtype is None else _core.DType(dtype)
        if kind.kind not in "biu" or kind.itemsize > 8:
            raise TypeError(f"integers: dtype is {kind}; an integer type or bool is allowed")
        limits = (0, 1) if kind.kind == "b" else _core.iinfo(kind)[1:3]
        lowest, highest = min(limits), max(limits)
        if least > most:
            raise ValueError(
                f"integers: low is {least!r:.60} and high {found[1]!r:.60}; there is no integer between them"
            )
        if least < lowest or most > highest:
            name = "low" if least < lowest else "high"
            raise ValueError(
                f"integers: {name} is {found[name == 'high']!r:.60}, which is out of bounds for {kind}"
            )
        x = self._empty("integers", size, kind, device, queue, usm_type)
        span = most - least + 1
        bits = 32 if span <= 2**32 else 64
        return self._fill(f"integers {bits}", x, least % 2**64, span % 2**64)

    def _empty(
        self,
        what: str,
        size: _Shape,
        dtype: _DTypeLike | None,
        device: _Placement,
        queue: Queue | None,
        usm_type: _UsmType | None,
    ) -> USMArray:
        if device is None and queue is None:
            device, queue = self._device, self._queue
        try:
            return _core.empty(size, dtype=dtype, device=device, queue=queue, usm_type=usm_type)
        except (TypeError, ValueError) as error:  # which calls it by its name there
            text = str(error)
            if not text.startswith("shape"):
                raise
            raise type(error)(f"size{text[5:]}") from error.__cause__

    def _fill(self, kind: str, x: USMArray, *values: float) -> USMArray:
        """Write the next numbers of the stream."""
        inputs, per, operation = _KERNELS[kind]
        blocks = -(-x.size // per)
        with self._lock:
            kernel = self._kernels.get(kind)
            if kernel is None:
                output = "raw T z" if kind.startswith("integers") else f"raw {kind.split()[1]} z"
                kernel = self._kernels[kind] = ElementwiseKernel(
                    _STATE + inputs, output, operation, kind.replace(" ", "_"), preamble=PHILOX
                )
            first = self._position
            self._position = (first + blocks) % 2**64
        if blocks > 0:
            key = (self._seed % 2**32, self._seed >> 32)
            kernel(*key, first, x.size, *values, out=x, size=blocks)
        return x


def _floating(x: USMArray, what: str) -> str:
    """The name of the result's type. TypeError for all but float32 and float64."""
    if x.dtype.name not in ("float32", "float64"):
        raise TypeError(f"{what}: dtype is {x.dtype}; float32 or float64 is allowed")
    if x.dtype.name == "float64" and not x.device.has_fp64:
        raise TypeError(
            f"{what}: float64 needs double precision, which {x.device.name} lacks; pass dtype='float32'"
        )
    return x.dtype.name


def _number(value: Any) -> Any:
    """A number of NumPy or ctypes as one of Python; anything else as it is."""
    number = _core._number(value)
    return value if number is None else number


def _real(value: Any, parameter: str) -> float:
    number = _number(value)
    if hasattr(number, "__float__") and not getattr(number, "ndim", 0):
        return float(number)
    raise TypeError(f"{parameter} is {shown(value)}; a number is allowed")


def _whole(value: Any, parameter: str, allowed: str = "an int is allowed") -> int:
    """The int that a parameter stands for; a bool is none."""
    number = value if hasattr(type(value), "__index__") else _number(value)
    if isinstance(number, bool):
        raise TypeError(f"{parameter} is {number}; {allowed}")
    return as_int(number, parameter, allowed)


def _checked_seed(seed: SupportsIndex | None) -> int:
    if seed is None:
        import os

        return int.from_bytes(os.urandom(8), "little")
    value = _whole(seed, "seed", "an int or None is allowed")
    if not 0 <= value < 2**64:
        raise ValueError(f"seed is {shown(value, 60)}; 0 to 2**64 - 1 is allowed")
    return value


def default_rng(
    seed: SupportsIndex | Generator | None = None, *, device: _Placement = None, queue: Queue | None = None
) -> Generator:
    """A new generator, under the name that NumPy has for it; a Generator is returned as it is.

    Parameters
    ----------
    seed : int or Generator, optional
        From 0 to 2**64 - 1; the operating system's random numbers by default.
    device, queue
        As in `Generator`.

    Returns
    -------
    Generator

    Raises
    ------
    TypeError, ValueError
        As `Generator` raises them.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.random.default_rng(3, device="host").normal(size=(2, 3)).shape
    (2, 3)
    """
    return seed if isinstance(seed, Generator) else Generator(seed, device=device, queue=queue)


_default: Generator | None = None


def _shared() -> Generator:
    global _default
    if _default is None:
        _default = Generator()
    return _default


def seed(seed: SupportsIndex | None = None) -> None:
    """Begin the stream of this module's functions again.

    Parameters
    ----------
    seed : int, optional
        From 0 to 2**64 - 1; the operating system's random numbers by default.

    Raises
    ------
    TypeError
        The seed is no integer.
    ValueError
        The seed is out of range.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.random.seed(1)
    >>> x = usmpy.random.random(3, device="host")
    >>> usmpy.random.seed(1)
    >>> bool(usmpy.all(x == usmpy.random.random(3, device="host")))
    True
    """
    global _default
    _default = Generator(seed)


def random(
    size: _Shape = (),
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Random numbers, uniform in [0, 1), from the stream of this module.

    Parameters
    ----------
    size, dtype, device, queue, usm_type
        As in `Generator.random`.

    Returns
    -------
    USMArray

    Raises
    ------
    TypeError, ValueError
        As `Generator.random` raises them.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.random.random((2, 3), dtype="float32", device="host").shape
    (2, 3)
    """
    return _shared().random(size, dtype=dtype, device=device, queue=queue, usm_type=usm_type)


def normal(
    loc: SupportsFloat = 0.0,
    scale: SupportsFloat = 1.0,
    size: _Shape = (),
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Random numbers of the normal distribution, from the stream of this module.

    Parameters
    ----------
    loc, scale, size, dtype, device, queue, usm_type
        As in `Generator.normal`.

    Returns
    -------
    USMArray

    Raises
    ------
    TypeError, ValueError
        As `Generator.normal` raises them.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.random.normal(size=(2, 3), dtype="float32", device="host").shape
    (2, 3)
    """
    return _shared().normal(loc, scale, size, dtype=dtype, device=device, queue=queue, usm_type=usm_type)


def integers(
    low: SupportsIndex,
    high: SupportsIndex | None = None,
    size: _Shape = (),
    *,
    dtype: _DTypeLike | None = None,
    endpoint: bool = False,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Random integers, uniform in [low, high), from the stream of this module.

    Parameters
    ----------
    low, high, size, dtype, endpoint, device, queue, usm_type
        As in `Generator.integers`.

    Returns
    -------
    USMArray

    Raises
    ------
    TypeError, ValueError
        As `Generator.integers` raises them.

    Examples
    --------
    >>> import usmpy
    >>> bool(usmpy.all(usmpy.random.integers(3, size=100, device="host") < 3))
    True
    """
    return _shared().integers(
        low, high, size, dtype=dtype, endpoint=endpoint, device=device, queue=queue, usm_type=usm_type
    )
