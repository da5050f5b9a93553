"""Which way arrays of a type are taken in: exchange table, versioned call or legacy call."""

from __future__ import annotations

import ctypes
import functools
import sys
import types

import producers
import pytest
from producers import CPU, Producer, Tensor, make_table

import usmpy


class TableMixin:
    """Answers through a table and through __dlpack__, and says which it was."""

    def __init__(self):
        self.tensors = []
        self.routes = []

    def make_tensor(self):
        self.routes.append("table")
        self.tensors.append(Tensor())
        return self.tensors[-1]

    def __dlpack__(self, **keywords):
        self.routes.append("method" if keywords else "legacy")
        self.tensors.append(Tensor())
        return self.tensors[-1].capsule()

    def __dlpack_device__(self):
        return (CPU, 0)


TABLE = make_table(producers.ask_for_tensor)


class WithTable(TableMixin):
    __dlpack_c_exchange_api__ = TABLE


def routes_of(*objects):
    """The route of each object, taken twice: the second time from the cache."""
    seen = []
    for x in objects:
        for _ in range(2):
            array = usmpy.from_dlpack(x)
            assert array.shape == (3,)
            del array
        assert x.routes[0] == x.routes[1]
        assert [tensor.deleted for tensor in x.tensors] == [1, 1]
        seen.append(x.routes[0])
    return seen


# -- table or method -------------------------------------------------------------------------------


def test_the_table_comes_before_the_method():
    assert routes_of(WithTable()) == ["table"]


def test_a_subclass_inherits_the_table():
    class Child(WithTable):
        pass

    assert routes_of(Child()) == ["table"]


def test_a_subclass_that_overrides_the_method_after_the_table_is_asked_by_method():
    class Child(WithTable):
        def __dlpack__(self, **keywords):
            return super().__dlpack__(**keywords)

    class Grandchild(Child):
        pass

    class Again(Grandchild):
        __dlpack_c_exchange_api__ = TABLE

    assert routes_of(Child(), Grandchild(), Again()) == ["method", "method", "table"]


def test_the_method_resolution_order_decides_with_several_bases():
    class Method:
        def __dlpack__(self, **keywords):
            return TableMixin.__dlpack__(self, **keywords)

    class MethodFirst(Method, WithTable):
        pass

    class TableFirst(WithTable, Method):
        pass

    assert routes_of(MethodFirst(), TableFirst()) == ["method", "table"]


NO_TABLES = {
    "None": lambda: None,
    "no capsule": lambda: 42,
    "another name": lambda: make_table(producers.ask_for_tensor, name="dlpack_exchange_api2"),
    "major 0": lambda: make_table(producers.ask_for_tensor, version=(0, 9)),
    "major 2": lambda: make_table(producers.ask_for_tensor, version=(2, 0)),
    "no function": lambda: make_table(None),
    "no stream function": lambda: make_table(producers.ask_for_tensor, current_work_stream=None),
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_an_invalid_table_is_ignored(what):
    class Child(WithTable):
        __dlpack_c_exchange_api__ = NO_TABLES[what]()

    assert routes_of(Child()) == ["method"]


def test_an_older_table_after_a_newer_one_is_found():
    older = producers.api.PyCapsule_GetPointer(TABLE, producers.TABLE_NAME)

    class Child(WithTable):
        __dlpack_c_exchange_api__ = make_table(None, version=(2, 0), prev_api=older)

    assert routes_of(Child()) == ["table"]


def test_a_newer_minor_version_of_the_table_is_used():
    class Child(WithTable):
        __dlpack_c_exchange_api__ = make_table(producers.ask_for_tensor, version=(1, 99))

    assert routes_of(Child()) == ["table"]


def test_only_the_official_name_on_the_type_counts():
    class Draft(TableMixin):
        __c_dlpack_exchange_api__ = TABLE

    class OnInstance(TableMixin):
        pass

    instance = OnInstance()
    instance.__dlpack_c_exchange_api__ = TABLE
    assert routes_of(Draft(), instance) == ["method", "method"]


def test_a_type_with_a_table_alone_is_taken():
    class Alone:
        __dlpack_c_exchange_api__ = TABLE

        def make_tensor(self):
            return Tensor((2,))

    assert usmpy.from_dlpack(Alone()).shape == (2,)
    assert usmpy.asarray(Alone()).shape == (2,)


# -- failures of a table ---------------------------------------------------------------------------


class Failing(TableMixin):
    __dlpack_c_exchange_api__ = make_table(producers.FAILS_WITH_EXCEPTION_OF_BOOL)

    def __init__(self, error):
        super().__init__()
        self.error = error

    def __bool__(self):
        self.routes.append("table")
        raise self.error


class Wordless(ValueError):
    def __str__(self):
        raise ZeroDivisionError


CHAINED = [
    (BufferError("no"), "BufferError: no"),
    (TypeError("unexpected keyword argument"), "TypeError: unexpected keyword argument"),
    (ValueError("max_version"), "ValueError: max_version"),
    (AttributeError("__dlpack__"), "AttributeError: __dlpack__"),
    (KeyError(3), "KeyError: 3"),
    (RuntimeError("no storage\nframe 1\nframe 2"), "RuntimeError: no storage"),
    (NotImplementedError(), "NotImplementedError"),
    (Wordless(), "Wordless"),
    (type("E" * 900, (TypeError,), {})("keyword " * 900), None),
]
UNCHANGED = [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), MemoryError()]


