"""Every file in submissions/ gets the verdict its first line expects, through the real command line.

Header lines of a submission: `expect: VERDICT`; `says: REGEX`, found in the row's message; `flag: FLAG`, raised;
`flags: ...`, for the command line; `backend: cpu`, where only that backend can see it.
"""

import functools
import json
import re
import tempfile
from pathlib import Path

import pytest
from conftest import run_cli

FILES = sorted(path for path in (Path(__file__).parent / "submissions").iterdir() if path.suffix in (".cu", ".py"))


def header(path):
    """The header lines of a submission, by name."""
    lines = path.read_text(errors="replace").splitlines()[:8]
    matches = [re.match(r"(?://|#) (expect|says|flag|flags|backend): (.*)", line) for line in lines]
    return {match[1]: match[2] for match in matches if match}


@functools.cache
def judged(backend, flags):
    """Rows by file name: all submissions with the same flags in one run, as a teacher would judge a class."""
    files = [path for path in FILES if header(path).get("flags", "") == flags]
    if backend == "gpu":
        files = [path for path in files if header(path).get("backend") != "cpu"]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        done = run_cli("check", *files, "--backend", backend, "--json", result, *flags.split())
        assert done.returncode == 1, done.stderr
        document = json.loads(result.read_text())
    return {Path(row["file"]).name: row for row in document["rows"]}


def expectations():
    for backend, marks in (("cpu", ()), ("gpu", (pytest.mark.gpu,))):
        for path in FILES:
            if backend == "cpu" or header(path).get("backend") != "cpu":
                yield pytest.param(backend, path, id=f"{backend}-{path.name}", marks=marks)


@pytest.mark.parametrize(("backend", "path"), list(expectations()))
def test_verdict_is_the_expected_one(backend, path):
    wanted = header(path)
    row = judged(backend, wanted.get("flags", ""))[path.name]
    assert row["verdict"] == wanted["expect"], row["message"]
    assert re.search(wanted.get("says", ""), row["message"]), row["message"]
    if "flag" in wanted:
        assert wanted["flag"] in row["flags"]


def test_every_submission_says_what_it_expects():
    assert len(FILES) >= 40
    assert all("expect" in header(path) for path in FILES)
