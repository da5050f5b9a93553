"""Code written for array_api_compat runs: its helpers, and programs that know no library by name."""

import numpy as np
import pytest
from libraries import need

import usmpy

compat = need("array_api_compat")
strict = need("array_api_strict")


def test_its_helpers(device):
    x = usmpy.ones((2, 3), device=device)
    assert compat.array_namespace(x) is usmpy
    assert compat.array_namespace(x, usmpy.zeros(1, device=device), None, 1.5, api_version="2025.12") is usmpy
    assert compat.is_array_api_obj(x)
    assert compat.device(x) == device
    assert compat.size(x) == 6
    assert compat.to_device(x, device).device == device
    moved = compat.to_device(x, usmpy.Device("host"))
    assert compat.device(moved) == usmpy.Device("host")
    assert moved.tolist() == x.tolist()
    assert compat.is_writeable_array(x)
    assert not compat.is_lazy_array(x)
    for name in ("numpy", "torch", "cupy", "jax", "dask", "dpnp", "ndonnx", "pydata_sparse"):
        assert not getattr(compat, f"is_{name}_array")(x)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, np.ones(1))


def one_hot(labels, n):
    """A program of the groups that usmpy has: creation, manipulation, indexing, comparison, searching."""
    xp = compat.array_namespace(labels)
    where = compat.device(labels)
    classes = xp.arange(n, dtype=labels.dtype, device=where)
    hot = xp.expand_dims(labels, axis=-1) == classes
    return xp.where(hot, xp.asarray(1.0, dtype=xp.float32, device=where), 0.0)


def tidy(x, window):
    """Rows without a NaN, padded to a multiple of the window, cut into windows, the last of them first."""
    xp = compat.array_namespace(x)
    good = xp.logical_not(xp.any(xp.isnan(x), axis=1))
    x = x[good, ...] if x.ndim == 1 else xp.take(x, xp.nonzero(good)[0], axis=0)
    lack = -x.shape[1] % window
    pad = xp.zeros((x.shape[0], lack), dtype=x.dtype, device=compat.device(x))
    x = xp.concat([x, pad], axis=1)
    x = xp.reshape(x, (x.shape[0], -1, window))
    x = xp.flip(xp.moveaxis(x, 1, 0), axis=0)
    big = x > 2
    x[big] = 2
    return x, xp.count_nonzero(big, axis=(0, 2)), xp.unstack(xp.tril(x[:, :window, :window]))[0]


def summary(x):
    xp = compat.array_namespace(x)
    info = xp.__array_namespace_info__()
    kind = "real floating" if xp.isdtype(x.dtype, "real floating") else "integral"
    wide = info.default_dtypes(device=compat.device(x))[kind]
    y = xp.astype(x, xp.result_type(x.dtype, wide)) if xp.can_cast(x.dtype, wide) else x
    limits = xp.finfo(y.dtype) if kind == "real floating" else xp.iinfo(y.dtype)
    rows = xp.stack([xp.roll(y, shift, axis=0) for shift in (0, 1)], axis=1)
    return xp.permute_dims(rows, (1, 0, 2)), limits.bits, compat.size(rows)


def flat(result):
    for part in result if isinstance(result, tuple) else (result,):
        yield part.asnumpy() if isinstance(part, usmpy.USMArray) else np.asarray(part)


@pytest.mark.parametrize("program", ["one_hot", "tidy", "summary"])
def test_a_program_that_knows_no_library_by_name(device, program):
    rng = np.random.default_rng(4)
    table = rng.integers(0, 5, (6, 5)).astype("float32")
    table[2, 1] = np.nan
    function, n, more = {
        "one_hot": (one_hot, np.array([2, 0, 3, 2]), (4,)),
        "tidy": (tidy, table, (2,)),
        "summary": (summary, table[:2], ()),
    }[program]
    ours = function(usmpy.asarray(n, device=device, copy=True), *more)
    theirs = function(strict.asarray(n, copy=True), *more)
    for x in ours if isinstance(ours, tuple) else (ours,):
        assert not isinstance(x, usmpy.USMArray) or compat.device(x) == device
    for x, s in zip(flat(ours), flat(theirs), strict=True):
        assert x.dtype == s.dtype
        np.testing.assert_array_equal(x, s)
