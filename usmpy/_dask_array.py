"""dask.array over USMArrays: the functions that it looks up by the type of chunks, and the backend "usmpy".

Imported by usmpy/dask.py as soon as ``dask.array`` is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from dask.array import dispatch
from dask.array.backends import ArrayBackendEntrypoint, array_creation_dispatch
from dask.utils import Dispatch

import usmpy

from ._core import USMArray

# Functions for chunks.


def concatenate(arrays: Any, axis: Any = 0) -> USMArray:
    # Not numpy.concatenate itself: where that raises a TypeError, dask goes on with empty arrays of NumPy.
    return usmpy.concat(arrays, axis=axis)


def divide(a: Any, b: Any, dtype: Any = None) -> USMArray:
    result = usmpy.divide(a, b)
    return result if dtype is None else usmpy.astype(result, dtype, copy=False)


def numel(x: USMArray, axis: Any = None, keepdims: bool = False, dtype: Any = np.float64) -> USMArray:
    """How many elements each one of a reduction is made of."""
    axes = range(x.ndim) if axis is None else [range(x.ndim)[i] for i in np.atleast_1d(axis)]
    shape = [1 if i in axes else length for i, length in enumerate(x.shape) if keepdims or i not in axes]
    count = math.prod(x.shape[i] for i in axes)
    return usmpy.full(shape, count, dtype=dtype, queue=x.queue, usm_type=x.usm_type)


def nannumel(x: USMArray, **keywords: Any) -> USMArray:
    return usmpy.sum(usmpy.logical_not(usmpy.isnan(x)), **keywords)


def einsum(*operands: Any, **keywords: Any) -> Any:
    keywords.pop("casting", None)
    keywords.pop("order", None)
    return np.einsum(*operands, **keywords)


def to_numpy(x: USMArray, **keywords: Any) -> np.ndarray[Any, Any]:
    return x.asnumpy()


to_usmpy = Dispatch("to_usmpy")


def as_chunk(x: Any, **keywords: Any) -> USMArray:
    """A chunk of another library; what it shares with its owner is copied, since the chunk may be written."""
    return usmpy.asarray(x, copy=True, **keywords)


def register() -> None:
    for lookup, function in (
        (dispatch.concatenate_lookup, concatenate),
        (dispatch.take_lookup, np.take),
        (dispatch.tensordot_lookup, np.tensordot),
        (dispatch.einsum_lookup, einsum),
        (dispatch.empty_lookup, usmpy.empty),
        (dispatch.divide_lookup, divide),
        (dispatch.numel_lookup, numel),
        (dispatch.nannumel_lookup, nannumel),
        (dispatch.to_numpy_dispatch, to_numpy),
    ):
        lookup.register(USMArray, function)
    to_usmpy.register(object, as_chunk)
    to_usmpy.register(USMArray, lambda x, **keywords: usmpy.asarray(x, **keywords))


# Random numbers: dask gives each chunk a seed of its own.


class Random(usmpy.random.Generator):
    """What dask takes for a bit generator, and for numpy.random.RandomState.

    The functions of usmpy.random under the names of NumPy, and those that are simple functions of them.
    """

    def __init__(self, seed: Any = None) -> None:
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        super().__init__(int(sequence.generate_state(1, np.uint64)[0]))
        self._seed_seq = sequence

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self._seed_seq.entropy, self._seed_seq.spawn_key

    def random(self, size: Any = (), dtype: Any = None, out: None = None, **place: Any) -> USMArray:
        return super().random(() if size is None else size, dtype=dtype, **place)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = (), **words: Any) -> Any:
        if isinstance(loc, USMArray) or isinstance(scale, USMArray):
            return self.standard_normal(size, **words) * scale + loc
        return super().normal(loc, scale, () if size is None else size, **words)

    def standard_normal(self, size: Any = (), **words: Any) -> Any:
        return self.normal(0.0, 1.0, size, **words)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = (), **words: Any) -> Any:
        return self.random(size, **words) * (high - low) + low

    def standard_exponential(self, size: Any = (), **words: Any) -> Any:
        return -usmpy.log1p(-self.random(size, **words))

    def exponential(self, scale: Any = 1.0, size: Any = (), **words: Any) -> Any:
        return self.standard_exponential(size, **words) * scale

    def integers(self, low: Any, high: Any = None, size: Any = (), **words: Any) -> USMArray:
        return super().integers(low, high, () if size is None else size, **words)

    # The names of numpy.random.RandomState.
    random_sample = random

    def randint(
        self, low: Any, high: Any = None, size: Any = (), dtype: Any = None, **place: Any
    ) -> USMArray:
        return self.integers(low, high, size, dtype=None if dtype == "l" else dtype, **place)


# The backend.


def creation(name: str, like: str) -> Any:
    """The function of dask's backend for NumPy; an array of no dimensions gives it the place of chunks."""

    def call(*args: Any, device: Any = None, queue: Any = None, usm_type: Any = None, **keywords: Any) -> Any:
        if keywords.get(like) is None:
            keywords[like] = usmpy.empty((), device=device, queue=queue, usm_type=usm_type)
        return getattr(array_creation_dispatch.dispatch("numpy"), name)(*args, **keywords)

    call.__name__ = name
    return staticmethod(call)


class Backend(ArrayBackendEntrypoint):
    """``dask.config.set({"array.backend": "usmpy"})``"""

    ones, zeros, empty, full = (creation(name, "meta") for name in ("ones", "zeros", "empty", "full"))
    arange = creation("arange", "like")

    @classmethod
    def to_backend_dispatch(cls) -> Dispatch:
        return to_usmpy

    @classmethod
    def to_backend(cls, data: Any, **keywords: Any) -> Any:
        if isinstance(data._meta, USMArray) and not keywords:
            return data
        return data.map_blocks(to_usmpy, **keywords)

    @property
    def RandomState(self) -> type[Random]:
        return Random

    @property
    def default_bit_generator(self) -> type[Random]:
        return Random


register()
