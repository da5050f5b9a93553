"""A backend that takes no programs."""

import pytest

import usmpy


@pytest.mark.parametrize("language", [None, "opencl", "spirv"])
def test_it_is_said(language):
    device = usmpy.Device("minimal:cpu:0")
    with pytest.raises(ValueError, match="devices of the backend minimal take no programs"):
        usmpy.Program("kernel void a(int n) {}", device=device, language=language)