def check_error_of_producer(x, error, words):
    """It is the cause of a BufferError of one sentence, or comes unchanged."""
    with pytest.raises(BaseException) as raised:
        usmpy.from_dlpack(x)
    if words == "unchanged":
        assert raised.value is error
    else:
        assert type(raised.value) is BufferError
        assert raised.value.__cause__ is error
        text = str(raised.value)
        assert len(text) <= 400
        assert len(text.splitlines()) == 1
        assert words is None or text.endswith(f" failed: {words}")


errors_of_producers = pytest.mark.parametrize(
    ("error", "words"),
    [*CHAINED, *((error, "unchanged") for error in UNCHANGED)],
    ids=lambda value: type(value).__name__[:20] if isinstance(value, BaseException) else "",
)


@errors_of_producers
def test_an_error_of_a_table_function_is_told_in_a_sentence(error, words):
    x = Failing(error)
    check_error_of_producer(x, error, words)
    assert x.routes == ["table"]  # and no other way is tried


def test_a_table_function_that_fails_without_an_exception_is_buffer_error():
    class Silent(WithTable):
        def make_tensor(self):
            return None

    with pytest.raises(BufferError, match="without an exception"):
        usmpy.from_dlpack(Silent())


@pytest.mark.parametrize("fields", [{"version": (2, 0)}, {"dtype": (2, 80, 1)}, {"device": (99, 0)}], ids=str)
def test_a_bad_tensor_from_a_table_is_deleted_once(fields):
    class Bad(WithTable):
        def make_tensor(self):
            self.tensors.append(Tensor(**fields))
            return self.tensors[-1]

    x = Bad()
    with pytest.raises(BufferError):
        usmpy.from_dlpack(x)
    assert [tensor.deleted for tensor in x.tensors] == [1]


# -- lazily conjugated or negated tensors ----------------------------------------------------------


class Lazy(TableMixin):
    __dlpack_c_exchange_api__ = TABLE

    def __init__(self, fields, conj=False, neg=False):
        super().__init__()
        self.fields, self.conj, self.neg = fields, conj, neg
        self.asked = 0

    def is_conj(self):
        self.asked += 1
        return self.conj

    def is_neg(self):
        self.asked += 1
        return self.neg

    def make_tensor(self):
        self.tensors.append(Tensor(**self.fields))
        return self.tensors[-1]


CAN_BE_LAZY = {
    "complex": {"dtype": (5, 64, 1)},
    "strided": {"shape": (2,), "strides": (2,), "memory": 64},
    "one element": {"shape": (1,)},
    "0-d": {"shape": ()},
}


