"""Bad input to every public callable: the exception's class, a message that names it, no trace left."""

import inspect

import numpy as np
import pytest
from together import together

import usmpy

NOT_INTS = ["1", 1.5, None, [1], 1j]
NOT_DTYPES = ["floot", 1, object(), ">f4", "f3", "", np.dtype(">i2"), np.dtype("U3")]
NOT_QUEUES = [1, "host", object()]
NOT_BOOLS = [1, "yes", [], 0.0]
NOT_PLACES = [1, 1.5, [], object()]


def rejected(error, match, *cases):
    return [pytest.param(case, error, match, id=f"{i}-{match}") for i, case in enumerate(cases)]


def each(values, call, error, match):
    """One case a value; `call` makes the case of a value."""
    return rejected(error, match, *[lambda s, v=value: call(s, v) for value in values])


# s: what a case may use. Each case is one call that must raise.
TABLE = [
    # creation
    *each(NOT_INTS[:2] + NOT_INTS[4:], lambda s, v: usmpy.empty(v, queue=s.q), TypeError, "shape"),
    *each(
        [{}, {3: 2}, {3, 2}, frozenset(), b"ab", {}.keys()],
        lambda s, v: usmpy.zeros(v, queue=s.q),
        TypeError,
        "shape",
    ),
    *each([{1: 2}, {2}], lambda s, v: usmpy.tile(s.x, v), TypeError, "repetitions"),
    *each([{1: 2}, {4}], lambda s, v: usmpy.reshape(s.x, v), TypeError, "shape"),
    *each([{0: 1}, {0}], lambda s, v: usmpy.permute_dims(s.x, v), TypeError, "axes"),
    *each([{}, "x", 1], lambda s, v: usmpy.get_execution_queue(v), TypeError, "queues"),
    *each(NOT_INTS, lambda s, v: usmpy.zeros((2, v), queue=s.q), TypeError, "shape"),
    *each([-1, (1, -1), 2**63, (2**32, 2**32)], lambda s, v: usmpy.ones(v, queue=s.q), ValueError, "shape"),
    *each(NOT_DTYPES, lambda s, v: usmpy.empty(1, dtype=v, queue=s.q), TypeError, "dtype"),
    *each(NOT_QUEUES, lambda s, v: usmpy.empty(1, queue=v), TypeError, "queue"),
    *each(NOT_PLACES, lambda s, v: usmpy.empty(1, device=v), TypeError, "device"),
    *each([1, b"device"], lambda s, v: usmpy.empty(1, usm_type=v, queue=s.q), TypeError, "usm_type"),
    *each(["", "gpu", "Device"], lambda s, v: usmpy.empty(1, usm_type=v, queue=s.q), ValueError, "usm_type"),
    *each(["c", "K", ""], lambda s, v: usmpy.USMArray(1, order=v, queue=s.q), ValueError, "order"),
    *each([1, b"C"], lambda s, v: usmpy.USMArray(1, order=v, queue=s.q), TypeError, "order"),
    *each(["Z", "CF", "K"], lambda s, v: usmpy.zeros(1, order=v, queue=s.q), ValueError, "order"),
    *each(["Z", "CF", ""], lambda s, v: usmpy.zeros_like(s.x, order=v), ValueError, "order"),
    *each(["Z", "c"], lambda s, v: s.x.copy(order=v), ValueError, "order"),
    *each(["Z", "K"], lambda s, v: usmpy.reshape(s.x, (4,), order=v), ValueError, "order"),
    *each(["Z", "k"], lambda s, v: usmpy.asarray(s.x, order=v), ValueError, "order"),
    *each(["1", {1: 2}, object()], lambda s, v: usmpy.full(2, v, queue=s.q), TypeError, "fill_value"),
    *each(
        [np.zeros(3), np.zeros((2, 2, 2))],
        lambda s, v: usmpy.full((2, 2), v, queue=s.q),
        ValueError,
        "fill_value",
    ),
    *each([1, None, [1], np.zeros(2)], lambda s, v: usmpy.zeros_like(v), TypeError, "x is a"),
    *each([1, None, [1]], lambda s, v: usmpy.full_like(v, 1), TypeError, "x is a"),
    *each(NOT_INTS[:2] + NOT_INTS[3:], lambda s, v: usmpy.eye(v, queue=s.q), TypeError, "n_rows"),
    *each(["1", 1.5], lambda s, v: usmpy.eye(1, v, queue=s.q), TypeError, "n_cols"),
    *each(["1", 1.5], lambda s, v: usmpy.eye(1, k=v, queue=s.q), TypeError, "k is"),
    *each([-1], lambda s, v: usmpy.eye(v, queue=s.q), ValueError, "shape"),
    *each(NOT_BOOLS, lambda s, v: usmpy.linspace(0, 1, 2, endpoint=v, queue=s.q), TypeError, "endpoint"),
    *each(NOT_BOOLS, lambda s, v: usmpy.asarray(1, copy=v, queue=s.q), TypeError, "copy"),
    # manipulation
    *each([1, None, np.zeros(4)], lambda s, v: usmpy.reshape(v, (2, 2)), TypeError, "x is a"),
    *each(["4", 4.0, (2.0, 2)], lambda s, v: usmpy.reshape(s.x, v), TypeError, "shape"),
    *each(NOT_BOOLS, lambda s, v: usmpy.reshape(s.x, (4,), copy=v), TypeError, "copy"),
    *each([1, None], lambda s, v: usmpy.permute_dims(v, (0,)), TypeError, "x is a"),
    *each(["0", 1.5, (0.0,)], lambda s, v: usmpy.permute_dims(s.x, v), TypeError, "axes"),
    *each([(0, 0), (), (0, 0)], lambda s, v: usmpy.permute_dims(s.x, v), ValueError, "axes"),
    *each([1, (1,), -2, 2**70], lambda s, v: usmpy.squeeze(s.x, v), usmpy.AxisError, "axis"),
    *each(["0", {0}, 0.0], lambda s, v: usmpy.squeeze(s.x, v), TypeError, "axis"),
    *each([3, -3, -(2**70), (0, 3)], lambda s, v: usmpy.expand_dims(s.x, axis=v), usmpy.AxisError, "axis"),
    *each(["0", 1.0, ("0",), {0}, {0: 1}], lambda s, v: usmpy.expand_dims(s.x, axis=v), TypeError, "axis"),
    *each([(0, 0), (0, -3, 1)], lambda s, v: usmpy.expand_dims(s.x, axis=v), ValueError, "axis"),
    *each([(0,) * 64], lambda s, v: usmpy.expand_dims(s.x, axis=v), ValueError, "more than 64"),
    *each([1, (0, 1), -2], lambda s, v: usmpy.flip(s.x, axis=v), usmpy.AxisError, "axis"),
    *each([1, -2], lambda s, v: usmpy.swapaxes(s.x, 0, v), usmpy.AxisError, "axis2"),
    *each(["0", 0.5, None], lambda s, v: usmpy.swapaxes(s.x, v, 0), TypeError, "axis1"),
    *each([(0, 0), (0, -1)], lambda s, v: usmpy.flip(s.x, axis=v), ValueError, "axis"),
    *each(["2", 2.5, (1, "2")], lambda s, v: usmpy.broadcast_to(s.x, v), TypeError, "shape"),
    *each(NOT_DTYPES, lambda s, v: usmpy.astype(s.x, v), TypeError, "dtype"),
    *each(NOT_DTYPES, lambda s, v: s.x.astype(v), TypeError, "dtype"),
    *each(NOT_BOOLS, lambda s, v: s.x.astype("int8", copy=v), TypeError, "copy"),
    *each(NOT_PLACES, lambda s, v: usmpy.astype(s.x, "int8", device=v), TypeError, "device"),
    *each([1, None, "x", [1]], lambda s, v: usmpy.copyto(v, s.x), TypeError, "dst"),
    *each(["sloppy", ""], lambda s, v: usmpy.copyto(s.x, s.x, casting=v), ValueError, "casting"),
    *each([1, None], lambda s, v: usmpy.copyto(s.x, s.x, casting=v), TypeError, "casting"),
    *each(
        [np.zeros(3, "int32"), np.zeros((2, 4), "int32")],
        lambda s, v: usmpy.copyto(s.x, v),
        ValueError,
        "src",
    ),
    # placement
    *each(NOT_PLACES, lambda s, v: s.x.to_device(v), TypeError, "device"),
    *each(NOT_QUEUES, lambda s, v: s.x.to_device(s.q, stream=v), TypeError, "stream"),
    *each(["gpux", "host:", ""], lambda s, v: s.x.to_device(v), ValueError, "selector"),
    # queues
    *each(NOT_PLACES, lambda s, v: usmpy.Queue(v), TypeError, "device"),
    *each(NOT_QUEUES, lambda s, v: usmpy.Queue(s.q, context=v), TypeError, "context"),
    *each(NOT_BOOLS, lambda s, v: usmpy.Queue(s.q, in_order=v), TypeError, "in_order"),
    *each(NOT_BOOLS, lambda s, v: usmpy.Queue(s.q, profiling=v), TypeError, "profiling"),
    *each(["fast", ""], lambda s, v: usmpy.Queue(s.q, priority=v), ValueError, "priority"),
    *each([1, None], lambda s, v: usmpy.Queue(s.q, priority=v), TypeError, "priority"),
    *each([1, "x", None, np.zeros(2)], lambda s, v: s.q.prefetch(v), TypeError, "x is a"),
    *each([1, "x", None, object()], lambda s, v: s.q.wait_for(v), TypeError, "other"),
    *each([1, [1], "x", object()], lambda s, v: s.q.barrier(v), TypeError, "depends"),
    *each([1, [1], object()], lambda s, v: s.q.memcpy(s.x, s.x, depends=v), TypeError, "depends"),
    *each([1, [1], object()], lambda s, v: s.q.fill(s.x, 1, depends=v), TypeError, "depends"),
    *each([1, [1], object()], lambda s, v: s.q.keep_alive([], v), TypeError, "depends"),
    # others
    *each([1, None, "x"], lambda s, v: usmpy.from_dlpack(v), TypeError, "x"),
    *each(["2000.01", ""], lambda s, v: s.x.__array_namespace__(api_version=v), ValueError, "api_version"),
]


