"""The entries of the matrix: calls that take an object, and what is right of each for what the object means.

An entry raises `Wrong` if the call does anything else. `READERS` take any object and read it as ``asarray``
does; `SHARERS` use its memory or refuse; `OPERANDS` take numbers and scalars beside USMArrays, and refuse
everything else with the call of ``asarray`` that makes it a USMArray.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue import CALL, PLAIN, Object, Refused

import usmpy

LONGEST = 400  # characters of a message about an object
PROTOCOLS = (
    "__len__",
    "__dlpack__",
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__arrow_c_array__",
)
ERRORS = (TypeError, ValueError, BufferError, OverflowError)
REFUSED = Refused("")
MEMORY = Refused(f"{CALL}|leave copy out|mine")  # it names another call, or has the object's own words
PLAIN_TYPES = {np.dtype(name) for name in PLAIN}
ASARRAY = Refused(r"asarray\(.*device=", (TypeError,))


class Wrong(Exception):
    """What a call did instead of what is right."""


@dataclasses.dataclass(frozen=True)
class Case:
    """An object with one of its meanings, on a device."""

    object: Object
    meaning: np.ndarray | Refused
    device: usmpy.Device
    in_place: bool  # the device uses memory of the host where it is

    def make(self) -> Any:
        return self.object.make()

    @property
    def is_array(self) -> bool:
        return isinstance(self.meaning, np.ndarray)

    @property
    def is_scalar(self) -> bool:
        return isinstance(self.meaning, np.ndarray) and self.meaning.ndim == 0

    @property
    def like(self) -> np.ndarray:
        """The object's values; where it is refused, two numbers, so that a target has some shape."""
        return self.meaning if isinstance(self.meaning, np.ndarray) else np.zeros(2, "float32")

    def refusal(self, *errors: type[Exception]) -> Refused:
        """A refusal in any words, also with these errors."""
        own = self.meaning.errors if isinstance(self.meaning, Refused) else ERRORS
        return Refused("", (*own, *errors))

    def ours(self, a: np.ndarray) -> usmpy.USMArray:
        x = usmpy.empty(a.shape, dtype=usmpy.DType(a.dtype.name), device=self.device)
        if a.size:
            x.queue.memcpy(x, np.ascontiguousarray(a).reshape(-1).view("u1")).wait()
        return x

    def target(self) -> usmpy.USMArray:
        return self.ours(np.zeros_like(self.like, order="C"))

    def reads(self, call: Callable[[], Any], expected: np.ndarray | None = None) -> None:
        """The call gives the object's values (or `expected`), or refuses what is to be refused."""
        if isinstance(self.meaning, np.ndarray):
            same(call(), self.meaning if expected is None else expected)
        else:
            refuses(call, self.meaning)


def same(result: Any, expected: np.ndarray) -> None:
    if not isinstance(result, usmpy.USMArray):
        raise Wrong(f"a {type(result).__name__}")
    found = (result.dtype.name, result.shape)
    if found != (expected.dtype.name, expected.shape):
        raise Wrong(f"{found[0]} {found[1]}, not {expected.dtype.name} {expected.shape}")
    if result.asnumpy().tobytes() != expected.tobytes():
        raise Wrong(f"{str(result.tolist())[:60]}, not {str(expected.tolist())[:60]}")


def refuses(call: Callable[[], Any], refusal: Refused) -> None:
    """The call raises one of the errors of `refusal`, with its words, in a short message."""
    try:
        result = call()
    except Exception as error:
        told = str(error)
        if Exception in refusal.errors:
            return
        if type(error) not in refusal.errors:
            raise Wrong(f"{type(error).__name__}: {told[:100]}") from error
        if len(told) > LONGEST:
            raise Wrong(f"{len(told)} characters: {told[:100]}") from error
        if not re.search(refusal.words, told, re.DOTALL):
            raise Wrong(f"no {refusal.words} in: {told[:200]}") from error
    else:
        raise Wrong(f"taken: {str(result)[:100]}")


