"""Locks on files, between processes: they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


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
            steps = ((gate, fcntl.LOCK_EX), (file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
            waits = False
            for step, kind in steps:
                try:
                    fcntl.flock(step, kind | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not waits:
                        when_waiting()
                    waits = True
                    fcntl.flock(step, kind)
        yield
