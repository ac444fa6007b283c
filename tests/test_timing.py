"""Timing without a GPU: the interval of a median, the union of device activity, when to stop, how numbers are shown."""

import re
import statistics
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from harness import rows, timing
from harness.arena import HostArena
from harness.cupti import CuptiError, between_marks, union
from harness.problems import PROBLEMS
from harness.progress import Progress
from harness.report import _timing_cells, three_digits
from harness.rows import Row, Timing
from harness.submission import Submission

# ---- the interval of the median ---------------------------------------------------------------------------------


def test_the_interval_covers_the_median_of_the_samples_and_mostly_that_of_their_source():
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        samples = generator.normal(100, 5, size=60)
        low, high = timing.median_interval(samples)
        assert low <= np.median(samples) <= high
        covered += low <= 100 <= high
    assert 190 <= covered <= 200


def test_the_interval_excludes_what_is_clearly_not_the_median():
    samples = np.arange(1.0, 102.0)
    low, high = timing.median_interval(samples)
    assert 30 < low < 51 < high < 72


def test_the_interval_of_one_sample_is_that_sample():
    assert timing.median_interval(np.array([7.5])) == (7.5, 7.5)


def test_the_interval_of_thirty_samples_is_that_of_the_binomial():
    # P(fewer than 8 of 30 fair coins) = 0.26 %, fewer than 9: 0.81 %. So the 8th smallest and the 8th largest.
    assert timing.median_interval(np.arange(30.0)[::-1]) == (7.0, 22.0)


def test_the_interval_narrows_with_more_samples():
    samples = np.random.default_rng(2).normal(100, 5, size=3000)
    widths = []
    for count in (30, 300, 3000):
        low, high = timing.median_interval(samples[:count])
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


# ---- device activity --------------------------------------------------------------------------------------------


def fill(correlation, size, start):
    return {"what": "fill", "start": start, "end": start + 2, "correlation": correlation, "bytes": size}


def test_records_belong_to_the_call_between_whose_marks_they_were_asked_for_whatever_their_times():
    """The second call's kernel seems to have run after the mark that ends the call, the flush inside the call."""
    records = [
        *[fill(1, 64, 0), fill(2, 999, 10), fill(3, 64, 20), fill(4, 999, 40)],
        *[fill(5, 64, 175), fill(6, 999, 170), fill(8, 64, 190), fill(7, 64, 185), fill(9, 999, 180)],
    ]
    first, second = between_marks(records, 999, 2)
    assert [record["correlation"] for record in first] == [3]
    assert [record["correlation"] for record in second] == [7, 8]


@pytest.mark.parametrize("marks", [0, 1, 3, 5])
def test_a_mark_too_few_or_too_many_is_an_error(marks):
    with pytest.raises(CuptiError, match=f"has {marks} marks, not 4"):
        between_marks([fill(i, 999, i) for i in range(marks)], 999, 2)


@pytest.mark.parametrize(
    ("spans", "covered"),
    [
        ([], 0),
        ([(5, 9)], 4),
        ([(0, 10), (20, 25)], 15),
        ([(0, 10), (10, 20)], 20),
        ([(0, 10), (5, 15)], 15),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(0, 100), (10, 20), (90, 110), (105, 107)], 110),
        ([(7, 7), (8, 8)], 0),
    ],
    ids=["none", "one", "disjoint", "adjacent", "overlapping", "nested", "mixed", "empty"],
)
def test_time_covered_by_several_activities_counts_once(spans, covered):
    assert union(spans) == covered


# ---- races ------------------------------------------------------------------------------------------------------


class FakeWorker:
    """A worker that answers with the times of its script, on a clock that only its answers move."""

    def __init__(self, name, script, clock, log, is_held_up=False):
        self.name, self.script, self.clock, self.log, self.is_held_up = name, script, clock, log, is_held_up
        self.turns = 0

    def __enter__(self):
        return self

    def begin_kill(self):
        self.log.append(f"kill {self.name}")

    def __exit__(self, *_):
        self.log.append(f"{self.name} has ended")

    def wait_loaded(self, _):
        return SimpleNamespace(body={"loaded": True})

    def request(self, body, _):
        if body["op"] == "device":  # a turn begins
            self.log.append(self.name)
            self.turns += 1
        self.clock.now += 0.07 if body["op"] == "device" else 0.03
        times = [self.script(self.turns, i) for i in range(min(body["samples"], 8))]  # no turn is asked for fewer
        if body["op"] == "call":
            times = [t + 5000 for t in times]
            self.clock.now += self.is_held_up and self.turns == 5
        return SimpleNamespace(outcome="answered", body={"times": times})


