"""Another process that opens shared memory: ``Peer()`` runs code there, step by step, and may be killed.

Code that a `Peer` is called with runs in one namespace of the other process, in which `data` and `fds` are
those of the handle that came along, and `handle()` joins them.
"""

from __future__ import annotations

import array
import pickle
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path


class Failed(Exception):
    """The other process raised this: the name of the exception, and its message."""


class Peer:
    def __init__(self, **environment):
        import os

        import usmpy

        tests = str(Path(__file__).parent)
        paths = [str(Path(usmpy.__file__).parents[1]), tests, os.environ.get("PYTHONPATH", "")]
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment},
        )
        theirs.close()
        self.socket = own
        own.settimeout(60)

    def start(self, code, handle=None):
        """Send the code without a wait for its result."""
        data, fds = (b"", ()) if handle is None else (bytes(handle), handle.fds)
        socket.send_fds(self.socket, [pickle.dumps((code, data))], fds)

    def result(self):
        worked, value = pickle.loads(self.socket.recv(1 << 16))
        if not worked:
            raise Failed(*value)
        return value

    def __call__(self, code, handle=None):
        """The value of an expression, or None of statements."""
        self.start(code, handle)
        return self.result()

    def receive(self):
        """What `send(handle)` sent: bytes and descriptors."""
        data, fds, _, _ = socket.recv_fds(self.socket, 1 << 16, 16)
        return data, fds

    def kill(self):
        """SIGKILL; returns once the process is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()
        self.process.kill()
        self.process.wait()


def resealed(data, offset, format, value):
    """A handle's bytes with one changed member, and the check that belongs to them."""
    data, at = bytearray(data), 16
    struct.pack_into(format, data, offset, value)
    check = 14695981039346656037
    for i, byte in enumerate(data):
        if not at <= i < at + 8:
            check = ((check ^ byte) * 1099511628211) % 2**64
    struct.pack_into("Q", data, at, check)
    return bytes(data)


def serve(own):
    import os

    import usmpy

    space = {"usmpy": usmpy, "os": os, "fds": []}

    def handle():
        return usmpy.IPCHandle.from_bytes(space["data"], space["fds"])

    def send(made):
        rights = array.array("i", made.fds)
        own.sendmsg([bytes(made)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])

    space.update(handle=handle, send=send)
    while True:
        message, fds, _, _ = socket.recv_fds(own, 1 << 16, 16)
        if not message:
            return
        code, data = pickle.loads(message)
        if data:
            for fd in space["fds"]:
                os.close(fd)
            space.update(data=data, fds=fds)
        try:
            try:
                value = eval(compile(code, "<peer>", "eval"), space)
            except SyntaxError:
                value = exec(code, space)
            answer = (True, value)
        except Exception as error:
            answer = (False, (type(error).__name__, str(error)))
            error.__traceback__ = None
        own.send(pickle.dumps(answer))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
