"""Layouts of arrays in memory, as a base and views of views of it that every namespace can make.

``drawn`` draws one for the property tests: row-major, column-major, permuted, reversed, strided and
broadcast, and compositions of these. ``fixed`` is the plainest of a kind; ``pairs`` goes through all kinds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st

KINDS = ["C", "F", "permuted", "reversed", "strided", "broadcast"]


@dataclasses.dataclass
class Layout:
    """Views (name of a function, or "index", and its arguments) that lead from a base to `shape`."""

    base_shape: tuple[int, ...]
    views: list
    shape: tuple[int, ...]

    def seen(self, xp, x):
        for kind, how in self.views:
            x = x[how] if kind == "index" else getattr(xp, kind)(x, **how)
        return x

    @property
    def writable(self):
        return all(kind != "broadcast_to" for kind, _ in self.views)


def before(kind, shape, choose):
    """The shape of which one view more has `shape`, and that view; choose(options) picks what is open."""
    ndim = len(shape)
    if kind in ("F", "permuted"):
        axes = tuple(range(ndim))[::-1] if kind == "F" else tuple(choose("permutation", ndim))
        base = [0] * ndim
        for to, axis in enumerate(axes):
            base[axis] = shape[to]
        return tuple(base), ("permute_dims", {"axes": axes})
    if kind == "broadcast":
        base = tuple(1 if choose("flag", i) else length for i, length in enumerate(shape))
        return base, ("broadcast_to", {"shape": shape})
    steps = [-1 if choose("flag", i) else 1 for i in range(ndim)]
    if kind == "strided":
        steps = [step * (2 if choose("flag", i) else 1) for i, step in enumerate(steps)]
    base = tuple(length * abs(step) for length, step in zip(shape, steps, strict=True))
    return base, ("index", tuple(slice(None, None, step) for step in steps))


def made(kinds, shape, choose):
    """The kinds in the order in which a program would make the views."""
    base, views = tuple(shape), []
    for kind in reversed(kinds):
        if kind != "C" and shape:
            base, view = before(kind, base, choose)
            views.insert(0, view)
    return Layout(base, views, tuple(shape))


def drawn(draw, shape, writable=False):
    kinds = [kind for kind in KINDS if kind != "broadcast" or not writable]
    picked = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))

    def choose(what, n):
        return draw(st.permutations(range(n)) if what == "permutation" else st.booleans())

    return made(picked, shape, choose)


def fixed(kind, shape):
    """The plainest layout of that kind: every axis takes part, but in "broadcast" every other one."""

    def choose(what, n):
        return [*range(1, n), 0][:n] if what == "permutation" else kind != "broadcast" or n % 2 == 0

    return made([kind], shape, choose)


def pairs(values, xp, put, kinds=KINDS):
    """(kind, our array, NumPy's array) of the values in each layout; "broadcast" repeats some of them."""
    for kind in kinds:
        layout = fixed(kind, values.shape)
        base = np.resize(values, layout.base_shape)
        yield kind, layout.seen(xp, put(base)), layout.seen(Views, base)


def both(draw, values, xp, put, writable=False):
    """Our array and NumPy's in a drawn layout, with these values, some of them repeated by broadcasting."""
    layout = drawn(draw, values.shape, writable)
    base = np.resize(values, layout.base_shape)
    return layout.seen(xp, put(base)), layout.seen(Views, base.copy())


class Views:
    """NumPy's functions by the standard's names, also of versions without them."""

    @staticmethod
    def permute_dims(x, axes):
        return np.transpose(x, axes)

    @staticmethod
    def broadcast_to(x, shape):
        return np.broadcast_to(x, shape)
