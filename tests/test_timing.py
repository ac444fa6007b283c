"""Timing without a GPU: the interval of a median, the union of device activity, when to stop, how numbers are shown."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness import timing
from harness.cupti import union
from harness.report import _three_digits, _timing_cells
from harness.rows import Row, Timing

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


def test_the_interval_narrows_with_more_samples_and_is_the_same_when_asked_again():
    samples = np.random.default_rng(2).normal(100, 5, size=3000)
    widths = []
    for count in (30, 300, 3000):
        low, high = timing.median_interval(samples[:count])
        assert (low, high) == timing.median_interval(samples[:count])
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


# ---- device activity --------------------------------------------------------------------------------------------


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


# ---- when to stop -----------------------------------------------------------------------------------------------


class FakeWorker:
    """Answers as a worker does, with times from `device_time(index)`, on a clock that only its answers move."""

    def __init__(self, monkeypatch, device_time, seconds_per_answer, samples_per_answer=10, warm_up_time=None):
        self.device_time = device_time
        self.warm_up_time = warm_up_time
        self.seconds_per_answer = seconds_per_answer
        self.samples_per_answer = samples_per_answer
        self.now = 0.0
        self.asked = []
        self.given = 0
        monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: self.now))

    def ask(self, samples, seconds):
        self.asked.append((samples, seconds))
        if len(self.asked) <= 2:
            return [self.warm_up_time] * 3, [self.warm_up_time] * 3
        self.now += self.seconds_per_answer
        count = min(samples, self.samples_per_answer)
        device = [self.device_time(self.given + i) for i in range(count)]
        self.given += count
        return [time + 5000 for time in device], device

    def sample(self):
        return timing._sample_until_known(self.ask)


def noisy(index):
    return 10_000 if index % 2 else 20_000


def test_steady_samples_stop_as_soon_as_there_are_thirty(monkeypatch):
    calls, device = FakeWorker(monkeypatch, lambda index: 10_000, seconds_per_answer=1.0).sample()
    assert device == [10_000] * 30
    assert calls == [15_000] * 30


def test_steady_samples_go_on_for_half_a_second(monkeypatch):
    worker = FakeWorker(monkeypatch, lambda index: 10_000, seconds_per_answer=0.125)
    worker.sample()
    assert worker.now == 0.625


def test_a_median_that_jumps_by_one_tick_of_the_gpus_clock_is_known(monkeypatch):
    # 32 ns of 1 us are 3 %: the clock tells no more.
    worker = FakeWorker(monkeypatch, lambda index: 1000 + 32 * (index % 2), seconds_per_answer=1.0)
    assert len(worker.sample()[1]) == 30


def test_noisy_samples_go_on_until_the_time_is_up(monkeypatch):
    worker = FakeWorker(monkeypatch, noisy, seconds_per_answer=1.0)
    calls, device = worker.sample()
    assert worker.now == timing.MAX_SECONDS + 1
    assert len(calls) == len(device) == 160


def test_noisy_samples_end_at_the_largest_number(monkeypatch):
    worker = FakeWorker(monkeypatch, noisy, seconds_per_answer=0.001, samples_per_answer=1000)
    assert timing.MAX_SAMPLES <= len(worker.sample()[1]) < timing.MAX_SAMPLES + 60


def test_samples_of_the_warm_up_are_dropped_and_later_batches_cannot_be_foreseen(monkeypatch):
    worker = FakeWorker(monkeypatch, noisy, seconds_per_answer=0.5, samples_per_answer=1000, warm_up_time=10**9)
    calls, device = worker.sample()
    assert max(device) == 20_000 and max(calls) == 25_000
    batches = [samples for samples, _ in worker.asked[2:]]
    assert len(batches) == 31 and len(set(batches)) > 1


@pytest.mark.parametrize("device_time", [0, 10_000])
def test_no_sample_and_no_interval_is_nan(monkeypatch, device_time):
    # 0: a call that caused no activity on the device.
    calls, device = FakeWorker(monkeypatch, lambda index: device_time, seconds_per_answer=1.0).sample()
    assert np.isfinite(calls).all() and np.isfinite(device).all()
    assert timing.median_interval(np.array(device)) == (device_time, device_time)


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
def test_a_number_is_shown_with_three_digits_and_never_an_exponent(value, text):
    assert _three_digits(value) == text


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
    assert _timing_cells(row(measured()), False) == ["500,000", "1,234.57", "12,345.7", "3,240", "87.6%", "0.951x"]


def test_several_sizes_stand_below_each_other_and_what_is_unknown_stays_empty():
    unknown = measured(sizes={"rows": 4, "columns": 1024}, gbps=None, of_ceiling=None, over_reference=None)
    assert _timing_cells(row(measured(), unknown), False) == [
        "500,000\n4 1,024",
        "1,234.57\n1,234.57",
        "12,345.7\n12,345.7",
        "3,240\n",
        "87.6%\n",
        "0.951x\n",
    ]


def test_the_cells_of_an_emulated_timing_are_milliseconds_of_the_call_alone():
    emulated = measured(device_us=None, call_us=1616.4, gbps=None, of_ceiling=None, over_reference=12.34)
    assert _timing_cells(row(emulated), True) == ["500,000", "1.62", "12.3x"]


def test_a_row_without_timings_has_as_many_empty_cells():
    assert _timing_cells(row(), False) == [""] * 6
    assert _timing_cells(row(), True) == [""] * 3