def _shared(made: Any) -> list[np.ndarray]:
    """NumPy's arrays over memory that the object shares by DLPack or as a buffer."""
    found = []
    for view in (np.from_dlpack, lambda made: np.asarray(memoryview(made))):
        with contextlib.suppress(Exception):  # it has no such protocol
            found.append(view(made))
    return [a for a in found if a.dtype in PLAIN_TYPES]


def views(made: Any) -> list[np.ndarray]:
    """The same, and what `numpy.asarray` makes, which may be a copy."""
    found = _shared(made)
    with contextlib.suppress(Exception):
        found.append(np.asarray(made))
    return [a for a in found if a.dtype in PLAIN_TYPES]


def memory(made: Any) -> np.ndarray | None:
    """One over an object's memory with strides in elements, where there is one."""
    found = [a for a in _shared(made) if all(stride % a.itemsize == 0 for stride in a.strides)]
    return found[0] if found and not isinstance(made, np.generic) else None


def _has_buffer(made: Any) -> bool:
    try:
        return memoryview(made) is not None
    except Exception:
        return False


def shares(x: usmpy.USMArray, made: Any) -> bool:
    for a in views(made):
        low, high = np.lib.array_utils.byte_bounds(a)
        if x.nbytes and a.nbytes and low <= x.data_ptr < high:
            return True
    return False


Entry = Callable[[Case], None]
READERS: dict[str, Entry] = {}
SHARERS: dict[str, Entry] = {}
OPERANDS: dict[str, Entry] = {}


def entry(kind: dict[str, Entry], name: str) -> Callable[[Entry], Entry]:
    def add(function: Entry) -> Entry:
        kind[name] = function
        return function

    return add


# -- what reads any object --------------------------------------------------------------------------


def _own(case: Case, **copy: bool) -> None:
    """A new, writable array of memory of kind "device", in order K; the source may be written at once."""
    made = case.make()
    case.reads(lambda: usmpy.asarray(made, device=case.device, **copy))
    if not isinstance(case.meaning, np.ndarray):
        return
    x = usmpy.asarray(made, device=case.device, **copy)
    if shares(x, made):
        raise Wrong("shares the memory")
    for a in views(made):
        if a.flags.writeable and a.flags.c_contiguous:
            a.reshape(-1).view("u1")[...] ^= 1
            break
    if x.asnumpy().tobytes() != case.meaning.tobytes():
        raise Wrong("changes with the source")
    if not x.flags.writable:
        raise Wrong("read-only")
    if x.usm_type != "device":
        raise Wrong(f"memory of kind {x.usm_type}")
    if case.meaning.flags.f_contiguous and not x.flags.f_contiguous:
        raise Wrong("not in order K")


@entry(READERS, "asarray")
def asarray(case: Case) -> None:
    _own(case)


@entry(READERS, "asarray copy=True")
def asarray_copy(case: Case) -> None:
    _own(case, copy=True)


@entry(READERS, "asarray of a list")
def asarray_list(case: Case) -> None:
    expected = np.stack([case.like, case.like])
    case.reads(lambda: usmpy.asarray([case.make(), case.make()], device=case.device), expected)


@entry(READERS, "copyto")
def copyto(case: Case) -> None:
    x = case.target()
    case.reads(lambda: (usmpy.copyto(x, case.make()), x)[1])


@entry(READERS, "x[...] =")
def setitem(case: Case) -> None:
    x = case.target()
    case.reads(lambda: (operator.setitem(x, ..., case.make()), x)[1])


@entry(READERS, "x[key]")
def key(case: Case) -> None:
    made, like = case.make(), case.like
    if made is None or made is ... or isinstance(made, tuple):
        return  # these have a meaning of their own
    numbers = np.arange(300, dtype="int32") if like.dtype != bool else np.ones(like.shape, "int32")
    x = case.ours(numbers)
    if not like.size and isinstance(made, (list, range)):
        like = like.astype(int)
    elif case.is_array and like.dtype.kind in "iu" and like.size and int(like.max()) >= 300:
        return refuses(lambda: x[made], Refused("", (IndexError,)))
    if case.is_array and like.dtype.kind in "biu":
        return same(x[made], np.asarray(numbers[like]))
    refuses(lambda: x[made], case.refusal(IndexError))
    return None


