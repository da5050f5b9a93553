"""The decorator `kernel`. What it needs is imported when the first kernel is made."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def kernel(
    function: Callable[..., Any] | None = None, /, *, check: bool | None = None, options: str = ""
) -> Any:
    """Decorator: the function becomes a kernel for every device.

    Parameters
    ----------
    function : function
        The body of one work-item. What it may contain is listed in the guide "Kernels in Python".
    check : bool, optional
        Whether indices, integer divisions and assertions are checked; by default as ``USMPY_CHECK`` says.
    options : str, optional
        Options of the compiler, as `Program` takes them, such as ``"-cl-fast-relaxed-math"``.

    Returns
    -------
    PythonKernel
        Built at its first launch with each set of argument types; the result is kept on disk.

    Raises
    ------
    BuildError
        The function has no source, or uses what kernels do not have; the message shows the line.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id
    >>> @usmpy.kernel
    ... def scale(a, x):
    ...     i = get_global_id(0)
    ...     x[i] *= a
    >>> x = usmpy.ones(3, dtype="float32", device="host")
    >>> scale[3](2.5, x).wait()
    >>> x.tolist()
    [2.5, 2.5, 2.5]
    """
    from .._python_kernels.kernel import PythonKernel

    if function is None:
        return lambda function: PythonKernel(function, check=check, options=options)
    return PythonKernel(function, check=check, options=options)
