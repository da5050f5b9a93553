"""Options of the tests, and then the plugin with their fixtures, whose modules read the options."""

from __future__ import annotations

import importlib.util

import options

# 2.9 GB that few environments have: tests/tools/with_dpctl.py makes one.
collect_ignore = [] if importlib.util.find_spec("dpctl") else ["interop/test_dpctl.py"]
pytest_plugins = ["suite"]  # imported after pytest_addoption


def pytest_addoption(parser, pluginmanager):
    options.add(parser, pluginmanager.get_plugin("pytestconfig").invocation_params.args)
