"""The release wheel that users install, built from the source distribution of a copy of the tree."""

import configparser
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import options
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.not_sanitized("it reads sources and runs other programs"),
    pytest.mark.release("it builds the wheel"),
]

# Shared libraries that the extension may need: parts of glibc and its loader, and nothing else.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def run(*command, **options):
    options = {"check": True, "text": True, "stdout": subprocess.PIPE, **options}
    return subprocess.run(command, **options).stdout


def release_environment(**more):
    """This environment without what turns a build into another one than users get."""
    others = ("USMPY_", "DLPACK_", "OPENCL_", "PYTHON", "CFLAGS", "LDFLAGS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    return {**kept, **more}


def copy_of_the_tree(folder):
    for name in run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """
    (the folder with the source distribution and the wheel that was made of it, what the build said). The
    folder is that of --wheels, if it is given, so that others may use the wheel too.
    """
    tree = copy_of_the_tree(tmp_path_factory.mktemp("tree"))
    out = Path(options.value("wheels") or tmp_path_factory.mktemp("dist"))
    done = subprocess.run(
        # -x: the headers of OpenCL may come from the system instead of the required package.
        [sys.executable, "-m", "build", "-nx", "--outdir", out],
        cwd=tree,
        env=release_environment(USMPY_WERROR="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return out, done.stdout


@pytest.fixture(scope="module")
def build(built):
    """(the wheel, what the build said)."""
    (wheel,) = built[0].glob("*.whl")
    return wheel, built[1]


@pytest.fixture(scope="module")
def site(build, tmp_path_factory):
    """A folder with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(build[0]) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def extension(site):
    (path,) = (site / "usmpy").glob("_core.*.so")
    return path


def test_the_build_says_what_it_found_and_has_no_warning(build):
    said = build[1]
    assert re.search(r"^usmpy: dlpack/dlpack\.h 1\.\d+ from /", said, re.M)
    assert "usmpy: backend host: built" in said
    assert re.search(r"^usmpy: backend opencl: built, CL/cl\.h from /", said, re.M)
    assert "-Wall -Wextra" in said
    assert "-Werror" in said
    assert not [line for line in said.splitlines() if re.search(r"\bwarning\b", line, re.I)]


def test_the_wheel_stays_small(build):
    assert build[0].stat().st_size <= 2_200_000


def test_the_wheel_holds_the_package_and_nothing_else(build):
    with zipfile.ZipFile(build[0]) as archive:
        names = set(archive.namelist())
    package = {name for name in names if name.startswith("usmpy/")}
    (extension,) = (name for name in package if name.endswith(".so"))
    files = [path for end in ("py", "c", "cuh", "h") for path in (ROOT / "usmpy").rglob(f"*.{end}")]
    source = {path.relative_to(ROOT).as_posix() for path in files}
    assert package == {*source, extension, "usmpy/_core.pyi", "usmpy/py.typed", "usmpy/include/usmpy.h"}
    rest = {re.sub(r"^usmpy-[^/]*\.dist-info/", "", name) for name in names - package}
    assert rest == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}


def test_the_source_distribution_holds_sources_and_tests_only(built):
    (path,) = built[0].glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
    tracked = set(run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines())
    tracked = {name for name in tracked if (ROOT / name).is_file()}
    assert {name for name in tracked - names if not name.startswith(".")} == set()
    written = {"PKG-INFO", "setup.cfg"}
    assert {name for name in names - tracked - written if "usmpy.egg-info/" not in name} == set()


def test_wheels_are_made_for_every_python_and_machine():
    pytest.importorskip("cibuildwheel", reason="needs Python 3.11")
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux"]
    pythons = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t")
    expected = {f"{python}-manylinux_{machine}" for python in pythons for machine in ("x86_64", "aarch64")}
    assert set(run(*command, ROOT, env=release_environment()).split()) == expected


def test_the_wheel_requires_no_other_package(site):
    (metadata,) = site.glob("usmpy-*.dist-info/METADATA")
    required = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text(), re.M)
    assert not [line for line in required if "extra ==" not in line]


def test_the_extension_exports_its_init_function_alone(extension):
    symbols = run("nm", "-D", "--defined-only", extension).split("\n")
    assert [line.split()[-1] for line in symbols if line] == ["PyInit__core"]


def test_the_extension_takes_from_python_and_glibc_alone(extension):
    names = [line.split()[-1] for line in run("nm", "-D", "--undefined-only", extension).splitlines()]
    weak = {
        "_ITM_deregisterTMCloneTable",
        "_ITM_registerTMCloneTable",
        "__gmon_start__",
    }  # of the C start files
    assert len(names) > 100
    assert not [name for name in names if not re.match(r"_?Py|.*@GLIBC_", name) and name not in weak]


def test_the_extension_needs_glibc_alone(extension):
    dynamic = run("readelf", "-dW", extension)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert "libc.so.6" in needed
    assert needed <= GLIBC


def test_the_extension_has_no_text_relocation_and_no_executable_stack(extension):
    assert "TEXTREL" not in run("readelf", "-dW", extension)
    (stack,) = re.findall(r"^\s*GNU_STACK\s.*$", run("readelf", "-lW", extension), re.M)
    assert re.search(r"\sRW\s", stack)


def test_the_extension_has_no_function_of_the_tests(extension):
    content = extension.read_bytes()
    assert b"memory_connection" in content
    assert b"_live_counts" not in content
    assert b"_fault" not in content
    assert b"minimal device" not in content


# In a process that can import nothing but the standard library and the wheel.
USE = """
    import json, sys

    def mapped():
        with open("/proc/self/maps") as maps:
            return {line.split(None, 5)[5].strip() for line in maps if ".so" in line}

    sys.path.insert(0, sys.argv[1])
    before = mapped()
    import usmpy
    imported = mapped() - before
    array = usmpy.asarray([[1, 2], [3, 4]], dtype="float32")
    double = usmpy.astype(array, usmpy.float64)
    double.queue.host_task(lambda x: None, double).wait()
    view = usmpy.from_dlpack(array)
    try:
        array.asnumpy()
        answer = "NumPy is here"
    except ImportError as error:
        answer = error.name
    print(json.dumps({
        "file": usmpy.__file__,
        "imported": sorted(imported),
        "values": double.tolist() + view.tolist(),
        "devices": [device.filter_string for device in usmpy.get_devices("host")],
        "asnumpy": answer,
        "text": repr(array),
        "modules": [name for name in sys.modules if name.partition(".")[0] in ("numpy", "tvm_ffi", "torch")],
    }))
"""


def test_the_wheel_works_without_numpy_and_opens_no_driver(site, extension):
    said = run(sys.executable, "-I", "-S", "-c", textwrap.dedent(USE), site)
    result = json.loads(said)
    assert result["file"] == str(site / "usmpy" / "__init__.py")
    assert result["imported"] == [str(extension)]
    assert result["values"] == [[1, 2], [3, 4]] * 2
    assert result["devices"] == ["host:cpu:0"]
    assert result["asnumpy"] == "numpy"
    assert "float32" in result["text"]
    assert result["modules"] == []


# The source folder, which Python looks at first when it is the current one.


def python_in(folder, site, *arguments):
    """A process in the folder that can import nothing but the standard library and the wheel."""
    environment = release_environment(PYTHONPATH=str(site), PYTHONNOUSERSITE="1")
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [("-m", "usmpy"), ("-c", "import usmpy")], ids="".join)
def test_in_the_source_folder_an_import_error_says_what_to_type(site, tmp_path, arguments):
    (tmp_path / "csrc").mkdir()
    shutil.copytree(ROOT / "usmpy", tmp_path / "usmpy", ignore=shutil.ignore_patterns("*.so"))
    done = python_in(tmp_path, site, *arguments)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: usmpy was imported from its source folder, {tmp_path / 'usmpy'}")
    assert "type usmpy instead of python -m usmpy" in said
    assert "cd .." in said
    assert said.endswith(f"{sys.executable} -m pip install -e {tmp_path}")
    above = tmp_path / "above"  # cd
    above.mkdir()
    assert python_in(above, site, *arguments).returncode == 0
    command = (
        f"import sys; sys.path[:] = [{str(site)!r}, *sys.path[1:]]; from usmpy._cli import main; main([])"
    )
    assert python_in(tmp_path, site, "-c", command).returncode == 0  # as the command's script has it


def test_a_package_without_its_extension_says_so(site, tmp_path):
    shutil.copytree(site / "usmpy", tmp_path / "usmpy", ignore=shutil.ignore_patterns("*.so"))
    (tmp_path / "usmpy" / "_core.cpython-39-x86_64-linux-gnu.so").touch()
    done = python_in(tmp_path, site, "-c", "import usmpy")
    said = done.stderr.splitlines()[-1]
    assert re.search(r"has no extension for Python 3\.\d+ \(_core\.cpython-39-x86_64-linux-gnu\.so\)", said)


def test_the_command_is_the_module(site):
    (points,) = site.glob("usmpy-*.dist-info/entry_points.txt")
    sections = configparser.ConfigParser()
    sections.read_string(points.read_text())
    assert dict(sections["console_scripts"]) == {"usmpy": "usmpy._cli:main"}


def test_dask_finds_the_module_of_its_entry_points(site):
    (points,) = site.glob("usmpy-*.dist-info/entry_points.txt")
    sections = configparser.ConfigParser()
    sections.read_string(points.read_text())
    named = {sections[name]["usmpy"] for name in ("dask.sizeof", "dask.array.backends")}
    assert named == {"usmpy.dask:register", "usmpy.dask:Backend"}
    assert (site / "usmpy" / "dask.py").is_file()


def dlpack_header():
    (package,) = importlib.util.find_spec("tvm_ffi").submodule_search_locations
    return (Path(package) / "include" / "dlpack" / "dlpack.h").read_text()


def folder_with_header(folder, major, minor):
    text = re.sub(r"(#define DLPACK_MAJOR_VERSION) \d+", rf"\1 {major}", dlpack_header())
    text = re.sub(r"(#define DLPACK_MINOR_VERSION) \d+", rf"\1 {minor}", text)
    (folder / "dlpack").mkdir()
    (folder / "dlpack" / "dlpack.h").write_text(text)
    return folder


def setup_with(folder, variable="DLPACK_INCLUDE"):
    return subprocess.run(
        [sys.executable, "setup.py", "--name"],
        cwd=ROOT,
        env=release_environment(**{variable: str(folder)}),
        capture_output=True,
        text=True,
    )


def test_the_build_fails_with_the_package_of_a_missing_header(tmp_path):
    done = setup_with(tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path} (not there)" in done.stderr
    assert "apache-tvm-ffi" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("version", [(1, 2), (0, 8), (2, 0)])
def test_a_header_of_another_version_ends_the_build(tmp_path, version):
    done = setup_with(folder_with_header(tmp_path, *version))
    assert done.returncode == 1
    assert f"{tmp_path} (version {version[0]}.{version[1]})" in done.stderr


def test_a_header_of_a_later_version_is_taken(tmp_path):
    done = setup_with(folder_with_header(tmp_path, 1, 9))
    assert done.returncode == 0, done.stderr
    assert f"dlpack/dlpack.h 1.9 from {tmp_path}" in done.stdout


@pytest.mark.parametrize("header", [None, "#define CL_VERSION_2_0 1"])
def test_the_build_without_opencl_headers_leaves_opencl_out(tmp_path, header):
    if header is not None:
        (tmp_path / "CL").mkdir()
        for name in ("cl.h", "cl_ext.h"):
            (tmp_path / "CL" / name).write_text(header)
    done = setup_with(tmp_path, "OPENCL_INCLUDE")
    assert done.returncode == 0, done.stderr
    assert "usmpy: backend host: built" in done.stdout
    (said,) = (line for line in done.stdout.splitlines() if "backend opencl" in line)
    assert "left out" in said
    assert "opencl-headers" in said


@pytest.mark.parametrize(
    ("version", "good"), [((1, 2), False), ((2, 3), False), ((1, 3), True), ((1, 4), True)]
)
def test_the_sources_refuse_an_old_header_too(tmp_path, version, good):
    folder = folder_with_header(tmp_path, *version)
    source = ROOT / "csrc" / "core" / "exchange" / "dltensor.c"
    command = [
        "cc",
        "-std=c11",
        "-D_GNU_SOURCE",
        "-fsyntax-only",
        f"-I{folder}",
        f"-I{ROOT / 'csrc'}",
        source,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) == good, done.stderr
    assert ("usmpy needs dlpack/dlpack.h of version 1.3" in done.stderr) != good
