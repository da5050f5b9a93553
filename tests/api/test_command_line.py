"""python -m usmpy in processes of its own: tables, JSON, terminals, errors; and its parts in this one."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import usmpy
from usmpy import _cli
from usmpy._cli import bench, check, screen

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.not_sanitized("it runs programs of its own")
BOX = re.compile("[\u2500-\u257f]")


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*arguments, **more):
    command = [sys.executable, "-m", "usmpy", *arguments]
    return subprocess.run(
        command, env=environment(**more), capture_output=True, encoding="utf-8", timeout=250
    )


def test_an_import_loads_no_module_that_takes_long():
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import usmpy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    slow = {"typing", "re", "inspect", "dataclasses", "pathlib", "json", "numpy"}
    assert not slow.intersection(done.stdout.split()), done.stderr


def run_on_terminal(*arguments, **more):
    """Its output to a terminal of 70 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "usmpy", *arguments]
    variables = environment(COLUMNS="70", TERM="xterm-256color", **more)
    with subprocess.Popen(
        command, env=variables, stdin=follower, stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        text = b""
        try:
            while block := os.read(leader, 65536):
                text += block
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        status = process.wait(timeout=250)
    return status, text.decode().replace("\r\n", "\n")


def test_the_table_of_devices():
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["device", "name", "units", "memory", "USM", "platform", "and", "driver"]
    (host,) = [line for line in lines if line.startswith("host:cpu:0")]
    assert "host:cpu:0 *" in host
    assert host.endswith(f"  Host, {usmpy.Device('host').driver_version}")
    assert "device shared host system" in host
    there = {device.filter_string for device in usmpy.get_devices()}
    assert there <= {word for line in lines for word in line.split()}
    for backend in ("opencl", "level_zero", "cuda"):
        if not any(name.startswith(backend) for name in there):
            assert re.search(rf"^{backend}: (absent|broken)$", done.stdout, re.M)


def test_json_says_the_same():
    done = run("--json", USMPY_CUDA_LIBRARY="/nowhere/libcuda.so")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    backends = {backend["name"]: backend for backend in report["backends"]}
    assert next(iter(backends)) == "host"
    (host,) = backends["host"]["devices"]
    assert host["filter_string"] == report["default_device"] == "host:cpu:0"
    assert host["usm_kinds"] == ["device", "shared", "host", "system"]
    assert host["platform"]["name"] == "Host"
    assert set(host["platform"]) == {"name", "vendor", "version"}
    assert host["aspects"] == sorted(usmpy.Device("host").aspects)
    assert host["max_work_item_sizes"] == list(usmpy.Device("host").max_work_item_sizes)
    assert backends["cuda"]["state"] in ("absent", "broken")
    assert "/nowhere/libcuda.so" in " ".join(backends["cuda"]["reasons"])


def test_verbose_prints_all_details_and_the_diagnosis():
    done = run("--verbose", ONEAPI_DEVICE_SELECTOR="hip:*", USMPY_DEVICE="")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("max_compute_units", "local_mem_size", "ONEAPI_DEVICE_SELECTOR='hip:*'", usmpy.__version__):
        assert word in done.stdout
    assert "no default device: ONEAPI_DEVICE_SELECTOR" in done.stdout


@pytest.mark.parametrize("command", ["check", "bench"])
@pytest.mark.parametrize("device", ["nothing", "host:cpu:99"])
def test_an_unknown_device_is_one_line_and_status_2(command, device, capsys):
    assert _cli.main([command, device]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usmpy: selector is")
    assert said.err.count("\n") == 1


def test_wrong_options_are_status_2(capsys):
    for arguments in (["nothing"], ["bench", "--mib", "0"], ["check", "a", "b"]):
        with pytest.raises(SystemExit) as ended:
            _cli.main(arguments)
        assert ended.value.code == 2
    assert "usage: usmpy" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["x", "", "0", "-1", "1.5", "1048577", "²"])
def test_a_size_of_copies_that_is_none(capsys, size):
    with pytest.raises(SystemExit):
        _cli.main(["bench", f"--mib={size}"])
    assert f"argument --mib: {size!r} is not an int from 1 to 1048576\n" in capsys.readouterr().err


def test_check_passes_on_the_host(capsys):
    assert _cli.main(["check", "host"]) == 0
    said = capsys.readouterr().out
    assert f"{len(check.CHECKS)} passed, 0 failed, 0 skipped" in said
    assert "kernels: work-groups" in said


def test_check_reports_failures(capsys, monkeypatch):
    def wrong(queue):
        check.same([1], [2])

    def skip(queue):
        raise check.Skipped("not here")

    monkeypatch.setattr(check, "CHECKS", (("one", wrong), ("two", skip), ("three", lambda queue: "fine")))
    assert _cli.main(["check", "host", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["failed"], report["skipped"]) == (1, 1)
    assert [row["result"] for row in report["checks"]] == ["FAILED", "skipped", "ok"]
    assert report["checks"][0]["detail"] == "AssertionError: got [1], expected [2]"


def test_bench_measures_and_draws(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "bench.svg"
    assert _cli.main(["bench", "host", "--mib", "1", "--picture", str(picture), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    places = [bench.PAGEABLE, "host:cpu:0 device", "host:cpu:0 shared", "host:cpu:0 host"]
    assert (report["places"], report["nbytes"]) == (places, 1 << 20)
    assert report["gb_per_s"][0][0] is None
    assert sum(value > 0 for row in report["gb_per_s"] for value in row if value is not None) == 15
    assert report["launches"]["host:cpu:0"]["launch_ns"] > 0
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_bench_as_text(capsys):
    assert _cli.main(["bench", "host", "--mib", "1"]) == 0
    said = capsys.readouterr().out
    assert "Copies of 1.0 MiB, GB/s" in said
    assert len(re.findall(r"#+$", said, re.M)) == 15
    assert "launch and wait" in said


def test_a_picture_without_matplotlib(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert _cli.main(["bench", "host", "--mib", "1", "--picture", "x.png"]) == 2
    assert "usmpy[cli]" in capsys.readouterr().err


def test_on_a_terminal_with_rich():
    pytest.importorskip("rich")
    status, text = run_on_terminal("check", "host")
    assert status == 0
    assert BOX.search(text)
    assert "\x1b[32mok" in text  # green
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert max(map(len, plain.replace("\r", "\n").splitlines())) <= 70
    status, text = run_on_terminal(NO_COLOR="1")
    assert status == 0
    assert BOX.search(text)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)


def test_on_a_terminal_without_rich(tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('not here')\n")
    status, text = run_on_terminal(PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert status == 0
    assert not BOX.search(text)
    assert "\x1b" not in text
    table = text.partition("\n* the default")[0]
    assert max(map(len, table.splitlines())) <= 70
    assert "host:cpu:0" in table


def test_cells_are_wrapped_only_where_there_is_a_width(capsys, monkeypatch):
    rows = [["a", "word " * 40], ["b", "x"]]
    monkeypatch.delenv("COLUMNS", raising=False)
    screen.table(["k", "value"], rows)
    assert len(capsys.readouterr().out.splitlines()) == 4
    monkeypatch.setenv("COLUMNS", "40")
    screen.table(["k", "value"], rows, title="t", right=(0,))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "t"
    assert max(map(len, lines)) <= 40
    assert len(lines) > 6


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m usmpy --verbose | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=250,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("device")
