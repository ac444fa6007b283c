"""Locks on files, between processes: they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PASSING_SECONDS = 0.5


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock on `path` for itself."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def turn(path: Path, alone: bool, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Holds a share of the lock on `path`, or, `alone`, the whole of it; calls `when_waiting` if that takes a while.

    Whoever waits for the whole holds the gate in front meanwhile, so that no stream of shares can keep it waiting.
    Everybody who passes holds the gate for a moment, too, which is no reason to say that one waits.
    """
    said = threading.Timer(PASSING_SECONDS, when_waiting)
    said.daemon = True
    with open(path, "a") as file:
        said.start()
        try:
            with open(path.with_suffix(".gate"), "a") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            said.cancel()
        yield


@contextmanager
def sole_holder(path: Path) -> Iterator[None]:
    """Holds the lock on a file that is there as long as it is held; raises BlockingIOError where another one does."""
    while True:
        with open(path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink == 0:
                continue  # its holder has removed it since it was opened
            try:
                yield
            finally:
                path.unlink()
            return