@pytest.mark.parametrize("bit", ["conj", "neg"])
@pytest.mark.parametrize("what", CAN_BE_LAZY)
def test_a_lazy_tensor_from_a_table_is_refused(what, bit):
    x = Lazy(CAN_BE_LAZY[what], **{bit: True})
    with pytest.raises(BufferError, match="conjugate or negative bit"):
        usmpy.from_dlpack(x)
    assert [tensor.deleted for tensor in x.tensors] == [1]
    plain = Lazy(CAN_BE_LAZY[what])
    assert usmpy.from_dlpack(plain).size > 0
    assert plain.asked == 2


def test_a_tensor_that_cannot_be_lazy_is_not_asked():
    x = Lazy({"shape": (2, 3)}, conj=True)
    assert usmpy.from_dlpack(x).shape == (2, 3)
    assert x.asked == 0


@pytest.mark.parametrize(
    "fields",
    [{"shape": None, "ndim": 2}, {"ndim": 65}, {"ndim": -1}, {"ndim": 2**31 - 1}, {"shape": (2**62, 2**62)}],
    ids=str,
)
def test_a_malformed_tensor_of_a_type_that_may_be_lazy_is_buffer_error(fields):
    x = Lazy({**fields, "memory": 64})
    with pytest.raises(BufferError):
        usmpy.from_dlpack(x)
    assert [tensor.deleted for tensor in x.tensors] == [1]


def test_an_error_of_the_question_propagates_and_the_tensor_is_deleted():
    class Broken(Lazy):
        def is_conj(self):
            raise ZeroDivisionError

    x = Broken(CAN_BE_LAZY["complex"])
    with pytest.raises(ZeroDivisionError):
        usmpy.from_dlpack(x)
    assert [tensor.deleted for tensor in x.tensors] == [1]


# -- the versioned call, the legacy call -----------------------------------------------------------


def test_the_first_call_names_our_version_and_nothing_else():
    x = Producer(lambda: Tensor().capsule())
    usmpy.from_dlpack(x)
    usmpy.from_dlpack(x, copy=True)
    usmpy.from_dlpack(x, device=(CPU, 0))
    assert x.calls == [{"max_version": (1, 3)}] * 3


def test_an_old_producer_is_called_again_without_keywords_and_remembered():
    class Old:
        bound = 0

        def __dlpack__(self, stream=None):
            Old.bound += 1
            assert stream is None
            return Tensor(versioned=False).capsule()

    assert usmpy.from_dlpack(Old()).shape == (3,)
    assert usmpy.from_dlpack(Old()).shape == (3,)
    assert Old.bound == 2


def binding_error(signature):
    """A class whose __dlpack__ does not take max_version, in one of many ways."""
    calls = []

    def make(self=None):
        calls.append(1)
        return Tensor(versioned=False).capsule()

    class Old:
        pass

    if signature == "python, no arguments":
        Old.__dlpack__ = lambda self: make()
    elif signature == "python, positional only":
        Old.__dlpack__ = lambda self, stream=None, /: make()
    elif signature == "static, no arguments":
        Old.__dlpack__ = staticmethod(lambda: make())
    elif signature == "callable object":

        class Call:
            def __call__(self):
                return make()

        Old.__dlpack__ = Call()
    elif signature == "partial":
        Old.__dlpack__ = staticmethod(functools.partial(lambda x: make(), 1))
    elif signature == "on the instance":
        x = Old()
        x.__dlpack__ = lambda: make()
        return x, calls
    return Old(), calls


@pytest.mark.parametrize(
    "signature",
    [
        "python, no arguments",
        "python, positional only",
        "static, no arguments",
        "callable object",
        "partial",
        "on the instance",
    ],
)
def test_arguments_that_do_not_bind_lead_to_the_legacy_call(signature):
    x, calls = binding_error(signature)
    assert usmpy.from_dlpack(x).shape == (3,)
    assert len(calls) == 1


def raise_from_c(error):
    """A callable that raises this exception, its traceback untouched, without a Python frame of its own."""
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(
        ("PyErr_SetObject", ctypes.pythonapi)
    )
    return functools.partial(function, type(error), error)


