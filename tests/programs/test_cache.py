"""Programs kept on disk between processes: found again, refused after a modification, and bounded in size."""

import os
import random
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from usmpy._compile import cache, compiler, host

KEY = cache.key("a", b"b")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name in ("USMPY_CACHE", "USMPY_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("USMPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment, "PYTHONPATH": str(Path(cache.__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_keys_tell_parts_apart():
    assert cache.key("ab", "c") != cache.key("a", "bc") != cache.key("abc")
    assert cache.key("a", b"b") == cache.key(b"a", "b") == KEY
    assert len(KEY) == 64


def test_keys_tell_releases_apart(monkeypatch):
    monkeypatch.setattr(cache, "_version", lambda: "0.0.0")
    assert cache.key("a", b"b") != KEY


@pytest.mark.parametrize("data", [b"", b"x", random.Random(1).randbytes(100_000)])
def test_stored_data_is_loaded(data, folder):
    assert cache.load(KEY, ".so") is None
    assert cache.path(KEY, ".so") is None
    file = cache.store(KEY, ".so", data)
    assert file == str(folder / (KEY + ".so")) == cache.path(KEY, ".so")
    assert cache.load(KEY, ".so") == data
    assert Path(file).read_bytes().startswith(data)
    assert cache.load(KEY, ".other") is None


def test_a_later_store_wins():
    cache.store(KEY, ".so", b"one")
    cache.store(KEY, ".so", b"two")
    assert cache.load(KEY, ".so") == b"two"


def test_other_users_have_no_access(folder):
    file = cache.store(KEY, ".so", b"data")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_another_process_finds_it():
    cache.store(KEY, ".so", b"kept")
    assert run(f"from usmpy._compile import cache; print(cache.load({KEY!r}, '.so'))") == "b'kept'"


def truncate(file):
    os.truncate(file, os.path.getsize(file) - 1)


def cut_to_nothing(file):
    os.truncate(file, 0)


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[2] ^= 1
    file.write_bytes(content)


def flip_a_bit_of_the_digest(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def append(file):
    file.write_bytes(file.read_bytes() + b"more")


def open_to_the_group(file):
    file.chmod(0o660)


def open_to_all(file):
    file.chmod(0o606)


def link_to_a_good_one(file):
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def folder_instead(file):
    file.unlink()
    file.mkdir()


def pipe_instead(file):
    file.unlink()
    os.mkfifo(file)


def entry_of_another_key(file):
    other = Path(cache.store(cache.key("other"), ".so", b"good data"))
    os.replace(other, file)


@pytest.mark.parametrize(
    "tamper",
    [
        truncate,
        cut_to_nothing,
        flip_a_bit,
        flip_a_bit_of_the_digest,
        append,
        open_to_the_group,
        open_to_all,
        link_to_a_good_one,
        folder_instead,
        pipe_instead,
        entry_of_another_key,
    ],
)
def test_a_modified_file_is_refused_and_replaced(tamper, folder):
    cache.store(KEY, ".so", b"good data")
    tamper(folder / (KEY + ".so"))
    assert cache.load(KEY, ".so") is None
    assert cache.path(KEY, ".so") is None
    assert cache.store(KEY, ".so", b"good data") == str(folder / (KEY + ".so"))
    assert cache.load(KEY, ".so") == b"good data"
    assert not (folder / (KEY + ".so")).is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which the system's administrator alone may")
def test_files_and_folders_of_another_user_are_not_used(folder):
    file = Path(cache.store(KEY, ".so", b"good data"))
    os.chown(file, 12345, 12345)
    assert cache.load(KEY, ".so") is None
    cache.store(KEY, ".so", b"good data")
    os.chown(folder, 12345, 12345)
    assert cache.load(KEY, ".so") is None
    assert not cache.store(KEY, ".so", b"own").startswith(str(folder))


def give_away(folder):
    os.chown(folder, 65534, 65534)


def open_to_others(folder):
    folder.chmod(0o777)


def replace_by_a_link(folder):
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


def replace_by_a_new_one(folder):
    """A cleaner removes the folder, then another user creates it."""
    shutil.rmtree(folder)
    folder.mkdir(0o700)
    if os.geteuid() == 0:
        give_away(folder)


def remove(folder):
    shutil.rmtree(folder)


AWAY = [open_to_others, replace_by_a_link, remove]
AWAY += [give_away, replace_by_a_new_one] if os.geteuid() == 0 else []


@pytest.mark.parametrize("away", AWAY)
def test_a_temporary_folder_that_is_no_longer_ours_is_left_alone(away, monkeypatch):
    monkeypatch.setenv("USMPY_CACHE", "0")
    monkeypatch.setattr(cache, "_temporary", {})
    file = Path(cache.store(KEY, ".so", b"data"))
    assert cache.temporary_folder() == str(file.parent)
    away(file.parent)
    assert cache.load(KEY, ".so") is None
    other = Path(cache.store(KEY, ".so", b"more"))
    assert other.parent != file.parent
    assert cache.load(KEY, ".so") == b"more"
    status = other.parent.lstat()
    assert status.st_uid == os.geteuid()
    assert stat.S_IMODE(status.st_mode) == 0o700
    cache._remove_temporary()
    assert not other.parent.exists()
    for left in (file.parent.with_name("moved"), file.parent):
        if left.is_symlink():
            left.unlink()
        shutil.rmtree(left, ignore_errors=True)


@pytest.mark.parametrize("away", AWAY)
def test_the_folder_is_checked_at_each_use(away, folder, monkeypatch):
    monkeypatch.setattr(cache, "_temporary", {})
    cache.store(KEY, ".so", b"data")
    assert cache.folder() == str(folder)
    away(folder)
    if away is remove:  # it is made again
        assert cache.load(KEY, ".so") is None
        assert Path(cache.store(KEY, ".so", b"more")).parent == folder
        return
    before = set(folder.iterdir())
    assert cache.load(KEY, ".so") is None
    assert not cache.store(KEY, ".so", b"more").startswith(str(folder))
    assert set(folder.iterdir()) == before
    cache._remove_temporary()


@pytest.mark.not_sanitized("the system's compiler is no part of it")
@pytest.mark.skipif(
    os.geteuid() != 0, reason="gives a folder away, which the system's administrator alone may"
)
def test_output_in_a_replaced_folder_is_not_loaded(monkeypatch, folder):
    monkeypatch.setattr(cache, "_temporary", {})
    ours = Path(cache.temporary_folder())
    run = host._run

    def compile_and_lose(command, source):
        done = run(command, source)
        if "-shared" in command:
            os.chown(ours, 65534, 65534)
        return done

    monkeypatch.setattr(host, "_run", compile_and_lose)
    with pytest.raises(compiler.CompileError, match="was replaced while the program was built"):
        compiler.build("kernel void f(global int *x) { x[0] = 1; }", "portable")
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(host, "_run", run)
    compiler.build("kernel void f(global int *x) { x[0] = 1; }", "portable")
    cache._remove_temporary()
    shutil.rmtree(ours)


def make_writable_to_all(folder):
    folder.mkdir()
    folder.chmod(0o777)


def make_a_link(folder):
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")


def make_a_file(folder):
    folder.write_text("")


def make_its_parent_a_file(folder):
    folder.parent.joinpath("file").write_text("")
    os.environ["USMPY_CACHE_DIR"] = str(folder.parent / "file" / "cache")


@pytest.mark.parametrize("make", [make_writable_to_all, make_a_link, make_a_file, make_its_parent_a_file])
def test_an_unsafe_folder_is_left_alone(make, folder):
    make(folder)
    file = cache.store(KEY, ".so", b"data")
    assert not file.startswith(str(folder))
    assert cache.load(KEY, ".so") == b"data"
    assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
    assert not folder.is_dir() or not list(folder.iterdir())


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"USMPY_CACHE_DIR": "{0}/a/b"}, "{0}/a/b"),
        ({"XDG_CACHE_HOME": "{0}/x"}, "{0}/x/usmpy"),
        ({"HOME": "{0}/mine"}, "{0}/mine/.cache/usmpy"),
    ],
)
def test_the_environment_names_the_folder(environment, place, tmp_path, monkeypatch):
    monkeypatch.delenv("USMPY_CACHE_DIR")
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    assert cache.folder() == place.format(tmp_path)


