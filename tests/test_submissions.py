"""Every file in submissions/ gets the verdict its header expects, through the real command line.

submissions/bad/ breaks, cheats, or is legal and yet worth a word: a wrong verdict, a flag or a warning, or a trick
that must come to nothing. submissions/good/ is right in its own way and must be accepted without a flag that
`--strict` would let decide: to refuse it would be the judge's mistake.

Header lines of a submission: `kind: WORD`, one of KINDS; `expect: VERDICT` (good ones need none); `says: REGEX`, found
in the row's message; `flag: FLAG`, raised; `warns: REGEX`, found in a warning; `flags: ...`, for the command line;
`verb: bench` to have it timed, too; `backend: cpu` or `backend: gpu`, where only one of them can tell. What cannot
begin with a comment has its header beside it, in FILE.header.
"""

import json
import os
import re
import secrets
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import run_cli

from harness import rows

FOLDER = Path(__file__).parent / "submissions"
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".cu", ".py"))
MARK = "SOLVE_JUDGE_CORPUS_RUN"  # in the environment of a run and so of every process that it leaves behind

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
    "output": {},
    "descriptors": {},
    "patches": {},
    "clocks": {".cu": "its library exports solve alone, so it has no way to the worker's clocks"},
    "persisting-l2": {},
    "compile": {},
    "leaks": {},
    "good": {},
}


def header(path):
    """The header lines of a submission, by name."""
    beside = path.with_name(f"{path.name}.header")
    source = beside if beside.exists() else path
    lines = source.read_text("utf-8-sig", errors="replace").splitlines()[:9]
    names = "kind|expect|says|flag|warns|flags|verb|backend"
    matches = [re.match(rf"(?://|#) ({names}): (.*)", line) for line in lines]
    return {match[1]: match[2] for match in matches if match}


def expected_verdict(path):
    return header(path).get("expect", rows.ACCEPTED if path.parent.name == "good" else None)


def backends(path):
    only = header(path).get("backend")
    return (only,) if only else ("cpu", "gpu")


def expectations():
    for backend, marks in (("cpu", ()), ("gpu", (pytest.mark.gpu,))):
        for path in FILES:
            if backend in backends(path):
                yield pytest.param(backend, path, id=f"{backend}-{path.relative_to(FOLDER)}", marks=marks)


def judge_group(backend, verb, flags, files):
    """The rows of files, by path: one run, as a teacher would judge a class. Afterwards nothing of it is alive."""
    mark = f"{MARK}={secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        environment = dict([mark.split("=")])
        done = run_cli(verb, *files, "--backend", backend, "--json", result, *flags.split(), **environment)
        left = processes_with(mark)
        document = json.loads(result.read_text()) if done.returncode in (0, 1) else {"rows": []}
    found = defaultdict(list)
    for row in document["rows"]:
        found[Path(row["file"])].append(row)
    return done, left, found


def processes_with(mark):
    """The command lines of living processes whose environment holds `mark`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes())
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


@pytest.fixture(scope="session")
def groups(request):
    """A future of judge_group's result by (backend, path), for the files that this session asks for."""
    asked = defaultdict(list)
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "path" in parameters and "backend" in parameters and not item.get_closest_marker("skip"):
            wanted = header(parameters["path"])
            key = (parameters["backend"], wanted.get("verb", "check"), wanted.get("flags", ""))
            asked[key].append(parameters["path"])
    futures = {}
    # Two runs at a time on the CPU, the large group dealt out to three of them. On a GPU they would be in each other's
    # way: memory that a neighbour takes looks like a leak.
    with ThreadPoolExecutor(1 if any(key[0] == "gpu" for key in asked) else 2) as pool:
        for (backend, verb, flags), paths in sorted(asked.items(), key=lambda group: -len(group[1])):
            parts = 3 if len(paths) > 30 else 1
            for part in range(parts):
                future = pool.submit(judge_group, backend, verb, flags, paths[part::parts])
                futures.update({(backend, path): future for path in paths[part::parts]})
        yield futures


@pytest.mark.parametrize(("backend", "path"), list(expectations()))
def test_verdict_is_the_expected_one(backend, path, groups):
    done, left, found = groups[backend, path].result()
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert not left, f"left running: {left}"
    wanted = header(path)
    assert found[path]
    for row in found[path]:
        assert row["verdict"] == expected_verdict(path), row["message"]
        assert re.search(wanted.get("says", ""), row["message"]), row["message"]
        assert "flag" not in wanted or wanted["flag"] in row["flags"], row["flags"]
        assert "warns" not in wanted or re.search(wanted["warns"], "\n".join(row["warnings"])), row["warnings"]
        if path.parent.name == "good":
            assert not set(row["flags"]) & set(rows.STRICT_FLAGS), (row["flags"], row["warnings"])
            assert not any("leaks" in text or "leaves" in text for text in row["warnings"]), row["warnings"]


def test_a_file_is_judged_whatever_it_is_called_and_is_never_a_module_of_the_judge(tmp_path):
    """`python -m` looks for json.py in the working directory before its own: the judge must not."""
    files = {
        b"json.py": ("bad/zeros.py", rows.WRONG_ANSWER),
        b"torch.py": ("good/lambda_solve.py", rows.ACCEPTED),
        b"caf\xe9.py": ("good/lambda_solve.py", rows.ACCEPTED),
        b"caf\xe9 'b' $c;(1).cu": ("good/byte_order_mark.cu", rows.ACCEPTED),
    }
    for name, (source, _) in files.items():
        (tmp_path / os.fsdecode(name)).write_bytes((FOLDER / source).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        names = [os.fsdecode(name) for name in files]
        done = run_cli("check", *names, "--backend", "cpu", "--json", result, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        found = [row["verdict"] for row in json.loads(result.read_text())["rows"]]
    assert found == [verdict for _, verdict in files.values()]


def test_every_submission_has_a_kind_and_an_expectation():
    for path in FILES:
        assert header(path).get("kind") in KINDS, f"{path}: kind: one of {', '.join(KINDS)}"
        assert (path.parent.name == "good") == (header(path)["kind"] == "good"), f"{path}: which folder?"
        assert expected_verdict(path) is not None, f"{path}: expect: VERDICT"
        assert set(backends(path)) <= {"cpu", "gpu"}, f"{path}: backend: cpu or gpu"


def test_every_kind_has_a_submission_in_each_language():
    present = {(header(path)["kind"], path.suffix) for path in FILES}
    needed = {(kind, suffix) for kind, without in KINDS.items() for suffix in (".cu", ".py") if suffix not in without}
    assert not needed - present
    assert len([path for path in FILES if path.parent.name == "bad"]) >= 60
    assert len([path for path in FILES if path.parent.name == "good"]) >= 20
