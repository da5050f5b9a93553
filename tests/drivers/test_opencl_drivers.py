"""Which OpenCL drivers are found, and what happens with those that do not work."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from backends import BACKENDS, POCL, Absent

import usmpy
from usmpy._inspection import diagnose as _diagnose

pytestmark = pytest.mark.not_sanitized("it runs other programs")

PACKAGED = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"
SYSTEM = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")

LIST = """
import json, usmpy
devices = [device.name for device in usmpy.get_devices("opencl")] if REPORT["built"] else []
print(json.dumps({"devices": devices, "report": usmpy.diagnose()}))
"""
LIST = LIST.replace("REPORT", 'next(r for r in usmpy._core._backends() if r["name"] == "opencl")')


def run(code, **variables):
    """The output of the code, in a process with these variables of OpenCL only."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_", "OPENCL_"))}
    kept["PYTHONPATH"] = str(pathlib.Path(usmpy.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **variables}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(**variables):
    return json.loads(run(LIST, **variables))


@pytest.fixture(scope="module")
def pocl():
    """The line by which loaders find PoCL."""
    if not SYSTEM.is_file():
        pytest.skip("PoCL is not installed (pocl-opencl-icd)")
    return SYSTEM.read_text()


@pytest.fixture(scope="module")
def intel():
    if not PACKAGED.is_file():
        pytest.skip("Intel's runtime is not in this environment (intel-opencl-rt)")
    return f"{PACKAGED}\n"


def folder(path, **lines):
    path.mkdir()
    for name, line in lines.items():
        (path / f"{name}.icd").write_text(line)
    return f"{path}/"  # the loader of CUDA's toolkit needs the slash


def names_by_clinfo(**variables):
    if shutil.which("clinfo") is None:
        pytest.skip("clinfo is not installed")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_", "OPENCL_"))}
    said = subprocess.run(["clinfo", "-l"], env={**kept, **variables}, capture_output=True, text=True).stdout
    return sorted(re.findall(r"Device #\d+: (.*)", said))


def test_the_devices_are_those_of_clinfo(tmp_path, pocl, intel):
    vendors = folder(tmp_path / "vendors", pocl=pocl, intel=intel)
    expected = names_by_clinfo(OCL_ICD_VENDORS=vendors)
    assert len(expected) >= 2
    assert sorted(listed(OCL_ICD_VENDORS=vendors)["devices"]) == expected


def test_the_environments_own_runtime_is_found_without_any_variable(intel):
    devices = listed()["devices"]
    assert any(not name.startswith(POCL) for name in devices)
    assert len(devices) == len(set(devices))  # once, however often it is found


def test_the_folder_of_vendors_is_honoured(tmp_path, pocl):
    without = listed(OCL_ICD_VENDORS=folder(tmp_path / "none"))["devices"]
    assert not [name for name in without if name.startswith(POCL)]
    alone = listed(OCL_ICD_VENDORS=folder(tmp_path / "one", pocl=pocl))["devices"]
    assert [name for name in alone if name.startswith(POCL)] == alone[:1] != []


def test_named_drivers_are_found_by_any_loader_and_work(tmp_path, pocl):
    code = f"""
import usmpy
device = next(d for d in usmpy.get_devices("opencl") if d.name.startswith({POCL}))
print(usmpy.flip(usmpy.arange(4, device=device)).copy().tolist())
"""
    # A loader that takes the variable lists them; for one that does not, they are opened beside it.
    none = folder(tmp_path / "none")
    assert run(code, OCL_ICD_VENDORS=none, OCL_ICD_FILENAMES=pocl.strip()) == "[3, 2, 1, 0]\n"
    twice = f"{pocl.strip()}::/nowhere/libnothing.so:{pocl.strip()}"
    found = listed(OCL_ICD_VENDORS=none, OCL_ICD_FILENAMES=twice)
    assert len([name for name in found["devices"] if name.startswith(POCL)]) == 1
    assert "/nowhere/libnothing.so" in found["report"].partition("driver that does not load")[2]


def test_a_broken_driver_is_reported_and_breaks_nothing(tmp_path, pocl):
    library = tmp_path / "libbroken.so"
    library.write_text("no library")
    vendors = folder(tmp_path / "vendors", broken=f"{library}\n", empty="", pocl=pocl)
    found = listed(OCL_ICD_VENDORS=vendors)
    assert [name for name in found["devices"] if name.startswith(POCL)]
    (line,) = [line for line in found["report"].splitlines() if "does not load" in line]
    assert str(library) in line


def test_a_machine_without_the_folder_of_drivers_has_no_broken_one(monkeypatch, tmp_path):
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_diagnose, "_VENDORS", str(tmp_path / "vendors"))
    assert "does not load" not in usmpy.diagnose()


