"""ElementwiseKernel, ReductionKernel and ScanKernel, as users see them.

What builds and runs them is imported with the first one.
"""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._core import Event, Queue, USMArray


class ElementwiseKernel(_core._Immutable):
    """A function of the elements at one index, written in the portable kernel language.

    A call broadcasts its arguments, runs the operation once for each element, and returns the result: one
    array, a tuple of arrays if there are several outputs, or None if there is none.

    Parameters
    ----------
    inputs : str
        The inputs, as types and names: ``"T x, float32 y, raw T table"``. A type is a dtype or a single
        letter, which stands for the dtype of the arrays that are passed for it. A number may be passed for an
        input that is not raw. The operation sees an element of the array, and for a raw input the whole
        array, as a pointer to contiguous elements in row-major order.
    outputs : str
        The outputs, in the same form. If there is none, the operation may write to raw inputs that are not
        declared as ``const``.
    operation : str or function
        Statements that assign the outputs, such as ``"z = x + y"``. They may use `i`, the index of the
        element in row-major order, and `n`, the number of elements, which `_ind.size()` means as well. Or a
        Python function of the inputs, in the language of `kernel`, which returns the output or a tuple of
        them.
    name : str, optional
        The kernel's name in messages and traces.
    preamble : str, optional
        Code in front of the kernel: functions, structs and macros. The type variables are defined there.
    options : str, optional
        Options of the compiler, as `Program` takes them.

    Raises
    ------
    ValueError
        A declaration is malformed, a name is reserved or occurs twice, or there is nothing to write to.
    TypeError
        An argument has a wrong type.
    BuildError
        A bracket of the operation is not closed. At a call: the program does not build; the message names the
        line of the operation or the preamble.

    Notes
    -----
    A call is ``kernel(*inputs, out=None, size=None, where=None, depends=(), queue=None)``. The outputs may
    also follow the inputs by position.

    - `out` is an array, or a tuple with an array or None for each output, of the result's shape and dtype. It
      may be one of the inputs; an input that it overlaps otherwise is copied first.
    - `size` is the number of elements if all inputs are raw arrays or numbers.
    - `where` is an array of bool that broadcasts with the inputs: elements where it is False are not
      computed. They keep their values in `out`, and are 0 in a new array.
    - `depends` holds Events that the work is ordered after; work on the same memory is ordered in any case.
    - `queue` is the queue of a call without arrays. Other calls run in the queue that their arrays share, and
      raise ExecutionPlacementError if they share none.

    Arrays whose dtype differs from the declared one are cast element by element if ``casting="same_kind"``
    allows that, and so are numbers; otherwise the call raises TypeError, and OverflowError for a number that
    does not fit. Arrays may have any strides; only raw ones are copied if they are not contiguous. Raw inputs
    that are written to have to be writable and contiguous, and to share no memory with each other.

    One program is built for each set of dtypes, for contiguous arrays and for others, and kept on disk.

    Examples
    --------
    >>> import usmpy
    >>> squared = usmpy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    >>> x = usmpy.arange(6, dtype="float32", device="host").reshape(2, 3)
    >>> squared(x, x[0]).tolist()
    [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]
    >>> squared(x, 5, out=x).tolist()
    [[25.0, 16.0, 9.0], [4.0, 1.0, 0.0]]
    >>> scatter = usmpy.ElementwiseKernel("T x, int64 at, raw T y", "", "y[at] = x", "scatter")
    >>> y = usmpy.zeros(4, dtype="int32", device="host")
    >>> scatter(5, usmpy.asarray([0, 2], device="host"), y)
    >>> y.tolist()
    [5, 0, 5, 0]
    """

    def __init__(
        self,
        inputs: str,
        outputs: str,
        operation: str | Callable[..., Any],
        name: str = "kernel",
        *,
        preamble: str = "",
        options: str = "",
    ) -> None:
        from .elementwise import Elementwise

        self._kernel = Elementwise(inputs, outputs, operation, name, preamble=preamble, options=options)

    @property
    def name(self) -> str:
        """The kernel's name in messages and traces."""
        return self._kernel.name

    def __repr__(self) -> str:
        return f"<ElementwiseKernel {self._kernel.describe()}>"

    def __call__(
        self,
        *args: Any,
        out: USMArray | tuple[USMArray | None, ...] | None = None,
        size: int | None = None,
        where: USMArray | None = None,
        depends: Event | Iterable[Event] = (),
        queue: Queue | None = None,
    ) -> Any:
        return self._kernel.run(args, out, size, where, depends, queue)


