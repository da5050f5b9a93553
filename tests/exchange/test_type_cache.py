"""The cache of what is known of producers' types: it sees changes, keeps no type alive and mistakes none."""

from __future__ import annotations

import gc
import weakref

import pytest
from immortal import IMMORTAL
from producers import Tensor
from test_routes import TABLE, TableMixin, WithTable

import usmpy


def test_a_type_that_changes_is_looked_up_again():
    class Changing(TableMixin):
        pass

    x = Changing()

    def route():
        usmpy.from_dlpack(x)
        return x.routes[-1]

    assert route() == "method"
    Changing.__dlpack_c_exchange_api__ = TABLE
    assert route() == "table"
    del Changing.__dlpack_c_exchange_api__
    assert route() == "method"
    Changing.__dlpack__ = lambda self, **keywords: self.replaced(**keywords)
    Changing.replaced = lambda self, **keywords: TableMixin.__dlpack__(self)
    assert route() == "legacy"
    del Changing.__dlpack__
    assert route() == "method"


def test_a_base_that_changes_and_new_bases_are_seen():
    class Base(TableMixin):
        pass

    class Child(Base):
        pass

    class OtherBase(WithTable):
        pass

    x = Child()
    assert (usmpy.from_dlpack(x).shape, x.routes) == ((3,), ["method"])
    Base.__dlpack_c_exchange_api__ = TABLE
    usmpy.from_dlpack(x)
    del Base.__dlpack_c_exchange_api__
    usmpy.from_dlpack(x)
    Child.__bases__ = (OtherBase,)
    usmpy.from_dlpack(x)
    assert x.routes == ["method", "table", "method", "table"]


def test_a_remembered_legacy_type_that_learns_the_keyword_is_called_with_it():
    class Growing:
        seen = None

        def __dlpack__(self):
            return Tensor().capsule()

    usmpy.from_dlpack(Growing())

    def grown(self, **keywords):
        Growing.seen = keywords
        return Tensor().capsule()

    Growing.__dlpack__ = grown
    usmpy.from_dlpack(Growing())
    assert Growing.seen == {"max_version": (1, 3)}


@pytest.mark.made_if(
    not IMMORTAL, reason="without the GIL, Python 3.13 makes classes immortal as soon as a thread is started"
)
@pytest.mark.not_sanitized("what is freed is kept there for long: no address comes back")
def test_the_cache_keeps_no_type_alive_and_serves_no_successor_at_its_address():
    def with_table():
        return type("Short", (TableMixin,), {"__dlpack_c_exchange_api__": TABLE})

    def without_table():
        return type("Short", (TableMixin,), {})

    addresses = {}
    reused = 0
    for i in range(400):
        make, expected = ((with_table, "table"), (without_table, "method"))[i % 3 == 0]
        kind = make()
        x = kind()
        usmpy.from_dlpack(x)
        assert x.routes == [expected]
        reused += addresses.get(id(kind), expected) != expected
        addresses[id(kind)] = expected
        reference = weakref.ref(kind)
        del x, kind
        gc.collect(0)
        assert reference() is None
    assert reused > 10  # else this showed nothing


def test_many_more_types_than_the_cache_has_places():
    kinds = [type(f"T{i}", (TableMixin if i % 2 else WithTable,), {}) for i in range(300)]
    for _ in range(2):
        for i, kind in enumerate(kinds):
            x = kind()
            usmpy.from_dlpack(x)
            assert x.routes == ["method" if i % 2 else "table"]


def test_a_producer_that_changes_its_type_during_the_call():
    class Changing(TableMixin):
        def __dlpack__(self, **keywords):
            del Changing.__dlpack__  # the function that runs now is gone from the type
            gc.collect(0)
            return TableMixin.__dlpack__(self, **keywords)

    x = Changing()
    usmpy.from_dlpack(x)
    usmpy.from_dlpack(x)
    assert x.routes == ["method", "method"]