def test_without_a_cache_nothing_stays(folder):
    code = f"""
        from usmpy._compile import cache
        from usmpy._compile import host
        from usmpy._compile import compiler
        file = cache.store({KEY!r}, ".so", b"data")
        assert cache.load({KEY!r}, ".so") == b"data"
        print(file)
    """
    file = run(code, USMPY_CACHE="0")
    assert not file.startswith(str(folder))
    assert not os.path.exists(os.path.dirname(file))
    assert not folder.exists()


def test_folders_where_nothing_may_run_are_not_used(monkeypatch, folder, tmp_path):
    real = os.statvfs

    class NoExec:
        f_flag = os.ST_NOEXEC

    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    good = str(tmp_path / "runtime")
    monkeypatch.setattr(os, "statvfs", lambda path: real(path) if path.startswith(good) else NoExec)
    assert not cache._usable(str(folder))
    assert cache._make_temporary().startswith(good)


def test_a_forked_child_leaves_its_parents_folder(folder):
    code = f"""
        import os, sys
        from usmpy._compile import cache
        from usmpy._compile import host
        from usmpy._compile import compiler
        file = cache.store({KEY!r}, ".so", b"data")
        child = os.fork()
        if not child:
            other = cache.store({KEY!r}, ".so", b"data")
            assert os.path.dirname(other) != os.path.dirname(file)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.exists(file)
        print(file)
    """
    assert not os.path.exists(run(code, USMPY_CACHE="0"))


