"""Every file in submissions/ gets the verdict its header expects, through the real command line.

submissions/bad/ breaks, cheats, or is legal and yet worth a word: a wrong verdict, a flag or a warning, or a trick
that must come to nothing. submissions/good/ is right in its own way and must be accepted without a flag that
`--strict` would let decide: to refuse it would be the judge's mistake. harness/corpus.py says what a header holds.
"""

import json
import os
import re
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import run_cli

from harness import corpus, rows

SPECIMENS = corpus.read_corpus()

# Kinds of submissions, and why there is none in one of the languages.
KINDS = {
    "arithmetic": {},
    "tail": {},
    "nothing-written": {},
    "remembers": {},
    "late": {},
    "writes-outside": {},
    "reads-outside": {},
    "input-changed": {},
    "undefined": {},
    "launch-error": {".py": "Triton and torch raise what a launch refuses, which is an exception like any other"},
    "device-fault": {},
    "crash": {},
    "endless": {},
    "memory": {},
    "processes": {},
    "files": {},
    "output": {},
    "descriptors": {},
    "patches": {},
    "clocks": {".cu": "its library exports solve alone, so it has no way to the worker's clocks"},
    "persisting-l2": {},
    "compile": {},
    "leaks": {},
    "good": {},
}


def expectations():
    for backend, marks in (("cpu", ()), ("gpu", (pytest.mark.gpu,))):
        for specimen in SPECIMENS:
            if backend in specimen.backends:
                name = f"{backend}-{specimen.path.relative_to(corpus.FOLDER)}"
                yield pytest.param(backend, specimen, id=name, marks=marks)


@pytest.fixture(scope="session")
def groups(request):
    """A future of the run by (backend, specimen), for the specimens that this session asks for."""
    asked = defaultdict(list)
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "specimen" in parameters and "backend" in parameters and not item.get_closest_marker("skip"):
            specimen = parameters["specimen"]
            asked[parameters["backend"], specimen.verb_and_flags].append(specimen)
    futures = {}
    # One run at a time, since by itself it judges on all cores; the large group in three, so that no test waits long.
    with ThreadPoolExecutor(1) as pool:
        for (backend, _), specimens in sorted(asked.items(), key=lambda group: -len(group[1])):
            parts = 3 if len(specimens) > 30 else 1
            for part in range(parts):
                future = pool.submit(corpus.run, specimens[part::parts], backend)
                futures.update({(backend, specimen): future for specimen in specimens[part::parts]})
        yield futures


@pytest.mark.parametrize(("backend", "specimen"), list(expectations()))
def test_verdict_is_the_expected_one(backend, specimen, groups):
    found = groups[backend, specimen].result()
    assert not found.left, f"left running: {found.left}"
    assert corpus.why_unexpected(specimen, found) == ""


def test_a_file_is_judged_whatever_it_is_called_and_is_never_a_module_of_the_judge(tmp_path):
    """`python -m` looks for json.py in the working directory before its own: the judge must not."""
    files = {
        b"json.py": ("bad/zeros.py", rows.WRONG_ANSWER),
        b"torch.py": ("good/lambda_solve.py", rows.ACCEPTED),
        b"caf\xe9.py": ("good/lambda_solve.py", rows.ACCEPTED),
        b"caf\xe9 'b' $c;(1).cu": ("good/byte_order_mark.cu", rows.ACCEPTED),
    }
    for name, (source, _) in files.items():
        (tmp_path / os.fsdecode(name)).write_bytes((corpus.FOLDER / source).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        names = [os.fsdecode(name) for name in files]
        done = run_cli("check", *names, "--backend", "cpu", "--json", result, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        found = [row["verdict"] for row in json.loads(result.read_text())["rows"]]
    assert found == [verdict for _, verdict in files.values()]


def test_every_submission_has_a_kind_and_an_expectation():
    for specimen in SPECIMENS:
        assert specimen.kind in KINDS, f"{specimen.path}: kind: one of {', '.join(KINDS)}"
        assert specimen.is_good == (specimen.kind == "good"), f"{specimen.path}: which folder?"
        assert specimen.header[0][0] == "expect", f"{specimen.path}: the first line is expect: VERDICT"
        assert specimen.expected == rows.ACCEPTED or not specimen.is_good, f"{specimen.path}: which folder?"
        assert set(specimen.backends) <= {"cpu", "gpu"}, f"{specimen.path}: backend: cpu or gpu"


def test_the_readme_speaks_of_every_kind_and_of_files_that_are_there():
    table = [line for line in (corpus.FOLDER / "README.md").read_text().splitlines() if line.startswith("| `")]
    assert {re.match(r"\| `([\w-]+)`", line)[1] for line in table} == set(KINDS)
    names = {specimen.path.name for specimen in SPECIMENS} | {specimen.path.stem for specimen in SPECIMENS}
    for line in table:
        named = re.findall(r"`([\w.]+)`", line.split("|")[3])
        assert named, line
        assert set(named) <= names, set(named) - names


def test_every_kind_has_a_submission_in_each_language():
    present = {(specimen.kind, specimen.path.suffix) for specimen in SPECIMENS}
    needed = {(kind, suffix) for kind, without in KINDS.items() for suffix in (".cu", ".py") if suffix not in without}
    assert not needed - present
    assert len([specimen for specimen in SPECIMENS if not specimen.is_good]) >= 60
    assert len([specimen for specimen in SPECIMENS if specimen.is_good]) >= 20


ROW = {"verdict": "wrong-answer", "message": "N=3: off", "flags": [], "warnings": []}
GOOD = {"expect": "accepted", "kind": "good"}
GOOD_ROW = {**ROW, "verdict": "accepted", "message": ""}


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ({"expect": "wrong-answer", "says": "off"}, ROW, ""),
        ({"expect": "accepted"}, ROW, "wrong-answer and not accepted: N=3: off"),
        ({"expect": "wrong-answer", "says": "on$"}, ROW, "its message is"),
        ({"expect": "wrong-answer", "flag": "launch-error"}, ROW, "launch-error was not raised"),
        ({"expect": "wrong-answer", "warns": "leaks"}, ROW, "its warnings are"),
        (GOOD, GOOD_ROW, ""),
        (GOOD, ROW, "wrong-answer and not accepted"),
        (GOOD, {**GOOD_ROW, "flags": ["undefined-behaviour"]}, "undefined-behaviour"),
        (GOOD, {**GOOD_ROW, "warnings": ["leaves 3 threads running"]}, "leaves 3 threads"),
    ],
)
def test_what_is_not_as_the_header_expects_is_said(header, row, words):
    path = Path("good" if header.get("kind") == "good" else "bad") / "x.py"
    specimen = corpus.Specimen(path, tuple(header.items()))
    why = corpus.why_unexpected(specimen, corpus.Run(1, "", {path: [row]}, []))
    assert words in why
    assert bool(why) == bool(words)


def test_a_specimen_without_a_row_and_a_run_that_failed_are_unexpected():
    specimen = corpus.Specimen(Path("bad/x.py"), (("expect", "accepted"),))
    assert "no row" in corpus.why_unexpected(specimen, corpus.Run(1, "", {}, []))
    assert "status 2: error: no" in corpus.why_unexpected(specimen, corpus.Run(2, "error: no", {}, []))
    traceback = corpus.Run(1, "Traceback (most recent call last)", {specimen.path: [GOOD_ROW]}, [])
    assert "traceback" in corpus.why_unexpected(specimen, traceback)
