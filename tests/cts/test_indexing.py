"""Basic indexing against NumPy, value by value and layout by layout."""

import numpy as np
import pytest
from together import together

import usmpy

s_ = np.s_

KEYS_1 = [
    0,
    5,
    -1,
    -6,
    s_[:],
    s_[2:],
    s_[:2],
    s_[1:5],
    s_[-3:],
    s_[:-3],
    s_[::2],
    s_[1::2],
    s_[::-1],
    s_[::-2],
    s_[4:1:-1],
    s_[4:1],
    s_[10:],
    s_[:100],
    s_[-100:],
    s_[100::-1],
    s_[::100],
    s_[::-100],
    s_[3:3],
    s_[-1:0:-3],
    s_[2**62 :],
    s_[-(2**70) : 2**70 : 2**65],
    s_[:: -(2**63)],
    ...,
    None,
    (),
    (0,),
    (...,),
    (None,),
    (..., 0),
    (0, ...),
    (None, 0),
    (0, None),
    (None, None, s_[::2], None),
    (..., None),
    np.int64(3),
    np.uint8(2),
    s_[np.int64(1) : np.int8(4)],
]
KEYS_3 = [
    1,
    -2,
    (0, 1),
    (0, 1, 2),
    (-1, -1, -1),
    s_[:, 1],
    s_[:, :, 1],
    s_[..., 1],
    s_[1, ...],
    s_[1, ..., 2],
    s_[..., 1, :],
    s_[::2, ::-1],
    s_[:, 1:3, ::3],
    s_[::-1, ::-1, ::-1],
    s_[1:1],
    s_[:, 5:],
    s_[None],
    s_[:, None],
    s_[..., None],
    s_[None, ..., None, 1, None],
    s_[1, None, 2, None, 3],
    s_[0, ..., None],
    s_[:, :, :, ...],
    s_[..., :, :, :],
    s_[1:, -2:, 3:0:-1],
    s_[1:2, 2:3, 3:4],
    (),
    ...,
]


def pair(queue, shape, dtype="int32"):
    n = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n


def check(x, n, key):
    a, b = x[key], n[key]
    assert type(a) is usmpy.USMArray
    assert a.shape == np.shape(b), key
    np.testing.assert_array_equal(a.asnumpy(), b, err_msg=repr(key))
    if a.size:
        assert (
            a.data_ptr - x.data_ptr
            == (n[key][...] if np.ndim(b) else n[(*np.index_exp[key], None)]).ctypes.data - n.ctypes.data
        )
    return a, b


@together("key", KEYS_1, thin=True)
def test_one_dimension(queue, key):
    x, n = pair(queue, 6)
    check(x, n, key)


@together("key", KEYS_3, thin=True)
def test_three_dimensions(queue, key):
    x, n = pair(queue, (3, 4, 5))
    check(x, n, key)


@together("first", KEYS_3[:20])
@pytest.mark.parametrize("second", [s_[::-1], s_[..., None], s_[::2], ..., s_[1:]], ids=repr)
def test_views_of_views(queue, first, second):
    x, n = pair(queue, (3, 4, 5))
    if n[first].ndim == 0 and second not in (..., s_[..., None]):
        with pytest.raises(IndexError):
            x[first][second]
        return
    a, b = x[first][second], n[first][second]
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.asnumpy(), b)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float64", "complex128"])
def test_element_sizes(queue, dtype):
    x, n = pair(queue, (7, 9), dtype)
    for key in s_[1, 2], s_[::-2, 1::3], s_[:, 4], s_[6:1:-1, ...]:
        check(x, n, key)


def test_no_dimensions(queue):
    x, n = pair(queue, ())
    for key in (), ..., None, (None, ...), (..., None, None):
        check(x, n, key)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 0, 2)])
def test_no_elements(queue, shape):
    x, n = pair(queue, shape)
    for key in s_[:], s_[::-1], s_[..., None], s_[:0], s_[5:]:
        assert x[key].shape == n[key].shape
        assert x[key].tolist() == n[key].tolist()