@entry(READERS, "take indices")
def take(case: Case) -> None:
    numbers = np.arange(300, dtype="int32")
    x, like = case.ours(numbers), case.like
    if case.is_array and like.dtype.kind in "iu":
        if int(like.max(initial=0)) >= 300:  # out of range: an IndexError where the host reads the indices
            return
        same(usmpy.take(x, case.make(), axis=0), np.asarray(numbers[like]))
    elif not (case.is_array and not like.size):  # the type of no elements is open
        refuses(lambda: usmpy.take(x, case.make(), axis=0), case.refusal(IndexError))


@entry(READERS, "put values")
def put(case: Case) -> None:
    x = case.target()
    if case.like.ndim > 1:
        return
    indices = usmpy.arange(x.size, device=case.device)
    flat = x.reshape(x.size)
    case.reads(lambda: (usmpy.put(flat, indices, case.make()), flat)[1], case.like.reshape(-1))


@entry(READERS, "put_along_axis values")
def put_along_axis(case: Case) -> None:
    x = case.target()
    if case.like.ndim != 1:
        return
    indices = usmpy.arange(x.size, device=case.device)
    case.reads(lambda: (usmpy.put_along_axis(x, indices, case.make()), x)[1])


@entry(READERS, "full")
def full(case: Case) -> None:
    case.reads(
        lambda: usmpy.full((2, *case.like.shape), case.make(), device=case.device), np.stack([case.like] * 2)
    )


# -- what uses the memory of the object -------------------------------------------------------------


def _share(
    case: Case, made: Any, call: Callable[[], usmpy.USMArray], *, must: bool, copies: bool = False
) -> None:
    """The result has the object's memory (`copies`: or a copy), or the call refuses unless `must`."""
    if not isinstance(case.meaning, np.ndarray):
        return refuses(call, case.refusal())
    if not must:
        try:
            call()
        except Exception:
            return refuses(call, MEMORY)
    x = call()
    same(x, case.meaning)
    if not copies and x.size and memory(made) is not None and not shares(x, made):
        raise Wrong("a copy")
    return None


@entry(SHARERS, "asarray copy=False")
def asarray_share(case: Case) -> None:
    made = case.make()
    must = case.in_place and memory(made) is not None
    _share(case, made, lambda: usmpy.asarray(made, device=case.device, copy=False), must=must)


@entry(SHARERS, "from_dlpack")
def from_dlpack(case: Case) -> None:
    made = case.make()
    call = lambda: usmpy.from_dlpack(made, device=case.device)  # noqa: E731
    if getattr(type(made), "__dlpack__", None) is None:
        return refuses(call, Refused("asarray" if case.is_array else "", (TypeError,)))
    return _share(case, made, call, must=memory(made) is not None, copies=not case.in_place)


@entry(SHARERS, "borrow")
def borrow(case: Case) -> None:
    made = case.make()

    def call() -> usmpy.USMArray:
        with usmpy.borrow(made, case.device.queue) as x:
            if case.is_array:
                same(x, case.like)
                if x.size and memory(made) is not None and not shares(x, made):
                    raise Wrong("a copy")
        return x

    if case.is_array and case.in_place and hasattr(type(made), "__dlpack__") and memory(made) is not None:
        call()
    elif case.is_array:
        try:
            call()
        except Wrong:
            raise
        except Exception:
            refuses(call, MEMORY)
    else:
        if not getattr(made, "requires_grad", False):  # taken by borrow alone
            refuses(call, case.refusal())


@entry(SHARERS, "memcpy source")
def memcpy_source(case: Case) -> None:
    made, x = case.make(), case.target()

    def call() -> usmpy.USMArray:
        x.queue.memcpy(x, made).wait()
        return x

    contiguous = _has_buffer(made) and memoryview(made).contiguous
    if not case.is_array and contiguous:
        return None  # bytes are copied as they are
    if not case.is_array:
        return refuses(call, REFUSED)
    if not (contiguous and memory(made) is not None):
        try:
            call()
        except Exception:
            return refuses(call, MEMORY)
    if call().asnumpy().tobytes() != case.like.tobytes("A"):  # in the order of the memory
        raise Wrong(f"{x.tolist()}, not {case.like.tolist()}")
    return None