class Things:
    def __init__(self, queue):
        self.q = queue
        self.x = usmpy.arange(4, dtype="int32", queue=queue)


@pytest.mark.parametrize(("call", "error", "match"), TABLE)
def test_bad_input(queue, call, error, match):
    things = Things(queue)
    things.x.wait()
    with pytest.raises(error, match=match) as caught:
        call(things)
    assert type(caught.value) is error
    del caught
    queue.wait()
    assert things.x.tolist() == [0, 1, 2, 3]
    usmpy.copyto(things.x, 5)
    assert things.x.tolist() == [5] * 4


CALLABLES = {
    name: getattr(usmpy, name)
    for name in usmpy.__all__
    if callable(getattr(usmpy, name)) and not isinstance(getattr(usmpy, name), type)
}
TAKES_NOTHING = ("select_default_device", "diagnose")
TAKES_ANY_NUMBER = ("broadcast_shapes",)  # of ints, too


@together("name", CALLABLES)
def test_unknown_keywords_and_missing_arguments(name):
    function = CALLABLES[name]
    # The second is CPython's sentence for functions whose parameters all are positional.
    with pytest.raises(TypeError, match=rf"nonsense|{name}\(\) takes no keyword arguments"):
        function(*([0] * required(function)), nonsense=1)
    if required(function):
        with pytest.raises(
            TypeError, match=r"missing|required|at least|takes exactly one argument \(0 given\)"
        ):
            function()
    if name not in TAKES_NOTHING + TAKES_ANY_NUMBER:
        with pytest.raises(TypeError):
            function(*range(40))


