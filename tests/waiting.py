"""Waiting for what happens in other processes: the kernel says when, nothing is looked at again and again."""

import ctypes
import os
import select
import time
from contextlib import suppress

IN_CREATE, IN_MOVED_TO = 0x100, 0x80


def wait_for_file(path, seconds=60.0):
    """Until a file is there, also by being renamed to it. Raises AssertionError when the time is up (inotify(7))."""
    watch = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC)
    assert watch >= 0, os.strerror(ctypes.get_errno())
    try:
        folder = os.fsencode(path.parent)
        added = ctypes.CDLL(None, use_errno=True).inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO)
        assert added >= 0, os.strerror(ctypes.get_errno())
        deadline = time.monotonic() + seconds
        while not path.exists():
            assert select.select([watch], [], [], max(0.0, deadline - time.monotonic()))[0], f"{path} was not written"
            os.read(watch, 4096)
    finally:
        os.close(watch)


def wait_for_the_end(pids, seconds=60.0):
    """Until none of these processes runs, be they ours or reaped or not. Raises AssertionError when the time is up."""
    deadline = time.monotonic() + seconds
    for pid in pids:
        with suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            try:
                ended = select.select([process], [], [], max(0.0, deadline - time.monotonic()))[0]
            finally:
                os.close(process)
            assert ended, f"process {pid} lives on"