def _writes(
    case: Case, call: Callable[[usmpy.USMArray, Any], Any], must: Callable[[Any, np.ndarray], bool]
) -> None:
    """The call writes zeros into the object's memory, or refuses unless it `must`, and leaves it."""
    made = case.make()
    shared = memory(made)
    like = shared if shared is not None and case.is_array else case.like
    zeros = case.ours(np.zeros_like(like, order="C"))
    before = [a.tobytes() for a in views(made)]
    try:
        call(zeros, made)
    except Exception as error:
        if (
            case.is_array
            and shared is not None
            and shared.flags.writeable
            and shared.size
            and must(made, shared)
        ):
            raise
        if before != [a.tobytes() for a in views(made)]:
            raise Wrong("refused and written") from error
        refuses(
            lambda: call(zeros, made),
            MEMORY if case.is_array and shared is not None and shared.flags.writeable else REFUSED,
        )
    else:
        if not case.is_array or (shared is not None and not shared.flags.writeable):
            raise Wrong("taken")
        if (usmpy.from_dlpack(made).asnumpy() if shared is None else shared).any():
            raise Wrong("taken, and not written")


@entry(SHARERS, "memcpy destination")
def memcpy_destination(case: Case) -> None:
    _writes(
        case,
        lambda x, made: x.queue.memcpy(made, x).wait(),
        lambda made, a: _has_buffer(made) and a.flags.forc,
    )


@entry(SHARERS, "copyto destination")
def copyto_destination(case: Case) -> None:
    _writes(case, lambda x, made: usmpy.copyto(made, x), lambda made, a: True)


# -- operators, and parameters that take USMArrays and numbers -------------------------------------


def _is_foreign(made: Any, method: str) -> bool:
    """The other library's own method decides."""
    return type(made).__module__ not in ("builtins", "numpy") and hasattr(type(made), method)


def _operand(case: Case, call: Callable[[Any, usmpy.USMArray], Any], foreign: str = "") -> None:
    made = case.make()
    a = np.array([1, 2, 3], "float32")
    x = case.ours(a)
    if case.is_scalar and not _is_foreign(made, foreign):
        number = case.like.item()
        try:
            expected = call(number, x)
        except Exception as error:
            return refuses(lambda: call(made, x), Refused("", (type(error),)))
        return same(call(made, x), expected.asnumpy())
    if foreign and _is_foreign(made, foreign):
        try:
            result = np.asarray(call(made, x))
        except Exception:
            return None
        if (
            case.is_array
            and result.dtype != object
            and not np.array_equal(result, np.asarray(call(case.like, a)))
        ):
            raise Wrong(f"the other library makes {str(result)[:100]}")
        return None
    refuses(lambda: call(made, x), ASARRAY if case.is_array else case.refusal())
    return None


@entry(OPERANDS, "x + obj")
def add(case: Case) -> None:
    _operand(case, lambda made, x: x + made, "__radd__")


@entry(OPERANDS, "obj + x")
def reflected_add(case: Case) -> None:
    _operand(case, lambda made, x: made + x, "__add__")


@entry(OPERANDS, "x == obj")
def equal(case: Case) -> None:
    made = case.make()
    x = case.ours(np.array([1, 2, 3], "float32"))
    if case.is_array and not isinstance(made, bytes):
        return _operand(case, lambda made, x: x == made)
    has_elements = any(hasattr(type(made), name) for name in PROTOCOLS)
    if not has_elements and type(made).__eq__ is object.__eq__ and (x == made) is not False:
        raise Wrong("does not differ")
    if has_elements:
        try:
            differs = (x == made) is False
        except Exception:
            differs = False
        if not differs:
            refuses(lambda: x == made, REFUSED)
    return None


@entry(OPERANDS, "maximum")
def maximum(case: Case) -> None:
    _operand(case, lambda made, x: usmpy.maximum(x, made))


@entry(OPERANDS, "clip")
def clip(case: Case) -> None:
    if case.make() is not None:  # no limit
        _operand(case, lambda made, x: usmpy.clip(x, made))