@pytest.fixture
def race(monkeypatch):
    """race({name: script}, duel) -> (measurements by name, the names in the order of their turns, the clock)."""

    def run(
        scripts, duel=False, stopping=timing.OF_A_GENERATION, again=None, backwards=False, failed=None, held_up=None
    ):
        clock, log = SimpleNamespace(now=0.0), []
        monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: clock.now, time=lambda: clock.now))
        session = SimpleNamespace(
            backend=SimpleNamespace(name="gpu"),
            turn=lambda alone: nullcontext(),
            options=SimpleNamespace(seed=1),
            arena=lambda problem, cases: HostArena(problem, cases),
            worker=lambda path, *_, **__: FakeWorker(path.name, scripts[path.name], clock, log, path.name == held_up),
        )
        problem = PROBLEMS["softmax"]
        contestants = [timing.Contestant(name, Path(name), checked=False) for name in scripts]
        case = problem.timing_case(8)
        with timing.Race(session, problem, [case], contestants, None, stopping, backwards) as raced:
            measured = raced.run(case, duel=duel, failed=failed or {})
            if again:
                scripts.update(again)
                raced.renew()
                measured = raced.run(case, duel=duel)
        return dict(zip(scripts, measured, strict=True)), log, clock

    return run


def session_of(arena, worker_class):
    """A session on a GPU, with the arena that its fake workers write to."""
    return SimpleNamespace(
        backend=SimpleNamespace(name="gpu"),
        turn=lambda alone: nullcontext(),
        options=SimpleNamespace(seed=1),
        arena=lambda *_: nullcontext(arena),
        worker=lambda path, *_, **__: worker_class(path.name, steady(1000), SimpleNamespace(now=0.0), []),
    )


def steady(nanoseconds):
    return lambda turn, i: nanoseconds


def noisy(turn, i):
    return 10_000 if i % 2 else 20_000


def test_contestants_take_turns_forth_and_back(race):
    _, log, _ = race({"a": steady(10_000), "b": steady(20_000), "c": steady(30_000)})
    assert log[:6] == ["a", "b", "c"] * 2  # compiles, then warms up
    assert log[6:18] == ["a", "b", "c", "c", "b", "a"] * 2


def test_a_race_backwards_starts_at_the_other_end_and_tells_the_same(race):
    measured, log, _ = race({"a": steady(10_000), "b": steady(20_000), "c": steady(30_000)}, backwards=True)
    assert log[:6] == ["c", "b", "a"] * 2
    assert log[6:12] == ["c", "b", "a", "a", "b", "c"]
    assert [measured[name].median for name in "abc"] == [10.0, 20.0, 30.0]


def test_workers_end_at_the_same_time(race):
    _, log, _ = race({"a": steady(10_000), "b": steady(20_000)})
    assert log[-4:] == ["kill a", "kill b", "b has ended", "a has ended"]


def test_who_has_failed_before_is_left_out(race):
    measured, log, _ = race({"a": steady(10_000), "b": steady(20_000)}, failed={"a": "it hung"})
    assert measured["a"].failure == "it hung"
    assert measured["b"].median == 20.0
    assert "a" not in log


def test_a_contestant_whose_median_is_known_drops_out_and_the_others_go_on(race):
    measured, _, _ = race({"steady": steady(10_000), "noisy": noisy})
    assert timing.MIN_SAMPLES <= len(measured["steady"].device) < 100
    assert len(measured["noisy"].device) > 5 * len(measured["steady"].device)


def test_a_noisy_contestant_ends_when_its_time_is_up(race):
    _, _, clock = race({"noisy": noisy})
    assert timing.MAX_SECONDS < clock.now < timing.MAX_SECONDS + 1
    assert timing.MAX_SECONDS * timing.GENERATIONS == 15


