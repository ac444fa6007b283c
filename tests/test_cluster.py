"""--ray: what travels with a submission, what it is called where it is judged, and Ray itself where there is one."""

import json
import os
import shlex
from pathlib import Path

import many
import pytest
from conftest import ROOT
from test_pool import CPU, ENDS_ITS_JUDGE, HEAD, OPTIONS, SOLVE, loaded

from harness import corpus, rows
from harness.cluster import judge_parcel, pack, renamed, unpack
from harness.errors import UsageError
from harness.judge import Session, judge_one
from harness.pool_process import Setup
from harness.progress import Progress
from harness.report import finite
from harness.rows import CaseResult, Row
from harness.submission import read_submissions


def submission_of(path):
    (submission,) = read_submissions(path, None)
    return submission


def test_without_ray_a_sentence_says_how_to_get_it(cli, tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    (tmp_path / "a.py").write_text(HEAD + SOLVE)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = cli("check", "a.py", "--ray", "--backend", "cpu", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 2
    assert done.stderr == "error: --ray needs Ray, which is not installed: pip install -e '.[ray]' installs it\n"


@pytest.mark.parametrize("address", [[], ["auto"], ["host-1:6379"], ["ray://host:10001"]])
def test_what_follows_the_flag_is_an_address_if_it_looks_like_one(cli, address):
    done = cli("check", "--ray", *address, "nowhere.cu")
    assert done.returncode == 2
    assert "nowhere.cu does not exist" in done.stderr


def test_included_files_travel(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.cu").write_text('#include <cmath>\n#include "lib/one.h"\n#include "nowhere.h"\n')
    (tmp_path / "lib" / "one.h").write_text('# include "../two.h"\n#include "one.h"\n')
    (tmp_path / "two.h").write_text("// two\n")
    (tmp_path / "three.h").write_text("// not included\n")
    parcel = pack(submission_of(tmp_path / "a.cu"))
    assert list(parcel.files) == ["a.cu", "lib/one.h", "two.h"]
    submission, _ = unpack(parcel, tmp_path / "there")
    assert submission.path == tmp_path / "there" / "a.cu"
    for name in parcel.files:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_file_outside_its_folder_does_not_travel(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "outside.h").write_text("")
    (tmp_path / "deep" / "a.cu").write_text('#include "../outside.h"\n')
    with pytest.raises(UsageError, match=r"a\.cu includes \.\./outside\.h: with --ray only what lies beside"):
        pack(submission_of(tmp_path / "deep" / "a.cu"))


def test_a_row_calls_files_what_they_are_called_where_they_come_from():
    here, there = "/node/shipped/a b.cu", "class/it's.cu"
    case = CaseResult("N=1", "main", rows.WRONG_ANSWER, f"N=1: {here}:3", f"check {shlex.quote(here)} --seed 1")
    row = Row(here, "softmax", "cpu", rows.WRONG_ANSWER, f"N=1: {here}:3", [], [f"see {here}"], 1, [case])
    found = renamed(row, {here: there})
    assert (found.file, found.message, found.warnings) == (there, f"N=1: {there}:3", [f"see {there}"])
    assert shlex.split(found.cases[0].replay) == ["check", there, "--seed", "1"]
    assert "/node" not in json.dumps(found.to_json())


@pytest.mark.parametrize("name", ["good/pairs.cu", "bad/segfault.cu", "bad/raises.py", "bad/missing_header.cu"])
def test_a_parcel_gets_the_row_that_its_submission_gets(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("class").mkdir()
    path = Path("class") / Path(name).name
    path.write_bytes((corpus.FOLDER / name).read_bytes())
    submission = submission_of(path)
    with Session(CPU, OPTIONS, needs_torch=True) as session:
        here = judge_one(submission, session, Progress(silent=True)).row
    there = judge_parcel(pack(submission), Setup("cpu", "asked for", OPTIONS, True)).row
    assert finite({**there.to_json(), "seconds": None}) == finite({**here.to_json(), "seconds": None})
    left = Path(os.environ["XDG_CACHE_HOME"]) / "solve-judge" / "shipped"
    assert list(left.iterdir()) == []


def test_ray_gives_a_class_the_verdicts_of_the_pool_also_where_its_workers_are_killed(cli, tmp_path):
    pytest.importorskip("ray")
    folder = tmp_path / "class"
    folder.mkdir()
    expected = many.make_class(folder, 8, seed=5, suffixes=(".cu",))
    killed = ENDS_ITS_JUDGE.replace("harness.pool_process", "ray::").replace("\n", "; ")
    here = HEAD.replace("Path(__file__).parent", f"Path({str(tmp_path)!r})")
    (folder / "killed.py").write_text(f'{here}if once("killed"):\n    {killed}\n{SOLVE}')
    expected["killed.py"] = rows.ACCEPTED
    found = []
    (tmp_path / "killed").touch()
    for number, flags in enumerate(([], ["--ray"])):
        result = tmp_path / f"{number}.json"
        arguments = ["--backend", "cpu", "--seed", "1", "--timeout", "10", "--json", result]
        done = cli("check", "--folder", folder, *arguments, *flags)
        assert done.returncode == 1, done.stderr
        document = json.loads(result.read_text())
        assert {Path(row["file"]).name: row["verdict"] for row in document["rows"]} == expected
        found.append(document["rows"])
        (tmp_path / "killed").unlink()
    for pooled, shipped in zip(*found, strict=True):
        for name in ("file", "verdict", "flags", "source_hash", "problem_version"):
            assert shipped[name] == pooled[name], shipped["message"]
        assert [c["verdict"] for c in shipped["cases"]] == [c["verdict"] for c in pooled["cases"]], shipped["file"]
        assert [c["replay"] for c in shipped["cases"]] == [c["replay"] for c in pooled["cases"]]
    assert loaded(tmp_path).count("killed.py") == 3  # in the pool where nothing ended it, on Ray twice