def required(function) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
    )


@together("name", CALLABLES)
def test_signatures_can_be_read(name):
    assert inspect.signature(CALLABLES[name]) is not None
    assert CALLABLES[name].__doc__


@pytest.mark.parametrize(
    ("owner", "name"),
    [(usmpy.Queue, n) for n in ("memcpy", "fill", "prefetch", "barrier", "keep_alive", "wait", "wait_for")]
    + [(usmpy.USMArray, n) for n in ("to_device", "astype", "wait", "lend", "__dlpack__")]
    + [(usmpy.Event, "wait"), (usmpy.Device, "create_sub_devices")],
)
def test_methods_refuse_unknown_keywords(queue, owner, name):
    instance = {usmpy.Queue: queue, usmpy.Device: queue.device}.get(owner)
    if owner is usmpy.USMArray:
        instance = usmpy.zeros(1, queue=queue)
    elif owner is usmpy.Event:
        instance = queue.barrier()
    method = getattr(instance, name)
    with pytest.raises(TypeError, match="nonsense"):
        method(*([1] * required(method)), nonsense=1)
    with pytest.raises(TypeError):
        method(*range(40))


def test_an_argument_twice():
    with pytest.raises(TypeError, match="multiple values"):
        usmpy.zeros(1, shape=2)
    with pytest.raises(TypeError, match="multiple values"):
        usmpy.Queue("host").memcpy(b"", dst=b"")


