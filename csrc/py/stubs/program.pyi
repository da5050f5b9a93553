"""Index spaces, programs and their kernels."""

import builtins
from collections.abc import Iterable, Sequence
from typing import Any, Final, SupportsIndex, final

from typing_extensions import Buffer, Self

from .device import Device, _Immutable
from .dtype import DType
from .event import Event
from .queue import Context
from .types import _Depends, _DTypeLike, _Extents, _KernelArgument, _Language, _Placement, _Space

@final
class Range(_Immutable):
    """The index space of a launch: 1 to 3 dimensions of work-items (SYCL 2020, 4.9.1.1).

    The device chooses the work-groups; an `NdRange` says how large they are.

    Parameters
    ----------
    *global_range : int or tuple of int
        Work-items along each dimension, as 1 to 3 ints or as one tuple of them, such as an array's shape.
        Their product is at most 2**63 - 1.

    Raises
    ------
    ValueError
        An extent is negative, there are not 1 to 3 of them, or the product is too large.
    TypeError
        Something is not an int.

    Notes
    -----
    ``get_global_id(i)`` runs from 0 to ``global_range[i] - 1``. The first dimension is dimension 0 of
    OpenCL and x of CUDA, whose neighbours run side by side. In an array in C order these are neighbours
    of the last axis.

    A launch with an extent of 0 checks its arguments and runs nothing; its event follows `depends`.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.Range(640, 480) == usmpy.Range((640, 480))
    True
    >>> usmpy.Range(640, 480).size
    307200
    """
    def __new__(cls, *global_range: SupportsIndex | Sequence[SupportsIndex]) -> Self: ...
    @property
    def size(self) -> int:
        """Work-items in all: the product of the extents."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class NdRange(_Immutable):
    """An index space cut into work-groups (SYCL 2020, 4.9.1.2).

    Work-items of one group share local memory and can wait for each other at barriers.

    Parameters
    ----------
    global_range : Range, int or sequence of int
        Work-items along each dimension.
    local_range : Range, int or sequence of int
        Work-items of a group along each dimension: as many dimensions, each of which divides the global one.

    Raises
    ------
    ValueError
        The dimensions differ, a global extent is negative, a local one is below 1, or a local extent does not
        divide the global one.
    TypeError
        Something is not an int.

    Notes
    -----
    The limits of the device are checked at the launch (`Kernel.max_work_group_size`). A launch with a global
    extent of 0 checks its arguments and runs nothing.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.NdRange(1024, 64)
    NdRange((1024,), (64,))
    >>> usmpy.NdRange((640, 480), (16, 16)).local_range
    (16, 16)
    """
    def __new__(cls, global_range: _Extents, local_range: _Extents) -> Self: ...
    @property
    def size(self) -> int:
        """Work-items in all: the product of the global extents."""
    @property
    def global_range(self) -> tuple[int, ...]:
        """Work-items in each dimension, as a tuple."""
    @property
    def local_range(self) -> tuple[int, ...]:
        """Work-items of a work-group in each dimension, as a tuple."""
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class LocalMemory(_Immutable):
    """The argument for a kernel's pointer to local memory (SYCL 2020, 4.7.6.11, local_accessor).

    Each work-group gets separate memory, which is not initialised. The launch needs an `NdRange`, or a
    kernel that requires a size of its work-groups.

    Parameters
    ----------
    n : int
        Elements for each work-group, at least 1.
    dtype : DType, str or type, optional
        The type of the elements; by default uint8, so that `n` is a number of bytes.

    Raises
    ------
    ValueError
        n is below 1, or the memory above 2**32 - 1 bytes.
    TypeError
        n is not an int, or dtype is no type.

    Examples
    --------
    >>> import usmpy
    >>> program = usmpy.Program('''
    ... kernel void reverse(global int *x, local int *t) {
    ...     int i = get_local_id(0), n = get_local_size(0);
    ...     t[i] = x[get_global_id(0)];
    ...     barrier(CLK_LOCAL_MEM_FENCE);
    ...     x[get_global_id(0)] = t[n - 1 - i];
    ... }''', device="host")
    >>> x = usmpy.arange(8, dtype="int32", device="host")
    >>> event = program.reverse[usmpy.NdRange(8, 4)](x, usmpy.LocalMemory(4, "int32"))
    >>> x.tolist()
    [3, 2, 1, 0, 7, 6, 5, 4]
    """
    def __new__(cls, n: SupportsIndex, dtype: _DTypeLike | None = None) -> Self: ...
    @property
    def nbytes(self) -> int:
        """Size for each work-group, in bytes."""
    @property
    def dtype(self) -> DType:
        """The type of the elements: that which kernels written in Python see."""

@final
class _Dispatch:
    """The kernels that were built from a Python function, by the types of their arguments.

    Parameters
    ----------
    owner : PythonKernel
        Builds them.
    name : str
    n : int
        The number of arguments.
    checked : bool
    """
    def __new__(cls, owner: object, name: str, n: int, checked: builtins.bool, /) -> Self: ...
    @property
    def built(self) -> list[Kernel]:
        """The kernels, the oldest first."""
    def __getitem__(self, key: Any, /) -> BoundKernel: ...

@final
class Program(_Immutable):
    """Kernels in source or binary form, built for one device.

    ``program.add`` and ``program["add"]`` are the `Kernel` of that name.

    Parameters
    ----------
    source : str or bytes-like
        The source as str; bytes for the languages ``"spirv"`` and ``"native"``.
    device : None, str, Device, Queue or USMArray, optional
        The target of the build: the default device, a filter string such as ``"gpu"``, a device, or the
        device and context of a queue or an array.
    language : str, optional
        ``"portable"`` is OpenCL C without vector types, images and pipes, and runs on every backend. OpenCL
        and Level Zero devices also take ``"opencl"`` (all of OpenCL C) and ``"spirv"``. CUDA devices take
        ``"cuda"`` (CUDA C++) and ``"ptx"``. The host takes ``"c"``: each function
        ``void f(size_t begin, size_t end, ...)`` is a kernel. ``"native"`` is what `binary` returns, or the
        driver's own binary (on CUDA a cubin or fatbin).
    options : str, optional
        Options of the compiler, as a shell takes them, such as ``"-D N=4"``.
    check : bool, optional
        Whether kernels look at each index, integer division and barrier: a launch's event then ends with
        `KernelError` for the first that is wrong, on every backend. For the portable language. Default:
        whether ``USMPY_CHECK=1`` is in the environment.

    Raises
    ------
    BuildError
        The program does not build, or has no kernel; the message and ``log`` hold all that the compiler
        wrote.
    ValueError
        The device does not take the language, or the compiler may not be given an option.
    TypeError
        An argument has a wrong type.
    BackendUnavailable
        No compiler from OpenCL C to SPIR-V is installed (Level Zero), or no libnvrtc (CUDA).

    Notes
    -----
    Built programs are kept on disk (``$USMPY_CACHE_DIR``, else ``$XDG_CACHE_HOME/usmpy``, else
    ``~/.cache/usmpy``) under a digest of everything that the result depends on.

    Examples
    --------
    >>> import usmpy
    >>> program = usmpy.Program('''
    ... kernel void scale(global const float *x, global float *y, float a) {
    ...     size_t i = get_global_id(0);
    ...     y[i] = a * x[i];
    ... }''', device="host")
    >>> program.kernel_names
    ['scale']
    >>> x = usmpy.ones(3, dtype="float32", device="host")
    >>> y = usmpy.empty_like(x)
    >>> event = program.scale[usmpy.Range(3)](x, y, 2.5)
    >>> y.tolist()
    [2.5, 2.5, 2.5]
    """
    def __new__(
        cls,
        source: str | Buffer,
        *,
        device: _Placement = None,
        language: _Language = "portable",
        options: str = "",
        check: builtins.bool | None = None,
    ) -> Self: ...
    language: Final[str]
    """The language of the source."""
    options: Final[str]
    """The compiler's options."""
    check: Final[builtins.bool]
    """Whether its kernels are checked."""
    @property
    def device(self) -> Device:
        """The Device that the program was built for."""
    @property
    def context(self) -> Context:
        """The Context that the program was built in."""
    @property
    def kernel_names(self) -> list[str]:
        """List of the kernels' names; empty if the driver does not report them."""
    @property
    def binary(self) -> bytes:
        """The built program as bytes, for ``language="native"`` on an equal device.

        Raises
        ------
        UsmError
            The backend has no such form, or the program is checked.
        """
    def __getitem__(self, key: str, /) -> Kernel: ...
    def __getattr__(self, name: str, /) -> Kernel: ...
    def __dir__(self) -> list[str]:
        """Attributes and names of kernels."""
    def _ipython_key_completions_(self) -> list[str]:
        """Names of kernels, for completion of program["..."]."""
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by source, language, options and device: unpickling builds it, or loads it from the cache.

        Raises
        ------
        DeviceNotFound
            By unpickling: the device is missing; `unpickle_device` takes another one.
        BuildError, ValueError
            By unpickling: the source does not build there, or the device does not take the language.
        """

@final
class Kernel(_Immutable):
    """A function of a `Program`, launched by ``kernel[range](*args)`` or ``kernel[range, events](*args)``.

    The launch is asynchronous and returns its `Event`. In brackets stand the index space, and optionally
    Events that it depends on:

    range : Range, NdRange or int
        The index space; an int is a `Range` of one dimension. Several ints are a TypeError, since
        ``[a, b]`` is a range to SYCL, and blocks and threads to CUDA.
    events : Event or sequence of Event
        Events that must complete before the kernel runs; it does not run where one of them fails. Also empty.

    In parentheses stand the arguments, by position or by the names of the parameters:

    - for pointers, contiguous USMArrays of the element's type; None is a null pointer;
    - for values, numbers of Python, NumPy and ctypes that the parameter can hold;
    - for structs, bytes or ctypes structures of their size;
    - for local memory, `LocalMemory`.

    The kernel runs in the queue that the arrays share; `Queue.submit` names one. Arrays and program stay
    alive until it has completed.

    Raises
    ------
    TypeError
        The brackets hold something else, arguments are missing, unknown or too many, or one has a wrong type.
    OverflowError
        The parameter cannot hold a number.
    ValueError
        An array is read-only and the kernel may write to it, a struct has another size, the range is
        beyond the limits of the device, or there is local memory and no size of work-groups.
    BufferError
        An array is not contiguous: a kernel sees no strides.
    ExecutionPlacementError
        The arrays are on several queues, or the program was built for another device.

    Notes
    -----
    Everything is checked before anything is enqueued; a refused launch changes nothing. How far a kernel
    reads and writes beside that is up to its source, as in C.

    Examples
    --------
    >>> import usmpy
    >>> add = usmpy.Program('''
    ... kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }
    ... ''', device="host").add
    >>> add.parameters
    ('int32*', 'int32')
    >>> x = usmpy.zeros(3, dtype="int32", device="host")
    >>> first = add[usmpy.Range(3)](x, 5)
    >>> second = add[3, [first]](x, n=2)
    >>> x.tolist()
    [7, 7, 7]
    """
    @property
    def name(self) -> str:
        """The function's name in the program."""
    @property
    def program(self) -> Program | None:
        """The Program that the kernel belongs to; None for one from a pointer."""
    @property
    def device(self) -> Device:
        """The Device that the kernel was built for."""
    @property
    def parameters(self) -> tuple[str, ...]:
        """The types of the parameters, as a tuple of str in the words of `from_pointer`.

        ``"local float32*"`` takes `LocalMemory`, ``"bytes[n]"`` a struct of n bytes; ``"unknown"`` stands for
        a type that the program does not describe.
        """
    @property
    def parameter_names(self) -> tuple[str | None, ...]:
        """The names of the parameters, for arguments by name; None if the program does not name one."""
    def max_work_group_size(self, device: _Placement = None) -> int:
        """The most work-items of this kernel that fit into one work-group of the device.

        Parameters
        ----------
        device : Device, optional
            The device that the kernel is built for, which is the default.

        Returns
        -------
        int

        Raises
        ------
        TypeError
            `device` names no device.
        ValueError
            The kernel is built for another device.

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void f(global float *x) { x[get_global_id(0)] = 1; }"
        >>> kernel = usmpy.Program(source, device="host").f
        >>> kernel.max_work_group_size("host") >= 1
        True
        """
    def preferred_work_group_size_multiple(self, device: _Placement = None) -> int:
        """Work-groups of a multiple of this number of work-items use the device best.

        Parameters
        ----------
        device : Device, optional
            The device that the kernel is built for, which is the default.

        Returns
        -------
        int

        Raises
        ------
        TypeError
            `device` names no device.
        ValueError
            The kernel is built for another device.

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void f(global float *x) { x[get_global_id(0)] = 1; }"
        >>> kernel = usmpy.Program(source, device="host").f
        >>> kernel.preferred_work_group_size_multiple("host") >= 1
        True
        """
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by program, name and parameters.

        Raises
        ------
        TypeError
            The kernel is a function in memory (`from_pointer`), whose address means nothing elsewhere.
        """
    @classmethod
    def from_pointer(
        cls, address: int, parameters: Iterable[str], *, name: str | None = None, owner: object = None
    ) -> Kernel:
        """A kernel for the host device from a function in memory, such as one of ctypes, cffi or numba.cfunc.

        Parameters
        ----------
        address : int
            Address of a C function ``void f(size_t begin, size_t end, <parameters>)``, which does the part
            ``begin <= i < end`` of a one-dimensional range. It is called on disjoint parts, from several
            threads, without the GIL.
        parameters : sequence of str
            One for each parameter after the first two, such as ``["const float32*", "float32*", "int32"]``:
            pointers (``"void*"`` for any element), bool, integers, float32 and float64. What is const is only
            read. A name may follow the type: ``"int32 n"``.
        name : str, optional
            For messages.
        owner : object, optional
            The object that keeps the function in memory; the kernel and each of its launches keep it alive.
            Without an owner, the function must stay in memory until they have completed.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            The address is 0, or a parameter is not known.
        TypeError
            An argument has a wrong type.

        Examples
        --------
        >>> import ctypes, usmpy
        >>> @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32))
        ... def double(begin, end, x):
        ...     for i in range(begin, end):
        ...         x[i] *= 2
        >>> address = ctypes.cast(double, ctypes.c_void_p).value
        >>> kernel = usmpy.Kernel.from_pointer(address, ["int32* x"], name="double", owner=double)
        >>> x = usmpy.arange(4, dtype="int32", device="host")
        >>> kernel[4](x).wait()
        >>> x.tolist()
        [0, 2, 4, 6]
        """
    def with_parameters(self, parameters: Iterable[str], /) -> Kernel:
        """The same kernel with its parameters said in words, for programs that do not tell them.

        Parameters
        ----------
        parameters : sequence of str
            One for each parameter, as in `from_pointer`; also ``"local float32*"`` for local memory and
            ``"bytes[n]"`` for a struct of n bytes. They may complete the program's description, but not
            contradict it.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            There are more or fewer parameters, one is not known, or one contradicts the program.
        TypeError
            Something is not a str.

        Examples
        --------
        >>> import ctypes, usmpy
        >>> @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32))
        ... def double(begin, end, x):
        ...     for i in range(begin, end):
        ...         x[i] *= 2
        >>> address = ctypes.cast(double, ctypes.c_void_p).value
        >>> kernel = usmpy.Kernel.from_pointer(address, ["int32*"], name="double", owner=double)
        >>> kernel.with_parameters(["int32* x"]).parameter_names
        ('x',)
        """
    def __getitem__(self, key: _Space | tuple[_Space, _Depends], /) -> BoundKernel: ...

@final
class BoundKernel(_Immutable):
    """A `Kernel` with its index space and the Events that it depends on: call it with the arguments."""
    def __call__(self, *args: _KernelArgument, **kwargs: _KernelArgument) -> Event: ...
