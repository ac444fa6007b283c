"""What is shown on stderr while the judge works: a bar on a terminal, a line per file elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from harness.rows import Row


class Progress:
    """A context manager. A `silent` one shows nothing: that of a process whose judge has one of its own."""

    def __init__(self, silent: bool = False) -> None:
        self._bar = None
        if sys.stderr.isatty() and not silent:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def start(self, what: str) -> None:
        if self._bar:
            self._bar.reset(self._task, description=what, total=None)

    def cases(self, total: int) -> Callable[[], None]:
        if not self._bar:
            return lambda: None
        self._bar.update(self._task, total=total)
        return lambda: self._bar.advance(self._task)

    def describe(self, what: str) -> None:
        """Other words beside the bar, which goes on."""
        if self._bar:
            self._bar.update(self._task, description=what)

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr)

    def finish(self, row: Row) -> None:
        self.note(f"{row.file.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')}: {row.verdict}")