class ReductionKernel(_core._Immutable):
    """A reduction of elements along axes, written in the portable kernel language.

    A call broadcasts its arguments, maps the elements at each index to one value, combines the values along
    the axes, and returns the result: one array, or a tuple of arrays if there are several outputs.

    Parameters
    ----------
    inputs : str
        The inputs, as in `ElementwiseKernel`; at least one is an array that is not raw.
    outputs : str
        The outputs, as types and names; at least one, and none is raw.
    map : str or function
        The expression that makes the value to combine from the elements at one index, such as ``"x * y"``. It
        may use `i`, the position among the elements that are combined, and `n`, their number.
    reduce : str or function
        The expression that combines two values, `a` and `b`: ``"a + b"``. Its result may not depend on the
        order or the grouping of the values, except for rounding.
    post : str or function
        Statements that assign the outputs from the combined value `a`, such as ``"y = a / n"``.
    identity : number, str or None
        The value that changes no other one when it is combined: the result where nothing is combined, and the
        value of elements that `where` leaves out. With None, both are refused.
    name : str, optional
        The kernel's name in messages and traces.
    reduce_type : str or DType, optional
        The type of the values: a dtype, a type variable, or a type that the preamble defines; by default the
        type of the first output.
    preamble : str, optional
        Code in front of the kernel: functions, structs and macros. The type variables are defined there.
    options : str, optional
        Options of the compiler, as `Program` takes them.

    Raises
    ------
    ValueError
        A declaration is malformed, a name is reserved or occurs twice, or an expression is missing.
    TypeError
        An argument has a wrong type.
    BuildError
        A bracket of a text is not closed. At a call: the program does not build; the message names the text
        and its line.

    Notes
    -----
    `map`, `reduce` and `post` may be Python functions in the language of `kernel`: of the inputs, of two
    values, and of the combined value and, optionally, the number of combined elements. `post` returns the
    output, or a tuple of them.

    A call is ``kernel(*inputs, axis=None, keepdims=False, out=None, where=None, depends=(), queue=None)``.

    - `axis` is an axis, a tuple of axes, or None for all; negative ones count from the end. An axis out of
      range raises AxisError.
    - `keepdims` keeps the reduced axes with the length 1.
    - `out`, `where`, `depends` and `queue` are those of `ElementwiseKernel`. An input that a result overlaps
      is copied first.

    The number of combined elements alone decides how they are grouped, so that the results have the same bits
    on every device and for every memory layout, if the operations have (docs/portable.md). Axes that do not
    merge into one are reduced from a contiguous copy.

    Examples
    --------
    >>> import usmpy
    >>> norm = usmpy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "norm")
    >>> x = usmpy.asarray([[3.0, 4.0], [6.0, 8.0]], dtype="float32", device="host")
    >>> norm(x, axis=1).tolist()
    [5.0, 10.0]
    >>> norm(x, axis=1, keepdims=True).shape
    (2, 1)
    """

    def __init__(
        self,
        inputs: str,
        outputs: str,
        map: str | Callable[..., Any],
        reduce: str | Callable[..., Any],
        post: str | Callable[..., Any],
        identity: str | float | None,
        name: str = "reduce",
        *,
        reduce_type: str | _core.DType | None = None,
        preamble: str = "",
        options: str = "",
    ) -> None:
        from .reduction import Reduction

        self._kernel = Reduction(
            inputs,
            outputs,
            map,
            reduce,
            post,
            identity,
            name,
            reduce_type=reduce_type,
            preamble=preamble,
            options=options,
        )

    @property
    def name(self) -> str:
        """The kernel's name in messages and traces."""
        return self._kernel.name

    def __repr__(self) -> str:
        return f"<ReductionKernel {self._kernel.describe()}>"

    def __call__(
        self,
        *args: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        out: USMArray | tuple[USMArray | None, ...] | None = None,
        where: USMArray | None = None,
        depends: Event | Iterable[Event] = (),
        queue: Queue | None = None,
    ) -> Any:
        return self._kernel.run(args, axis, keepdims, out, where, depends, queue)