def test_a_median_that_jumps_by_one_tick_of_the_gpus_clock_is_known(race):
    # 32 ns of 1 us are 3 %: the clock tells no more.
    measured, _, _ = race({"short": lambda turn, i: 1000 + 32 * (i % 2)})
    assert len(measured["short"].device) < 100


def test_in_a_duel_all_take_part_in_every_round(race):
    measured, _, _ = race({"a": steady(10_000), "b": noisy}, duel=True)
    assert len(measured["a"].rounds) == len(measured["b"].rounds) == timing.DUEL_ROUNDS


def test_a_duel_of_slow_kernels_has_fewer_rounds(race, monkeypatch):
    monkeypatch.setattr(timing, "MAX_DUEL_SECONDS", 1.55)  # a turn takes 0.1 s here
    measured, _, _ = race({"a": steady(10_000), "b": steady(20_000)}, duel=True)
    assert len(measured["a"].rounds) == len(measured["b"].rounds) == 16


def test_samples_of_the_warm_up_are_dropped(race):
    measured, _, _ = race({"a": lambda turn, i: 10**9 if turn <= 2 else 10_000})
    assert measured["a"].device.max() == 10.0
    assert measured["a"].call.max() == 15.0


def test_by_the_judges_clock_only_the_series_of_calls_counts(race):
    """Recording makes calls longer; of a solve with three launches so much that it once was suspicious."""
    measured = race({"a": steady(10_000)})[0]["a"]
    assert measured.around_us == pytest.approx(0.03e6 / 8 - 15)


def test_a_worker_held_up_once_is_not_suspicious(race):
    """By its garbage collector, for one."""
    held, at_ease = race({"a": steady(10_000), "b": steady(10_000)}, held_up="a")[0].values()
    assert len(held.rounds) < 10
    assert held.around_us == pytest.approx(at_ease.around_us)
    assert timing.suspicion(held, at_ease, 1.0) == ""


def test_a_single_call_without_device_activity_is_a_failure(race):
    measured, _, _ = race({"a": lambda turn, i: 0 if (turn, i) == (4, 3) else 10_000, "good": steady(20_000)})
    assert "no activity on the device" in measured["a"].failure
    assert np.median(measured["good"].main) == 20.0


def test_calls_that_never_cause_device_activity_are_a_failure(race):
    measured, _, _ = race({"idle": steady(0), "good": steady(20_000)})
    assert "no activity on the device" in measured["idle"].failure
    assert np.median(measured["good"].main) == 20.0


@pytest.mark.parametrize("bad", [-1, float("nan"), "12", None], ids=str)
def test_times_that_are_none_are_a_failure_of_their_contestant_alone(race, bad):
    measured, _, _ = race({"bad": lambda turn, i: bad if turn == 4 else 10_000, "good": steady(20_000)})
    assert "no times" in measured["bad"].failure
    assert np.median(measured["good"].main) == 20.0


