"""One call of a solve in a process of its own, under a tool that watches it: the judge's side of bare.py."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from harness.judge import Session, placement
from harness.problems import Arrays, Case
from harness.submission import Submission
from harness.supervisor import Ended, run_program


@contextmanager
def prepared(submission: Submission, case: Case, inputs: Arrays, session: Session, way: str) -> Iterator[Path]:
    """A directory with what bare.py reads, task.json among it; `way` is one of bare.WAYS. Raises BuildError."""
    (build,) = session.build(submission).values()
    problem = submission.problem
    lengths = problem.lengths(case.sizes)
    with tempfile.TemporaryDirectory(dir=session.fork_server.folder) as folder:
        for name, array in inputs.items():
            np.save(Path(folder) / f"{name}.before.npy", array)
        task = {
            "backend": "gpu",
            "path": str(submission.path.absolute()),
            "library": str(build.shared_object.absolute()) if build else None,
            "runtime": None,
            "parameters": [vars(p) for p in problem.parameters],
            **placement(problem, case),
            "bytes": {p.name: lengths[p.name] * np.dtype(p.dtype).itemsize for p in problem.buffers},
            "way": way,
        }
        (Path(folder) / "task.json").write_text(json.dumps(task))
        yield Path(folder)


def run_under(
    tool: list[str], folder: Path, session: Session, seconds: float, variables: dict[str, str] | None = None
) -> Ended:
    """Runs the prepared call below the fork server as the program of `tool`, a command line without one."""
    # -P: in the working directory lie submissions, and one may be called json.py.
    command = [*tool, sys.executable, "-P", "-m", "harness.bare", str(folder / "task.json")]
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return run_program(session.fork_server, command, variables or {}, seconds, half)
