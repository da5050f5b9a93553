"""Proxies of an object mean what the object means: a mask or a unit that reading drops is not lost.

A proxy is no instance of its object's class: it forwards attributes, of which some define `__class__`, and
some the protocols too.
"""

import weakref

import numpy as np
import pytest
from together import together

import usmpy


class Forwards:
    """As the objects of pint do."""

    def __init__(self, wrapped):
        vars(self)["wrapped"] = wrapped

    def __getattr__(self, name):
        return getattr(vars(self)["wrapped"], name)


class Named(Forwards):
    """As wrapt.ObjectProxy, lazy_object_proxy.Proxy and werkzeug.local.LocalProxy do."""

    __class__ = property(lambda self: type(vars(self)["wrapped"]))


class Whole(Named):
    """With the protocols on the class, too."""

    def __array__(self, dtype=None, copy=None):
        return self.wrapped.__array__(dtype)

    def __dlpack__(self, **keywords):
        return self.wrapped.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.wrapped.__dlpack_device__()


class Quantity(np.ndarray):
    """As that of astropy."""

    unit = property(lambda self: ("m",))
    value = property(lambda self: self.view(np.ndarray))


class Wrapped(Forwards):
    """As that of pint."""

    units = property(lambda self: ("m",))
    magnitude = property(lambda self: self.wrapped)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.wrapped, dtype)


VALUES = [1.0, 2.0]
MEANT = {
    "mask": (lambda: np.ma.array(VALUES, mask=[False, True]), r"masked elements.* obj\S*\.filled\(0\)"),
    "unit": (lambda: np.array(VALUES).view(Quantity), r"unit .* obj\S*\.value"),
    "unit of a wrapper": (lambda: Wrapped(np.array(VALUES)), r"unit .* obj\S*\.magnitude"),
    "no mask": (lambda: np.ma.array(VALUES), None),
    "array": (lambda: np.array(VALUES), None),
    "subclass": (lambda: np.array(VALUES).view(type("Sub", (np.ndarray,), {})), None),
}
PROXIES = [lambda obj: obj, Forwards, Named, Whole, weakref.proxy, lambda obj: Named(Named(obj))]


def copied(obj, device):
    x = usmpy.zeros(2, dtype="float64", device=device)
    usmpy.copyto(x, obj)
    return x


def assigned(obj, device):
    x = usmpy.zeros(2, dtype="float64", device=device)
    x[...] = obj
    return x


def borrowed(obj, device):
    with usmpy.borrow(obj, device.queue) as x:
        return x.copy()


ENTRIES = {
    "asarray": lambda obj, device: usmpy.asarray(obj, device=device),
    "asarray of a list": lambda obj, device: usmpy.asarray([obj], device=device)[0],
    "from_dlpack": lambda obj, device: usmpy.from_dlpack(obj, device=device),
    "borrow": borrowed,
    "copyto": copied,
    "x[...] =": assigned,
    "full": lambda obj, device: usmpy.full(2, obj, device=device),
}


@together("entry, what, proxy", [(e, w, p) for e in ENTRIES for w in MEANT for p in range(len(PROXIES))])
def test_a_proxy_means_its_object(entry, what, proxy, backend, device):
    if entry == "borrow" and "system-usm" not in backend.tags:
        return
    make, refusal = MEANT[what]
    obj = make()
    given = PROXIES[proxy](obj)
    if refusal is None:
        assert ENTRIES[entry](given, device).tolist() == VALUES
    else:
        with pytest.raises(BufferError, match=refusal):
            ENTRIES[entry](given, device)
