"""JAX: immutable arrays, and the legacy capsule."""

from __future__ import annotations

import numpy as np
import pytest
from libraries import need

import usmpy

jax = need("jax")
jax.config.update("jax_enable_x64", True)


def test_jax_uses_aligned_memory_in_place():
    x = usmpy.arange(6, dtype="float32")
    taken = jax.dlpack.from_dlpack(x)
    assert taken.unsafe_buffer_pointer() == x.data_ptr
    assert float(jax.numpy.sum(taken * 2)) == 30.0


def test_results_of_jax_are_taken_when_they_are_ready():
    a = jax.numpy.arange(1_000_000, dtype="float32")
    result = jax.jit(lambda a: a * 2 + 1)(a)  # asynchronous
    x = usmpy.from_dlpack(result)
    assert (x[0].item(), x[999_999].item()) == (1.0, 1999999.0)
    assert x.data_ptr == result.unsafe_buffer_pointer()


def test_a_transposed_array_of_jax_is_its_own_memory():
    a = jax.numpy.arange(6).reshape(2, 3).T
    x = usmpy.from_dlpack(a)
    assert x.shape == (3, 2)
    assert x.tolist() == a.tolist()


def test_jax_takes_no_broadcast_arrays():
    x = usmpy.broadcast_to(usmpy.arange(3), (2, 3))
    # From jaxlib 0.12 on it asks for DLPack with a version, takes read-only arrays, and refuses the strides.
    with pytest.raises((BufferError, RuntimeError), match=r"max_version|broadcasting"):
        jax.dlpack.from_dlpack(x)
    copied = jax.dlpack.from_dlpack(usmpy.from_dlpack(x, copy=True))
    assert np.asarray(copied).tolist() == [[0, 1, 2]] * 2


def test_jax_numpy_takes_our_array_as_a_buffer():
    x = usmpy.arange(6, dtype="int32")
    assert jax.numpy.asarray(memoryview(x)).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "float64", "complex64"])
def test_jax_numpy_takes_our_array(dtype):
    x = usmpy.asarray([[0, 1], [1, 0]]).astype(dtype)[:, ::-1]
    y = jax.numpy.asarray(x)
    assert y.dtype == np.dtype(x.dtype)
    assert y.tolist() == x.tolist()


def test_a_tracer_is_no_array():
    seen = []

    def traced(a):
        with pytest.raises((TypeError, BufferError, RuntimeError, jax.errors.JAXTypeError)) as raised:
            usmpy.from_dlpack(a)
        seen.append(raised.value)
        return a

    jax.jit(traced)(jax.numpy.arange(3))
    assert len(seen) == 1