def test_who_keeps_an_answer_and_looks_at_a_sample_of_the_input_is_told_by_another_element(monkeypatch):
    problem, contents = PROBLEMS["softmax"], []
    monkeypatch.setattr(timing.Race, "_rounds", lambda race, lanes, duel: race._turn_all(lanes, 1, 0.0))

    class Solves(FakeWorker):
        def request(self, body, seconds):
            contents.append(body["contents"])
            x = arena.read("input").astype(np.float64)
            y = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
            if self.name == "remembers":
                self.kept = y = getattr(self, "kept", y)
            begin, end = arena._ranges.payloads["output"]
            arena._bytes[begin:end] = y.astype(np.float32).view(np.uint8)
            return super().request(body, seconds)

    case = problem.timing_case(8)
    with HostArena(problem, [case]) as arena:
        session = session_of(arena, Solves)
        names = ("remembers", "computes")
        contestants = [timing.Contestant(name, Path(name)) for name in names]
        with timing.Race(session, problem, [case], contestants, None) as raced:
            assert [one.failure for one in raced.run(case)] == ["", ""]
            one, other = raced.run(case, altered=True)
    wrong = "^with one element of the input changed: a timed call gave a wrong answer: output"
    assert re.match(wrong, one.failure) and not other.failure
    assert contents == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "failure"),
    [
        (None, ""),
        ((6, "device"), "a timed call gave a wrong answer: .*output"),
        ((6, "call"), "a timed call gave a wrong answer: .*output"),
    ],
)
def test_the_output_of_every_series_is_checked_though_bits_that_passed_once_pass_again(monkeypatch, wrong, failure):
    """The worker's answers take two forms that are both right, until one is not."""
    problem, checks = PROBLEMS["softmax"], []
    monkeypatch.setattr(
        timing.Race, "_rounds", lambda race, lanes, duel: [race._turn_all(lanes, 1, 0.0) for _ in range(12)]
    )

    def check(inputs, outputs, reference, poisons):
        checks.append(outputs["output"].copy())
        return problem.check(inputs, outputs, reference, poisons)

    counting = replace(problem, check=check)

    class Solves(FakeWorker):
        def request(self, body, seconds):
            x = arena.read("input").astype(np.float64)
            y = (np.exp(x - x.max()) / np.exp(x - x.max()).sum()).astype(np.float32)
            y[0] = np.nextafter(y[0], np.float32(1 if self.turns % 2 else 0))
            if (self.turns + (body["op"] == "device"), body["op"]) == wrong:
                y[3] = 0
            begin, end = arena._ranges.payloads["output"]
            arena._bytes[begin:end] = y.view(np.uint8)
            return super().request(body, seconds)

    case = problem.timing_case(8)
    with HostArena(counting, [case]) as arena:
        session = session_of(arena, Solves)
        with timing.Race(session, counting, [case], [timing.Contestant("a", Path("a"))], None) as raced:
            (measured,) = raced.run(case)
    assert len(checks) == (2 if wrong is None else 3)
    assert re.match(failure or "$", measured.failure)


def test_another_rule_of_stopping_is_obeyed(race):
    hasty = timing.Stopping(relative_width=0.8, min_seconds=0.0, max_seconds=3.0)
    _, log, clock = race({"noisy": noisy}, stopping=hasty)
    assert len(log) < 10
    assert clock.now < 3
    _, _, clock = race({"noisy": noisy}, stopping=timing.Stopping(max_seconds=3.0))
    assert 3 < clock.now < 4


def test_a_contestant_that_has_failed_takes_part_again_with_a_fresh_worker(race):
    measured, _, _ = race({"a": steady(None), "b": steady(20_000)}, again={"a": steady(10_000), "b": steady(30_000)})
    assert np.median(measured["a"].main) == 10.0
    assert np.median(measured["b"].main) == 20.0  # whoever has not failed keeps its worker


# ---- generations ------------------------------------------------------------------------------------------------


def test_the_time_over_several_processes_is_the_mean_of_their_medians():
    parts = [measurement("a", [us, us, 50.0]) for us in (10.0, 10.0, 10.0, 10.0, 10.0, 11.2)]
    pooled = timing.pool(parts)
    assert pooled.median == pooled.call_median == pytest.approx(10.2)
    assert pooled.main.tolist() == [us for part in parts for us in part.main]
    case = PROBLEMS["softmax"].timing_case(8)
    told = timing.timing_of(PROBLEMS["softmax"], case, pooled, None, None, None)
    assert told.processes_us == [10.0, 10.0, 10.0, 10.0, 10.0, 11.2]


@pytest.mark.parametrize("medians", [[10.0, 10.1, 10.2, 10.3, 10.4, 10.5]])
def test_processes_that_differ_widen_the_interval(medians):
    low, high = timing.interval(timing.pool([measurement("a", [us] * 50) for us in medians]))
    half = 4.032 * statistics.stdev(medians) / len(medians) ** 0.5
    assert (low, high) == (pytest.approx(10.25 - half), pytest.approx(10.25 + half))


def test_processes_that_agree_have_the_interval_of_their_samples():
    samples = np.random.default_rng(3).normal(10, 1, 60)
    low, high = timing.interval(timing.pool([measurement("a", samples)] * timing.GENERATIONS))
    within = timing.median_interval(np.tile(samples, timing.GENERATIONS))
    assert high - low == pytest.approx(within[1] - within[0])
    assert high > low
    assert timing.interval(measurement("a", samples)) == timing.median_interval(samples)