def test_a_full_disk_is_no_error(monkeypatch, folder):
    real = cache._write

    def full(where, name, data):
        if where == str(folder):
            raise OSError(28, "No space left on device")
        return real(where, name, data)

    monkeypatch.setattr(cache, "_write", full)
    assert not cache.store(KEY, ".so", b"data").startswith(str(folder))


def test_a_failed_write_leaves_nothing(monkeypatch, folder):
    def fail(descriptor):
        raise OSError(5, "Input/output error")

    cache.folder()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input"):
        cache._write(str(folder), KEY + ".so", b"data")
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_entry_is_removed_first(folder):
    keys = [cache.key(str(i)) for i in range(6)]
    now = time.time()
    for i, key in enumerate(keys):
        file = cache.store(key, ".so", bytes(1000))
        os.utime(file, (now, now - 100_000 + 1000 * i))
    (folder / "not ours").write_bytes(bytes(5000))
    assert cache.load(keys[0], ".so") == bytes(1000)  # the oldest one is used again
    cache.sweep(3500)
    assert [cache.path(key, ".so") is not None for key in keys] == [True, False, False, False, True, True]
    assert (folder / "not ours").exists()


def test_files_of_dead_writers_are_removed(folder):
    cache.store(KEY, ".so", b"data")
    old, new = folder / f"{KEY}.so.1.ab.new", folder / f"{KEY}.so.2.cd.new"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.sweep()
    assert not old.exists()
    assert new.exists()
    assert cache.load(KEY, ".so") == b"data"


def test_many_processes_store_and_load_one_entry(folder):
    code = f"""
        import sys
        from usmpy._compile import cache
        from usmpy._compile import host
        from usmpy._compile import compiler
        data = bytes([7]) * 50_000
        for _ in range(40):
            cache.store({KEY!r}, ".so", data)
            assert cache.load({KEY!r}, ".so") == data
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(cache.__file__).parents[2])}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    running = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert [file.name for file in folder.iterdir()] == [KEY + ".so"]