@entry(OPERANDS, "where")
def where(case: Case) -> None:
    condition = case.ours(np.array([True, False, True]))
    _operand(case, lambda made, x: usmpy.where(condition, x, made))


@entry(OPERANDS, "where of two")
def where_of_two(case: Case) -> None:
    condition = case.ours(np.array([True, False]))
    call = lambda: usmpy.where(condition, case.make(), case.make())  # noqa: E731
    if case.is_scalar:
        same(call(), np.stack([case.like] * 2))
    else:
        refuses(call, ASARRAY if case.is_array else case.refusal())


@entry(OPERANDS, "concat")
def concat(case: Case) -> None:
    _operand(case, lambda made, x: usmpy.concat([x, made]))


@entry(OPERANDS, "stack")
def stack(case: Case) -> None:
    _operand(case, lambda made, x: usmpy.stack([x, made]))


@functools.cache
def kernels(device: usmpy.Device) -> tuple[usmpy.Kernel, usmpy.ElementwiseKernel]:
    """Of a device; who runs entries clears them afterwards."""
    source = "kernel void keep(global float *x, float value) { x[get_global_id(0)] = value; }"
    copy = usmpy.ElementwiseKernel("float32 x, float32 value", "float32 y", "y = value")
    return usmpy.Program(source, device=device)["keep"], copy


def _value(case: Case, call: Callable[[usmpy.USMArray, Any], usmpy.USMArray]) -> None:
    """A parameter that is a number: it takes those of all libraries, and reads nothing else as one."""
    made, x = case.make(), case.ours(np.zeros(2, "float32"))
    if isinstance(made, (bytes, bytearray, memoryview)) and not case.is_scalar:
        return None  # the bytes of a value
    if case.is_scalar and case.like.dtype.kind != "c":
        number = case.like.item()
        if int(number) == number and int(np.float32(number)) != number:
            return refuses(lambda: call(x, made), Refused("without loss"))
        return same(call(x, made), np.full(2, number, "float32"))
    return refuses(lambda: call(x, made), REFUSED)


@entry(OPERANDS, "kernel value")
def kernel_value(case: Case) -> None:
    kernel = kernels(case.device)[0]
    _value(case, lambda x, made: (kernel[2](x, made).wait(), x)[1])


@entry(OPERANDS, "ElementwiseKernel value")
def elementwise_value(case: Case) -> None:
    kernel = kernels(case.device)[1]
    _value(case, lambda x, made: kernel(x, made))


@entry(OPERANDS, "kernel array")
def kernel_array(case: Case) -> None:
    kernel, made = kernels(case.device)[0], case.make()
    if made is not None:  # a null pointer
        refuses(lambda: kernel[2](made, 1.0), ASARRAY if case.is_array else REFUSED)


@entry(OPERANDS, "linspace")
def linspace(case: Case) -> None:
    if case.is_scalar and (case.like.dtype.kind == "c" or case.like.item() > 2**53):
        return  # refused, and rounded
    make = lambda x, made: usmpy.linspace(made, made, 2, dtype="float32", device=case.device)  # noqa: E731
    _value(case, make)


@entry(OPERANDS, "axis")
def axis(case: Case) -> None:
    made, x = case.make(), case.ours(np.ones((1, 2), "float32"))
    if made is None or (case.is_array and case.like.ndim == 1) or getattr(made, "size", 1) == 0:
        return None
    if case.is_scalar and case.like.dtype == bool:
        return None  # Python's are ints, others are not
    if case.is_scalar and case.like.dtype.kind in "iu" and hasattr(made, "__index__") and case.like == 1:
        return same(usmpy.sum(x, axis=made), np.full(1, 2, "float32"))
    return refuses(lambda: usmpy.sum(x, axis=made), Refused("", (*ERRORS, usmpy.AxisError, RuntimeError)))


@entry(OPERANDS, "searchsorted")
def searchsorted(case: Case) -> None:
    _operand(case, lambda made, x: usmpy.searchsorted(x, made))


ENTRIES = READERS | SHARERS | OPERANDS
