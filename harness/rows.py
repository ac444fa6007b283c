"""What flows out of the judge: results of cases, timings, rows. Field names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.anatomy import Anatomy

ACCEPTED = "accepted"
WRONG_ANSWER = "wrong-answer"
OUT_OF_BOUNDS = "out-of-bounds"
INPUT_MODIFIED = "input-modified"
RUNTIME_ERROR = "runtime-error"
TIME_LIMIT_EXCEEDED = "time-limit-exceeded"
OUT_OF_MEMORY = "out-of-memory"
COMPILE_ERROR = "compile-error"
INTERNAL_ERROR = "internal-error"
UNSUPPORTED = "unsupported"
NOT_RUN = "not-run"

# Within a case the first of these that applies is its verdict.
PRECEDENCE = (
    INTERNAL_ERROR,
    UNSUPPORTED,
    TIME_LIMIT_EXCEEDED,
    OUT_OF_MEMORY,
    OUT_OF_BOUNDS,
    RUNTIME_ERROR,
    INPUT_MODIFIED,
    WRONG_ANSWER,
    ACCEPTED,
    NOT_RUN,
)

NONDETERMINISTIC = "nondeterministic"
SUSPICIOUS = "suspicious"
PUBLISHED_RULE_DIFFERS = "published-rule-differs"
LAUNCH_ERROR = "launch-error"
UNDEFINED_BEHAVIOUR = "undefined-behaviour"
RELIES_ON_OUTPUT_CONTENTS = "relies-on-output-contents"

# --strict turns these into a failure; the first two above are remarks.
STRICT_FLAGS = (PUBLISHED_RULE_DIFFERS, LAUNCH_ERROR, UNDEFINED_BEHAVIOUR, RELIES_ON_OUTPUT_CONTENTS)


@dataclass(frozen=True)
class CaseResult:
    """One case. `replay` is the command that runs it alone; `numbers` are the check's, where there was an output."""

    name: str
    group: str
    verdict: str
    message: str
    replay: str
    numbers: dict = field(default_factory=dict)


def size_text(sizes: Mapping[str, int]) -> str:
    """ "500,000", or "4,096 x 1,000"."""
    return " x ".join(f"{value:,}" for value in sizes.values())


@dataclass(frozen=True)
class Timing:
    """One timed size: N, or the rows and columns of a matrix whose rows follow one another without gaps.

    `device_us` is None where there is no device time (the CPU backend). `low_us` and `high_us` bound the median of
    what `method` names with 99 % confidence. `of_ceiling` is the share of the copy kernel's rate that gbps reaches,
    `over_reference` the time as a multiple of the reference row's, `hot_us` the device time with the L2 as the call
    before left it. `copy_us` and `empty_us` are the copy kernel and an empty kernel in the same run. `samples` are in
    microseconds, `processes_us` the median of each process, where there were several. `gpu` is the UUID of the one that
    it was timed on, during the `spans` (seconds since 1970).
    """

    sizes: dict
    device_us: float | None
    call_us: float
    low_us: float
    high_us: float
    gbps: float | None
    of_ceiling: float | None
    over_reference: float | None
    samples: list[float]
    method: str
    hot_us: float | None = None
    copy_us: float | None = None
    empty_us: float | None = None
    throttled_samples: int = 0
    anatomy: Anatomy | None = None
    gpu: str | None = None
    spans: list[list[float]] = field(default_factory=list)
    processes_us: list[float] = field(default_factory=list)

    def to_json(self) -> dict:
        return {**_flat(self), "anatomy": self.anatomy and vars(self.anatomy)}

    @classmethod
    def from_json(cls, record: dict) -> Timing:
        fields = {name: value for name, value in record.items() if name in cls.__dataclass_fields__}
        sizes = {name: value for name, value in record.items() if name not in cls.__dataclass_fields__}
        anatomy = Anatomy(**record["anatomy"]) if record.get("anatomy") else None
        return cls(**{**fields, "sizes": sizes, "anatomy": anatomy})


@dataclass(frozen=True)
class Duel:
    """Two contestants in paired rounds at one size: `ratio` is a's time over b's, with its 99 % interval.

    `verdict` says what a is: faster, slower, or a tie; None on the CPU backend, which ranks nothing. `copy_us` is the
    copy kernel in the same rounds; a warning says why a time cannot be believed.
    """

    a: str
    b: str
    problem: str
    sizes: dict
    verdict: str | None
    ratio: float
    low: float
    high: float
    rounds: int
    a_us: float
    b_us: float
    method: str
    copy_us: float | None = None
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict:
        return _flat(self)


def _flat(record: Timing | Duel) -> dict:
    """The fields, with the sizes (N, or others) among them."""
    return {**record.sizes, **{name: value for name, value in vars(record).items() if name != "sizes"}}


@dataclass(frozen=True)
class Row:
    """One file judged for one problem. A row with a `label` is a reference: the exit status does not depend on it.

    `seconds` says how long judging it took: `all`, and of that its `build`, until its processes had loaded it (`load`)
    and answered (`calls`).
    """

    file: str
    problem: str
    backend: str
    verdict: str
    message: str
    flags: list[str]
    warnings: list[str]
    seed: int
    cases: list[CaseResult]
    timings: list[Timing] = field(default_factory=list)
    label: str = ""
    source_hash: str = ""
    problem_version: int = 1
    seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **fields,
            "cases": [vars(case) for case in self.cases],
            "timings": [timing.to_json() for timing in self.timings],
        }

    @classmethod
    def from_json(cls, record: dict) -> Row:
        """The row that `to_json` gave. Raises TypeError or KeyError where it is none."""
        fields = {name: value for name, value in record.items() if name in cls.__dataclass_fields__}
        cases = [CaseResult(**case) for case in record["cases"]]
        return cls(**{**fields, "cases": cases, "timings": [Timing.from_json(each) for each in record["timings"]]})
