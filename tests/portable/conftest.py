import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """One folder for the whole run: what another test has built is not built again."""
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))
