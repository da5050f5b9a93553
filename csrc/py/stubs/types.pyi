"""Words and unions of types that annotations name, and what other libraries' objects need to have."""

import builtins
from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, TypeAlias

from typing_extensions import Buffer, CapsuleType

from .array import USMArray
from .device import Device
from .dtype import DType
from .event import Event
from .program import LocalMemory, NdRange, Range
from .queue import Queue

_Backend: TypeAlias = Literal["host", "opencl", "level_zero", "cuda"]
_CacheType: TypeAlias = Literal["none", "read_only", "read_write"]
_Casting: TypeAlias = Literal["no", "safe", "same_kind", "unsafe"]
_DeviceType: TypeAlias = Literal["cpu", "gpu", "accelerator"]
_Language: TypeAlias = Literal["portable", "opencl", "cuda", "c", "spirv", "ptx", "native"]
_Order: TypeAlias = Literal["C", "F"]
_CopyOrder: TypeAlias = Literal["C", "F", "A", "K"]
_Priority: TypeAlias = Literal["low", "normal", "high"]
_Status: TypeAlias = Literal["submitted", "running", "complete", "error"]
_UsmType: TypeAlias = Literal["device", "shared", "host"]

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _SupportsArrow(Protocol):
    def __arrow_c_array__(self) -> tuple[CapsuleType, CapsuleType]: ...

class _SupportsArrowDevice(Protocol):
    def __arrow_c_device_array__(self) -> tuple[CapsuleType, CapsuleType]: ...

class _SupportsSyclInterface(Protocol):
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]: ...

class _SupportsCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _CudaStream(Protocol):
    """cuda.core's, PyTorch's, CuPy's."""

    def __cuda_stream__(self) -> tuple[int, int]: ...

class _StreamOfTorch(Protocol):
    @property
    def cuda_stream(self) -> int: ...

class _StreamOfCuPy(Protocol):
    @property
    def ptr(self) -> int: ...
    def synchronize(self) -> Any: ...

class _StreamOfNumba(Protocol):
    @property
    def handle(self) -> Any: ...
    def synchronize(self) -> Any: ...

class _SupportsIntPtr(Protocol):
    """An object of PyOpenCL."""

    @property
    def int_ptr(self) -> int: ...

class _SupportsSyclCapsule(Protocol):
    """A SyclQueue or SyclContext of dpctl."""

    def _get_capsule(self) -> CapsuleType: ...

class _SupportsExchangeTable(Protocol):
    __dlpack_c_exchange_api__: ClassVar[Any]

class _HostScalar(Protocol):
    """A zero-dimensional value on the host, such as numpy.float32(1)."""

    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def item(self) -> Any: ...

class _NumPyDType(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def isnative(self) -> builtins.bool: ...

_Array: TypeAlias = _SupportsDLPack | _SupportsExchangeTable
_Arrow: TypeAlias = _SupportsArrow | _SupportsArrowDevice
_Handle: TypeAlias = SupportsIndex | _SupportsIntPtr
_HandleOrSycl: TypeAlias = _Handle | _SupportsSyclCapsule | CapsuleType
_Number: TypeAlias = complex | _HostScalar
_Numbers: TypeAlias = _Number | SupportsIndex | Sequence[_Numbers]
_ArrayLike: TypeAlias = _Array | Buffer | _SupportsSyclInterface | _SupportsCudaInterface | _Arrow | _Numbers
_DTypeLike: TypeAlias = (
    DType
    | str
    | type[builtins.bool]
    | type[int]
    | type[float]
    | type[complex]
    | type[_HostScalar]
    | _NumPyDType
)
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Placement: TypeAlias = Device | Queue | USMArray | str | None
_Pair: TypeAlias = tuple[SupportsIndex, SupportsIndex]
_Stream: TypeAlias = Queue | int | _CudaStream | _StreamOfTorch | _StreamOfCuPy | _StreamOfNumba
_Extents: TypeAlias = Range | SupportsIndex | Sequence[SupportsIndex]
_Space: TypeAlias = NdRange | Range | SupportsIndex
_Range: TypeAlias = NdRange | _Extents
_KernelArgument: TypeAlias = USMArray | LocalMemory | _Number | _HostScalar | Buffer | None
_Depends: TypeAlias = Event | Iterable[Event] | None
_Indices: TypeAlias = USMArray | _Array | Buffer | Sequence[_Indices] | SupportsIndex
_IndexPart: TypeAlias = slice | EllipsisType | _Indices | None
_Index: TypeAlias = _IndexPart | tuple[_IndexPart, ...]
_Real: TypeAlias = float | _HostScalar