@pytest.mark.parametrize(
    ("most", "known_after", "count"), [(6, 0, 6), (12, 0, 6), (12, 7, 8), (12, 8, 8), (12, 99, 12), (6, 99, 6)]
)
def test_generations_are_added_two_at_a_time_until_processes_agree(monkeypatch, most, known_after, count):
    orders = []
    monkeypatch.setattr(timing, "Race", lambda *_, backwards: nullcontext(orders.append(backwards)))
    session = SimpleNamespace(backend=SimpleNamespace(name="gpu"))
    list(timing._generations(session, None, [], [], None, most, lambda: len(orders) >= known_after))
    assert orders == [False, True] * (count // 2)


def test_without_a_gpu_there_is_one_generation(monkeypatch):
    orders = []
    monkeypatch.setattr(timing, "Race", lambda *_, backwards: nullcontext(orders.append(backwards)))
    session = SimpleNamespace(backend=SimpleNamespace(name="cpu"))
    list(timing._generations(session, None, [], [], None, 12, lambda: False))
    assert orders == [False]


@pytest.mark.parametrize(
    ("medians", "known"),
    [
        ([10.0] * 6, True),
        ([10.0, 10.01, 10.02, 10.03, 10.04, 10.05], True),
        ([10.0, 10.03, 10.06, 10.09, 10.12, 10.15], False),  # Student's interval is 1.8 % wide
        ([10.0, 10.03, 10.06, 10.09, 10.12, 10.15] * 2, True),
        ([1.0, 1.01, 1.02, 1.0, 1.01, 1.02], True),  # 3 % wide, but that is one tick
        ([10.0] * 5 + [float("nan")], False),
    ],
)
def test_processes_agree_within_a_per_cent_or_a_tick(medians, known):
    assert timing.agree([measurement("a", [us] * 5) for us in medians]) is known


GPU_BACKEND = SimpleNamespace(name="gpu", gpu=None)


class FakeRace:
    """A race in which a.py takes its part of `script`, by the race's number, others 10 us, the ceiling now 1, now 2."""

    script, count = (), 0

    def __init__(self, session, problem, cases, contestants, monitor, backwards):
        self.labels = [contestant.label for contestant in contestants]
        FakeRace.count += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, *_, **__):
        number = FakeRace.count - 1
        us = {
            "a.py": FakeRace.script[number % len(FakeRace.script)],
            **dict.fromkeys(("copy", "empty"), 1.0 + number % 2),
        }
        return [measurement(label, [us.get(label, 10.0)] * 30) for label in self.labels]


@pytest.fixture
def timed_on_a_gpu(monkeypatch, tmp_path):
    """(session, submission a.py, submission b.py) where races are FakeRace's."""
    monkeypatch.setattr(timing, "Race", FakeRace)
    monkeypatch.setattr(FakeRace, "count", 0)
    monkeypatch.chdir(tmp_path)
    problem = PROBLEMS["softmax"]
    for name in ("a.py", "b.py"):
        Path(name).write_text("def solve(input, output, N): pass\n")
    reference = accepted_row("torch.softmax", label="torch.softmax")
    session = SimpleNamespace(
        backend=GPU_BACKEND, build=lambda _: {"python": None}, references={problem.name: reference}
    )
    return session, *(Submission(Path(name), problem) for name in ("a.py", "b.py"))


def accepted_row(file, label=""):
    return Row(file, "softmax", "gpu", rows.ACCEPTED, "", [], [], 1, [], label=label)


STEADY, UNSTEADY = (12.0,), (12.0, 12.3)


@pytest.mark.parametrize(("script", "most", "count"), [(STEADY, 12, 6), (UNSTEADY, 12, 12), (UNSTEADY, 6, 6)], ids=str)
def test_a_bench_goes_on_until_the_processes_of_its_files_agree(monkeypatch, timed_on_a_gpu, script, most, count):
    monkeypatch.setattr(FakeRace, "script", script)
    session, submission, _ = timed_on_a_gpu
    plan = timing.Plan(generations=most)
    row = replace(accepted_row("a.py"), source_hash=submission.source_hash)
    found = timing.time_rows([(row, submission)], session, None, Progress(silent=True), plan)
    assert [len(row.timings[0].processes_us) for row in found] == [count, count]


