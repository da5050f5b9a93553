"""Ctrl-C while the exit waits for a task that does not end: the process ends now."""

import os
import signal
import sys
import threading
import time

import usmpy

# A shell that starts this in the background may have switched Ctrl-C off.
signal.signal(signal.SIGINT, signal.default_int_handler)
queue = usmpy.Queue("host")
queue.host_task(time.sleep, 1000)


def interrupt():
    time.sleep(0.3)
    sys.stdout.write("ok\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt, daemon=True).start()
