"""Locks on files, between processes: they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PASSING_SECONDS = 0.5  # the gate is held for a moment by everybody who passes


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock on `path` for itself."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def turn(path: Path, alone: bool, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Holds a share of the lock on `path`, or, `alone`, the whole of it; calls `when_waiting` if it has to wait.

    Whoever waits for the whole holds the gate in front meanwhile, so that no stream of shares can keep it waiting.
    """
    with open(path, "a") as file:
        with open(path.with_suffix(".gate"), "a") as gate:
            is_first = _take(gate, fcntl.LOCK_EX, PASSING_SECONDS)
            if not is_first:
                when_waiting()
                fcntl.flock(gate, fcntl.LOCK_EX)
            kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
            if not _take(file, kind, 0.0):
                if is_first:
                    when_waiting()
                fcntl.flock(file, kind)
        yield


def _take(file: IO, kind: int, seconds: float) -> bool:
    """Whether the lock could be had within so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
