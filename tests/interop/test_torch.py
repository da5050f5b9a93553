"""PyTorch: its table, its lazy bits, its ways of asking."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from libraries import need

import usmpy

torch = need("torch")


def lazy_views():
    """Tensors that say conj or neg, and their parts; tables hand these out as if they were plain."""
    z = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)
    conj = z.conj()
    return {
        "conjugate": conj,
        "part of a conjugate": conj[1:3],
        "strided conjugate": conj[::2],
        "2-d conjugate": z.reshape(2, 2).conj().T,
        "one element": conj[:1],
        "0-d": conj[2],
        "imaginary part": conj.imag,
        "one element of an imaginary part": conj.imag[:1],
        "0-d of an imaginary part": conj.imag[3],
        "negative complex": torch._neg_view(z),
        "negative strided": torch._neg_view(torch.arange(6.0))[::2],
        "negative one element": torch._neg_view(torch.arange(6.0))[3:4],
    }


@pytest.mark.parametrize("what", lazy_views())
def test_lazy_bits_are_refused_through_the_table_and_fine_when_resolved(what):
    tensor = lazy_views()[what]
    with pytest.raises(BufferError, match="conjugate or negative"):
        usmpy.from_dlpack(tensor)
    resolved = tensor.resolve_conj().resolve_neg()
    assert usmpy.from_dlpack(resolved).tolist() == resolved.tolist()


def test_the_plain_ones_beside_them_are_taken():
    z = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)
    for tensor in (z, z.real, z.imag, z[1], z.imag[2:3], z.conj().conj(), z.conj().real):
        assert usmpy.from_dlpack(tensor).tolist() == tensor.tolist()


def test_a_subclass_of_tensor_is_taken_through_the_inherited_table():
    class Own(torch.Tensor):
        pass

    tensor = torch.arange(3).as_subclass(Own)
    x = usmpy.from_dlpack(tensor)
    assert (x.data_ptr, x.tolist()) == (tensor.data_ptr(), [0, 1, 2])


def test_a_subclass_with_a_dlpack_of_its_own_is_asked():
    calls = []

    class Own(torch.Tensor):
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            return super().__dlpack__(**keywords)

    x = usmpy.from_dlpack(torch.arange(3).as_subclass(Own))
    assert x.tolist() == [0, 1, 2]
    assert calls == [{"max_version": (1, 3)}]


def test_a_parameter_without_gradients_is_taken():
    parameter = torch.nn.Parameter(torch.arange(3.0), requires_grad=False)
    assert usmpy.from_dlpack(parameter).tolist() == [0, 1, 2]


GRADIENTS = {
    "leaf": lambda: torch.ones(4, requires_grad=True),
    "result": lambda: torch.ones(4, requires_grad=True) * 2,
    "view": lambda: torch.ones((4, 4), requires_grad=True)[1:, ::2],
    "parameter": lambda: torch.nn.Parameter(torch.ones(4)),
    "complex": lambda: torch.ones(4, dtype=torch.complex64, requires_grad=True),
    "0-d": lambda: torch.ones((), requires_grad=True),
    "empty": lambda: torch.ones(0, requires_grad=True),
    "weight of a layer": lambda: torch.nn.Linear(2, 2).weight,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_tensors_that_require_grad_are_refused_as_torch_does(name):
    tensor = GRADIENTS[name]()
    with pytest.raises(BufferError, match="detach"):
        tensor.__dlpack__()
    mine = usmpy.zeros(tuple(tensor.shape), dtype="complex64" if name == "complex" else "float32")
    share = (
        usmpy.from_dlpack,
        lambda x: usmpy.from_dlpack(x, copy=True),
        lambda x: usmpy.asarray(x, copy=False),
        lambda x: usmpy.copyto(x, mine),
    )
    read = (usmpy.asarray, lambda x: usmpy.copyto(mine, x), lambda x: mine.__setitem__(..., x))
    for take in (*share, *read):
        for _ in range(2):
            with pytest.raises(BufferError, match=r"requires grad.*x\.detach\(\)"):
                take(tensor)
    for take in share:
        with torch.no_grad(), pytest.raises((BufferError, ValueError), match=r"requires grad|leave copy out"):
            take(tensor)
    with torch.no_grad():  # NumPy reads it there, too
        np.testing.assert_array_equal(usmpy.asarray(tensor).asnumpy(), np.asarray(tensor))
    taken = usmpy.from_dlpack(tensor.detach())
    assert taken.data_ptr == tensor.data_ptr()
    np.testing.assert_array_equal(usmpy.asarray(tensor.detach()).asnumpy(), tensor.detach().numpy())


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name != "empty"])
def test_borrow_takes_tensors_that_require_grad(name):
    tensor = GRADIENTS[name]()
    with usmpy.borrow(tensor) as x:
        assert x.data_ptr == tensor.data_ptr()
        x[...] = 3
    assert (tensor.detach() == 3).all()
    assert tensor.requires_grad


def test_the_bit_is_asked_each_time():
    tensor = torch.ones(3)
    assert usmpy.from_dlpack(tensor).shape == (3,)
    tensor.requires_grad_(True)
    with pytest.raises(BufferError, match="requires grad"):
        usmpy.from_dlpack(tensor)
    tensor.requires_grad_(False)
    assert usmpy.from_dlpack(tensor).shape == (3,)


def test_a_subclass_may_answer_by_a_property():
    class Subclass(torch.Tensor):
        answer = True

        @property
        def requires_grad(self):
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    tensor = torch.ones(3).as_subclass(Subclass)
    with pytest.raises(BufferError, match="a Subclass that requires grad"):
        usmpy.from_dlpack(tensor)
    tensor.answer = False
    assert usmpy.from_dlpack(tensor).shape == (3,)
    tensor.answer = KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        usmpy.from_dlpack(tensor)
    Subclass.requires_grad = torch.Tensor.requires_grad
    assert usmpy.from_dlpack(tensor).shape == (3,)


def test_tensors_that_torch_cannot_export_raise_its_error():
    for tensor in (torch.eye(3).to_sparse(), torch.zeros(3, device="meta")):
        with pytest.raises((BufferError, RuntimeError, ValueError)):
            usmpy.from_dlpack(tensor)


def without_storage(shape, cut=slice(None), dtype=None):
    tensor = torch.ones(shape, dtype=dtype)
    view = tensor[cut]
    tensor.untyped_storage().resize_(0)
    return view


def fake():
    with torch._subclasses.FakeTensorMode():
        return torch.ones(2)


NO_MEMORY = {
    "resized": (lambda: without_storage(4), "storage has been resized"),
    "resized, integers": (lambda: without_storage((2, 2), dtype=torch.int32), "storage has been resized"),
    "resized view": (lambda: without_storage(2000, slice(1000, None)), "storage has been resized"),
    "resized view of columns": (
        lambda: without_storage((9, 9), (slice(None), slice(3, 5))),
        "storage has been resized",
    ),
    "masked": (
        lambda: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])),
        r"obj\S*\.to_tensor\(0\)",
    ),
    "mkldnn": (lambda: torch.ones(2, 2).to_mkldnn(), r"obj\S*\.to_dense\(\)"),
    "sparse columns": (lambda: torch.eye(2).to_sparse_csc(), r"obj\S*\.to_dense\(\)"),
    "fake": (fake, "it has no elements"),
}


@pytest.mark.parametrize("what", NO_MEMORY)
@pytest.mark.filterwarnings("ignore")  # of PyTorch, about these tensors
def test_tensors_without_memory_are_refused_everywhere(what):
    make, words = NO_MEMORY[what]
    tensor, x = make(), usmpy.zeros(4, dtype="float32", device="host")
    for call in (
        usmpy.asarray,
        usmpy.from_dlpack,
        lambda tensor: usmpy.asarray([tensor]),
        lambda tensor: usmpy.asarray(tensor, copy=False),
        lambda tensor: usmpy.copyto(x, tensor),
        lambda tensor: usmpy.copyto(tensor, x),
        lambda tensor: x.__setitem__(..., tensor),
        lambda tensor: usmpy.borrow(tensor).__enter__(),
        lambda tensor: usmpy.full(4, tensor),
    ):
        with pytest.raises(BufferError, match=words):
            call(tensor)


def test_a_tensor_of_no_elements_needs_no_storage():
    assert usmpy.asarray(without_storage(4, slice(4, None))).shape == (0,)


def test_strides_of_torch_for_length_one_do_not_matter():
    tensor = torch.arange(24).reshape(2, 3, 4)[:, 1:2, :][..., 2:3]
    x = usmpy.from_dlpack(tensor)
    assert x.shape == (2, 1, 1)
    assert x.strides == (12, 1, 1)
    assert x.tolist() == tensor.tolist()


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_torch_asks_for_device_and_copy(copy, device):
    x = usmpy.arange(6, dtype="int32")
    tensor = torch.from_dlpack(x, device=device, copy=copy)
    assert tensor.tolist() == [0, 1, 2, 3, 4, 5]
    assert (tensor.data_ptr() == x.data_ptr) == (copy is not True)


def test_the_old_way_of_torch_takes_a_capsule():
    x = usmpy.arange(4)
    tensor = torch.utils.dlpack.from_dlpack(x.__dlpack__())
    assert tensor.data_ptr() == x.data_ptr
    with pytest.raises(TypeError):
        usmpy.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))  # a bare capsule
    assert tensor.tolist() == [0, 1, 2, 3]


def test_as_tensor_and_frombuffer_share_the_memory():
    x = usmpy.arange(4, dtype="int64")
    assert torch.frombuffer(x, dtype=torch.int64).data_ptr() == x.data_ptr
    assert torch.as_tensor(np.asarray(x)).data_ptr() == x.data_ptr


def test_a_tensor_keeps_our_memory_and_gives_it_back():
    before = usmpy._core._live_counts()
    x = usmpy.arange(1000)
    tensor = torch.from_dlpack(x)
    part = tensor[10:20]
    del x, tensor
    gc.collect()
    assert part.tolist() == list(range(10, 20))
    del part
    gc.collect()
    assert usmpy._core._live_counts()["exports"] == before["exports"]
