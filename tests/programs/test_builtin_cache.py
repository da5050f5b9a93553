"""Built-in kernels kept on disk between processes, and prebuild, which builds all of them."""

import pytest
from backends import INTEL, Absent, level_zero, opencl

import usmpy
from usmpy import _core
from usmpy._compile import drivers

SPIRV = _core._kernel_sources()[2]
# On devices with double precision, which have another variant of these, and drivers that fill by themselves.
NOT_NEEDED = {name.removesuffix("_fp64") for name in SPIRV if name.endswith("_fp64")} | {"fill"}


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The modules that are stored while the test runs."""
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path))
    stored, keep = [], drivers.keep_builtin

    def keep_and_note(binary, *parts):
        stored.append(bytes(parts[-1]))
        keep(binary, *parts)

    monkeypatch.setattr(drivers, "keep_builtin", keep_and_note)
    return stored


def new_queue(find):
    """A queue of a new place, for which nothing is built. A part of a processor runs kernels."""
    try:
        device = find()
    except Absent as absent:
        pytest.skip(str(absent))
    if device.device_type == "cpu":
        device = device.create_sub_devices(1)[0]
    return usmpy.Queue(device, context=usmpy.Context(device))


@pytest.mark.parametrize("find", [opencl(INTEL), level_zero(0)], ids=["intel", "level-zero"])
def test_a_kernel_is_built_once(find, kept, monkeypatch):
    def compare():
        x = usmpy.asarray([0, 1, 2], dtype="int32", queue=new_queue(find))
        assert usmpy.greater(x, 1).tolist() == [False, False, True]

    compare()
    before = len(kept)
    assert before > 0
    compare()
    assert len(kept) == before
    # A binary that the driver refuses is built again.
    monkeypatch.setattr(drivers, "load_builtin", lambda *_: b"no binary")
    compare()
    assert len(kept) == 2 * before

    # So is one that cannot be read, or stored.
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(drivers, "load_builtin", fail)
    monkeypatch.setattr(drivers, "keep_builtin", fail)
    compare()


@pytest.mark.release("it builds all programs")
def test_prebuild_builds_everything(kept):
    queue = new_queue(level_zero(0))
    usmpy.prebuild(queue)
    names = {bytes(source): name for name, source in SPIRV.items()}
    assert set(SPIRV) - {names[source] for source in kept} <= NOT_NEEDED
    del kept[:]
    x = usmpy.asarray([1.0, 2.0, 0.5], dtype="float32", queue=queue)
    assert usmpy.sort(x + x).tolist() == [1.0, 2.0, 4.0]
    assert usmpy.exp(usmpy.log(x)).shape == (3,)
    assert usmpy.cumulative_sum(x).astype("int8").tolist() == [1, 3, 3]
    assert kept == []


def test_prebuild_of_the_host():
    usmpy.prebuild("host")
    with pytest.raises(TypeError, match="device"):
        usmpy.prebuild(3)