def compiled_frame(*, ran):
    """The traceback that compiled code writes: one entry of a frame that never ran."""
    frame = (lambda: sys._getframe())()
    entry = types.TracebackType(None, frame, 0, 7)
    return types.TracebackType(entry, frame, 0, 20) if ran else entry


@pytest.mark.parametrize(
    ("message", "traceback", "again"),
    [
        ("f() got an unexpected keyword argument 'max_version'", None, True),
        ("'max_version' is an invalid keyword argument for f()", None, True),
        ("f() takes no keyword arguments", None, True),
        ("f(): incompatible function arguments. The following are supported: ...", None, True),
        ("the shape must be a list", None, False),
        # As Cython writes it: with an entry in the traceback.
        ("f() got an unexpected keyword argument 'max_version'", "one", True),
        ("g() got an unexpected keyword argument 'axis'", "one", False),
        ("f() got an unexpected keyword argument 'max_version'", "two", False),
    ],
)
def test_of_compiled_code_words_and_traceback_tell_whether_it_ran(message, traceback, again):
    error = TypeError(message)
    if traceback is not None:
        error = error.with_traceback(compiled_frame(ran=traceback == "two"))
    fail = raise_from_c(error)
    calls = []

    class Compiled:
        @property
        def __dlpack__(self):  # asked for once a call
            calls.append(1)
            return fail if len(calls) == 1 else Tensor(versioned=False).capsule

    if again:
        assert usmpy.from_dlpack(Compiled()).shape == (3,)
        assert len(calls) == 2
    else:
        with pytest.raises(BufferError) as raised:
            usmpy.from_dlpack(Compiled())
        assert raised.value.__cause__ is error
        assert len(calls) == 1


def use_of_none():
    return None + 1


def wrong_inner_call():
    (lambda: 0)(max_version=(1, 0))


@pytest.mark.parametrize(
    "body",
    [
        lambda: [].append(),
        lambda: len(1),
        lambda: int(no_such_keyword=1),
        use_of_none,
        wrong_inner_call,
        lambda: Producer.__dlpack__(),
    ],
)
def test_a_type_error_of_the_body_is_the_cause_after_one_call(body):
    calls = []

    class Broken:
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            return body()

    for _ in range(2):
        with pytest.raises(BufferError) as raised:
            usmpy.from_dlpack(Broken())
        assert type(raised.value.__cause__) is TypeError
    assert calls == [{"max_version": (1, 3)}] * 2


@errors_of_producers
def test_an_error_of_dlpack_is_told_in_a_sentence_after_one_call(error, words):
    calls = []

    class Broken:
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            raise error

    check_error_of_producer(Broken(), error, words)
    assert len(calls) == 1


@errors_of_producers
def test_an_error_of_a_legacy_call_is_told_in_a_sentence(error, words):
    class Old:
        def __dlpack__(self, stream=None):
            raise error

    for _ in range(2):
        check_error_of_producer(Old(), error, words)


@errors_of_producers
def test_an_error_of_dlpack_device_is_told_in_a_sentence(error, words):
    class Broken(Producer):
        def __dlpack_device__(self):
            raise error

    check_error_of_producer(Broken(lambda: Tensor().capsule()), error, words)


@errors_of_producers
def test_an_error_of_a_method_of_the_instance_is_told_in_a_sentence(error, words):
    class Proxy:
        def __getattr__(self, name):
            if name != "__dlpack__":
                raise AttributeError(name)
            return self.fail

        def fail(self, **keywords):
            raise error

    check_error_of_producer(Proxy(), error, words)


def test_proxies_that_forward_attributes_are_taken():
    class Proxy:
        def __init__(self, target):
            self.__dict__["target"] = target

        def __getattr__(self, name):
            return getattr(self.target, name)

    x = Producer(lambda: Tensor().capsule())
    assert usmpy.from_dlpack(Proxy(x)).shape == (3,)
    assert x.calls == [{"max_version": (1, 3)}]
    with pytest.raises(TypeError, match="__dlpack__"):
        usmpy.from_dlpack(Proxy(3))


def test_an_attribute_error_of_another_kind_propagates():
    class Odd:
        @property
        def __dlpack__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        usmpy.from_dlpack(Odd())