def test_keywords_that_are_not_interned(queue):
    name = "".join(["us", "m_", "type"])
    assert usmpy.zeros(1, queue=queue, **{name: "host"}).usm_type == "host"
    with pytest.raises(TypeError):
        usmpy.zeros(1, **{1: 2})


ERRORS = [usmpy.UsmError, usmpy.BackendUnavailable, usmpy.DeviceNotFound, usmpy.BuildError]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_of_drivers_have_their_facts(error):
    assert issubclass(error, usmpy.UsmError)
    assert issubclass(error, RuntimeError)
    made = error("text", backend="opencl", code=-5, name="CL_OUT_OF_RESOURCES")
    assert (str(made), made.backend, made.code, made.name) == ("text", "opencl", -5, "CL_OUT_OF_RESOURCES")
    assert (error().backend, error().code, error().name) == (None, 0, None)


@pytest.mark.parametrize(
    "make", [usmpy.Device, usmpy.Queue, usmpy.Context, usmpy.USMArray, usmpy.Program, usmpy.LocalMemory]
)
def test_types_refuse_unknown_keywords(make):
    with pytest.raises(TypeError, match="nonsense"):
        make(nonsense=1)
    with pytest.raises(TypeError):
        make(*range(40))


class NoIndex:
    def __index__(self):
        raise ZeroDivisionError


def test_extents_that_raise():
    for call in (lambda: usmpy.Range(NoIndex()), lambda: usmpy.LocalMemory(NoIndex())):
        with pytest.raises(ZeroDivisionError):
            call()


class Raises:
    """An argument whose own exception goes through."""

    @property
    def ndim(self):
        raise ZeroDivisionError

    def __len__(self):
        raise ZeroDivisionError

    def __getitem__(self, i):
        return 0


def test_exceptions_of_arguments(queue):
    x = usmpy.zeros(2, queue=queue)
    with pytest.raises(ZeroDivisionError):
        usmpy.arange(Raises(), queue=queue)
    with pytest.raises(ZeroDivisionError):
        usmpy.expand_dims(x, axis=Raises())
    with pytest.raises(TypeError, match="queues is a bytearray"):
        usmpy.get_execution_queue(bytearray(b"a"))


class RaisesAsIndex:
    def __index__(self):
        raise ZeroDivisionError


def test_arguments_of_waits_and_copies(queue):
    x = usmpy.zeros(4, queue=queue)
    with pytest.raises(TypeError, match="missing"):
        usmpy.Event.wait_all()
    with pytest.raises(ValueError, match="timeout"):
        usmpy.Event.wait_all([], timeout=-1)
    with pytest.raises(ZeroDivisionError):
        queue.memcpy(x, x, RaisesAsIndex())
    with pytest.raises(TypeError, match="missing"):
        queue.device.same_device()
    with pytest.raises(TypeError, match="at most 1 positional"):
        usmpy.Device.create_device(queue.device, queue.device)
    with pytest.raises(ValueError, match="surrogates"):
        usmpy.zeros(4, dtype="\udc80", queue=queue)
