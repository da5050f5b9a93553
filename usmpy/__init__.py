"""usmpy: the SYCL programming model without a SYCL runtime, and the exchange of arrays with everybody else.

Devices, contexts, queues, events and arrays of unified shared memory (USM) are C types; backends (host,
OpenCL, Level Zero, CUDA) are found at run time. Importing never touches a driver. This module is also the
array API namespace of its arrays (docs/design.md says which functions it has so far).
"""

# No __getattr__ in this module, for what could be imported later: CPython does not specialise attributes of a
# module that has one, and usmpy.from_dlpack would cost a fifth more. Functions written in Python are names of
# _core, which imports their modules at the first call (csrc/py/functions/in_python.c).
try:
    from ._core import *
except ModuleNotFoundError:
    from ._not_built import explain as _explain

    _explain()

from . import _core
from . import _failure as _failure  # C calls it by itself
from ._enums import MemoryConnection
from ._inspection.trace import Trace, trace
from ._kernels.helpers import ElementwiseKernel, ReductionKernel, ScanKernel
from ._lazy import lazy as _read_later
from ._processes import children as _children  # noqa: F401 - it is armed by its import
from ._processes.share import IPCHandle
from ._processes.unpickle import unpickle_device
from .errors import (
    AxisError,
    BackendUnavailable,
    BuildError,
    DeviceNotFound,
    ExecutionPlacementError,
    KernelError,
    UsmError,
)
from .selectors import get_devices, select_default_device, select_device_with_aspects

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

e: float = 2.718281828459045
inf: float = float("inf")
nan: float = float("nan")
newaxis = None
pi: float = 3.141592653589793

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import random as random
else:
    random = _read_later("usmpy.random", __path__)

__all__ = [
    "AxisError",
    "BackendUnavailable",
    "BuildError",
    "DeviceNotFound",
    "ElementwiseKernel",
    "ExecutionPlacementError",
    "IPCHandle",
    "KernelError",
    "MemoryConnection",
    "ReductionKernel",
    "ScanKernel",
    "Trace",
    "UsmError",
    "__array_api_version__",
    "e",
    "get_devices",
    "inf",
    "nan",
    "newaxis",
    "pi",
    "select_default_device",
    "select_device_with_aspects",
    "trace",
    "unpickle_device",
]
__all__ += _core.__all__
