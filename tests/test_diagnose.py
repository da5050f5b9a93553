"""diagnose(): what is there, what is not, and why."""

import usmpy


def test_every_backend_has_a_line():
    lines = usmpy.diagnose().splitlines()
    for name in ("host", "opencl", "level_zero", "cuda"):
        assert any(line.startswith(f"{name}: ") for line in lines)
    assert lines[0].startswith(f"usmpy {usmpy.__version__}, Python ")


def test_devices_are_listed_by_filter_string():
    text = usmpy.diagnose()
    for device in usmpy.get_devices():
        platform = device.platform.name
        assert f"  {device.filter_string}: {device.name} ({device.driver_version}), {platform}" in text


def test_the_host_comes_first():
    assert usmpy.diagnose().splitlines()[1] == "host: 1 device(s)"


def test_what_is_absent_says_why_and_what_helps():
    text = usmpy.diagnose()
    for report in usmpy._core._backends():
        if report["absent"]:
            assert report["absent"] in text
            assert not report["devices"]
            if report["built"]:
                assert "to use it, install" in text


def test_the_variables_that_filter_are_shown(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "host")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "host:*")
    text = usmpy.diagnose()
    assert "USMPY_DEVICE='host'" in text
    assert "ONEAPI_DEVICE_SELECTOR='host:*'" in text
    monkeypatch.delenv("USMPY_DEVICE")
    assert "USMPY_DEVICE" not in usmpy.diagnose()


def test_variables_that_are_malformed_do_not_stop_the_report(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "rubbish")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "::")
    assert "USMPY_DEVICE='rubbish'" in usmpy.diagnose()