@pytest.mark.parametrize(("script", "count"), [(STEADY, 6), (UNSTEADY, 12)], ids=str)
def test_a_duel_goes_on_until_its_ratio_is_known(monkeypatch, timed_on_a_gpu, script, count):
    monkeypatch.setattr(FakeRace, "script", script)
    session, *pair = timed_on_a_gpu
    (duel,) = timing.duel(*pair, session, None, Progress(silent=True), timing.Plan(generations=12))
    assert (FakeRace.count, duel.verdict) == (count, "slower")


def test_of_one_that_has_failed_no_more_is_to_be_known():
    nothing = np.array([])
    broken = timing.Measurement("a", nothing, nothing, nothing, failure="it was killed")
    assert timing.agree([measurement("a", [us] * 5) for us in (10.0, 11.0)] + [broken])


def test_a_failure_in_one_process_is_a_failure():
    nothing = np.array([])
    broken = timing.Measurement("a", nothing, nothing, nothing, failure="it was killed")
    assert timing.pool([measurement("a", [1.0]), broken, measurement("a", [1.0])]).failure == "it was killed"


# ---- duels ------------------------------------------------------------------------------------------------------


def measurement(name, rounds):
    rounds = np.asarray(rounds, dtype=float)
    return timing.Measurement(name, rounds, rounds, rounds)


def outcome(generations, method="on a GPU"):
    """The duel of (rounds of a, rounds of b) for each generation of workers."""
    case = PROBLEMS["softmax"].timing_case(8)
    pairs = [[measurement("a", a), measurement("b", b)] for a, b in generations]
    return timing.decide(pairs, PROBLEMS["softmax"], case, method)


def generations(seed, factor, luck):
    """Rounds of 12 turns with drift and noise; `luck` is how far two processes of one file may differ."""
    generator = np.random.default_rng(seed)
    drift = 1 + 0.05 * np.linspace(0, 1, 12)  # of the clocks, the same for both
    for _ in range(timing.GENERATIONS):
        a, b = (10 * drift * generator.normal(1, 0.003, 12) * generator.normal(1, luck) for _ in range(2))
        yield factor * a, b


def test_a_file_against_itself_is_a_tie_though_processes_differ():
    verdicts = [outcome(generations(seed, 1.0, luck=0.005)).verdict for seed in range(100)]
    assert verdicts.count("tie") >= 95


def test_rounds_of_one_pair_of_processes_would_not_do():
    """What the generations are for: all rounds from a lucky pair say "faster" with great confidence."""
    lucky = [(np.full(60, 9.9), np.full(60, 10.0))] * timing.GENERATIONS
    assert outcome(lucky).verdict == "faster"
    mixed = [(np.full(60, 10 + luck), np.full(60, 10.0)) for luck in (-0.1, 0.1, 0.02, -0.05, 0.06, -0.03)]
    assert outcome(mixed).verdict == "tie"


@pytest.mark.parametrize("seed", range(5))
def test_three_per_cent_are_found_where_processes_differ_little(seed):
    slower = outcome(generations(seed, 1.03, luck=0.001))
    assert slower.verdict == "slower"
    assert 1.02 < slower.low <= slower.ratio <= slower.high < 1.04
    assert outcome(generations(seed, 1 / 1.03, luck=0.001)).verdict == "faster"


def test_a_difference_inside_the_dead_zone_is_a_tie_however_sure():
    assert outcome([(np.full(40, 10.03), np.full(40, 10.0))] * timing.GENERATIONS).verdict == "tie"
    assert outcome([(np.full(40, 10.06), np.full(40, 10.0))] * timing.GENERATIONS).verdict == "slower"


def test_a_duel_that_is_not_a_number_is_a_tie():
    assert outcome([(np.full(4, np.nan), np.full(4, 1.0))] * timing.GENERATIONS).verdict == "tie"


