"""The corpus of submissions by which the judge is judged: what each must get, and whether it got it.

The header of a specimen: `expect: VERDICT`, its first line; `kind: WORD`; `says: REGEX`, found in the row's message;
`flag: FLAG`, raised; `warns: REGEX`, found in a warning; `flags: ...`, of the command line; `verb: bench` to have it
timed, too; `backend: cpu` or `backend: gpu`, where only one of them can tell.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import rows

FOLDER = Path(__file__).parent.parent / "tests" / "submissions"
MARK = "SOLVE_JUDGE_CORPUS_RUN"  # in the environment of a run and so of every process that it leaves behind
NAMES = "kind|expect|says|flag|warns|flags|verb|backend"


@dataclass(frozen=True)
class Specimen:
    """A submission and the lines of its header by name, as (name, value) pairs."""

    path: Path
    header: tuple[tuple[str, str], ...]

    def line(self, name: str, otherwise: str = "") -> str:
        return dict(self.header).get(name, otherwise)

    @property
    def kind(self) -> str:
        return self.line("kind")

    @property
    def is_good(self) -> bool:
        """Whether refusing it, or a flag that --strict lets decide, would be the judge's mistake."""
        return self.path.parent.name == "good"

    @property
    def expected(self) -> str:
        return self.line("expect")

    @property
    def backends(self) -> tuple[str, ...]:
        only = self.line("backend")
        return (only,) if only else ("cpu", "gpu")

    @property
    def verb_and_flags(self) -> tuple[str, str]:
        """Specimens that share them can be judged in one run."""
        return self.line("verb", "check"), self.line("flags")


@dataclass(frozen=True)
class Run:
    """What one run of the judge over specimens gave: rows of the JSON by path, stderr, and what it left running."""

    status: int
    stderr: str
    rows: dict[Path, list[dict]]
    left: list[bytes]


def read_specimen(path: Path) -> Specimen:
    lines = path.read_text("utf-8-sig", errors="replace").splitlines()[:9]
    matches = [re.match(rf"(?://|#) ({NAMES}): (.*)", line) for line in lines]
    return Specimen(path, tuple((match[1], match[2]) for match in matches if match))


def read_corpus() -> list[Specimen]:
    """Every specimen in FOLDER; none where the package was installed without the source tree."""
    return [read_specimen(path) for path in sorted(FOLDER.rglob("*")) if path.suffix in (".cu", ".py")]


def run(specimens: Iterable[Specimen], backend: str, seed: int | None = None) -> Run:
    """Judges specimens of one verb and flags in one run of the command line, as a teacher would judge a class."""
    specimens = list(specimens)
    ((verb, flags),) = {specimen.verb_and_flags for specimen in specimens}
    value = secrets.token_hex(8)
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory(prefix="solve-judge-") as folder:
        result = Path(folder) / "run.json"
        command = [sys.executable, "-m", "harness", verb, *(str(specimen.path) for specimen in specimens)]
        command += ["--backend", backend, "--json", str(result), *flags.split()]
        command += [] if seed is None else ["--seed", str(seed)]
        environment = {**os.environ, "PYTHONPATH": path, MARK: value}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
        left = list(processes_with(f"{MARK}={value}").values())
        document = json.loads(result.read_text()) if done.returncode in (0, 1) else {"rows": []}
    found: dict[Path, list[dict]] = {}
    for row in document["rows"]:
        found.setdefault(Path(row["file"]), []).append(row)
    return Run(done.returncode, done.stderr.decode(errors="replace"), found, left)


def processes_with(variable: str) -> dict[int, bytes]:
    """The living processes whose environment holds `variable`, with their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_bytes()
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def why_unexpected(specimen: Specimen, found: Run) -> str:
    """Why what a run gave a specimen is not what its header expects, or ""."""
    if found.status not in (0, 1):
        return f"the run ended with status {found.status}: {found.stderr.strip()[-300:]}"
    if "Traceback" in found.stderr:
        return f"a traceback: {found.stderr.strip()[-300:]}"
    if not found.rows.get(specimen.path):
        return "it has no row"
    return next(filter(None, (_why_not(specimen, row) for row in found.rows[specimen.path])), "")


def _why_not(specimen: Specimen, row: dict) -> str:
    warnings = "\n".join(row["warnings"])
    if row["verdict"] != specimen.expected:
        return f"{row['verdict']} and not {specimen.expected}: {row['message']}"
    if not re.search(specimen.line("says"), row["message"]):
        return f"its message is {row['message']!r}"
    flag = specimen.line("flag")
    if flag and flag not in row["flags"]:
        return f"the flag {flag} was not raised"
    if not re.search(specimen.line("warns"), warnings):
        return f"its warnings are {warnings!r}"
    if specimen.is_good and set(row["flags"]) & set(rows.STRICT_FLAGS):
        return f"it has the flags {row['flags']}: {warnings}"
    if specimen.is_good and re.search("leaks|leaves", warnings):
        return warnings
    return ""
