"""usmpy: the SYCL programming model without a SYCL runtime, and the exchange of arrays with everybody else.

Devices, contexts, queues, events and arrays of unified shared memory (USM) are C types; backends (host,
OpenCL, Level Zero, CUDA) are found at run time. Importing never touches a driver. This module is also the
array API namespace of its arrays (docs/design.md says which functions it has so far).
"""

from ._core import (
    Context,
    Device,
    DType,
    Event,
    Queue,
    USMArray,
    arange,
    asarray,
    astype,
    bfloat16,
    bool,
    borrow,
    broadcast_to,
    complex32,
    complex64,
    complex128,
    concat,
    copyto,
    empty,
    empty_like,
    expand_dims,
    eye,
    flip,
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    from_dlpack,
    full,
    full_like,
    get_execution_queue,
    int8,
    int16,
    int32,
    int64,
    linspace,
    memory_connection,
    ones,
    ones_like,
    permute_dims,
    reshape,
    squeeze,
    stack,
    uint8,
    uint16,
    uint32,
    uint64,
    zeros,
    zeros_like,
)
from ._diagnose import diagnose
from .errors import BackendUnavailable, BuildError, DeviceNotFound, ExecutionPlacementError, UsmError
from .selectors import get_devices, select_default_device

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

TYPE_CHECKING = False  # importing the one of typing would double the time of this import
if TYPE_CHECKING:
    from ._enums import MemoryConnection

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__all__ = [
    "BackendUnavailable",
    "BuildError",
    "Context",
    "DType",
    "Device",
    "DeviceNotFound",
    "Event",
    "ExecutionPlacementError",
    "MemoryConnection",
    "Queue",
    "USMArray",
    "UsmError",
    "arange",
    "asarray",
    "astype",
    "bfloat16",
    "bool",
    "borrow",
    "broadcast_to",
    "complex32",
    "complex64",
    "complex128",
    "concat",
    "copyto",
    "diagnose",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "flip",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "get_devices",
    "get_execution_queue",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "linspace",
    "memory_connection",
    "nan",
    "newaxis",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "reshape",
    "select_default_device",
    "squeeze",
    "stack",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> object:
    """Imports on first use what takes milliseconds (PEP 562)."""
    if name == "MemoryConnection":
        from ._enums import MemoryConnection

        globals()[name] = MemoryConnection
        return MemoryConnection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
