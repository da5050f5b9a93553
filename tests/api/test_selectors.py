"""Filter strings, the list of devices, the default device and the two environment variables."""

import no_drivers
import pytest

import usmpy
from usmpy import selectors

HOST = "host:cpu:0"


@pytest.fixture(autouse=True)
def _no_wishes(monkeypatch):
    monkeypatch.delenv("USMPY_DEVICE", raising=False)
    monkeypatch.delenv("ONEAPI_DEVICE_SELECTOR", raising=False)
    yield
    monkeypatch.undo()
    usmpy.select_default_device()  # creation functions follow the last answer


# Filter strings.


@pytest.mark.parametrize(
    "text",
    [
        "host",
        "host:cpu",
        "host:cpu:0",
        "host:0",
        " host : cpu : 0 ",
        "HOST:CPU:0",
        "host:cpu:00",
        "accelerator:99,host",
        "cuda:gpu:12345,level_zero:gpu:12345,host:cpu",
        "host,host",
        "host[host]",
        "host[HOS]:cpu:0",
        " host [ usmpy ] : 0 ",
        "cuda[no such platform],host[usmpy]",
    ],
)
def test_texts_that_mean_the_host(text):
    assert usmpy.Device(text) == usmpy.Device(HOST)


def test_a_type_alone_and_an_index_alone():
    assert usmpy.Device("cpu").device_type == "cpu"
    assert usmpy.Device("0") == usmpy.get_devices()[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ":",
        "host:",
        ":cpu",
        "host::0",
        "host,",
        ",host",
        "host,,host",
        "cpu:host",
        "0:cpu",
        "host:host",
        "cpu:cpu",
        "0:0",
        "host:cpu:0:0",
        "host:cpu:-1",
        "host:cpu:+1",
        "host:cpu:1.5",
        "host:cpu:0x0",
        "hosts",
        "host cpu",
        "host:cpu:0.0",
        "host:cpu:0.0@",
        "host:cpu:0.@1",
        "host:cpu:0.0@1.",
        "host:cpu:0\n0",
        "*",
        "\0",
        "host:cpu:٠.x",
        "host[]",
        "host[ ]",
        "host[usmpy",
        "host usmpy]",
        "[usmpy]",
        "cpu[usmpy]",
        "host:0[usmpy]",
        "host[a][b]",
        "host[a:b]",
        "host[usmpy]cpu",
    ],
)
def test_malformed_texts(text):
    with pytest.raises(ValueError, match=r"selector is .*backend:type:index") as caught:
        usmpy.Device(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "host:cpu:1",
        "host:gpu",
        "host:accelerator:3",
        "host:cpu:99999999999999999999",
        "host[intel]",
        "host[usmpy]:1",
    ],
)
def test_well_formed_and_absent(text):
    with pytest.raises(usmpy.DeviceNotFound, match="no such device") as caught:
        usmpy.Device(text)
    assert HOST in str(caught.value)
    assert text in str(caught.value)
    assert caught.value.backend == "host"
    assert isinstance(caught.value, usmpy.UsmError)


@pytest.mark.parametrize("text", ["host:cpu:0.0@0", "host:cpu:0.999@1", "host:cpu:0.0@99999"])
def test_missing_sub_devices(text):
    with pytest.raises(usmpy.DeviceNotFound):
        usmpy.Device(text)


@pytest.mark.parametrize("name", ["opencl", "level_zero", "cuda"])
def test_a_backend_that_is_not_here_is_named(name):
    no_drivers.run(
        f"""
        try:
            usmpy.Device("{name}:gpu:0")
            raise SystemExit("there is one")
        except usmpy.UsmError as error:
            assert error.backend == "{name}"
            assert "{name}" in str(error), error
        assert usmpy.get_devices(backend="{name}") == []
        """
    )


def test_no_alternative_is_available():
    with pytest.raises(usmpy.DeviceNotFound, match="no alternative") as caught:
        usmpy.Device("host:cpu:7,host:gpu")
    assert "host:cpu:7" in str(caught.value)
    assert "host:gpu" in str(caught.value)


def test_a_word_of_the_platform():
    """Devices with other platforms do not count for the index."""
    for platform in {device.platform for device in usmpy.get_devices()}:
        devices = [device for device in usmpy.get_devices() if device.platform == platform]
        for word in (platform.name, platform.vendor.upper(), platform.name[1:4].strip()):
            same = [
                device
                for device in usmpy.get_devices(devices[0].backend)
                if word.lower() in f"{device.platform.name}\n{device.platform.vendor}".lower()
            ]
            if word and not set(word) & set(",:[]"):
                for i, device in enumerate(same):
                    assert usmpy.Device(f"{device.backend}[{word}]:{i}") == device


def test_platforms_are_named_where_none_fits():
    with pytest.raises(usmpy.DeviceNotFound, match=r"host:cpu:0 \[Host, usmpy\]"):
        usmpy.Device("host[intel]")


# Aspects.


def test_a_device_with_aspects():
    for device in usmpy.get_devices():
        found = usmpy.select_device_with_aspects(device.aspects)
        assert found.aspects >= device.aspects
    first = usmpy.get_devices()[0]
    assert usmpy.select_device_with_aspects([]) == first
    assert usmpy.select_device_with_aspects(()) == first
    assert usmpy.select_device_with_aspects("cpu", "gpu") == usmpy.Device("cpu")
    assert usmpy.select_device_with_aspects({"cpu", "host_debuggable"}) == usmpy.Device(HOST)
    assert usmpy.select_device_with_aspects(iter(["cpu"]), excluded=["gpu", "accelerator"]) == usmpy.Device(
        "cpu"
    )