def test_lengths_one(queue):
    x, n = pair(queue, (1, 3, 1))
    for key in s_[0], s_[-1:], s_[::-1, ::-1, ::-1], s_[:, 1, :], s_[..., 0], s_[::7, ::7, ::7]:
        check(x, n, key)


def test_an_empty_slice_of_a_slice_keeps_nothing_to_point_at(queue):
    x = usmpy.arange(10, queue=queue)[10:]
    assert x.data_ptr == 0
    assert x[:].tolist() == []
    assert x[::-1].tolist() == []


def test_a_whole_array_indexed_is_another_object(queue):
    x = usmpy.arange(3, queue=queue)
    assert x[...] is not x
    assert x[...].data_ptr == x.data_ptr


@pytest.mark.parametrize(
    ("key", "match"),
    [
        (6, "index 6 is out of range for axis 0 with length 6"),
        (-7, "index -7 is out of range"),
        (2**70, "index"),
        (-(2**70), "index"),
        ((0, 0), "too many indices: 2 given, the array has 1 dimension"),
        ((..., 0, 0), "too many"),
        ((..., ...), "several Ellipses"),
        ("a", "'a' is not an index"),
        (1.0, "1.0 is not an index"),
        ([0, 6], "index 6 in an index array is out of range"),
        ([0.5], "an index array has dtype float64"),
        ([True], r"a mask of shape \(1,\) does not fit"),
        (np.array([1.0]), "an index array has dtype float64"),
        (np.array([-7]), "index -7 in an index array is out of range"),
        (np.float64(1), "is not an index|an index array has dtype"),
        ({}, "is not an index"),
        ({0, 1}, "is not an index"),
    ],
    ids=repr,
)
def test_keys_that_are_none(queue, key, match):
    x, _ = pair(queue, 6)
    with pytest.raises(IndexError, match=match):
        x[key]
    before = x.tolist()
    with pytest.raises(IndexError, match=match):
        x[key] = 1
    assert x.tolist() == before


def test_a_slice_step_of_zero(queue):
    x, _ = pair(queue, 6)
    with pytest.raises(ValueError, match="zero"):
        x[::0]
    with pytest.raises(ValueError, match="zero"):
        x[::0] = 1


def test_slices_of_a_wrong_type(queue):
    x, _ = pair(queue, (6, 6))
    for key in (slice("a"), slice(1.5, None), (slice(None), slice(None, None, "b"))):
        with pytest.raises(TypeError):
            x[key]


def test_an_index_that_raises(queue):
    class Broken:
        def __index__(self):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        pair(queue, 6)[0][Broken()]
    with pytest.raises(LookupError, match="mine"):
        pair(queue, 6)[0][Broken() :]


def test_more_than_64_dimensions(queue):
    x, _ = pair(queue, 6)
    assert x[(None,) * 63].ndim == 64
    with pytest.raises(IndexError, match="64"):
        x[(None,) * 64]


def test_indices_that_are_arrays_of_ours(queue):
    x, n = pair(queue, 6)
    i = usmpy.asarray(2, queue=queue)
    assert x[i].item() == x[np.array(2)].item() == n[2]
    assert [10, 11, 12][i] == 12
    assert x[usmpy.asarray([1], queue=queue)].shape == (1,)  # test_integer_index.py


def test_elements_cannot_be_deleted(queue):
    x, _ = pair(queue, 6)
    with pytest.raises(TypeError, match="deleted"):
        del x[0]


@pytest.mark.parametrize("i", range(5))
def test_the_index_that_is_out_of_range_is_named(queue, i):
    rows = [0, 1, 2, 0, 1]
    rows[i] = 70 + i
    x, keys = usmpy.arange(3, queue=queue), usmpy.asarray(rows, queue=queue)
    with pytest.raises(IndexError, match=f"index {70 + i} in an index array"):
        x[keys]
