"""Built programs, kept on disk between processes.

A file holds one entry: the data, then a digest of the key and the data. It is written under another name
and renamed, so that a reader never sees part of it. It is read through one descriptor, which is checked
first: a regular file (no link), owned by this user, not writable by others, with the right digest. An
entry that fails a check is removed and built again, so files of another user, a full disk or an older
release do no harm. There is no protection against a process of the same user, which could change the
program itself.

If the folder is not safe (owned by another user, writable by others, on a file system that forbids
execution), entries are kept in a private temporary folder until the process ends. Folders are checked at
each use: a cleaner may remove one, and another user may then make one of the same name.
"""

from __future__ import annotations

import contextlib
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    # hashlib imports OpenSSL, which takes longer than loading a kept program.
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

LIMIT = 512 << 20  # bytes in the folder; the least recently used entries are removed first
_ABI = "2"  # of the entries
_MAGIC = b"usmpy-1\n"
_TRAILER = len(_MAGIC) + 32
_USED_AGAIN = 3600  # seconds after which a use is recorded again
_STORES_TO_SWEEP = 64
_HALF_WRITTEN = ".new"

# By process, since a fork must not remove its parent's: the folder, its device and its inode.
_temporary: dict[int, tuple[str, int, int]] = {}
_stores = 0


def _version() -> str:
    from .. import __version__

    return __version__


def key(*parts: bytes | str) -> str:
    """The name of the entry that these parts determine, in this release."""
    digest = sha256()
    for part in (_ABI, _version(), *parts):
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _asked_for() -> str | None:
    """The folder that the environment names; None: no entry is kept."""
    if os.environ.get("USMPY_CACHE") == "0":
        return None
    if asked := os.environ.get("USMPY_CACHE_DIR"):
        return asked
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(cache, "usmpy") if os.path.isabs(cache) else None
    home = os.path.expanduser("~")
    return os.path.join(home, ".cache", "usmpy") if os.path.isabs(home) else None


def _ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _usable(folder: str) -> bool:
    try:
        try:
            status = os.lstat(folder)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or not _ours(status) or not os.access(folder, os.W_OK | os.X_OK):
            return False
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except (OSError, ValueError):
        return False


def _own_temporary() -> str | None:
    """This process's temporary folder, if it is still the one that was made."""
    folder, device, inode = _temporary.get(os.getpid(), ("", 0, 0))
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    same = (status.st_dev, status.st_ino) == (device, inode)
    return folder if same and stat.S_ISDIR(status.st_mode) and _ours(status) else None


def _remove_temporary() -> None:
    import shutil

    if (folder := _own_temporary()) is not None:
        shutil.rmtree(folder, ignore_errors=True)
    _temporary.pop(os.getpid(), None)


def _make_temporary() -> str:
    """A new folder, on a file system that allows execution if there is one."""
    import tempfile

    for parent in (None, os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", "/var/tmp"):
        if parent is None or os.path.isdir(parent):
            with contextlib.suppress(OSError):
                folder = tempfile.mkdtemp(prefix="usmpy-", dir=parent)
                if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
                    return folder
                os.rmdir(folder)
    return tempfile.mkdtemp(prefix="usmpy-")


def temporary_folder() -> str:
    """A private folder of this process, removed at exit. A new one if the last one was replaced."""
    if (folder := _own_temporary()) is not None:
        return folder
    import atexit

    known = _temporary.get(os.getpid())
    folder = _make_temporary()
    status = os.lstat(folder)
    made = folder, status.st_dev, status.st_ino
    if known is not None and _temporary.get(os.getpid()) == known:
        _temporary[os.getpid()] = made
    elif _temporary.setdefault(os.getpid(), made) is not made:  # another thread was faster
        os.rmdir(folder)
        return temporary_folder()
    atexit.unregister(_remove_temporary)
    atexit.register(_remove_temporary)
    return folder


def folder() -> str:
    """The absolute path of the folder of entries."""
    asked = _asked_for()
    if asked is not None:
        asked = os.path.abspath(asked)
        if _usable(asked):
            return asked
    return temporary_folder()


def _digest(name: str, data: bytes) -> bytes:
    return sha256(name.encode() + b"\0" + data).digest()


def _read(path: str, name: str) -> bytes | None:
    """The data of the entry; None if there is none, or if it failed a check."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:  # a link, or not to be read
        _discard(path)
        return None
    try:
        status = os.fstat(descriptor)
        data = b""
        if stat.S_ISREG(status.st_mode) and _ours(status) and status.st_size >= _TRAILER:
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                content = file.readall()
            data, magic, digest = (
                content[:-_TRAILER],
                content[-_TRAILER : len(_MAGIC) - _TRAILER],
                content[len(_MAGIC) - _TRAILER :],
            )
            if magic == _MAGIC and digest == _digest(name, data):
                _note_use(descriptor, status)
                return data
        _discard(path)
        return None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _note_use(descriptor: int, status: os.stat_result) -> None:
    import time

    if time.time() - status.st_mtime > _USED_AGAIN:
        with contextlib.suppress(OSError):
            os.utime(descriptor)


def _discard(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def load(key: str, suffix: str) -> bytes | None:
    """The data that was stored; None if there is none, or if it failed a check."""
    return _read(os.path.join(folder(), key + suffix), key + suffix)


def path(key: str, suffix: str) -> str | None:
    """The file with the data, which was checked by this call; None as load() does. The digest follows the
    data; the loader of shared objects ignores it."""
    file = os.path.join(folder(), key + suffix)
    return None if _read(file, key + suffix) is None else file


def store(key: str, suffix: str, data: bytes) -> str:
    """Stores the data and returns the path of the file. Several processes may store the same entry."""
    global _stores
    name = key + suffix
    try:
        file = _write(folder(), name, data)
    except OSError:  # the disk is full, or the folder is gone
        return _write(temporary_folder(), name, data)
    if _stores % _STORES_TO_SWEEP == 0:
        sweep()
    _stores += 1
    return file


def _write(where: str, name: str, data: bytes) -> str:
    file = os.path.join(where, name)
    new = os.path.join(where, f"{name}.{os.getpid()}.{os.urandom(6).hex()}{_HALF_WRITTEN}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(new, flags, 0o600)
    try:
        try:
            with open(descriptor, "wb", closefd=False) as out:
                out.write(data + _MAGIC + _digest(name, data))
            os.fchmod(descriptor, 0o600)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if os.path.isdir(file) and not os.path.islink(file):
            os.rmdir(file)
        os.rename(new, file)
    except BaseException:
        _discard(new)
        raise
    return file


def _is_entry(name: str) -> bool:
    """The user may have chosen a folder with other files in it."""
    return len(name) > 64 and name[64] == "." and set(name[:64]) <= set("0123456789abcdef")


def sweep(limit: int | None = None) -> None:
    """Brings the folder below its limit, and removes files of writers that died."""
    import time

    limit = LIMIT if limit is None else limit
    found: list[tuple[float, int, str]] = []
    try:
        with os.scandir(folder()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if not stat.S_ISREG(status.st_mode) or not _is_entry(entry.name):
                        continue
                    if entry.name.endswith(_HALF_WRITTEN):
                        if time.time() - status.st_mtime > _USED_AGAIN:
                            _discard(entry.path)
                        continue
                    found.append((status.st_mtime, status.st_size, entry.path))
    except OSError:
        return
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= limit:
            break
        _discard(file)
        total -= size