class ScanKernel(_core._Immutable):
    """Running results along an axis, written in the portable kernel language.

    A call broadcasts its arguments, maps the elements at each index to one value, and combines each value
    with all before it along the axis. It returns one array, or a tuple of arrays for several outputs.

    Parameters
    ----------
    inputs : str
        The inputs, as in `ElementwiseKernel`; at least one is an array that is not raw.
    outputs : str
        The outputs, as types and names; at least one, and none is raw.
    map : str or function
        The expression that makes the value to combine from the elements at one index, such as ``"x"``. It may
        use `i`, the position along the axis, and `n`, its length.
    scan : str or function
        The expression that combines two values, `a` and the later `b`: ``"a + b"``. Its result may not depend
        on the grouping of the values, except for rounding.
    post : str or function, optional
        Statements that assign the outputs from the running value `a`, such as ``"y = a / (i + 1)"``; by
        default each output is `a`.
    identity : number, str or None, optional
        The value that changes no other one when it is combined. With None, `exclusive`, `include_initial` and
        `where` are refused.
    name : str, optional
        The kernel's name in messages and traces.
    scan_type : str or DType, optional
        The type of the values: a dtype, a type variable, or a type that the preamble defines; by default the
        type of the first output.
    preamble : str, optional
        Code in front of the kernel: functions, structs and macros. The type variables are defined there.
    options : str, optional
        Options of the compiler, as `Program` takes them.

    Raises
    ------
    ValueError
        A declaration is malformed, a name is reserved or occurs twice, or an expression is missing.
    TypeError
        An argument has a wrong type.
    BuildError
        A bracket of a text is not closed. At a call: the program does not build; the message names the text
        and its line.

    Notes
    -----
    `map`, `scan` and `post` may be Python functions in the language of `kernel`: of the inputs, of two
    values, and of the running value and, optionally, the length of the axis. `post` returns the output, or a
    tuple of them.

    A call is ``kernel(*inputs, axis=None, exclusive=False, include_initial=False, out=None, where=None,
    depends=(), queue=None)``.

    - `axis` is the axis; None is allowed for one dimension.
    - `exclusive` leaves out the element itself: the first result is the identity.
    - `include_initial` puts the identity in front, so that the axis is longer by one, as in `cumulative_sum`
      of the array API standard 2025.12.
    - `out`, `where`, `depends` and `queue` are those of `ElementwiseKernel`. Elements that `where` leaves out
      count as the identity.

    The length of the axis alone decides how the values are grouped, so that the results have the same bits on
    every device and for every memory layout, if the operations have (docs/portable.md).

    Examples
    --------
    >>> import usmpy
    >>> total = usmpy.ScanKernel("T x", "T y", "x", "a + b", identity=0, name="total")
    >>> x = usmpy.asarray([1, 2, 3, 4], dtype="int32", device="host")
    >>> total(x).tolist()
    [1, 3, 6, 10]
    >>> total(x, include_initial=True).tolist()
    [0, 1, 3, 6, 10]
    >>> total(x, exclusive=True).tolist()
    [0, 1, 3, 6]
    """

    def __init__(
        self,
        inputs: str,
        outputs: str,
        map: str | Callable[..., Any],
        scan: str | Callable[..., Any],
        post: str | Callable[..., Any] | None = None,
        identity: str | float | None = None,
        name: str = "scan",
        *,
        scan_type: str | _core.DType | None = None,
        preamble: str = "",
        options: str = "",
    ) -> None:
        from .scan import Scan

        self._kernel = Scan(
            inputs,
            outputs,
            map,
            scan,
            post,
            identity,
            name,
            scan_type=scan_type,
            preamble=preamble,
            options=options,
        )

    @property
    def name(self) -> str:
        """The kernel's name in messages and traces."""
        return self._kernel.name

    def __repr__(self) -> str:
        return f"<ScanKernel {self._kernel.describe()}>"

    def __call__(
        self,
        *args: Any,
        axis: int | None = None,
        exclusive: bool = False,
        include_initial: bool = False,
        out: USMArray | tuple[USMArray | None, ...] | None = None,
        where: USMArray | None = None,
        depends: Event | Iterable[Event] = (),
        queue: Queue | None = None,
    ) -> Any:
        return self._kernel.run(args, axis, exclusive, include_initial, out, where, depends, queue)