def test_the_copy_kernel_of_the_same_rounds_stands_beside_the_verdict():
    case = PROBLEMS["softmax"].timing_case(8)
    race = [measurement(name, np.full(12, us)) for name, us in (("a", 10.0), ("b", 20.0), ("copy", 3.0))]
    duel = timing.decide([race] * timing.GENERATIONS, PROBLEMS["softmax"], case, "on a GPU")
    assert (duel.verdict, duel.a_us, duel.b_us, duel.copy_us) == ("faster", 10.0, 20.0, 3.0)


def test_on_the_cpu_backend_a_duel_has_no_verdict():
    assert outcome([(np.full(3, 10.0), np.full(3, 20.0))], timing.CPU_METHOD).verdict is None


# ---- doubts -----------------------------------------------------------------------------------------------------


def with_times(device, call, around):
    return timing.Measurement("a", np.full(3, device), np.full(3, call), np.full(3, device), around)


COPY = with_times(2.0, 20.0, 180.0)


@pytest.mark.parametrize(
    ("device", "call", "around", "floor", "words"),
    [
        (0.9, 20, 180, 1.0, "memory alone"),
        (float("nan"), 20, 180, 1.0, "memory alone"),
        (100, 2001, 180, 1.0, "far above"),
        (100, float("nan"), 180, 1.0, "far above"),
        (5, 20, 325, 1.0, "by the judge's clock a call took 145 us longer than the 20 us"),
        (5, 20, float("nan"), 1.0, "by the judge's clock"),
    ],
)
def test_times_that_cannot_be_are_suspicious(device, call, around, floor, words):
    assert words in timing.suspicion(with_times(device, call, around), COPY, floor)


@pytest.mark.parametrize(
    ("device", "call", "around"), [(1.1, 20, 180), (145, 165, 180), (100, 1999, 181), (5, 20, 220)]
)
def test_times_that_can_be_raise_no_suspicion(device, call, around):
    assert timing.suspicion(with_times(device, call, around), COPY, 1.0) == ""


# ---- how numbers are shown --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0605, "0.0605"),
        (0.00012345, "0.000123"),
        (0.5, "0.500"),
        (1, "1.00"),
        (3.8149, "3.81"),
        (42.19, "42.2"),
        (100, "100"),
        (2400.4, "2,400"),
        (1234567.8, "1,234,568"),
    ],
)
def test_a_number_is_shown_withthree_digits_and_never_an_exponent(value, text):
    assert three_digits(value) == text


def row(*timings):
    return Row("a.cu", "softmax", "gpu", "accepted", "", [], [], 1, [], list(timings))


def measured(**changes):
    known = {
        "sizes": {"N": 500_000},
        "device_us": 1234.567,
        "call_us": 12345.67,
        "low_us": 1230.0,
        "high_us": 1240.0,
        "gbps": 3240.4,
        "of_ceiling": 0.876,
        "over_reference": 0.9512,
        "samples": [],
        "method": "",
    }
    return Timing(**{**known, **changes})


def test_the_cells_of_a_timing_on_a_gpu():
    assert _timing_cells(row(measured()), False, False) == [
        "500,000",
        "1,234.57",
        "12,345.7",
        "3,240",
        "87.6%",
        "0.951x",
    ]


def test_several_sizes_stand_below_each_other_and_what_is_unknown_stays_empty():
    unknown = measured(sizes={"rows": 4, "columns": 1024}, gbps=None, of_ceiling=None, over_reference=None)
    assert _timing_cells(row(measured(), unknown), False, False) == [
        "500,000\n4 x 1,024",
        "1,234.57\n1,234.57",
        "12,345.7\n12,345.7",
        "3,240\n",
        "87.6%\n",
        "0.951x\n",
    ]


def test_the_cells_of_an_emulated_timing_are_milliseconds_of_the_call_alone():
    emulated = measured(device_us=None, call_us=1616.4, gbps=None, of_ceiling=None, over_reference=12.34)
    assert _timing_cells(row(emulated), True, False) == ["500,000", "1.62", "12.3x"]


def test_a_row_without_timings_has_no_cells():
    assert _timing_cells(row(), False, False) == []