@pytest.mark.parametrize(("required", "excluded"), [("custom", ()), (["cpu", "gpu"], ()), ("cpu", "cpu")])
def test_aspects_that_no_device_has(required, excluded):
    with pytest.raises(usmpy.DeviceNotFound, match="no device has") as caught:
        usmpy.select_device_with_aspects(required, excluded)
    assert "cpu" in str(caught.value) or "custom" in str(caught.value)


def test_words_that_are_no_aspects():
    for call in (
        lambda: usmpy.select_device_with_aspects("fp65"),
        lambda: usmpy.select_device_with_aspects(["fp64"], "fp65"),
        lambda: usmpy.select_device_with_aspects(["fp64", ""]),
    ):
        with pytest.raises(ValueError, match=r"aspect is .*; one of cpu, gpu"):
            call()
    for call in (
        lambda: usmpy.select_device_with_aspects(None),
        lambda: usmpy.select_device_with_aspects(1),
        lambda: usmpy.select_device_with_aspects(["fp64", 1]),
        lambda: usmpy.select_device_with_aspects("fp64", b"gpu"),
    ):
        with pytest.raises(TypeError, match=r"required|excluded"):
            call()


# The list.


def test_every_device_is_made_again_from_its_filter_string():
    devices = usmpy.get_devices()
    assert devices
    for device in devices:
        assert usmpy.Device(device.filter_string) == device
    assert len({device.filter_string for device in devices}) == len(devices)


def test_there_is_one_host_device():
    assert [device.filter_string for device in usmpy.get_devices("host")] == [HOST]
    assert usmpy.Device(HOST) in usmpy.get_devices()


def test_filters_of_the_list_agree_with_it():
    everything = usmpy.get_devices()
    for backend in selectors.BACKENDS:
        assert usmpy.get_devices(backend) == [d for d in everything if d.backend == backend]
        for kind in selectors.DEVICE_TYPES:
            expected = [d for d in everything if (d.backend, d.device_type) == (backend, kind)]
            assert usmpy.get_devices(backend=backend, device_type=kind) == expected


def test_gpus_come_first():
    ranks = [selectors._rank(device) for device in usmpy.get_devices()]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("name", ["backend", "device_type"])
def test_bad_filters_of_the_list(name):
    with pytest.raises(ValueError, match=f"{name} is 'vulkan'"):
        usmpy.get_devices(**{name: "vulkan"})
    with pytest.raises(TypeError, match=f"{name} is 1"):
        usmpy.get_devices(**{name: 1})


# The default.


def test_the_default_without_wishes():
    default = usmpy.select_default_device()
    assert default.device_type == "gpu" or default == usmpy.Device(HOST)
    assert usmpy.Device() == usmpy.Device(None) == default


def test_usmpy_device_decides(monkeypatch):
    part = usmpy.Device(HOST).create_sub_devices(1)[0]
    monkeypatch.setenv("USMPY_DEVICE", part.filter_string)
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "nonsense")
    assert usmpy.select_default_device() == part
    assert usmpy.Device() == part
    assert usmpy.Queue().device.filter_string == part.filter_string
    assert usmpy.empty(1).device == part
    assert usmpy.zeros(1, device=None).queue is part.queue
    monkeypatch.delenv("USMPY_DEVICE")
    monkeypatch.delenv("ONEAPI_DEVICE_SELECTOR")
    assert usmpy.empty(1).device == part  # until the next query
    usmpy.select_default_device()
    assert usmpy.empty(1).device != part


def test_a_wish_that_names_nothing(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "host:cpu:5")
    with pytest.raises(usmpy.DeviceNotFound, match="USMPY_DEVICE is 'host:cpu:5'"):
        usmpy.Device()
    with pytest.raises(usmpy.DeviceNotFound, match="USMPY_DEVICE"):
        usmpy.Queue()
    monkeypatch.setenv("USMPY_DEVICE", "rubbish")
    with pytest.raises(ValueError, match="USMPY_DEVICE is 'rubbish'"):
        usmpy.Device()
    assert usmpy.Device(HOST).filter_string == HOST  # named devices are not about the default


@pytest.mark.parametrize("wish", ["", "  "])
def test_an_empty_wish_is_none(monkeypatch, wish):
    monkeypatch.setenv("USMPY_DEVICE", wish)
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", wish)
    assert usmpy.Device() == usmpy.select_default_device()


@pytest.mark.parametrize(
    "text",
    [
        "host:*",
        "native_cpu:cpu",
        "*:cpu",
        "HOST:CPU",
        "host:0",
        "host:cpu,gpu",
        "cuda:99;host:*",
        "hip:*;host:0",
        "host:*;!host:gpu",
        "!*:gpu;!opencl:*;!level_zero:*;!cuda:*",
        " host:* ; ",
    ],
)
def test_oneapi_selectors_that_choose_the_host(monkeypatch, text):
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", text)
    assert usmpy.Device() == usmpy.Device(HOST)


@pytest.mark.parametrize(
    "text", ["host:5", "host:gpu", "hip:*", "*:*;!*:*", "host:fpga", "host:acc", "host:0.1", "host:*.*"]
)
def test_oneapi_selectors_that_leave_nothing(monkeypatch, text):
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", text)
    with pytest.raises(usmpy.DeviceNotFound, match="ONEAPI_DEVICE_SELECTOR") as caught:
        usmpy.Device()
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["host", "host:", "vulkan:*", "host:first", "host:-1", "!:*", "host:0..1", "host:,"]
)
def test_oneapi_selectors_that_are_malformed(monkeypatch, text):
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", text)
    with pytest.raises(ValueError, match="ONEAPI_DEVICE_SELECTOR"):
        usmpy.Device()
