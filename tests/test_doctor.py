"""The doctor: tools that are tried, problems put before mutants, the judge before a corpus."""

import json
from dataclasses import replace

import pytest

from harness import corpus, doctor, gpu
from harness.check import Check
from harness.cli import cli
from harness.problems import PROBLEMS
from harness.selftest import MUTANTS, mutants_of, self_test

SOFTMAX = "import torch\n\n\ndef solve(input, output, N):\n    output[:N] = torch.softmax(input[:N], 0)\n"
GOOD = "# expect: accepted\n# kind: good\n" + SOFTMAX
ZEROS = "# expect: {}\n# kind: nothing-written\n\n\ndef solve(input, output, N):\n    output[:N] = 0\n"


# ---- mutants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_mutant_of_a_problem_is_caught_and_most_in_every_case(name):
    problem = PROBLEMS[name]
    outcomes = {outcome.mutant: outcome for outcome in self_test(problem, 1)}
    inapplicable = set() if "rows" in name else {"last row skipped"}
    assert set(outcomes) == set(mutants_of(problem)) - inapplicable
    for outcome in outcomes.values():
        assert outcome.caught >= 0.4 * outcome.applicable > 0, outcome
    for mutant in ("zeros", "scaled", "tail dropped", "first block skipped", "stale output"):
        assert outcomes[mutant].caught == outcomes[mutant].applicable, outcomes[mutant]


def test_a_check_that_passes_everything_misses_every_mutant():
    def lenient(inputs, outputs, reference, poison):
        return Check(True, "", 0, 0.0, 0.0, 0.0, 0.0, 1.0, True)

    outcomes = self_test(replace(PROBLEMS["softmax"], check=lenient), 1)
    assert len(outcomes) == len(MUTANTS)
    assert all(outcome.caught == 0 < outcome.applicable for outcome in outcomes)


def test_cases_that_a_mutant_does_not_change_do_not_count():
    """Sizes that are multiples of a block have no tail; a size that comes once has nothing stale."""
    problem = PROBLEMS["subtract_one"]
    cases = [case for case in problem.cases(1) if case.sizes["N"] in (1024, 3072)][::2]
    outcomes = {outcome.mutant for outcome in self_test(replace(problem, cases=lambda _: cases), 1)}
    assert outcomes == {"zeros", "input copied", "scaled", "first block skipped", "two elements swapped"}


# ---- the corpus -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A corpus of one right and one wrong solve, in the place of ours."""
    monkeypatch.setattr(corpus, "FOLDER", tmp_path / "submissions")
    for name, text in (("good/right.py", GOOD), ("bad/zeros.py", ZEROS.format("wrong-answer"))):
        path = corpus.FOLDER / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return corpus.FOLDER


def examined(tmp_path, *arguments):
    """(exit status, what stands under "doctor" in the JSON) of a doctor without problems' mutants."""
    result = tmp_path / "run.json"
    with pytest.raises(SystemExit) as ended:
        cli.main(["doctor", "--backend", "cpu", "--json", str(result), *arguments], standalone_mode=False)
    return ended.value.code, json.loads(result.read_text())["doctor"]


def test_a_machine_in_order_is_found_in_order(folder, tmp_path, capsys):
    status, found = examined(tmp_path, "--seed", "1")
    assert status == 0
    states = {finding["name"]: finding["state"] for finding in found["machine"]}
    assert states["CUDA solve"] == states["Triton solve"] == states["C++ compiler"] == "ok"
    assert {tally["kind"]: tally["count"] for tally in found["corpus"]} == {"good": 1, "nothing-written": 1}
    shown = capsys.readouterr().out
    assert "1 of 1 bad submissions caught, 0 of 1 good ones falsely rejected" in shown
    assert "154 of 154 cases" in shown


def test_a_cheat_that_passes_and_a_right_file_that_is_refused_are_told(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("harness.selftest.self_test", lambda problem, seed: [])
    (folder / "bad" / "right.py").write_text("# expect: wrong-answer\n# kind: arithmetic\n" + SOFTMAX)
    (folder / "good" / "zeros.py").write_text(ZEROS.format("accepted").replace("nothing-written", "good"))
    status, found = examined(tmp_path)
    assert status == 1
    unexpected = {tally["kind"]: tally["unexpected"] for tally in found["corpus"] if tally["unexpected"]}
    assert set(unexpected) == {"arithmetic", "good"}
    shown = capsys.readouterr().out
    assert "arithmetic: bad/right.py: accepted and not wrong-answer" in shown
    assert "good: good/zeros.py: wrong-answer and not accepted" in shown
    assert "1 of 2 bad submissions caught, 1 of 2 good ones falsely rejected" in shown


def test_a_mutant_that_every_case_lets_through_is_told(folder, tmp_path, monkeypatch, capsys):
    from harness.selftest import Outcome

    monkeypatch.setattr("harness.selftest.self_test", lambda problem, seed: [Outcome(problem.name, "zeros", 0, 7)])
    status, _ = examined(tmp_path)
    assert status == 1
    assert "0 of 7 cases  MISSED" in capsys.readouterr().out


def test_a_tool_that_does_not_work_is_told_and_the_rest_is_tried(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("harness.selftest.self_test", lambda problem, seed: [])
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    status, found = examined(tmp_path)
    assert status == 1
    states = {finding["name"]: finding["state"] for finding in found["machine"]}
    assert states["cache"] == states["CUDA solve"] == "broken"
    assert states["Triton solve"] == "ok"
    assert "set XDG_CACHE_HOME" in capsys.readouterr().out


def test_without_the_source_tree_the_corpus_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("harness.selftest.self_test", lambda problem, seed: [])
    monkeypatch.setattr(corpus, "FOLDER", tmp_path / "nowhere")
    status, found = examined(tmp_path)
    assert (status, found["corpus"]) == (0, [])
    assert "the corpus was left out" in capsys.readouterr().err


def test_a_quick_look_takes_one_file_of_every_kind_and_language():
    sample = doctor.quick(corpus.read_corpus())
    languages = [(specimen.kind, specimen.path.suffix) for specimen in sample if not specimen.is_good]
    assert len(languages) == len(set(languages)) > 30
    assert sum(specimen.is_good for specimen in sample) == 10


@pytest.mark.gpu
def test_on_a_gpu_its_clock_and_its_memory_are_tried(tmp_path, monkeypatch):
    from harness.backend import choose
    from harness.progress import Progress

    found = {f.name: f for f in doctor.examine_machine(choose("gpu", True), 1, Progress())}
    assert found["GPU"].text.startswith(gpu.describe().name)
    for name in ("CUDA IPC", "clocks (NVML)", "device time (CUPTI)", "CUDA solve", "Triton solve"):
        assert found[name].state == doctor.OK, found[name]
