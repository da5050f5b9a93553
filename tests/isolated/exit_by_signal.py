"""Ctrl-C while the exit waits for a task that does not end: the process ends now."""

import os
import pathlib
import signal
import sys
import threading

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from asleep import until_asleep

# A shell that starts this in the background may have switched Ctrl-C off.
signal.signal(signal.SIGINT, signal.default_int_handler)
queue = usmpy.Queue("host")
queue.host_task(threading.Event().wait)


def interrupt():
    until_asleep()  # the main thread, in the exit
    sys.stdout.write("ok\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt, daemon=True).start()
