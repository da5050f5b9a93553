"""What belongs to the package as a whole, written in Python."""

import builtins
from collections.abc import Callable
from typing import Any

from usmpy._arrays.namespace_info import NamespaceInfo
from usmpy._inspection.allocations import Allocation

from .types import _Placement

def diagnose() -> str:
    """Explain which devices are available, and why others are missing.

    Returns
    -------
    str
        For each backend: the number of its devices, the libraries that were opened or tried, and their
        errors, environment variables that filter devices, and what to install.

    Notes
    -----
    The call starts every backend. It does not raise if a backend is missing or broken.

    Examples
    --------
    >>> import usmpy
    >>> print(usmpy.diagnose())
    usmpy ..., Python ...
    host: 1 device(s)
      host:cpu:0: ...
    """

def get_include() -> str:
    """Return the folder that holds ``usmpy.h``, the header of the C API (docs/c-api.md).

    Returns
    -------
    str
        An absolute path, for the include path of an extension module.

    Examples
    --------
    >>> import os, usmpy
    >>> os.listdir(usmpy.get_include()).count("usmpy.h")
    1
    """

def live_allocations() -> list[Allocation]:
    """List the allocations that are alive and were made under ``track_allocations(True)``, oldest first.

    Returns
    -------
    list of Allocation
        Named tuples: `nbytes`; `usm_type`; `device`; `address`; `imported`, whether the memory belongs to
        another library; `age_s` in seconds; and `where`, the line that allocated it, as
        ``file.py:12 in function``, or None if no Python code did.

    Examples
    --------
    >>> import usmpy
    >>> before = usmpy.track_allocations(True)
    >>> x = usmpy.zeros(1024, dtype="uint8", device="host")
    >>> usmpy.live_allocations()[-1].usm_type
    'device'
    >>> usmpy.track_allocations(before)
    True
    """

def prebuild(device: _Placement = None) -> None:
    """Build the kernels of all functions for a device.

    Without this call, each kernel is built when it is first needed.

    Parameters
    ----------
    device : Device, Queue, USMArray or str, optional
        The device, as `empty` takes it; the default one if it is None.

    Raises
    ------
    TypeError
        `device` has a wrong type.
    BackendUnavailable
        There is no such device.

    Notes
    -----
    The call blocks until everything is built, on several threads: from milliseconds on the host and on
    OpenCL devices that are its processors, which need no kernels, to minutes. What was built is kept on disk
    (docs/portable.md), so that other processes load it. NVIDIA's driver keeps its programs itself.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.prebuild("host")
    """

def kernel(
    function: Callable[..., Any] | None = None, /, *, check: builtins.bool | None = None, options: str = ""
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

def __array_namespace_info__() -> NamespaceInfo:
    """Return an object that describes this namespace: capabilities, devices and dtypes.

    Returns
    -------
    NamespaceInfo
        Its methods are ``capabilities()``, ``default_device()``, ``default_dtypes()``, ``devices()`` and
        ``dtypes()``.

    Notes
    -----
    The array API standard 2025.12, ``__array_namespace_info__``.

    Examples
    --------
    >>> info = usmpy.__array_namespace_info__()
    >>> info.default_dtypes(device="host")["real floating"]
    usmpy.float64
    >>> list(info.dtypes(kind="real floating", device="host"))
    ['float32', 'float64']
    """