@pytest.mark.parametrize(
    "use",
    [
        "",
        "usmpy.Queue('host')",
        "usmpy.Device('host:cpu:0').queue",
        "usmpy.get_devices('host')",
        "usmpy.zeros(3, device='host').tolist()",
        "usmpy.from_dlpack(usmpy.ones(3, device='host'))",
        "import os; os.environ['USMPY_DEVICE'] = 'host'; usmpy.zeros(3).tolist()",
    ],
)
def test_selecting_the_host_starts_no_driver(use):
    code = f"""
import usmpy
{use}
with open("/proc/self/maps") as maps:
    print(sorted({{line.split("/")[-1].strip() for line in maps if "OpenCL" in line or "ocl" in line}}))
"""
    assert run(code) == "[]\n"


FORK = """
import os, signal, warnings, usmpy
warnings.simplefilter("ignore")
device = next(d for d in usmpy.get_devices("opencl") if d.name == NAME)
queue = usmpy.Queue(device)
free = usmpy.Queue(device, in_order=False)
x = usmpy.arange(100_000, dtype="int32", queue=queue)
queue.fill(x, 3).wait()
free.memcpy(usmpy.empty_like(x), x).wait()
pending = usmpy.flip(x).copy() if PENDING else None
calls = {
    "Queue": lambda: usmpy.Queue(device),
    "fill": lambda: queue.fill(x, 4),
    "small fill": lambda: queue.fill(x[:4], 4),
    "copy": lambda: x.copy(),
    "empty": lambda: usmpy.empty(1 << 22, queue=queue),
    "arange": lambda: usmpy.arange(5, queue=queue),
    "host_task": lambda: queue.host_task(print, "never"),
    "Context": lambda: usmpy.Queue(device, context=usmpy.Context(device)),
    "Program": lambda: usmpy.Program("kernel void f(global int *x) { x[0] = 1; }", device=device)["f"],
}
child = os.fork()
if child == 0:
    signal.alarm(60)
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            said = "spawn" if "spawn" in str(error) else str(error)
        else:
            said = "nothing"
        print(name, said, flush=True)
    y = usmpy.arange(4, device="host")
    try:
        queue.wait()
    except RuntimeError as error:
        assert PENDING and "pending" in str(error)
    print(y.tolist(), "the host works", flush=True)
    del x, free, queue, pending
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert usmpy.flip(x).copy()[0].item() == 3
print("the parent goes on")
"""


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name", ["opencl-intel", "opencl-pocl"])
def test_a_fork_of_a_process_that_used_a_driver_says_spawn_and_does_not_hang(name, pending):
    (find,) = [backend.device for backend in BACKENDS if backend.name == name]
    try:
        device = find()
    except Absent as absent:
        pytest.skip(str(absent))
    lines = run(f"NAME, PENDING = {device.name!r}, {pending}\n{FORK}").splitlines()
    assert lines[-2:] == ["[0, 1, 2, 3] the host works", "the parent goes on"]
    assert len(lines) == 11
    assert not [line for line in lines[:-2] if not line.endswith(" spawn")]


# Intel's runtime where `pip install --user` puts it.


def as_user(folder, code, **variables):
    """The output of the code without a virtual environment, with the user's packages in the folder."""
    python = pathlib.Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_", "PYTHON"))}
    (folder / "vendors").mkdir(exist_ok=True)  # no driver but the user's
    site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    variables |= {"PYTHONUSERBASE": str(folder), "OCL_ICD_VENDORS": f"{folder}/vendors/"}
    variables |= {"PYTHONPATH": str(pathlib.Path(usmpy.__file__).parents[1])}
    done = subprocess.run([python, "-c", code], env=kept | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["user", "us[e]r*"])
def test_a_runtime_of_the_user_s_own_packages_is_found(intel, tmp_path, name):
    (tmp_path / name / "lib").mkdir(parents=True)
    for path in PACKAGED.parent.glob("*.so*"):
        (tmp_path / name / "lib" / path.name).symlink_to(path)
    for path in PACKAGED.parent.glob("*.rtl"):
        (tmp_path / name / "lib" / path.name).symlink_to(path)
    found = json.loads(as_user(tmp_path / name, LIST))
    assert len(found["devices"]) == 1
    assert f"driver: {tmp_path / name}/lib/libintelocl.so" in found["report"]
    found = json.loads(as_user(tmp_path / name, LIST, PYTHONNOUSERSITE="1"))
    assert found["devices"] == []


def test_diagnose_names_a_user_installed_runtime_that_does_not_load(intel, tmp_path):
    (tmp_path / "lib").mkdir()
    broken = tmp_path / "lib" / "libintelocl.so"
    broken.write_text("no library")
    said = as_user(tmp_path, "import usmpy; print(usmpy.diagnose())")
    assert re.search(rf"^opencl: broken: {re.escape(str(broken))}: .*; loader: /", said, re.M)
    (tmp_path / "vendors" / "intel.icd").write_text(intel)
    found = json.loads(as_user(tmp_path, LIST))
    assert len(found["devices"]) == 1
    assert f"  driver that does not load: {broken}: " in found["report"]
